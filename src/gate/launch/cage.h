/* SPDX-License-Identifier: Apache-2.0 */
/* From which folders commands are kept (`upstream: {command:}`).
 *
 * Threads: one.
 * Owns: nothing.
 * Lifetime: the configuration's.
 * Errors: CODE_NOMEM. */
#ifndef LAUNCH_CAGE_H
#define LAUNCH_CAGE_H

#include "conf/conf.h"

enum code cage_commands(struct conf *conf) MUST_USE; /* conf->commands is there */

#endif
