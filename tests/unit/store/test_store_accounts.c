/* SPDX-License-Identifier: Apache-2.0 */
/* People's own accounts: what is sealed opens where it belongs and nowhere else, one asks at a time, keys turn, and what a browser
 * brings back counts once. */
#include "crypto/digest.h"
#include "store/account_keys.h"
#include "store/store.h"
#include "store/store_accounts.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW INT64_C(1700000000000000)
#define MINUTE INT64_C(60000000)
#define BROWSER SPAN_LIT("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
#define STATE SPAN_LIT("bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb")

static char folder[64], path[96], key_path[96];
static struct db *db;

static int open_it(void **state)
{
    struct why why = {0};

    (void)state;
    snprintf(folder, sizeof folder, "/tmp/callgate-accounts-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/callgate.db", folder);
    snprintf(key_path, sizeof key_path, "%s/accounts.key", folder);
    return store_open(path, DB_CREATE, &db, &why) == CODE_OK ? 0 : -1;
}

static int close_it(void **state)
{
    (void)state;
    db_close(&db);
    unlink(path);
    unlink(key_path);
    return rmdir(folder);
}

static void must(enum code code, const struct why *why)
{
    if (code != CODE_OK)
        fail_msg("%s: %s", code_text(code), why->text);
}

static struct store_account_ask who(const char *principal)
{
    return (struct store_account_ask){.tenant = SPAN_LIT("acme"), .principal = span_text(principal), .upstream = SPAN_LIT("shop"),
                                      .login = SPAN_LIT("https://id.example.com"), .person = span_text(principal)};
}

static struct store_account account_of(const char *principal)
{
    return (struct store_account){.tenant = SPAN_LIT("acme"), .principal = span_text(principal), .upstream = SPAN_LIT("shop"),
                                  .client = SPAN_LIT("gate"), .issuer = SPAN_LIT("https://shop.example.com")};
}

static int states; /* each is another */

/* Goes all the way. Returns: the account's number. */
static int64_t connect_one(const char *principal, const char *token)
{
    struct store_account_ask mine = who(principal), ask = {.id = 0};
    struct store_account account = account_of(principal);
    struct why why = {0};
    struct buf texts, proof, url;
    int64_t id, again;
    char state[65];

    (void)snprintf(state, sizeof state, "%064d", ++states);
    buf_init(&texts, 65536);
    buf_init(&proof, 4096);
    buf_init(&url, 4096);
    must(store_account_ask(db, &mine, BROWSER, NOW, &id, &why), &why);
    must(store_account_next(db, id - 1, &ask, &texts, &why), &why);
    assert_false(ask.is_back);
    must(store_account_begun(db, path, &ask, span_text(state), SPAN_LIT("verifier"), SPAN_LIT("https://shop.example.com/auth"),
                             &why), &why);
    must(store_account_url(db, id, &url, &why), &why);
    assert_true(span_is(buf_peek(&url), "https://shop.example.com/auth"));
    mine.code = SPAN_LIT("the code");
    must(store_account_bring(db, &mine, BROWSER, span_text(state), NOW, &again, &why), &why);
    assert_int_equal(again, id);
    buf_clear(&texts);
    must(store_account_next(db, id - 1, &ask, &texts, &why), &why);
    assert_true(ask.is_back && span_is(ask.code, "the code") && ask.said_by.at == NULL);
    must(store_account_shown(db, path, &ask, &proof, &why), &why);
    assert_true(span_is(buf_peek(&proof), "verifier"));
    assert_int_equal(store_account_shown(db, path, &ask, &proof, &why), CODE_NOT_FOUND);
    account.login = ask.login;
    must(store_account_made(db, path, &ask, &account, span_text(token), SPAN_LIT("read"), NOW, &why), &why);
    must(store_account_is_made(db, id, &why), &why);
    buf_fini(&url);
    buf_fini(&proof);
    buf_fini(&texts);
    return account.id;
}

/* Takes: login: of the caller's token; NULL: none. */
static enum code claim_as(const char *principal, const char *login, const char *asker, int64_t now_us, char out[64])
{
    struct store_account account = account_of(principal);
    struct why why = {0};
    struct buf token, whose;
    enum code code;

    account.login = span_text(login);
    buf_init(&token, 4096);
    buf_init(&whose, 4096);
    code = store_account_claim(db, path, &account, asker, now_us, now_us + MINUTE, &token, &whose, &why);
    (void)snprintf(out, 64, "%.*s", SPAN_ARG(buf_peek(&token)));
    buf_fini(&whose);
    buf_fini(&token);
    return code;
}

static enum code claim(const char *principal, const char *asker, int64_t now_us, char out[64])
{
    return claim_as(principal, NULL, asker, now_us, out);
}

static void change(const char *sql)
{
    assert_int_equal(db_exec(db, sql), CODE_OK);
}

TEST_CASE_WITH(test_opens_where_it_belongs, open_it, close_it)
{
    static const char *const moves[] = {
        "UPDATE account SET tenant = 'globex' WHERE id = 1", "UPDATE account SET principal = 'eve' WHERE id = 1",
        "UPDATE account SET upstream = 'mail' WHERE id = 1", "UPDATE account SET client = 'else' WHERE id = 1",
        "UPDATE account SET issuer = 'https://evil.example' WHERE id = 1",
        "UPDATE account SET login = 'https://other.example' WHERE id = 1"};
    struct store_account moved;
    struct why why = {0};
    struct buf token, whose;
    char text[64];

    (void)connect_one("ann", "ann's token");
    (void)connect_one("bob", "bob's token");
    assert_int_equal(claim("ann", "a", NOW, text), CODE_OK);
    assert_string_equal(text, "ann's token");
    assert_int_equal(claim("eve", "a", NOW, text), CODE_NOT_FOUND);
    assert_int_equal(claim_as("ann", "https://id.example.com", "a", NOW, text), CODE_OK);
    assert_int_equal(claim_as("ann", "https://other.example", "a", NOW, text), CODE_NOT_FOUND); /* another's ann */
    change("UPDATE account_token SET sealed = (SELECT sealed FROM account_token WHERE account = 1) WHERE account = 2");
    assert_int_equal(claim("bob", "a", NOW, text), CODE_DENIED);
    assert_string_equal(text, "");
    change("UPDATE account_token SET sealed = x'00' WHERE account = 2");
    assert_int_equal(claim("bob", "a", NOW, text), CODE_DENIED);
    change("DROP TRIGGER account_stays");
    buf_init(&token, 4096);
    buf_init(&whose, 4096);
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        assert_int_equal(db_begin(db), CODE_OK);
        change(moves[i]);
        assert_int_equal(db_commit(db), CODE_OK);
        moved = (struct store_account){.tenant = i == 0 ? SPAN_LIT("globex") : SPAN_LIT("acme"),
                                       .principal = i == 1 ? SPAN_LIT("eve") : SPAN_LIT("ann"),
                                       .upstream = i == 2 ? SPAN_LIT("mail") : SPAN_LIT("shop"),
                                       .client = i == 3 ? SPAN_LIT("else") : SPAN_LIT("gate"),
                                       .issuer = i == 4 ? SPAN_LIT("https://evil.example") : SPAN_LIT("https://shop.example.com")};
        buf_clear(&whose);
        assert_int_equal(store_account_claim(db, path, &moved, "a", NOW, NOW, &token, &whose, &why), CODE_DENIED);
        assert_true(buf_is_empty(&token));
        change("UPDATE account SET tenant = 'acme', principal = 'ann', upstream = 'shop', client = 'gate', "
               "issuer = 'https://shop.example.com', login = 'https://id.example.com' WHERE id = 1");
    }
    buf_fini(&whose);
    buf_fini(&token);
    assert_int_equal(claim("ann", "a", NOW, text), CODE_OK);
}

TEST_CASE_WITH(test_wrong_key, open_it, close_it)
{
    struct why why = {0};
    char text[64];
    uint64_t count;

    (void)connect_one("ann", "ann's token");
    assert_int_equal(unlink(key_path), 0); /* the store alone */
    assert_int_equal(claim("ann", "a", NOW, text), CODE_NOT_FOUND);
    (void)connect_one("bob", "bob's token"); /* makes another */
    assert_int_equal(claim("ann", "a", NOW, text), CODE_NOT_FOUND); /* so that she is told where she connects anew */
    assert_int_equal(claim("bob", "a", NOW, text), CODE_OK);
    assert_int_equal(store_accounts_rekey(db, path, &count, &why), CODE_DENIED); /* and loses nothing of what opens */
    assert_int_equal(claim("bob", "a", NOW, text), CODE_OK);
}

TEST_CASE_WITH(test_one_asks, open_it, close_it)
{
    struct store_account account = account_of("ann");
    struct why why = {0};
    char text[64];

    account.id = connect_one("ann", "first");
    account.login = SPAN_LIT("https://id.example.com");
    assert_int_equal(claim("ann", "a", NOW, text), CODE_OK);
    assert_int_equal(claim("ann", "b", NOW, text), CODE_UNDECIDED);
    assert_int_equal(claim("ann", "a", NOW, text), CODE_OK);              /* it was killed, and is back */
    assert_int_equal(claim("ann", "b", NOW + 2 * MINUTE, text), CODE_OK); /* or is not */
    assert_int_equal(claim("ann", "a", NOW, text), CODE_OK);              /* a clock that was set back holds up nobody */
    must(store_account_keep(db, path, &account, SPAN_LIT("second"), NOW, &why), &why);
    assert_int_equal(claim("ann", "a", NOW, text), CODE_OK);
    assert_string_equal(text, "second");
    must(store_account_let(db, &account, &why), &why);
    assert_int_equal(claim("ann", "b", NOW, text), CODE_OK);
    must(store_account_end(db, account.id, SPAN_LIT("ann"), SPAN_LIT("lost"), NOW, &why), &why);
    assert_int_equal(store_account_keep(db, path, &account, SPAN_LIT("third"), NOW, &why), CODE_NOT_FOUND);
    assert_int_equal(store_account_let(db, &account, &why), CODE_NOT_FOUND); /* of one that ended nothing goes up either way */
    assert_int_equal(claim("ann", "b", NOW, text), CODE_NOT_FOUND);
    assert_int_equal(store_account_end(db, account.id, SPAN_LIT("ann"), SPAN_LIT("lost"), NOW, &why), CODE_EXISTS);
    assert_int_equal(store_account_end(db, 99, SPAN_LIT("ann"), SPAN_LIT("lost"), NOW, &why), CODE_NOT_FOUND);
}

static int told_of;

static void tell(void *context, const struct store_account *account)
{
    (void)context;
    assert_true(span_is(account->principal, "ann"));
    told_of++;
}

TEST_CASE_WITH(test_anew, open_it, close_it)
{
    struct why why = {0};
    int64_t last = 0, there;
    char text[64];

    (void)connect_one("ann", "first");
    (void)connect_one("ann", "second");
    assert_int_equal(claim("ann", "a", NOW, text), CODE_OK);
    assert_string_equal(text, "second");
    assert_int_equal(db_number(db, "SELECT count(*) FROM account_token", NULL, 0, &there), CODE_OK);
    assert_int_equal(there, 1);
    must(store_accounts_ended(db, &last, tell, NULL, &why), &why);
    must(store_accounts_ended(db, &last, tell, NULL, &why), &why);
    assert_int_equal(told_of, 1);
}

static size_t keys_there(void)
{
    struct account_keys keys;
    struct why why = {0};
    size_t count;

    must(account_keys_read(path, false, &keys, &why), &why);
    count = keys.count;
    account_keys_wipe(&keys);
    return count;
}

/* A turn that ended after any of its steps leaves what opens, and is given again. */
TEST_CASE_WITH(test_keys_turn, open_it, close_it)
{
    struct account_keys keys;
    struct why why = {0};
    char text[64];
    uint64_t count;

    (void)connect_one("ann", "ann's token");
    must(account_keys_read(path, false, &keys, &why), &why);
    must(account_keys_turn(path, &keys, &why), &why); /* the file has both, the store is sealed by the old one */
    account_keys_wipe(&keys);
    assert_int_equal(keys_there(), 2);
    assert_int_equal(claim("ann", "a", NOW, text), CODE_OK);
    (void)connect_one("bob", "bob's token"); /* by the new one */
    must(store_accounts_rekey(db, path, &count, &why), &why);
    assert_int_equal(count, 2);
    assert_int_equal(keys_there(), 1);
    assert_int_equal(claim("ann", "a", NOW, text), CODE_OK);
    assert_string_equal(text, "ann's token");
    assert_int_equal(claim("bob", "a", NOW, text), CODE_OK);
    for (int i = 0; i < 3; i++) {
        must(account_keys_read(path, false, &keys, &why), &why);
        must(account_keys_turn(path, &keys, &why), &why);
        account_keys_wipe(&keys);
    }
    (void)connect_one("bob", "bob's next token"); /* by the newest */
    assert_int_equal(keys_there(), ACCOUNT_KEYS_MAX);
    must(store_accounts_rekey(db, path, &count, &why), &why); /* however many did not end */
    assert_int_equal(keys_there(), 1);
    assert_int_equal(claim("ann", "a", NOW, text), CODE_OK);
    assert_int_equal(claim("bob", "a", NOW, text), CODE_OK);
    assert_string_equal(text, "bob's next token");
}

/* Who turns holds the store's lock before he reads the file: else two turns at once would lose the key of one of them. */
TEST_CASE_WITH(test_one_turns, open_it, close_it)
{
    struct why why = {0};
    struct db *other;
    char text[64];
    uint64_t count;

    (void)connect_one("ann", "ann's token");
    must(store_open(path, DB_WRITE, &other, &why), &why);
    must(db_begin(other), &why);
    db_busy_wait(db, 0);
    assert_int_equal(store_accounts_rekey(db, path, &count, &why), CODE_BUSY);
    assert_int_equal(keys_there(), 1);
    db_rollback(other);
    db_close(&other);
    must(store_accounts_rekey(db, path, &count, &why), &why);
    assert_int_equal(claim("ann", "a", NOW, text), CODE_OK);
}

TEST_CASE_WITH(test_file, open_it, close_it)
{
    static const char *const wrong[] = {"", "x\n", "00\n"};
    struct account_keys keys;
    struct why why = {0};

    assert_int_equal(account_keys_read(path, false, &keys, &why), CODE_NOT_FOUND);
    must(account_keys_read(path, true, &keys, &why), &why);
    assert_int_equal(keys.count, 1);
    assert_non_null(account_keys_find(&keys, span_text(keys.name[0])));
    assert_null(account_keys_find(&keys, SPAN_LIT("0123456789abcdef")));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        FILE *file = fopen(key_path, "w");

        fputs(wrong[i], file);
        fclose(file);
        assert_int_equal(account_keys_read(path, true, &keys, &why), CODE_INVALID);
    }
    assert_int_equal(chmod(key_path, 0644), 0);
    assert_int_equal(account_keys_read(path, true, &keys, &why), CODE_DENIED);
}

TEST_CASE_WITH(test_browser, open_it, close_it)
{
    struct store_account_ask mine = who("ann"), ask = {.id = 0}, back = who("ann"), others;
    struct why why = {0};
    struct buf texts, url;
    int64_t id, again;

    buf_init(&texts, 65536);
    buf_init(&url, 4096);
    must(store_account_ask(db, &mine, BROWSER, NOW, &id, &why), &why);
    assert_int_equal(store_account_url(db, id, &url, &why), CODE_BUSY);
    must(store_account_next(db, 0, &ask, &texts, &why), &why);
    assert_int_equal(store_account_bring(db, &back, BROWSER, STATE, NOW, &again, &why), CODE_DENIED); /* not begun yet */
    must(store_account_begun(db, path, &ask, STATE, SPAN_LIT("v"), SPAN_LIT("https://a"), &why), &why);
    assert_int_equal(store_account_begun(db, path, &ask, STATE, SPAN_LIT("v"), SPAN_LIT("https://b"), &why), CODE_NOT_FOUND);
    must(store_account_url(db, id, &url, &why), &why);
    back.code = SPAN_LIT("c");
    assert_int_equal(store_account_bring(db, &back, STATE, STATE, NOW, &again, &why), CODE_DENIED);     /* another browser */
    assert_int_equal(store_account_bring(db, &back, BROWSER, BROWSER, NOW, &again, &why), CODE_DENIED); /* another state */
    others = back;
    others.principal = SPAN_LIT("bob");
    assert_int_equal(store_account_bring(db, &others, BROWSER, STATE, NOW, &again, &why), CODE_DENIED);
    others = back;
    others.login = SPAN_LIT("https://other.example");
    assert_int_equal(store_account_bring(db, &others, BROWSER, STATE, NOW, &again, &why), CODE_DENIED);
    others = back;
    others.upstream = SPAN_LIT("mail");
    assert_int_equal(store_account_bring(db, &others, BROWSER, STATE, NOW, &again, &why), CODE_DENIED);
    assert_int_equal(store_account_bring(db, &back, BROWSER, STATE, NOW + 11 * MINUTE, &again, &why), CODE_DENIED);
    must(store_account_bring(db, &back, BROWSER, STATE, NOW, &again, &why), &why);
    assert_int_equal(store_account_bring(db, &back, BROWSER, STATE, NOW, &again, &why), CODE_DENIED); /* once */
    must(store_account_failed(db, id, SPAN_LIT("no"), &why), &why);
    assert_int_equal(store_account_is_made(db, id, &why), CODE_DENIED);
    assert_string_equal(why.text, "no");
    must(store_account_ask(db, &mine, BROWSER, NOW, &again, &why), &why); /* begun again: what was before is no more */
    assert_int_equal(store_account_is_made(db, id, &why), CODE_DENIED);
    buf_fini(&url);
    buf_fini(&texts);
}

TEST_MAIN(NULL, NULL)
