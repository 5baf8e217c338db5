/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this node can compile what somebody wants to make active. */
#include "courier/down_priv.h"

#include "language/store.h"
#include "store/store.h"

enum code down__compile(struct down *down, struct pg *pg, int64_t ask, int64_t version, struct why *why)
{
    struct policy *policy = NULL;
    struct why fault = {""};
    enum code code = store_compile_policy(down->self.store, (uint64_t)version, NULL, &policy, &fault);

    policy_unref(&policy);
    if (code == CODE_NOT_FOUND) /* it has not come yet; the centre asks again */
        return CODE_OK;
    if (code != CODE_OK && code != CODE_INVALID)
        return why_set(why, code, "%s", fault.text);
    return pg_ask(pg, "SELECT callgate.compile_tell($1, $2)",
                  PG_VALUES(pg_of_int(ask), pg_of_bytes(code == CODE_OK ? SPAN_NONE : span_text(fault.text))), NULL, why);
}
