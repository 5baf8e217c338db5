/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with policy files as SARIF 2.1.0, which forges and editors show at the line.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: exit statuses. */
#ifndef RULES_POLICY_SARIF_H
#define RULES_POLICY_SARIF_H

#include "base/why.h"

/* Prints one log on stdout. Takes: status: with which the command ends. Returns: an exit status. */
int policy_sarif_print(const struct faults *errors, const struct faults *warnings, int status);

#endif
