/* SPDX-License-Identifier: Apache-2.0 */
/* 11.10: linked in place of src/ground/os/pause.c into build/FLAVOUR/hasty/, which scenarios run so that they need not wait. No other
 * file differs. CALLGATE_HASTE says by how much pauses are shorter; no program outside of that folder knows the word. */
#include "os/pause.h"

#include <stdlib.h>

int64_t pause_us(int64_t us)
{
    const char *said = getenv("CALLGATE_HASTE");
    long haste = said != NULL ? strtol(said, NULL, 10) : 1;

    return haste > 1 ? us / haste : us;
}
