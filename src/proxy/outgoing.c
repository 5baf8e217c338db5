/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/upstream_priv.h"

#include <stdio.h>

static void tell_missing(struct pair *pair)
{
    const struct identity *identity = &pair->exchange.identity;
    char detail[512];

    (void)snprintf(detail, sizeof detail, "no file %s is there for tenant %.*s, principal %.*s; make it, and send SIGHUP",
                   pair->exchange.route->upstream.outgoing.file, SPAN_ARG(identity->tenant), SPAN_ARG(identity->principal));
    upstream__tell(pair, REASON_OUTGOING_MISSING, detail);
}

enum reason outgoing__settle(struct pair *pair, bool is_told)
{
    struct exchange *exchange = &pair->exchange;
    const struct outgoing *outgoing = &exchange->route->upstream.outgoing;

    if (outgoing->kind == OUTGOING_NONE || exchange->authorization.at != NULL)
        return REASON_UNSET;
    if (exchange->pass != NULL && (outgoing->per_tenant || !upstream__takes_credentials(exchange->pass)))
        return REASON_UNSET; /* nobody has shown who he is */
    exchange->authorization = outgoing_find(outgoing, exchange->identity.tenant, exchange->identity.principal);
    if (exchange->authorization.at != NULL)
        return REASON_UNSET;
    if (is_told)
        tell_missing(pair);
    return REASON_OUTGOING_MISSING;
}
