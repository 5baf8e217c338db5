/* SPDX-License-Identifier: Apache-2.0 */
#include "os/pause.h"

int64_t pause_us(int64_t us)
{
    return us;
}
