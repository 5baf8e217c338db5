/* SPDX-License-Identifier: Apache-2.0 */
/* Who could decide what a policy's rules hold, as far as the configuration and the keys of people say.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none; what cannot be read is told nobody. */
#ifndef PEOPLE_KNOWN_PEOPLE_H
#define PEOPLE_KNOWN_PEOPLE_H

#include "conf/conf.h"
#include "db/db.h"
#include "policy/policy.h"

/* Warns of each rule whose `approvers` name somebody whom nobody known is: its calls would wait for ever. */
void known_people_warn(const struct policy *policy, struct conf_file *file, struct db *db, struct faults *warnings);

#endif
