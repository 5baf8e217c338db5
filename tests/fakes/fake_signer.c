/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/fake_signer.h"

#include "fakes/cm.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

static void serve(void *argument)
{
    struct fake_signer *fake = argument;
    const struct why why = {""};

    signer_serve(fake->far, fake->key, &why);
    (void)close(fake->far);
}

struct signer *fake_signer_start(struct fake_signer *fake, const struct sign_key *key)
{
    struct why why = {""};
    int ends[2];

    fake_signer_stop(fake);
    (void)signal(SIGPIPE, SIG_IGN);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    fake->key = key;
    fake->far = ends[1];
    assert_ok(thread_start(&fake->thread, "signer", serve, fake, &why));
    assert_ok(signer_new(ends[0], &fake->signer, &why));
    return fake->signer;
}

void fake_signer_stop(struct fake_signer *fake)
{
    signer_free(&fake->signer);
    thread_join(&fake->thread);
}
