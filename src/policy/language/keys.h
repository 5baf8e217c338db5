/* SPDX-License-Identifier: Apache-2.0 */
/* The keys that maps of a policy file have, in the order in which a reader wants them: `policy fmt` writes it. Each list ends
 * with NULL; keys behind an empty word are known only to be refused with a sentence of their own.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: none. */
#ifndef LANGUAGE_KEYS_H
#define LANGUAGE_KEYS_H

extern const char *const policy_file_keys[], *const policy_rule_keys[], *const policy_answer_keys[];
extern const char *const policy_redaction_keys[], *const policy_match_keys[];
extern const char *const policy_test_keys[], *const policy_call_keys[], *const policy_expect_keys[];
extern const char *const policy_expect_answer_keys[];

#endif
