/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/record.h"

#include "base/bug.h"

const char *audit_outcome_text(enum audit_outcome outcome)
{
    static const char *const texts[] = {
        [OUTCOME_UNKNOWN] = "unknown",
        [OUTCOME_RESULT] = "result",
        [OUTCOME_TOOL_ERROR] = "tool_error",
        [OUTCOME_PROTOCOL_ERROR] = "protocol_error",
        [OUTCOME_HTTP_ERROR] = "http_error",
        [OUTCOME_ACCEPTED] = "accepted",
        [OUTCOME_STREAM_ENDED] = "stream_ended",
        [OUTCOME_DETACHED] = "detached",
        [OUTCOME_UPSTREAM_FAILURE] = "upstream_failure",
        [OUTCOME_TIMEOUT] = "timeout",
        [OUTCOME_CANCELLED] = "cancelled",
        [OUTCOME_REFUSED] = "refused",
        [OUTCOME_NOT_SENT] = "not_sent",
        [OUTCOME_REPORTED] = "reported",
    };

    BUG_ON((size_t)outcome >= sizeof texts / sizeof texts[0]);
    return texts[outcome];
}

const char *audit_verdict_text(enum audit_verdict verdict)
{
    switch (verdict) {
    case AUDIT_PERMIT:
        return "permit";
    case AUDIT_HOLD:
        return "hold";
    case AUDIT_DENY:
        break;
    }
    return "deny";
}
