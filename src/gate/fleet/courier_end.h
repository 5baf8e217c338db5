/* SPDX-License-Identifier: Apache-2.0 */
/* What goes over the socket between a gate and its courier: messages of one size, each whole. The program callgate-courier is
 * found beside the gate's, is started before that confines itself, and again whenever it has ended.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef FLEET_COURIER_END_H
#define FLEET_COURIER_END_H

#include "crypto/digest.h"

#include <stdint.h>

#define FLEET_FD 3 /* the courier's end */
#define FLEET_WORD "courier" /* the first word of its command line */
#define FLEET_TRIAL "trial" /* the last: it reads its files, says whether they are good, and ends */

enum fleet_kind {
    FLEET_BEGUN = 0, /* the courier has read its files, or `text` says why not */
    FLEET_LAST       /* from the gate: it has recorded the last row, and signed it; back: that is at the centre, or stays */
};

struct fleet_message {
    enum fleet_kind kind;
    char text[512];
};

#endif
