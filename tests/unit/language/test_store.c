/* SPDX-License-Identifier: Apache-2.0 */
#include "author/store_change.h"
#include "judgement/judgement.h"
#include "language/language.h"
#include "store/store_priv.h"
#include "unit/policy/judge.h"

#define A1 "policy: a\nrules: [{id: a.1, effect: permit}]\n"
#define A2 "policy: a\nrules: [{id: a.2, effect: permit}]\n"
#define B1 "policy: b\nrules: [{id: b.1, effect: forbid}]\n"
#define BROKEN "policy: a\nrules: [{id: a.1, effect: perm}]\n"

struct shop {
    struct db *db;
    struct faults faults;
    struct why why;
    struct policy_stored stored;
    char told[256];
};

static void tell(void *context, struct span name, enum policy_store_fate fate)
{
    char *told = context;
    size_t len = strlen(told);

    snprintf(told + len, 256 - len, "%.*s %s;", SPAN_ARG(name), policy_store_fate_text(fate));
}

static int open_shop(void **state)
{
    struct shop *shop = calloc(1, sizeof *shop);

    assert_non_null(shop);
    assert_int_equal(db_open(":memory:", DB_CREATE, &shop->db, &shop->why), CODE_OK);
    assert_int_equal(db_exec(shop->db, store_schema), CODE_OK);
    *state = shop;
    return 0;
}

static int close_shop(void **state)
{
    struct shop *shop = *state;

    db_close(&shop->db);
    free(shop);
    return 0;
}

static enum code change(struct shop *shop, struct policy_store_change change)
{
    change.author = SPAN_LIT("ada");
    change.now_us = 1000;
    change.tell = tell;
    change.context = shop->told;
    shop->told[0] = '\0';
    faults_init(&shop->faults);
    return policy_store_apply(shop->db, &change, &shop->stored, &shop->faults, NULL, &shop->why);
}

static enum code load(struct shop *shop, const char *first, const char *second)
{
    struct policy_file files[2] = {{SPAN_LIT("1.yaml"), span_text(first)}, {SPAN_LIT("2.yaml"), span_text(second)}};

    return change(shop, (struct policy_store_change){.files = files, .file_count = second ? 2 : 1, .activate = true});
}

static void note_failed(void *context, const struct policy_test_result *result)
{
    char *told = context;
    size_t len = strlen(told);

    snprintf(told + len, 256 - len, "%.*s failed;", SPAN_ARG(result->name));
}

static enum code load_despite(struct shop *shop, const char *text, const char *despite)
{
    struct policy_file file = {SPAN_LIT("1.yaml"), span_text(text)};

    return change(shop, (struct policy_store_change){.files = &file, .file_count = 1, .activate = true,
                                                     .why = span_text(despite), .despite_tests = despite != NULL,
                                                     .failed = note_failed});
}

static uint64_t active(struct shop *shop)
{
    uint64_t version;

    assert_int_equal(policy_store_active(shop->db, &version, &shop->why), CODE_OK);
    return version;
}

static enum code note_file(void *context, const struct policy_store_file *file)
{
    char *text = context;
    size_t len = strlen(text);

    snprintf(text + len, 256 - len, "%.*s=%.*s:", SPAN_ARG(file->name), SPAN_ARG(file->path));
    assert_int_equal(file->sha256.len, 64);
    return CODE_OK;
}

/* 1.20 (Meaning 14): a version is a complete set; a load replaces what it names and keeps the rest. */
TEST_CASE_WITH(test_load, open_shop, close_shop)
{
    struct shop *shop = *state;
    char files[256] = "";
    struct policy *policy;

    assert_int_equal(active(shop), 0);
    assert_int_equal(load(shop, A1, NULL), CODE_OK);
    assert_int_equal(shop->stored.version, 1);
    assert_int_equal(active(shop), 1);
    assert_string_equal(shop->told, "a added;");
    assert_int_equal(load(shop, B1, NULL), CODE_OK);
    assert_string_equal(shop->told, "a kept;b added;");
    assert_int_equal(load(shop, A2, NULL), CODE_OK);
    assert_string_equal(shop->told, "a replaced;b kept;");
    assert_int_equal(active(shop), 3);
    assert_int_equal(policy_store_files(shop->db, 3, note_file, files, &shop->why), CODE_OK);
    assert_string_equal(files, "a=1.yaml:b=1.yaml:");
    assert_int_equal(policy_store_compile(shop->db, 3, &policy_authoring, &policy, &shop->faults, &shop->why), CODE_OK);
    assert_int_equal(policy_version(policy), 3);
    assert_int_equal(policy_rule_count(policy), 2);
    policy_unref(&policy);
    assert_int_equal(policy_store_files(shop->db, 9, note_file, files, &shop->why), CODE_NOT_FOUND);
}

/* 11.15: who enforces a version reads no tests of it, and has the same rules under the same hash. */
TEST_CASE_WITH(test_enforced, open_shop, close_shop)
{
    struct shop *shop = *state;
    struct policy *whole, *enforced;
    struct question question;

    assert_int_equal(load(shop, A1 "tests: [{name: t, call: {tool: x}, expect: {verdict: permit, rule: a.1}}]\n", NULL),
                     CODE_OK);
    assert_int_equal(policy_store_compile(shop->db, 1, &policy_authoring, &whole, &shop->faults, &shop->why), CODE_OK);
    assert_int_equal(policy_store_compile(shop->db, 1, NULL, &enforced, &shop->faults, &shop->why), CODE_OK);
    assert_int_equal(policy_case_question(whole, SPAN_LIT("t"), &question), CODE_OK);
    assert_int_equal(policy_case_question(enforced, SPAN_LIT("t"), &question), CODE_NOT_FOUND);
    assert_int_equal(policy_rule_count(enforced), policy_rule_count(whole));
    assert_true(span_equals(policy_hash(enforced), policy_hash(whole)));
    policy_unref(&whole);
    policy_unref(&enforced);
}

/* 1.20 (Meaning 14): --only makes it exactly these and needs --yes where that removes one; remove drops one. */
TEST_CASE_WITH(test_only_and_remove, open_shop, close_shop)
{
    struct shop *shop = *state;
    struct policy_file a2 = {SPAN_LIT("1.yaml"), SPAN_LIT(A2)};
    struct policy_store_change only = {.files = &a2, .file_count = 1, .only = true, .activate = true};

    assert_int_equal(load(shop, A1, B1), CODE_OK);
    assert_int_equal(change(shop, only), CODE_DENIED);
    assert_non_null(strstr(shop->why.text, "`b`"));
    assert_int_equal(active(shop), 1);
    only.may_remove = true;
    assert_int_equal(change(shop, only), CODE_OK);
    assert_string_equal(shop->told, "a replaced;b removed;");
    only.may_remove = false;
    assert_int_equal(change(shop, only), CODE_OK); /* removes nothing: no --yes needed */
    assert_int_equal(change(shop, (struct policy_store_change){.remove = SPAN_LIT("b"), .activate = true}), CODE_NOT_FOUND);
    assert_int_equal(load(shop, B1, NULL), CODE_OK);
    assert_int_equal(change(shop, (struct policy_store_change){.remove = SPAN_LIT("a"), .activate = true}), CODE_OK);
    assert_string_equal(shop->told, "a removed;b kept;");
}

/* 1.22: one transaction or nothing; what does not compile never becomes active. */
TEST_CASE_WITH(test_broken, open_shop, close_shop)
{
    struct shop *shop = *state;

    assert_int_equal(load(shop, A1, NULL), CODE_OK);
    assert_int_equal(load(shop, BROKEN, NULL), CODE_INVALID);
    assert_int_equal(shop->faults.count, 1);
    assert_string_equal(shop->faults.fault[0].file, "1.yaml");
    assert_int_equal(load(shop, "rules: []\n", "policy: [\n"), CODE_INVALID);
    assert_true(shop->faults.count >= 2); /* both files are told */
    assert_int_equal(load(shop, A1, A2), CODE_INVALID); /* one name twice */
    assert_int_equal(load(shop, "policy: c\nrules: [{id: a.1, effect: permit}]\n", NULL), CODE_INVALID); /* id taken */
    assert_int_equal(active(shop), 1);
    assert_int_equal(load(shop, A2, NULL), CODE_OK);
    assert_int_equal(shop->stored.version, 2); /* nothing of the failures was kept */
}

struct listed {
    char text[512];
};

static enum code note_version(void *context, const struct policy_store_version *version)
{
    struct listed *listed = context;
    size_t len = strlen(listed->text);

    snprintf(listed->text + len, sizeof listed->text - len, "%d%s by %.*s (%d) %.*s;", (int)version->version,
             version->is_active ? "*" : "", SPAN_ARG(version->author), (int)version->files, SPAN_ARG(version->message));
    return CODE_OK;
}

/* 1.22: rollback is activation of an old version; the history keeps everything. */
TEST_CASE_WITH(test_activate, open_shop, close_shop)
{
    struct shop *shop = *state;
    struct policy_file a2 = {SPAN_LIT("1.yaml"), SPAN_LIT(A2)};
    struct listed listed = {""};

    assert_int_equal(load(shop, A1, NULL), CODE_OK);
    assert_int_equal(
        change(shop, (struct policy_store_change){.files = &a2, .file_count = 1, .why = SPAN_LIT("why")}), CODE_OK);
    assert_int_equal(shop->stored.version, 2);
    assert_int_equal(active(shop), 1); /* --no-activate */
    assert_int_equal(policy_store_activate(shop->db, 2, SPAN_LIT("bob"), SPAN_LIT("back"), 5, &shop->faults, &shop->why), CODE_OK);
    assert_int_equal(active(shop), 2);
    assert_int_equal(policy_store_activate(shop->db, 1, SPAN_LIT("bob"), SPAN_LIT("back"), 6, &shop->faults, &shop->why), CODE_OK);
    assert_int_equal(active(shop), 1);
    assert_int_equal(policy_store_activate(shop->db, 7, SPAN_LIT("bob"), SPAN_LIT("back"), 7, &shop->faults, &shop->why), CODE_NOT_FOUND);
    assert_int_equal(policy_store_list(shop->db, note_version, &listed, &shop->why), CODE_OK);
    assert_string_equal(listed.text, "2 by ada (1) why;1* by ada (1) ;");
}

static enum code note_despite(void *context, const struct policy_store_version *version)
{
    char *text = context;
    size_t len = strlen(text);

    snprintf(text + len, 256 - len, "%llu %llu %.*s;", (unsigned long long)version->version,
             (unsigned long long)version->failing_tests, SPAN_ARG(version->despite));
    return CODE_OK;
}

static void assert_stored(struct shop *shop, uint64_t version, bool is_new, bool is_activated, bool is_active)
{
    assert_int_equal(shop->stored.version, version);
    assert_int_equal(shop->stored.is_new, is_new);
    assert_int_equal(shop->stored.is_activated, is_activated);
    assert_int_equal(shop->stored.is_active, is_active);
}

/* 13.4: the same texts are the same version, however often they are loaded, as at each start of a container. */
TEST_CASE_WITH(test_same_again, open_shop, close_shop)
{
    struct shop *shop = *state;
    struct policy_file a1 = {SPAN_LIT("other/place.yaml"), SPAN_LIT(A1)};
    int64_t activations = 0;

    assert_int_equal(load(shop, A1, NULL), CODE_OK);
    assert_stored(shop, 1, true, true, true);
    assert_int_equal(change(shop, (struct policy_store_change){.files = &a1, .file_count = 1, .only = true, .activate = true}), CODE_OK);
    assert_stored(shop, 1, false, false, true);
    assert_string_equal(shop->told, "a kept;");
    assert_int_equal(change(shop, (struct policy_store_change){.files = &a1, .file_count = 1}), CODE_OK);
    assert_stored(shop, 1, false, false, true); /* --no-activate takes nothing back */
    assert_int_equal(load(shop, A2, NULL), CODE_OK);
    assert_stored(shop, 2, true, true, true);
    assert_int_equal(change(shop, (struct policy_store_change){.files = &a1, .file_count = 1}), CODE_OK);
    assert_stored(shop, 1, false, false, false);
    assert_int_equal(active(shop), 2);
    assert_int_equal(change(shop, (struct policy_store_change){.files = &a1, .file_count = 1, .why = SPAN_LIT("back"),
                                                               .activate = true}), CODE_OK);
    assert_stored(shop, 1, false, true, true);
    assert_string_equal(shop->told, "a replaced;");
    assert_int_equal(active(shop), 1);
    assert_int_equal(db_number(shop->db, "SELECT count(*) FROM policy_activation", NULL, 0, &activations), CODE_OK);
    assert_int_equal(activations, 3); /* who went back, and why, is kept */
    assert_int_equal(db_number(shop->db, "SELECT count(*) FROM policy_activation WHERE version = 1 AND message = 'back'", NULL, 0,
                               &activations), CODE_OK);
    assert_int_equal(activations, 1);
}

/* A hash that stands beside another text is no reason to store nothing. */
TEST_CASE_WITH(test_same_but_changed_by_hand, open_shop, close_shop)
{
    struct shop *shop = *state;
    struct policy_file a1 = {SPAN_LIT("1.yaml"), SPAN_LIT(A1)};
    struct policy_store_change only = {.files = &a1, .file_count = 1, .only = true, .may_remove = true, .activate = true};

    assert_int_equal(load(shop, A1, NULL), CODE_OK);
    assert_int_equal(db_exec(shop->db, "DROP TRIGGER policy_file_stays; UPDATE policy_file SET text = text || '# more'"), CODE_OK);
    assert_int_equal(change(shop, only), CODE_OK);
    assert_stored(shop, 2, true, true, true);
}

/* What was stored although tests failed says so of itself: whoever stores it with another reason, or with none, has his own. */
TEST_CASE_WITH(test_same_despite, open_shop, close_shop)
{
    struct shop *shop = *state;
    char text[256] = "";
    const char *failing = A1 "tests: [{name: t, call: {tool: x}, expect: {verdict: deny}}]\n";

    assert_int_equal(load_despite(shop, failing, "first"), CODE_OK);
    assert_int_equal(load_despite(shop, failing, "again"), CODE_OK);
    assert_stored(shop, 1, false, false, true); /* a container says it each time */
    assert_int_equal(load(shop, A2, NULL), CODE_OK);
    assert_int_equal(load_despite(shop, failing, "second"), CODE_OK);
    assert_stored(shop, 3, true, true, true);
    assert_int_equal(policy_store_list(shop->db, note_despite, text, &shop->why), CODE_OK);
    assert_string_equal(text, "3 1 second;2 0 ;1 1 first;");
}

static enum code note_activation(void *context, const struct policy_store_version *activation)
{
    struct listed *listed = context;
    size_t len = strlen(listed->text);

    snprintf(listed->text + len, sizeof listed->text - len, "%d at %d by %.*s: %.*s;", (int)activation->version,
             (int)activation->activated_us, SPAN_ARG(activation->activated_by), SPAN_ARG(activation->activated_why));
    return CODE_OK;
}

#define PASSES "tests: [{name: t, call: {tool: x}, expect: {verdict: permit, rule: a.1}}]\n"

struct beside {
    struct shop *shop;
    bool is_done;
};

/* Somebody else's, in the middle of the tests. */
static void load_beside(void *context, const struct policy_test_result *result)
{
    struct beside *beside = context;
    struct shop other = {.db = beside->shop->db};

    (void)result;
    if (!beside->is_done)
        assert_int_equal(load(&other, "policy: c\nrules: [{id: c.1, effect: permit}]\n", NULL), CODE_OK);
    beside->is_done = true;
}

/* 7.9: whoever compiles and tests for long holds no lock, and what he stores is what he tested. */
TEST_CASE_WITH(test_tests_hold_no_lock, open_shop, close_shop)
{
    struct shop *shop = *state;
    const struct policy_file file = {SPAN_LIT("a.yaml"), SPAN_LIT(A1 "tests: [{name: t, call: {tool: x}, expect: {verdict: deny}}]\n")};
    struct beside beside = {shop, false};
    struct policy_store_change change = {.files = &file, .file_count = 1, .activate = true, .author = SPAN_LIT("ada"), .now_us = 1,
                                         .why = SPAN_LIT("why"), .despite_tests = true, .failed = load_beside, .context = &beside};

    faults_init(&shop->faults);
    assert_int_equal(policy_store_apply(shop->db, &change, &shop->stored, &shop->faults, NULL, &shop->why), CODE_EXISTS);
    assert_non_null(strstr(shop->why.text, "other versions became active"));
    assert_int_equal(active(shop), 1);
    assert_int_equal(policy_store_apply(shop->db, &change, &shop->stored, &shop->faults, NULL, &shop->why), CODE_OK);
    assert_int_equal(active(shop), 2);
}

/* 7.1: the tests of the whole set decide, those of files that were not touched too; who stores it all the same says why. */
TEST_CASE_WITH(test_failing_tests, open_shop, close_shop)
{
    struct shop *shop = *state;
    char text[256] = "";

    assert_int_equal(load_despite(shop, A1 PASSES, NULL), CODE_OK);
    assert_string_equal(shop->told, "a added;");
    assert_int_equal(load_despite(shop, B1, NULL), CODE_DENIED);
    assert_string_equal(shop->told, "t failed;");
    assert_non_null(strstr(shop->why.text, "1 of the set's 1 tests failed, and nothing was stored"));
    assert_int_equal(active(shop), 1);
    assert_int_equal(load_despite(shop, B1, "an attack is under way"), CODE_OK);
    assert_string_equal(shop->told, "t failed;a kept;b added;");
    assert_int_equal(active(shop), 2);
    /* Nothing fails, so the reason for it is not kept. */
    assert_int_equal(load_despite(shop, "policy: b\nrules: [{id: b.1, effect: permit}]\n", "no need"), CODE_OK);
    assert_int_equal(policy_store_list(shop->db, note_despite, text, &shop->why), CODE_OK);
    assert_string_equal(text, "3 0 ;2 1 an attack is under way;1 0 ;");
    /* Taking a policy away is a change like any other. */
    assert_int_equal(load_despite(shop, "policy: c\nrules: [{id: c.1, effect: permit}]\n"
                                        "tests: [{name: u, call: {tool: y}, expect: {verdict: permit, rule: a.1}}]\n", NULL), CODE_OK);
    assert_int_equal(change(shop, (struct policy_store_change){.remove = SPAN_LIT("a"), .activate = true}), CODE_DENIED);
    assert_int_equal(active(shop), 4);
}

/* 7.2: what new files forbid where no route is, is refused; what was active already, or may be so, is told. */
TEST_CASE_WITH(test_strays, open_shop, close_shop)
{
    static const struct policy_route routes[] = {{.name = "shop"}, {.name = "dojo-*"}};
    static const char stray[] = "policy: s\nrules: [{id: s.1, effect: forbid, match: {upstreams: [shpo]}}]\n";
    static const char fine[] = "policy: f\nrules: [{id: f.1, effect: forbid, match: {upstreams: [dojo-7, shop]}}]\n";
    struct shop *shop = *state;
    const struct policy_file files[] = {{SPAN_LIT("s.yaml"), span_text(stray)}, {SPAN_LIT("f.yaml"), span_text(fine)}};
    struct policy_store_change one = {.files = files, .file_count = 1, .activate = true, .routes = routes, .route_count = 2};
    char text[256] = "";

    assert_int_equal(change(shop, one), CODE_INVALID);
    assert_int_equal(shop->faults.count, 1);
    assert_non_null(strstr(shop->faults.fault[0].text, "the forbid `s.1` names the upstream `shpo`, which no route has"));
    assert_non_null(strstr(shop->faults.fault[0].text, "did you mean `shop`?"));
    assert_non_null(strstr(shop->why.text, "--despite-unknown-upstreams with --why"));
    assert_int_equal(active(shop), 0);
    one.despite_strays = true;
    one.why = SPAN_LIT("the route comes tonight");
    assert_int_equal(change(shop, one), CODE_OK);
    one = (struct policy_store_change){.files = files + 1, .file_count = 1, .activate = true, .routes = routes, .route_count = 2};
    assert_int_equal(change(shop, one), CODE_OK); /* the other one was there */
    assert_int_equal(active(shop), 2);
    assert_int_equal(policy_store_list(shop->db, note_despite, text, &shop->why), CODE_OK);
    assert_string_equal(text, "2 0 ;1 0 the route comes tonight;");
    one.files = files;
    one.route_count = 0; /* nothing is known of routes */
    assert_int_equal(change(shop, one), CODE_OK);
}

/* 2.7: what was in force when, by whom and why; a rollback says why like a load does. */
TEST_CASE_WITH(test_why, open_shop, close_shop)
{
    struct shop *shop = *state;
    struct policy_file a2 = {SPAN_LIT("1.yaml"), SPAN_LIT(A2)};
    struct policy_store_change second = {.files = &a2, .file_count = 1, .activate = true, .why = SPAN_LIT("tighter")};
    struct listed listed = {""};

    assert_int_equal(load(shop, A1, NULL), CODE_OK);
    assert_int_equal(change(shop, second), CODE_OK);
    assert_int_equal(policy_store_activate(shop->db, 1, SPAN_LIT("bob"), SPAN_LIT("too tight"), 5, &shop->faults, &shop->why),
                     CODE_OK);
    assert_int_equal(policy_store_activations(shop->db, note_activation, &listed, &shop->why), CODE_OK);
    assert_string_equal(listed.text, "1 at 5 by bob: too tight;2 at 1000 by ada: tighter;1 at 1000 by ada: ;");
}

/* 1.20, 2.7: versions are immutable and the history append-only, whoever holds the database. */
TEST_CASE_WITH(test_immutable, open_shop, close_shop)
{
    static const char *const statements[] = {
        "UPDATE policy_version SET author = 'eve'",    "DELETE FROM policy_version",
        "UPDATE policy_file SET text = 'x'",           "DELETE FROM policy_file",
        "UPDATE policy_activation SET version = 1",    "DELETE FROM policy_activation",
    };
    struct shop *shop = *state;
    struct policy *policy;

    assert_int_equal(load(shop, A1, NULL), CODE_OK);
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        assert_int_not_equal(db_exec(shop->db, statements[i]), CODE_OK);
    /* Who goes round the triggers is found by the digest. */
    assert_int_equal(db_exec(shop->db, "DROP TRIGGER policy_file_stays; "
                                       "UPDATE policy_file SET text = replace(text, 'a.1', 'a.9')"), CODE_OK);
    assert_int_equal(policy_store_compile(shop->db, 1, &policy_authoring, &policy, &shop->faults, &shop->why), CODE_INVALID);
    assert_null(policy);
    assert_int_equal(policy_store_activate(shop->db, 1, SPAN_LIT("eve"), SPAN_NONE, 5, &shop->faults, &shop->why), CODE_INVALID);
}

static enum code must_not_be_told(void *context, const struct policy_store_file *file)
{
    (void)file;
    *(bool *)context = true;
    return CODE_OK;
}

/* 4.6: whatever of a version's files was changed, its text is read by nobody, and the sentence names both hashes. */
TEST_CASE_WITH(test_changed, open_shop, close_shop)
{
    static const char *const changes[] = {
        "UPDATE policy_file SET text = text || ' ' WHERE version = 2 AND name = 'a'",
        "UPDATE policy_file SET name = 'c' WHERE version = 2 AND name = 'a'",
        "DELETE FROM policy_file WHERE version = 2 AND name = 'b'",
        "INSERT INTO policy_file SELECT version, 'c', path, text, sha256 FROM policy_file WHERE version = 2 AND name = 'a'",
        "UPDATE policy_file SET sha256 = replace(hex(zeroblob(32)), '0', 'a') WHERE version = 2",
        "UPDATE policy_version SET hash = hash || '' WHERE 0; UPDATE policy_version SET hash = (SELECT hash FROM policy_version "
        "WHERE version = 1) WHERE version = 2",
    };
    struct shop *shop = *state;

    assert_int_equal(load(shop, A1, B1), CODE_OK);
    assert_int_equal(load(shop, A2, NULL), CODE_OK);
    assert_int_equal(db_exec(shop->db, "DROP TRIGGER policy_file_stays; DROP TRIGGER policy_file_remains; "
                                       "DROP TRIGGER policy_version_stays"), CODE_OK);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct policy *policy;
        bool told = false;

        assert_int_equal(db_exec(shop->db, "BEGIN"), CODE_OK);
        assert_int_equal(db_exec(shop->db, changes[i]), CODE_OK);
        assert_int_equal(policy_store_files(shop->db, 2, must_not_be_told, &told, &shop->why), CODE_INVALID);
        assert_false(told);
        assert_non_null(strstr(shop->why.text, "policy version 2"));
        assert_int_equal(policy_store_compile(shop->db, 2, &policy_authoring, &policy, &shop->faults, &shop->why), CODE_INVALID);
        assert_null(policy);
        assert_int_equal(db_exec(shop->db, "ROLLBACK"), CODE_OK);
        assert_int_equal(policy_store_files(shop->db, 2, must_not_be_told, &told, &shop->why), CODE_OK);
        assert_true(told);
    }
}

/* 4.21: what the database says is not taken for want of memory, nor the other way round. */
TEST_CASE_WITH(test_the_reason_is_told, open_shop, close_shop)
{
    struct shop *shop = *state;
    uint64_t version;

    mem_fail_at(1, 1);
    assert_int_equal(policy_store_active(shop->db, &version, &shop->why), CODE_NOMEM);
    mem_fail_at(0, 0);
    assert_string_equal(shop->why.text, "asking for the active policy failed: not enough memory");
    assert_int_equal(db_exec(shop->db, "DROP TABLE policy_activation"), CODE_OK);
    assert_int_not_equal(policy_store_active(shop->db, &version, &shop->why), CODE_OK);
    assert_non_null(strstr(shop->why.text, "no such table"));
}

/* 4.6: who has a hash asks whether its text is there. */
TEST_CASE_WITH(test_check, open_shop, close_shop)
{
    static char other[64];
    struct shop *shop = *state;
    struct policy *policy;

    assert_int_equal(load(shop, A1, NULL), CODE_OK);
    assert_int_equal(policy_store_compile(shop->db, 1, &policy_authoring, &policy, &shop->faults, &shop->why), CODE_OK);
    assert_int_equal(policy_store_check(shop->db, 1, policy_hash(policy), &shop->why), CODE_OK);
    assert_int_equal(policy_store_check(shop->db, 2, policy_hash(policy), &shop->why), CODE_NOT_FOUND);
    memset(other, '0', sizeof other);
    assert_int_equal(policy_store_check(shop->db, 1, span_of(other, sizeof other), &shop->why), CODE_INVALID);
    assert_non_null(strstr(shop->why.text, "0000000000"));
    policy_unref(&policy);
}

/* Whichever allocation fails: nothing is stored, or all. */
TEST_CASE_WITH(test_memory, open_shop, close_shop)
{
    struct shop *shop = *state;
    enum code code = CODE_NOMEM;

    assert_int_equal(load(shop, B1, NULL), CODE_OK);
    for (uint64_t nth = 1; code != CODE_OK; nth++) {
        uint64_t before = active(shop);

        assert_true(nth < 100000);
        mem_fail_at(nth, 0);
        code = load(shop, A1, NULL);
        mem_fail_at(0, 0);
        assert_true(code == CODE_OK || code == CODE_NOMEM);
        assert_int_equal(active(shop), code == CODE_OK ? before + 1 : before);
    }
}

TEST_MAIN(NULL, NULL)
