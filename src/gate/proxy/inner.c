/* SPDX-License-Identifier: Apache-2.0 */
/* A tool that calls tools is seen through: what is asked of the policy, and recorded, is the call that stands in its
 * arguments. What goes up are the bytes that came, of which that call was read. */
#include "proxy/front_priv.h"

void inner_see(const struct proxy_route *route, struct call *call)
{
    const struct declared_unwrap *unwrap;
    struct declared_inner inner;
    enum reason reason;

    if (route == NULL || call->refused != REASON_UNSET || call->is_join || !span_is(call->asked.method, "tools/call"))
        return;
    unwrap = declared_unwrap_find(&route->unwraps, call->asked.tool);
    if (unwrap == NULL && declared_unwrap_is_like(&route->unwraps, call->asked.tool))
        call->refused = REASON_INNER_CALL;
    if (unwrap == NULL || unwrap->name.count == 0)
        return;
    buf_clear(&call->inner);
    reason = declared_inner_read(&route->unwraps, unwrap, call->asked.root, route->strict_tool_names, &call->inner, call->arena,
                                 &inner);
    if (reason != REASON_PERMITTED) {
        call->refused = reason;
        return;
    }
    call->asked.via = call->asked.tool;
    call->asked.tool = call->target = inner.tool;
    call->asked.root = inner.arguments;
}
