/* SPDX-License-Identifier: Apache-2.0 */
#include "language/store.h"

#include "base/num.h"
#include "language/store_set.h"

#include <inttypes.h>

/* ---- reading ---- */

enum code policy_store_active(struct db *db, uint64_t *version, struct why *why)
{
    int64_t active;
    enum code code = db_number(db, "SELECT version FROM policy_activation ORDER BY id DESC LIMIT 1", NULL, 0, &active);

    *version = (uint64_t)active;
    return db_why(why, code, db, "asking for the active policy");
}

static enum code has_version(struct db *db, uint64_t version, char hash[2 * DIGEST_BYTES], struct why *why)
{
    struct db_stmt *stmt;
    enum code code = db_find(db, "SELECT hash FROM policy_version WHERE version = ?1", DB_VALUES(db_of_int((int64_t)version)),
                             &stmt);

    if (code == CODE_OK && db_text(stmt, 0).len == 2 * DIGEST_BYTES)
        memcpy(hash, db_text(stmt, 0).at, 2 * DIGEST_BYTES);
    else if (code == CODE_OK)
        memset(hash, '?', 2 * DIGEST_BYTES); /* no text has this hash */
    db_finalize(&stmt);
    if (code == CODE_NOT_FOUND)
        return why_set(why, code, "there is no policy version %" PRIu64 "; `callgate policy list` shows those there are",
                       version);
    return db_why(why, code, db, "reading a policy version");
}

/* ---- a stored version ---- */

static enum code refuse_text(uint64_t version, struct span expected, struct span found, struct why *why)
{
    return why_set(why, CODE_INVALID, "policy version %" PRIu64 " is not the text that was stored: its hash is %.*s, and %.*s "
                   "was expected; keep callgate.db as evidence, and activate another version, or load all files anew with "
                   "--only --yes", version, SPAN_ARG(found), SPAN_ARG(expected));
}

static enum code add_stored(struct db_stmt *stmt, struct policy_set *set, bool *is_damaged)
{
    char hex[2 * DIGEST_BYTES];
    enum code code;

    while ((code = db_step(stmt)) == CODE_OK) {
        unsigned char digest[DIGEST_BYTES];

        digest_of(db_text(stmt, 2), digest);
        num_hex(digest, sizeof digest, hex);
        if (!span_equals(db_text(stmt, 3), span_of(hex, sizeof hex)))
            *is_damaged = true;
        code = policy_set_add(set, db_text(stmt, 0), db_text(stmt, 1), db_text(stmt, 2), POLICY_KEPT);
        if (code != CODE_OK)
            return code;
    }
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

enum code policy_set_read(struct db *db, uint64_t version, struct policy_set *set, char hash[2 * DIGEST_BYTES], struct why *why)
{
    char found[2 * DIGEST_BYTES];
    struct db_stmt *stmt;
    bool is_damaged = false;
    enum code code = has_version(db, version, hash, why);

    if (code != CODE_OK)
        return code;
    code = db_select(db, "SELECT name, path, text, sha256 FROM policy_file WHERE version = ?1 ORDER BY name",
                     DB_VALUES(db_of_int((int64_t)version)), &stmt);
    if (code == CODE_OK)
        code = add_stored(stmt, set, &is_damaged);
    db_finalize(&stmt);
    if (code != CODE_OK)
        return db_why(why, code, db, "reading a policy version's files");
    policy_set_hash(set, found);
    if (memcmp(found, hash, sizeof found) != 0)
        return refuse_text(version, span_of(hash, sizeof found), span_of(found, sizeof found), why);
    if (is_damaged)
        return why_set(why, CODE_INVALID, "policy version %" PRIu64 ": a file's sha256 is not that of its text; keep "
                       "callgate.db as evidence, and load all files anew with --only --yes", version);
    return CODE_OK;
}

enum code policy_store_files(struct db *db, uint64_t version, policy_store_file_fn each, void *context, struct why *why)
{
    char hash[2 * DIGEST_BYTES];
    struct policy_set set;
    enum code code;

    policy_set_init(&set);
    code = policy_set_read(db, version, &set, hash, why);
    for (size_t i = 0; i < set.count && code == CODE_OK; i++) {
        const struct policy_member *member = &set.members[i];
        unsigned char digest[DIGEST_BYTES];
        char hex[2 * DIGEST_BYTES];

        digest_of(member->text, digest);
        num_hex(digest, sizeof digest, hex);
        code = each(context, &(struct policy_store_file){.name = member->name, .path = member->path, .text = member->text,
                                                         .sha256 = span_of(hex, sizeof hex)});
    }
    policy_set_fini(&set);
    return code;
}

enum code policy_store_check(struct db *db, uint64_t version, struct span hash, struct why *why)
{
    char stored[2 * DIGEST_BYTES];
    struct policy_set set;
    enum code code;

    policy_set_init(&set);
    code = policy_set_read(db, version, &set, stored, why);
    policy_set_fini(&set);
    if (code == CODE_OK && !span_equals(hash, span_of(stored, sizeof stored)))
        code = refuse_text(version, hash, span_of(stored, sizeof stored), why);
    return code;
}

enum code policy_store_compile(struct db *db, uint64_t version, const struct authoring *author, struct policy **policy,
                               struct faults *faults, struct why *why)
{
    char hash[2 * DIGEST_BYTES];
    struct policy_set set;
    enum code code;

    *policy = NULL;
    policy_set_init(&set);
    code = policy_set_read(db, version, &set, hash, why);
    if (code == CODE_OK) {
        code = policy_set_compile(&set, version, author, policy, faults, NULL);
        if (code == CODE_INVALID && faults->count > 0)
            why_set(why, code, "policy version %" PRIu64 " does not compile here: %s:%d:%d: %s", version, faults->fault[0].file,
                    faults->fault[0].line, faults->fault[0].column, faults->fault[0].text);
        else
            code = db_why(why, code, db, "compiling a policy version");
    }
    /* The hash above covers the rows' names, this one the names in the texts: somebody may have changed a
     * row's name and the hash together. */
    if (code == CODE_OK && !span_equals(policy_hash(*policy), span_of(hash, sizeof hash))) {
        code = refuse_text(version, span_of(hash, sizeof hash), policy_hash(*policy), why);
        policy_unref(policy);
    }
    policy_set_fini(&set);
    return code;
}
