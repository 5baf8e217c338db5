/* SPDX-License-Identifier: Apache-2.0 */
/* The process that signs checkpoints, as a thread: a new one for each life of an audit.
 *
 * Threads: one, and the one that it starts.
 * Owns: that, and both ends of the socket; not the key.
 * Lifetime: fake_signer_start to fake_signer_stop; starting again stops the one before.
 * Errors: fails the test. */
#ifndef FAKES_FAKE_SIGNER_H
#define FAKES_FAKE_SIGNER_H

#include "proof/signer.h"
#include "os/thread.h"

struct fake_signer {
    struct thread thread;
    const struct sign_key *key;
    struct signer *signer;
    int far;
};

struct signer *fake_signer_start(struct fake_signer *fake, const struct sign_key *key);
void fake_signer_stop(struct fake_signer *fake); /* a zeroed one is fine */

#endif
