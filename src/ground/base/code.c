/* SPDX-License-Identifier: Apache-2.0 */
#include "base/code.h"

const char *code_text(enum code code)
{
    switch (code) {
    case CODE_OK: return "ok";
    case CODE_NOMEM: return "out of memory";
    case CODE_LIMIT: return "limit reached";
    case CODE_INVALID: return "invalid input";
    case CODE_IO: return "input/output failed";
    case CODE_NOT_FOUND: return "not found";
    case CODE_EXISTS: return "exists already";
    case CODE_DENIED: return "not allowed";
    case CODE_BUSY: return "busy";
    case CODE_DOWN: return "down";
    case CODE_UNDECIDED: return "undecided";
    }
    return "unknown code";
}
