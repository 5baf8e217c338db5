/* SPDX-License-Identifier: Apache-2.0 */
/* The rule at the end of a time zone file: when the clocks will be changed from the last transition on (RFC 9636, 3.3.1; POSIX,
 * Base Definitions 8.3, with hours from -167 to 167).
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: false for any other text. */
#ifndef TEXTS_ZONE_PRIV_H
#define TEXTS_ZONE_PRIV_H

#include "texts/zone.h"

#include <stdbool.h>

enum zone__day { ZONE_DAY_OF_YEAR = 0 /* n */, ZONE_DAY_WITHOUT_LEAP /* Jn */, ZONE_DAY_OF_WEEK /* Mm.w.d */ };

struct zone__change {
    enum zone__day kind;
    int month, week, day;
    int64_t time_s; /* of the local clock before the change */
};

struct zone__rule {
    int64_t standard_s, summer_s; /* east of Greenwich */
    bool has_summer;
    struct zone__change begin, end; /* of summer time */
};

#define ZONE_DAY_S INT64_C(86400)

int64_t zone__floor(int64_t value, int64_t by); /* value / by, rounded down */

bool zone__rule_read(struct span text, struct zone__rule *rule);
int64_t zone__rule_offset_s(const struct zone__rule *rule, int64_t time_s);

#endif
