/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates as credentials: the connection's own, or one that a trusted proxy verified and hands on in a header.
 *
 * Threads: workers.
 * Owns: nothing.
 * Lifetime: names live as long as the certificate, the configuration and the request's arena.
 * Errors: REASON_CREDENTIAL_WRONG. */
#ifndef IDENTITY_CERTIFICATE_PRIV_H
#define IDENTITY_CERTIFICATE_PRIV_H

#include "identity/identity.h"

/* Sets *present where the request shows a certificate; then also the principal, and *tenant to the certificate's own. */
enum reason identity__certificate(const struct identity_source *source, const struct identity_request *request,
                                  struct identity *identity, struct span *tenant, bool *present);

/* The only name of that kind in the certificate of this connection or, where `header` is not NULL, in the one that a trusted
 * proxy hands on in it. Returns: PERMITTED, and *name is empty where there is no certificate; CREDENTIAL_WRONG. */
enum reason identity__certificate_name(const char *header, enum identity_name name, const struct identity_request *request,
                                       struct span *found);

/* What a proxy says that it verified: Client-Cert (RFC 9440, 2.1), or Envoy's X-Forwarded-Client-Cert with exactly one element.
 * Returns: false: it is not exactly one certificate's names. */
bool identity__handed_on(const char *header, struct span value, struct arena *arena, struct tls_names *names);

#endif
