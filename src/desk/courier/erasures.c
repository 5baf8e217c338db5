/* SPDX-License-Identifier: Apache-2.0 */
#include "courier/courier.h"

#include "store/store_erasures.h"

enum code courier_ask_erasures(struct courier *courier, struct why *why)
{
    char mark[STORE_MARK_BYTES];
    enum code code;

    if (courier->erasures_at == courier->state.change)
        return CODE_OK;
    code = store_audit_mark(courier->conf->audit.database, mark, why);
    if (code == CODE_NOT_FOUND) /* the gate makes it just now; the next turn asks */
        return CODE_OK;
    if (code == CODE_OK)
        code = store_erasures_ask(courier->store, mark, why);
    if (code == CODE_OK)
        courier->erasures_at = courier->state.change;
    return code == CODE_BUSY ? CODE_OK : code;
}
