/* SPDX-License-Identifier: Apache-2.0 */
/* What people ask of a gate's audit, and its answers: rows of the store, since commands never write an audit that a gate has.
 *
 * Threads: a connection belongs to one thread at a time.
 * Owns: nothing.
 * Lifetime: a request's texts are copies.
 * Errors: enum code with a sentence. */
#ifndef STORE_STORE_AUDIT_H
#define STORE_STORE_AUDIT_H

#include "db/db.h"

#define STORE_AUDIT_TEXT 512
#define STORE_AUDIT_WHY 4096 /* more than a reason's thousand characters */
#define STORE_MARK_BYTES 17

enum store_audit_kind { STORE_AUDIT_ARCHIVE = 0, STORE_AUDIT_ERASE };

struct store_audit_request {
    int64_t id;
    enum store_audit_kind kind;
    char tenant[STORE_AUDIT_TEXT]; /* erase */
    int64_t before_us;             /* erase */
    char why[STORE_AUDIT_WHY];     /* erase */
    char actor[STORE_AUDIT_TEXT];
    int64_t asked_us;
};

/* Which gate is meant, by the place of its audit, so that what it has claimed stays its own where that audit is lost. */
void store_audit_place(const char *path, char mark[STORE_MARK_BYTES]);

/* Which audit is meant: by its log's name, which stays when the audit goes on in a new file, and when its folder is moved.
 * CODE_NOT_FOUND with an empty mark: there is none yet. */
enum code store_audit_mark(const char *path, char mark[STORE_MARK_BYTES], struct why *why) MUST_USE;

/* CODE_DENIED with a sentence: a hold keeps what would be erased. */
enum code store_audit_ask(struct db *db, const char *mark, struct store_audit_request *request, struct why *why) MUST_USE;

/* The oldest one to this audit that has no answer. CODE_NOT_FOUND: there is none. */
enum code store_audit_next(struct db *db, const char *mark, struct store_audit_request *request, struct why *why) MUST_USE;

enum code store_audit_answer(struct db *db, int64_t request, bool done, const char *text, int64_t now_us, struct why *why)
    MUST_USE;

/* CODE_NOT_FOUND while there is none. *text is the caller's (mem_free). */
enum code store_audit_answered(struct db *db, int64_t request, bool *done, char **text, struct why *why) MUST_USE;

/* Where files of an audit were given away: rows that that audit alone is told of, as store_told names them. */
#define STORE_RETIREMENTS "audit_retirement"

#endif
