/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of this room read and ask by themselves, whoever stands on it. */
#include "os/sandbox.h"
#include "web/web.h"

#define DNS_PORT 53
#define RESOLVER SANDBOX_BIT(SANDBOX_RESOLVER)
#define POSTER SANDBOX_BIT(SANDBOX_POSTER)

/* Authorities, whose folders are looked through while a certificate is checked. */
static const char *const trusted[] = {
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates", "/etc/pki",
    "/etc/ca-certificates", "/var/lib/ca-certificates", "/etc/crypto-policies", "/usr/share/crypto-policies",
};

/* Names: resolv.conf is replaced whenever the network changes, so its folder counts; modules of the name service. */
static const char *const naming[] = {"/etc", "/run", "/usr/lib", "/usr/lib64", "/lib", "/lib64"};

enum code web_permit_names(unsigned parts)
{
    enum code code = sandbox_may_connect(DNS_PORT, parts);

    for (size_t i = 0; i < sizeof naming / sizeof naming[0] && code == CODE_OK; i++)
        code = sandbox_may_read(naming[i], parts);
    return code;
}

enum code web_permit(unsigned parts)
{
    const char *own[] = {tls_trust_file(), tls_trust_folder()};
    enum code code = web_permit_names(RESOLVER);

    for (size_t i = 0; i < sizeof trusted / sizeof trusted[0] && code == CODE_OK; i++)
        code = sandbox_may_read(trusted[i], parts | POSTER);
    for (size_t i = 0; i < sizeof own / sizeof own[0] && code == CODE_OK; i++)
        code = sandbox_may_read(own[i], parts | POSTER);
    return code;
}
