/* SPDX-License-Identifier: Apache-2.0 */
/* callgate policy: the command's words. What they do is in cmd_policy_check.c, _test.c, _store.c, _explain.c and _replay.c. */
#include "rules/cmd_policy_priv.h"
#include "cli/commands.h"

static const struct command subs[] = {
    {"check", "read policy files: all errors, then warnings", cmd_policy__check, NULL},
    {"test", "run the tests that stand in policy files", cmd_policy__test, NULL},
    {"load", "store policy files as a new version and activate it", cmd_policy__load, NULL},
    {"remove", "store a new version without one policy and activate it", cmd_policy__remove, NULL},
    {"activate", "activate a stored version, also an old one", cmd_policy__activate, NULL},
    {"list", "show all versions", cmd_policy__list, NULL},
    {"show", "print a version's files", cmd_policy__show, NULL},
    {"diff", "say what a change permits and denies, in words and in calls", cmd_policy__diff, NULL},
    {"explain", "judge one call and say why", cmd_policy__explain, NULL},
    {"replay", "judge the recorded calls again and show what flips", cmd_policy__replay, NULL},
    {"learn", "draft permits out of the recorded calls", cmd_policy__learn, NULL},
    {NULL, NULL, NULL, NULL},
};

const struct command cmd_policy = {
    "policy", "policies: check, test, load, remove, activate, list, show, diff, explain, replay, learn", NULL, subs};
