/* SPDX-License-Identifier: Apache-2.0 */
/* Policy files as the commands read them, and what is said of them.
 *
 * Threads: main.
 * Owns: the texts.
 * Lifetime: policy_files_fini.
 * Errors: exit statuses, told on stderr. */
#ifndef CLI_POLICY_FILES_H
#define CLI_POLICY_FILES_H

#include "cli/policy_given.h"
#include "json/doc.h"
#include "judgement/judgement.h"
#include "language/language.h"

/* With what --set, --as and `with:` put into them (policy_given.h). Takes: tries: nothing of it is put in force.
 * Returns: OPTIONS_GO, or the exit status after a sentence. */
int policy_files_read(struct policy_files *files, const char *const *paths, size_t count, const struct asked *asked,
                      bool tries);
int policy_files_of(struct policy_files *files, const struct asked *asked); /* the operands */
int policy_files_try(struct policy_files *files, const struct asked *asked);
void policy_files_fini(struct policy_files *files);

/* Up to 20 of them, each as an object. */
void policy_faults_doc(const struct faults *faults, struct doc *list);

/* A test's result, as an object of the list; and one that failed, in words (told.h). */
void policy_test_doc(const struct policy_test_result *result, struct doc *list);
#define POLICY_TEST_FAILED "{file}:{line}: FAILED {name}: expected {expected}, got {got}\n"

/* Compiles; faults are told. Returns: OPTIONS_GO with *policy, or the exit status. */
int policy_files_compile(const struct policy_files *files, struct policy **policy);

#endif
