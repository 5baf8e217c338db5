/* SPDX-License-Identifier: Apache-2.0 */
#include "author/store_change.h"

#include "author/warn.h"
#include "base/num.h"
#include "base/utf8.h"
#include "judgement/judgement.h"
#include "language/language.h"
#include "language/store_set.h"
#include "unicode/unicode.h"
#include "yaml/yaml.h"

#include <stdio.h>

#define VALUE_SHOWN 120

const char *policy_store_fate_text(enum policy_store_fate fate)
{
    switch (fate) {
    case POLICY_KEPT: return "kept";
    case POLICY_REPLACED: return "replaced";
    case POLICY_ADDED: return "added";
    case POLICY_REMOVED: return "removed";
    }
    return "kept";
}

/* A copy whose name another file has would take that one's place. */
static void check_base(const struct yaml_node *before, const struct yaml_node *after, const struct policy_member *old,
                       const char *path, struct faults *faults)
{
    const struct yaml_node *was = yaml_member(before, "policy"), *is = yaml_member(after, "policy");
    bool is_copy = yaml_member(before, "as") != NULL || yaml_member(after, "as") != NULL;

    if (is_copy && was != NULL && is != NULL && !span_equals(was->text, is->text))
        faults_add(faults, path, 0, 0, "the active policy `%.*s` is of the file `policy: %.*s`, and this is one of `policy: "
                   "%.*s`; give the copy another name, or remove the other one first", SPAN_ARG(old->name), SPAN_ARG(was->text),
                   SPAN_ARG(is->text));
}

/* Who loads a newer text of a file and forgets its values would fall back to defaults, which are somebody else's folders. */
static void keep_values(const struct policy_member *old, const struct policy_file *new, const char *path, struct faults *faults)
{
    struct yaml_tree *before = NULL, *after = NULL;
    struct faults unread; /* the compiler tells them */
    const struct yaml_node *was, *is, *known;

    faults_init(&unread);
    if (yaml_read(old->text, "", &before, &unread) != CODE_OK || yaml_read(new->text, "", &after, &unread) != CODE_OK)
        goto out;
    was = yaml_member(yaml_root(before), "set");
    is = yaml_member(yaml_root(after), "set");
    check_base(yaml_root(before), yaml_root(after), old, path, faults);
    known = yaml_member(yaml_root(after), "parameters");
    for (was = was != NULL ? was->child : NULL; was != NULL; was = was->next)
        if (yaml_member(known, was->key.at) != NULL && yaml_member(is, was->key.at) == NULL) /* a key ends in a NUL */
            faults_add(faults, path, 0, 0, "the active version sets the parameter `%.*s` of the policy `%.*s`, and this file "
                       "does not; say it again, as in --set %.*s=%.*s, or set what it is to be from now on", SPAN_ARG(was->key),
                       SPAN_ARG(old->name), SPAN_ARG(was->key), SPAN_ARG(utf8_cut(was->text, VALUE_SHOWN)));
out:
    yaml_tree_free(&before);
    yaml_tree_free(&after);
}

/* The new files over what is active. Names are read first, so that every file's faults are told in one run. */
static enum code lay_files(struct policy_set *set, const struct policy_store_change *change, struct faults *faults)
{
    enum code code = CODE_OK;
    struct buf name;

    buf_init(&name, 1024);
    for (size_t i = 0; i < change->file_count && code != CODE_NOMEM; i++) {
        char path[256];
        struct policy_member *old;

        buf_clear(&name);
        (void)snprintf(path, sizeof path, "%.*s", SPAN_ARG(change->files[i].path));
        code = policy_name_of(change->files[i].text, path, &name, faults);
        if (code != CODE_OK)
            continue;
        old = policy_set_find(set, buf_peek(&name));
        /* Two new files of one name both go in: the compiler refuses them with their places. */
        if (old != NULL && old->fate == POLICY_KEPT) {
            old->fate = POLICY_REPLACED;
            old->is_same = span_equals(old->text, change->files[i].text);
            keep_values(old, &change->files[i], path, faults);
            code = arena_keep(&set->arena, change->files[i].path, &old->path);
            if (code == CODE_OK)
                code = arena_keep(&set->arena, change->files[i].text, &old->text);
        } else {
            code = policy_set_add(set, buf_peek(&name), change->files[i].path, change->files[i].text, POLICY_ADDED);
        }
    }
    buf_fini(&name);
    return code == CODE_NOMEM ? code : faults->count > 0 ? CODE_INVALID : CODE_OK;
}

static enum code take_away(struct policy_set *set, const struct policy_store_change *change, struct why *why)
{
    struct policy_member *gone;

    if (change->only) {
        for (size_t i = 0; i < set->count; i++) {
            if (set->members[i].fate != POLICY_KEPT)
                continue;
            if (!change->may_remove)
                return why_set(why, CODE_DENIED, "--only would remove the policy `%.*s`; add --yes if that is meant",
                               SPAN_ARG(set->members[i].name));
            set->members[i].fate = POLICY_REMOVED;
        }
    }
    if (change->remove.at == NULL)
        return CODE_OK;
    gone = policy_set_find(set, change->remove);
    if (gone == NULL)
        return why_set(why, CODE_NOT_FOUND, "no active policy is named `%.*s`; `callgate policy show` names them",
                       SPAN_ARG(change->remove));
    gone->fate = POLICY_REMOVED;
    return CODE_OK;
}

static enum code insert_files(struct db *db, const struct policy_set *set, uint64_t version)
{
    enum code code = CODE_OK;

    for (size_t i = 0; i < set->count && code == CODE_OK; i++) {
        const struct policy_member *member = &set->members[i];
        unsigned char digest[DIGEST_BYTES];
        char hex[2 * DIGEST_BYTES];

        if (member->fate == POLICY_REMOVED)
            continue;
        digest_of(member->text, digest);
        num_hex(digest, sizeof digest, hex);
        code = db_change(db, "INSERT INTO policy_file(version, name, path, text, sha256) VALUES (?1, ?2, ?3, ?4, ?5)",
                         DB_VALUES(db_of_int((int64_t)version), db_of_text(member->name), db_of_text(member->path),
                                   db_of_text(member->text), db_of_text(span_of(hex, sizeof hex))));
    }
    return code;
}

static enum code insert_version(struct db *db, const struct policy_store_change *change, struct span hash, size_t failing,
                                struct span despite, uint64_t *version)
{
    enum code code = db_change(db, "INSERT INTO policy_version(created_us, author, message, hash, failing_tests, despite) "
                               "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                               DB_VALUES(db_of_int(change->now_us), db_of_text(change->author),
                                         db_of_text(change->why.len > 0 ? change->why : SPAN_NONE), db_of_text(hash),
                                         db_of_int((int64_t)failing), db_of_text(despite)));

    *version = (uint64_t)db_last_id(db);
    return code;
}

static enum code insert_activation(struct db *db, uint64_t version, struct span author, struct span message, int64_t now_us)
{
    return db_change(db, "INSERT INTO policy_activation(version, activated_us, activated_by, message) VALUES (?1, ?2, ?3, ?4)",
                     DB_VALUES(db_of_int((int64_t)version), db_of_int(now_us), db_of_text(author),
                               db_of_text(message.len > 0 ? message : SPAN_NONE)));
}

static enum code store_set(struct db *db, const struct policy_store_change *change, const struct policy_set *set,
                           const struct policy *policy, size_t failing, bool is_lost, struct policy_stored *stored,
                           struct why *why)
{
    struct span despite = failing > 0 || is_lost ? change->why : SPAN_NONE;
    enum code code = CODE_OK;

    if (stored->is_new)
        code = insert_version(db, change, policy_hash(policy), failing, despite, &stored->version);
    if (code == CODE_OK && stored->is_new)
        code = insert_files(db, set, stored->version);
    stored->is_activated = change->activate && !stored->is_active;
    stored->is_active |= change->activate;
    if (code == CODE_OK && stored->is_activated)
        code = insert_activation(db, stored->version, change->author, change->why, change->now_us);
    if (code == CODE_OK)
        code = db_commit(db);
    return db_why(why, code, db, "storing the policy");
}

/* The version that has these texts already: the active one, or the newest that was stored despite nothing. Somebody may have
 * changed what stands there by hand; then it is stored anew. */
static enum code find_equal(struct db *db, uint64_t active, struct span hash, bool is_despite, struct policy_stored *stored,
                            struct why *why)
{
    int64_t version = 0;
    enum code code = db_number(db, "SELECT version FROM policy_version WHERE hash = ?1 AND "
                               "(version = ?2 OR (?3 = 0 AND despite IS NULL)) ORDER BY version = ?2 DESC, version DESC "
                               "LIMIT 1",
                               DB_VALUES(db_of_text(hash), db_of_int((int64_t)active), db_of_int(is_despite)), &version);

    *stored = (struct policy_stored){.is_new = true, .version = (uint64_t)version};
    if (code != CODE_OK || version == 0)
        return db_why(why, code, db, "looking for a version with the same texts");
    code = policy_store_check(db, stored->version, hash, why);
    if (code == CODE_OK)
        *stored = (struct policy_stored){.version = stored->version, .is_active = stored->version == active};
    return code == CODE_INVALID ? CODE_OK : code;
}

/* ---- names that no route has ---- */

struct laying {
    const struct policy_store_change *change;
    struct policy_set *set;
    struct faults *faults, *warnings;
    size_t lost;
};

/* What was active already came about under other routes, and is no reason to refuse something else. */
static void take_stray(void *context, const struct policy_stray *stray)
{
    struct laying *laying = context;
    const struct policy_member *member = policy_set_find(laying->set, stray->policy);
    bool is_lost = stray->is_lost && (member == NULL || member->fate != POLICY_KEPT);
    struct faults *faults = is_lost && !laying->change->despite_strays ? laying->faults : laying->warnings;

    laying->lost += is_lost;
    if (faults == NULL)
        return;
    faults_add(faults, stray->path_text, stray->line, stray->column, "%s", stray->text);
}

static enum code check_names(const struct policy_store_change *change, struct policy_set *set, const struct policy *policy,
                             struct faults *faults, struct faults *warnings, size_t *lost, struct why *why)
{
    struct laying laying = {change, set, faults, warnings, 0};

    policy_strays(policy, change->routes, change->route_count, take_stray, &laying);
    *lost = laying.lost;
    if (faults->count == 0)
        return CODE_OK;
    return why_set(why, CODE_INVALID, "nothing was stored; mend the lines above, or say --despite-unknown-upstreams with --why "
                   "where their routes come later");
}

/* Changes the active version and compiles it. Takes: lost: how much its new files name in vain. */
static enum code compile_change(struct db *db, const struct policy_store_change *change, uint64_t active,
                                struct policy_set *set, struct policy **policy, struct faults *faults,
                                struct faults *warnings, size_t *lost, struct why *why)
{
    char hash[2 * DIGEST_BYTES];
    enum code code = CODE_OK;

    if (active != 0)
        code = policy_set_read(db, active, set, hash, why);
    if (code == CODE_INVALID && change->only && change->may_remove) { /* nothing of it stays, so its text does not matter */
        set->count = 0;
        code = CODE_OK;
    }
    if (code == CODE_OK)
        code = lay_files(set, change, faults);
    if (code == CODE_OK)
        code = take_away(set, change, why);
    if (code == CODE_OK) {
        policy_set_sort(set);
        code = policy_set_compile(set, 0, &policy_authoring, policy, faults, warnings);
        if (code == CODE_OK)
            code = check_names(change, set, *policy, faults, warnings, lost, why);
        if (code == CODE_OK && warnings != NULL)
            code = warn_policy(*policy, change->route_count, warnings);
    }
    if (code == CODE_NOMEM)
        why_set(why, code, "not enough memory for the policy");
    return code;
}

static void tell_failed(void *context, const struct policy_test_result *result)
{
    const struct policy_store_change *change = context;

    if (!result->passed && change->failed != NULL)
        change->failed(change->context, result);
}

/* The tests are judged by the whole set, as the gate would: a file that was not changed may fail through one that was. */
static enum code run_tests(const struct policy_store_change *change, const struct policy *policy, size_t *failing,
                           struct why *why)
{
    struct policy_scratch *scratch = NULL;
    size_t passed = 0;
    enum code code = policy_scratch_new(&scratch);

    if (code == CODE_OK)
        code = policy_test(policy, scratch, tell_failed, (void *)(uintptr_t)change, &passed, failing);
    policy_scratch_free(&scratch);
    if (code != CODE_OK)
        return why_set(why, code, "running the policies' tests: %s", code_text(code));
    if (*failing == 0 || change->despite_tests)
        return CODE_OK;
    return why_set(why, CODE_DENIED, "%zu of the set's %zu tests failed, and nothing was stored; mend the rules or the tests, "
                   "or say --despite-failing-tests with --why", *failing, passed + *failing);
}

/* What is to be stored, made without a lock: whoever loads what takes long to compile or to test keeps nobody out. */
struct made {
    uint64_t onto; /* the version that was active */
    struct policy_set set;
    struct policy *policy;
    size_t failing, lost;
};

static void made_fini(struct made *made)
{
    policy_unref(&made->policy);
    policy_set_fini(&made->set);
}

static enum code make(struct db *db, const struct policy_store_change *change, struct made *made, struct faults *faults,
                      struct faults *warnings, struct why *why)
{
    enum code code = policy_store_active(db, &made->onto, why);

    if (code == CODE_OK)
        code = compile_change(db, change, made->onto, &made->set, &made->policy, faults, warnings, &made->lost, why);
    return code == CODE_OK ? run_tests(change, made->policy, &made->failing, why) : code;
}

/* Returns: CODE_EXISTS: another version became active meanwhile. */
static enum code store_made(struct db *db, const struct policy_store_change *change, const struct made *made,
                            struct policy_stored *stored, struct why *why)
{
    const bool is_despite = made->failing > 0 || made->lost > 0;
    uint64_t active = 0;
    enum code code = db_begin(db);

    if (code != CODE_OK)
        return db_why(why, code, db, "locking the store");
    code = policy_store_active(db, &active, why);
    if (code == CODE_OK && active != made->onto)
        code = why_set(why, CODE_EXISTS, "other versions became active while this one was compiled and tested; look at them, "
                       "and give the command again");
    if (code == CODE_OK)
        code = find_equal(db, active, policy_hash(made->policy), is_despite, stored, why);
    if (code == CODE_OK)
        code = store_set(db, change, &made->set, made->policy, made->failing, made->lost > 0, stored, why);
    if (code != CODE_OK)
        db_rollback(db);
    return code;
}

#define MAKE_TRIES 8

enum code policy_store_apply(struct db *db, const struct policy_store_change *change, struct policy_stored *stored,
                             struct faults *faults, struct faults *warnings, struct why *why)
{
    struct made made;
    enum code code;
    bool again;

    *stored = (struct policy_stored){.version = 0};
    for (int tries = 1;; tries++) {
        made = (struct made){.policy = NULL};
        policy_set_init(&made.set);
        if (warnings != NULL)
            faults_init(warnings); /* of the try before */
        code = make(db, change, &made, faults, warnings, why);
        if (code == CODE_OK)
            code = store_made(db, change, &made, stored, why);
        again = code == CODE_EXISTS && tries < MAKE_TRIES && made.failing == 0; /* what failed has been told */
        if (!again)
            break;
        made_fini(&made);
    }
    for (size_t i = 0; i < made.set.count && code == CODE_OK && change->tell != NULL; i++) {
        const struct policy_member *member = &made.set.members[i];

        change->tell(change->context, member->name, member->is_same ? POLICY_KEPT : member->fate);
    }
    made_fini(&made);
    return code;
}

enum code policy_store_preview(struct db *db, const struct policy_store_change *change, struct policy **policy,
                               struct faults *faults, struct why *why)
{
    struct policy_set set;
    size_t lost;
    uint64_t active;
    enum code code = policy_store_active(db, &active, why);

    *policy = NULL;
    policy_set_init(&set);
    if (code == CODE_OK)
        code = compile_change(db, change, active, &set, policy, faults, NULL, &lost, why);
    policy_set_fini(&set);
    return code;
}

enum code policy_store_activate(struct db *db, uint64_t version, struct span author, struct span message, int64_t now_us,
                                struct faults *faults, struct why *why)
{
    struct policy *policy = NULL;
    enum code code = policy_store_compile(db, version, &policy_authoring, &policy, faults, why);

    policy_unref(&policy);
    if (code != CODE_OK)
        return code;
    return db_why(why, insert_activation(db, version, author, message, now_us), db, "activating the policy");
}
