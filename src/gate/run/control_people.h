/* SPDX-License-Identifier: Apache-2.0 */
/* What the gate shares with the process beside it that takes people's commands (control.h): who people are to this system,
 * and how the gate starts that process.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: a sentence. */
#ifndef RUN_CONTROL_PEOPLE_H
#define RUN_CONTROL_PEOPLE_H

#include "conf/conf.h"

#define CONTROL_WORD "control-socket" /* the first word by which the gate starts it */
#define CONTROL_GATE_FD 3

/* The numbers of groups, and of the accounts of members. Asks the system's name service. */
struct control_people {
    struct {
        gid_t group;
        struct span name; /* the configuration's */
        unsigned roles;
    } all[PEOPLE_ROLES * 64];
    size_t count;
    struct {
        uid_t account;
        size_t member; /* of conf_people.members */
    } accounts[1024];
    size_t account_count;
};
enum code control_people_find(const struct conf_people *conf, struct control_people *people, struct why *why) MUST_USE;

#endif
