/* SPDX-License-Identifier: Apache-2.0 */
/* How many people approve a held call: who is told apart, what counts how long, and that nobody approves his own. */
#include "store/store.h"
#include "store/store_approvals.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOW INT64_C(1700000000000000)
#define MINUTE INT64_C(60000000)
#define DAY APPROVAL_FORGET_US

static char folder[64], path[96];
static struct db *db;

static int open_it(void **state)
{
    struct why why = {0};

    (void)state;
    snprintf(folder, sizeof folder, "/tmp/callgate-people-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/callgate.db", folder);
    return store_open(path, DB_CREATE, &db, &why) == CODE_OK ? 0 : -1;
}

static int close_it(void **state)
{
    (void)state;
    db_close(&db);
    unlink(path);
    return rmdir(folder);
}

static void must(enum code code, const struct why *why)
{
    if (code != CODE_OK)
        fail_msg("%s: %s", code_text(code), why->text);
}

static struct span authentication = SPAN_LIT("api_key");

static struct span approvers, tenant = SPAN_LIT("acme");

/* One held call that needs so many; `which` makes it another one. */
static void ask(char which, uint32_t needed, int64_t asked_us)
{
    struct approval_ask asked = {
        .tenant = tenant, .principal = SPAN_LIT("bot"), .upstream = SPAN_LIT("shop"),
        .method = SPAN_LIT("tools/call"), .tool = SPAN_LIT("mail"), .arguments = SPAN_LIT("{}"), .arguments_bytes = 2,
        .rule = SPAN_LIT("r"), .rule_hash = SPAN_LIT("h"), .policy_version = 1, .decision = 7, .asked_us = asked_us,
        .needed = needed, .authentication = authentication, .approvers = approvers,
    };
    struct why why = {0};

    memset(asked.digest, which, sizeof asked.digest);
    must(store_begin(db, &why), &why);
    must(store_approval_ask(db, SPAN_LIT("gate-1"), &asked, &why), &why);
    must(store_end(db, CODE_OK, NULL, &why), &why);
}

static bool says_again;
static struct store_person speaker;

static enum code answer(int64_t number, bool is_granted, int64_t given_us, int64_t for_us, struct why *why)
{
    struct store_answer said = {
        .ask = number, .is_granted = is_granted, .given_us = given_us, .until_us = given_us + for_us, .by = SPAN_LIT("ada"),
        .login = SPAN_LIT("root"), .why = SPAN_LIT("fine"), .is_again = says_again, .person = speaker,
    };
    enum code code;

    must(store_begin(db, why), why);
    code = store_approval_answer(db, &said, why);
    if (code == CODE_OK)
        must(store_approvals_forget(db, given_us, why), why);
    return store_end(db, code, NULL, why);
}

struct seen {
    int count;
    int64_t id, now_us;
    enum store_approval_state state;
    bool has_arguments;
};

static enum code note(void *context, const struct store_approval *approval)
{
    struct seen *seen = context;

    seen->count++;
    seen->id = approval->id;
    seen->state = store_approval_state(approval, seen->now_us);
    seen->has_arguments = approval->arguments.at != NULL;
    return CODE_OK;
}

static struct seen look(enum store_approvals which, int64_t number, int64_t now_us)
{
    struct seen seen = {.now_us = now_us};
    struct why why = {0};

    must(store_approvals_each(db, which, number, now_us, note, &seen, &why), &why);
    return seen;
}

/* Takes: name: NULL: only the account is known. */
static enum code word_of(const char *name, int64_t account, int64_t given_us, int64_t for_us)
{
    struct why why = {0};
    enum code code;

    speaker = (struct store_person){.name = span_text(name), .account = account};
    code = answer(1, true, given_us, for_us, &why);
    speaker = (struct store_person){.account = 0};
    return code;
}

static size_t voices(int64_t now_us)
{
    struct store_voices all;
    struct why why = {0};

    must(store_approval_voices(db, 1, now_us, &all, &why), &why);
    return all.count;
}

static enum store_approval_state state_of(int64_t now_us)
{
    return look(APPROVALS_ONE, 1, now_us).state;
}

/* 8.8 */
TEST_CASE_WITH(two_people_are_two, open_it, close_it)
{
    struct why why = {0};

    ask('a', 2, NOW);
    /* One, however often and under whatever name, is one. */
    must(word_of(NULL, 1000, NOW, MINUTE), &why);
    must(word_of(NULL, 1000, NOW + 1, MINUTE), &why);
    must(word_of("ann", 1000, NOW + 2, MINUTE), &why);
    assert_int_equal(state_of(NOW + 3), APPROVAL_IS_WAITING);
    assert_int_equal(voices(NOW + 3), 1);
    assert_true(look(APPROVALS_OPEN, 0, NOW + 3).count == 1 && look(APPROVALS_WAITING, 0, NOW + 3).has_arguments);
    must(word_of("ann", 2000, NOW + 4, MINUTE), &why); /* nor is an account by which the name was shown another person */
    assert_int_equal(voices(NOW + 4), 1);
    assert_int_equal(voices(NOW + MINUTE + 3), 1);
    must(word_of(NULL, 1000, NOW + MINUTE + 5, MINUTE), &why); /* also when that word is over */
    assert_int_equal(voices(NOW + MINUTE + 5), 0);
    must(word_of(NULL, 2001, NOW + MINUTE + 5, MINUTE), &why);
    assert_int_equal(voices(NOW + MINUTE + 5), 1);
    must(word_of("ann", 2000, NOW + MINUTE + 5, MINUTE), &why);
    assert_int_equal(state_of(NOW + MINUTE + 5), APPROVAL_IS_APPROVED);
}

/* 8.8 */
TEST_CASE_WITH(names_that_were_shown_tell_people_apart, open_it, close_it)
{
    struct why why = {0};
    int64_t until_us;

    ask('a', 2, NOW);
    must(word_of("ann", 1000, NOW, MINUTE), &why);
    must(word_of("Ann", 2000, NOW, MINUTE), &why);
    must(word_of(NULL, 1000, NOW, MINUTE), &why);
    assert_int_equal(voices(NOW), 1);
    must(word_of("bob", 1000, NOW + 1, 2 * MINUTE), &why); /* two logins by one account of a container are two */
    assert_int_equal(state_of(NOW + 2), APPROVAL_IS_APPROVED);
    assert_false(look(APPROVALS_ONE, 1, NOW + 2).has_arguments);
    assert_int_equal(db_number(db, "SELECT until_us FROM approval WHERE id = 1", NULL, 0, &until_us), CODE_OK);
    assert_int_equal(until_us, NOW + MINUTE); /* of the two the shorter */
    assert_int_equal(state_of(NOW + MINUTE), APPROVAL_IS_OVER);
    assert_int_equal(word_of("ann", 1000, NOW + MINUTE, MINUTE), CODE_DENIED);
}

/* 8.8: words count while they last, and none from before a refusal. */
TEST_CASE_WITH(both_hold_at_once, open_it, close_it)
{
    struct why why = {0};

    ask('a', 2, NOW);
    must(word_of(NULL, 1, NOW, MINUTE), &why);
    must(word_of(NULL, 2, NOW + MINUTE, MINUTE), &why);
    assert_int_equal(state_of(NOW + MINUTE), APPROVAL_IS_WAITING);
    assert_int_equal(voices(NOW + MINUTE), 1);
    must(answer(1, false, NOW + MINUTE, DAY, &why), &why); /* one refusal refuses */
    assert_int_equal(state_of(NOW + MINUTE), APPROVAL_IS_REFUSED);
    assert_int_equal(word_of(NULL, 1, NOW + MINUTE, MINUTE), CODE_DENIED);
    says_again = true;
    must(word_of(NULL, 1, NOW + MINUTE, MINUTE), &why);
    assert_int_equal(state_of(NOW + MINUTE), APPROVAL_IS_REFUSED); /* what the other one said before is over */
    must(word_of(NULL, 2, NOW + MINUTE, 2 * MINUTE), &why);
    says_again = false;
    assert_int_equal(state_of(NOW + MINUTE), APPROVAL_IS_APPROVED);
    must(word_of(NULL, 1, NOW + MINUTE, 3 * MINUTE), &why); /* for longer */
    assert_int_equal(state_of(NOW + 2 * MINUTE), APPROVAL_IS_APPROVED);
    assert_int_equal(state_of(NOW + 3 * MINUTE), APPROVAL_IS_OVER);
    ask('a', 2, NOW + 3 * MINUTE);
    assert_int_equal(look(APPROVALS_WAITING, 0, NOW + 3 * MINUTE).id, 2); /* and the next asks everybody anew */
}

/* 8.8 */
TEST_CASE_WITH(nobody_approves_himself, open_it, close_it)
{
    const struct span aliases[] = {SPAN_LIT("ann"), SPAN_LIT("Bot")};
    struct why why = {0};

    authentication = SPAN_LIT("api_key");
    ask('a', 1, NOW);
    speaker = (struct store_person){.aliases = aliases, .alias_count = 2};
    assert_int_equal(answer(1, true, NOW, MINUTE, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "in your own name"));
    must(answer(1, false, NOW, MINUTE, &why), &why); /* but may refuse it */
    /* Where nobody is asked who he is, the name is the configuration's. */
    authentication = SPAN_LIT("none");
    ask('b', 1, NOW);
    must(answer(2, true, NOW, MINUTE, &why), &why);
    ask('c', 2, NOW);
    assert_int_equal(answer(3, true, NOW, MINUTE, &why), CODE_DENIED);
    speaker.alias_count = 0;
    authentication = SPAN_LIT("api_key");
}

static enum code word_of_known(const char *name, int64_t account, const char *known, int64_t given_us)
{
    struct why why = {0};
    enum code code;

    speaker = (struct store_person){.name = span_text(name), .account = account, .known = span_text(known)};
    code = answer(1, true, given_us, MINUTE, &why);
    speaker = (struct store_person){.account = 0};
    return code;
}

/* 8.8: somebody who is known by a name of another's is that one, also where that is said by a third word. */
TEST_CASE_WITH(who_shares_a_name_is_one, open_it, close_it)
{
    ask('a', 2, NOW);
    assert_int_equal(word_of_known(NULL, 1000, "ann\n", NOW), CODE_OK); /* her account, */
    assert_int_equal(word_of_known("Ann", 2000, "Ann\n", NOW + 1), CODE_OK); /* her key over an account of many, */
    assert_int_equal(voices(NOW + 2), 1);
    assert_int_equal(word_of_known("corp:1", 3000, "corp:1\n1\na@example.com\nANN\n", NOW + 2), CODE_OK); /* her provider's word */
    assert_int_equal(voices(NOW + 3), 1);
    assert_int_equal(state_of(NOW + 3), APPROVAL_IS_WAITING);
    assert_int_equal(word_of_known("corp:11", 2000, "corp:11\n11\nb@example.com\n", NOW + 3), CODE_OK);
    assert_int_equal(state_of(NOW + 4), APPROVAL_IS_APPROVED); /* no beginning of a name is one */
}

/* 8.8 */
TEST_CASE_WITH(a_third_word_makes_two_one, open_it, close_it)
{
    ask('a', 3, NOW);
    assert_int_equal(word_of_known("ann", 1, "ann\n", NOW), CODE_OK);
    assert_int_equal(word_of_known("mail", 2, "mail\na@example.com\n", NOW), CODE_OK);
    assert_int_equal(voices(NOW), 2);
    assert_int_equal(word_of_known("corp:1", 3, "corp:1\nann\nA@example.com\n", NOW), CODE_OK);
    assert_int_equal(voices(NOW), 1);
    assert_int_equal(word_of_known("bob", 4, "bob\n", NOW), CODE_OK);
    assert_int_equal(voices(NOW), 2);
    assert_int_equal(state_of(NOW), APPROVAL_IS_WAITING);
}

/* Takes: fault: a part of why not; NULL: his word is taken. */
static void check_word(int64_t number, bool is_granted, const struct store_person *person, const char *fault)
{
    struct why why = {""};
    enum code code;

    speaker = *person;
    code = answer(number, is_granted, NOW, MINUTE, &why);
    speaker = (struct store_person){.account = 0};
    if (fault == NULL ? code != CODE_OK : code == CODE_OK || strstr(why.text, fault) == NULL)
        fail_msg("approval %d, %.*s: %s, %s", (int)number, SPAN_ARG(person->names), code_text(code), why.text);
}

static struct store_person of_names(const char *names)
{
    return (struct store_person){.names = span_text(names)};
}

/* 12.8: any of the names, each as it is written and whole; nobody else approves, refuses or takes back. */
TEST_CASE_WITH(who_has_none_of_the_names_decides_nothing, open_it, close_it)
{
    static const char *const none[] = {
        "", "role:approver\n", "role:approver\nrole:admin\nrole:author\nrole:auditor\nrole:viewer\n", "group:Treasury\n",
        "group:treasur\n", "group:treasury2\n", "role:treasury\ntenant:treasury\ngroup:acme\n", "role:approver:acme\n",
        "group:\"group:treasury\"\n", "tenant:ACME\n", "treasury\nself\nacme\n",
    };
    struct store_person own = of_names("group:treasury\n");
    const struct span alias = SPAN_LIT("bot");

    approvers = SPAN_LIT("group:treasury\ntenant:acme");
    ask('a', 1, NOW);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        for (int is_granted = 0; is_granted < 2; is_granted++)
            check_word(1, is_granted, &(struct store_person){.names = span_text(none[i])},
                       "is decided by group:treasury or tenant:acme, as rule r says");
    own.aliases = &alias;
    own.alias_count = 1;
    check_word(1, true, &own, "in your own name"); /* who asks may be in the group: still */
    check_word(1, true, &(struct store_person){.names = SPAN_LIT("role:approver\ngroup:treasury\n")}, NULL);
    assert_int_equal(state_of(NOW), APPROVAL_IS_APPROVED);
    check_word(1, false, &(struct store_person){.names = SPAN_LIT("role:admin\n")}, "is decided by");
    check_word(1, false, &(struct store_person){.names = SPAN_LIT("tenant:acme\n")}, NULL);
    assert_int_equal(state_of(NOW), APPROVAL_IS_REFUSED);
    approvers = SPAN_LIT(""); /* names nobody */
    ask('b', 1, NOW);
    check_word(2, true, &(struct store_person){.names = SPAN_LIT("role:approver\n\n")}, "is decided by");
    approvers = SPAN_NONE;
    ask('c', 1, NOW);
    check_word(3, true, &(struct store_person){.names = SPAN_LIT("")}, NULL); /* without names: as ever */
}

/* 12.8: one person in both groups is one. */
TEST_CASE_WITH(two_groups_are_not_two_people, open_it, close_it)
{
    struct store_person both = of_names("group:treasury\ngroup:ops\n");

    both.name = SPAN_LIT("ann");
    approvers = SPAN_LIT("group:treasury\ngroup:ops");
    ask('a', 2, NOW);
    check_word(1, true, &both, NULL);
    check_word(1, true, &both, NULL);
    assert_int_equal(voices(NOW), 1);
    assert_int_equal(state_of(NOW), APPROVAL_IS_WAITING);
    both = of_names("group:ops\n");
    both.name = SPAN_LIT("bob");
    check_word(1, true, &both, NULL);
    assert_int_equal(state_of(NOW), APPROVAL_IS_APPROVED);
    approvers = SPAN_NONE;
}

static struct store_person logged_in(const char *of, const char *as)
{
    return (struct store_person){.tenant = span_text(of), .principal = span_text(as)};
}

/* 12.8: `approvers: self` is a login of the very principal and tenant. */
TEST_CASE_WITH(self_is_a_login_of_who_asks, open_it, close_it)
{
    static const char *const others[][2] = {{"globex", "bot"}, {"acme", "Bot"}, {"ACME", "bot"}, {"acme", "bot2"}, {"acme", "bo"},
                                            {"", "bot"}, {"acme", ""}, {"", ""}};
    const struct span alias = SPAN_LIT("bot");
    struct store_person person = of_names("role:admin\nrole:approver\nrole:approver:acme\ngroup:self\nself\ntenant:acme\n");

    approvers = SPAN_LIT("self");
    ask('a', 1, NOW);
    check_word(1, true, &person, "decided by who asks for it, bot of tenant acme");
    person.aliases = &alias; /* an account or a key by this name */
    person.alias_count = 1;
    check_word(1, true, &person, "decided by who asks");
    check_word(1, false, &person, "decided by who asks");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        person = logged_in(others[i][0], others[i][1]);
        check_word(1, true, &person, "decided by who asks");
    }
    person = logged_in("acme", "bot");
    check_word(1, true, &person, NULL);
    assert_int_equal(state_of(NOW), APPROVAL_IS_APPROVED);
    person.aliases = &alias;
    person.alias_count = 1;
    approvers = SPAN_LIT("tenant:acme"); /* and of no other rule's calls: who asks approves nothing */
    person.names = SPAN_LIT("tenant:acme\n");
    ask('b', 1, NOW);
    check_word(2, true, &person, "in your own name");
    approvers = SPAN_LIT("self");
    authentication = SPAN_LIT("https://id.example/corp"); /* a token: another provider may call another person by this name */
    ask('c', 1, NOW);
    check_word(3, true, &person, "of the one that issued the agent's token");
    person.issuer = SPAN_LIT("https://id.example/other");
    check_word(3, true, &person, "decided by who asks");
    check_word(3, false, &person, "decided by who asks");
    person.issuer = SPAN_LIT("https://id.example/corp");
    check_word(3, true, &person, NULL);
    authentication = SPAN_LIT("api_key");
    approvers = SPAN_NONE;
}

/* 12.8: row by row. */
TEST_CASE_WITH(who_decides_for_a_tenant_sees_no_other, open_it, close_it)
{
    static const struct {
        struct store_person person;
        int64_t seen; /* a bit for each */
    } cases[] = {
        {{.names = SPAN_LIT("role:approver:acme\ntenant:acme\n")}, 1 | 4},
        {{.names = SPAN_LIT("role:approver:acme\nrole:approver:globex\n")}, 1 | 2 | 4 | 8},
        {{.names = SPAN_LIT("role:approver:acm\nrole:approver:acme:x\nrole:approver:ACME\nrole:auditor:acme\n")}, 0},
        {{.names = SPAN_LIT("role:approver\nrole:admin\ntenant:acme\ngroup:approver:acme\n")}, 0}, /* confined all the same */
        {{.tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("bot")}, 4},
        {{.tenant = SPAN_LIT("globex"), .principal = SPAN_LIT("bot")}, 8},
        {{.tenant = SPAN_LIT("globex"), .principal = SPAN_LIT("bot"), .names = SPAN_LIT("role:approver:acme\n")}, 1 | 4 | 8},
        {{.tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("ann")}, 0},
    };

    for (int i = 0; i < 4; i++) {
        tenant = i % 2 == 0 ? SPAN_LIT("acme") : SPAN_LIT("globex");
        approvers = i >= 2 ? SPAN_LIT("self") : SPAN_NONE;
        ask((char)('a' + i), 1, NOW);
    }
    tenant = SPAN_LIT("acme");
    approvers = SPAN_NONE;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int expected = 0, of_decision = look(APPROVALS_OF_DECISION, 7, NOW).count;

        store_approvals_restrict(&cases[i].person);
        for (int64_t number = 1; number <= 4; number++) {
            bool is_seen = (cases[i].seen >> (number - 1) & 1) != 0;

            expected += is_seen;
            assert_int_equal(look(APPROVALS_ONE, number, NOW).count, is_seen);
            if (!is_seen)
                check_word(number, true, &cases[i].person, "there is no approval");
        }
        assert_int_equal(look(APPROVALS_WAITING, 0, NOW).count, expected);
        assert_int_equal(look(APPROVALS_AFTER, 0, NOW).count, expected);
        assert_int_equal(look(APPROVALS_OPEN, 0, NOW).count, expected);
        assert_int_equal(look(APPROVALS_OF_DECISION, 7, NOW).count, expected);
        store_approvals_restrict(NULL);
        assert_int_equal(of_decision, 4);
    }
}

TEST_MAIN(NULL, NULL)
