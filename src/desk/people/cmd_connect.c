/* SPDX-License-Identifier: Apache-2.0 */
/* callgate connect: people's own accounts at servers. What needs the network is the gate's: these commands leave it a row in
 * the store, and wait for what it writes there. */

#include "args/print.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/num.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "cli/told.h"
#include "crypto/digest.h"
#include "json/doc.h"
#include "names/route_names_read.h"
#include "os/clock.h"
#include "store/store.h"
#include "store/store_accounts.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#define WAIT_US INT64_C(20000000) /* for the gate, which has ten seconds for each request */
#define LOOK_MS 50
#define URL_BYTES ((size_t)65536)
#define BROWSER_BYTES (2 * DIGEST_BYTES)

/* ---- who connects ---- */

/* Whose login gives the command. Returns: OPTIONS_GO, or a status: an account is connected by its own principal alone. */
static int find_person(struct store_account_ask *ask, struct actor *actor)
{
    actor_find(actor);
    if (!command_is_guests() || actor->principal.len == 0)
        return complain(STATUS_USAGE, "an account is connected by a login that is the principal: at the console, by a provider "
                        "whose login in `people: {logins}` says the tenant");
    ask->tenant = actor->tenant;
    ask->principal = actor->principal;
    ask->login = actor->issuer;
    ask->person = span_text(actor->name);
    return OPTIONS_GO;
}

static int check_browser(const struct asked *asked, struct span *browser)
{
    *browser = span_text(asked_operand(asked, 1));
    return browser->len == BROWSER_BYTES && ascii_is_all(*browser, "0-9a-f")
               ? OPTIONS_GO : complain(STATUS_USAGE, "BROWSER is the SHA-256 of what the browser keeps, as hexadecimal digits");
}

/* Waits until the gate has answered. */
static enum code wait_for(struct db *db, int64_t ask, struct buf *url, struct why *why)
{
    int64_t until_us = clock_monotonic_us() + WAIT_US;
    enum code code;

    do {
        code = url != NULL ? store_account_url(db, ask, url, why) : store_account_is_made(db, ask, why);
        if (code == CODE_BUSY)
            (void)poll(NULL, 0, LOOK_MS);
    } while (code == CODE_BUSY && clock_monotonic_us() < until_us);
    return code == CODE_BUSY ? why_set(why, CODE_DENIED, "no gate has answered; `callgate status` says how it is, its log why")
                             : code;
}

static int end(struct db **db, enum code code, const struct why *why)
{
    db_close(db);
    if (code == CODE_DENIED)
        return complain(STATUS_NEGATIVE, "%s", why->text);
    return code == CODE_OK ? STATUS_DONE : complain_why(code, why);
}

int cmd_connect_begin(const struct asked *asked)
{
    struct store_account_ask ask = {.upstream = span_text(asked_operand(asked, 0))};
    static struct actor actor;
    struct span browser;
    struct db *db = NULL;
    struct why why = {""};
    struct buf url;
    int64_t id = 0;
    int status = find_person(&ask, &actor);
    enum code code;

    if (status == OPTIONS_GO)
        status = check_browser(asked, &browser);
    if (status != OPTIONS_GO)
        return status;
    buf_init(&url, URL_BYTES);
    code = asked_store(asked, DB_WRITE, &db, &why);
    if (code == CODE_OK)
        code = store_account_ask(db, &ask, browser, clock_wall_us(), &id, &why);
    if (code == CODE_OK)
        code = wait_for(db, id, &url, &why);
    status = end(&db, code, &why);
    if (status == STATUS_DONE) {
        struct doc *doc = doc_object();

        doc_text(doc, "upstream", ask.upstream);
        doc_text(doc, "url", buf_peek(&url));
        status = told_answer(&doc, asked->json, "{upstream} is connected at {url}\n");
    }
    buf_fini(&url);
    return status;
}

int cmd_connect_finish(const struct asked *asked)
{
    struct store_account_ask back = {.upstream = span_text(asked_operand(asked, 0))};
    const struct span state = span_text(asked_operand(asked, 2));
    unsigned char sum[DIGEST_BYTES];
    char state_sum[2 * DIGEST_BYTES];
    static struct actor actor;
    struct span browser;
    struct db *db = NULL;
    struct why why = {""};
    int64_t id = 0;
    int status = find_person(&back, &actor);
    enum code code;

    if (status == OPTIONS_GO)
        status = check_browser(asked, &browser);
    if (status != OPTIONS_GO)
        return status;
    back.code = span_text(asked_operand(asked, 3));
    back.said_by = span_text(asked_operand(asked, 4)); /* NULL: the browser brought none */
    digest_of(state, sum);
    num_hex(sum, sizeof sum, state_sum);
    code = asked_store(asked, DB_WRITE, &db, &why);
    if (code == CODE_OK)
        code = store_account_bring(db, &back, browser, span_of(state_sum, sizeof state_sum), clock_wall_us(), &id, &why);
    if (code == CODE_OK)
        code = wait_for(db, id, NULL, &why);
    status = end(&db, code, &why);
    if (status == STATUS_DONE) {
        struct doc *doc = doc_object();

        doc_text(doc, "upstream", back.upstream);
        status = told_answer(&doc, asked->json, "your account at {upstream} is connected\n");
    }
    return status;
}

/* ---- which there are ---- */

#define SELECT_ACCOUNTS                                                                                                  \
    "SELECT a.id, nullif(a.tenant, ''), a.principal, a.upstream, a.client, a.issuer, a.scopes, a.made_us, a.made_by, "   \
    "t.changed_us, e.ended_us, e.ended_by, e.why FROM account a LEFT JOIN account_token t ON t.account = a.id "          \
    "LEFT JOIN account_end e ON e.account = a.id "

static struct doc *doc_of(struct db_stmt *row)
{
    struct doc *doc = doc_object();

    doc_int(doc, "account", db_int(row, 0));
    doc_text(doc, "state", db_is_null(row, 10) ? SPAN_LIT("connected") : SPAN_LIT("ended"));
    doc_text_or_null(doc, "tenant", db_text(row, 1));
    doc_text(doc, "principal", db_text(row, 2));
    doc_text(doc, "upstream", db_text(row, 3));
    doc_text(doc, "client", db_text(row, 4));
    doc_text(doc, "issuer", db_text(row, 5));
    doc_text_or_null(doc, "scopes", db_text(row, 6));
    print_time(doc, "made", db_int(row, 7));
    doc_text(doc, "made_by", db_text(row, 8));
    print_time(doc, "renewed", db_int(row, 9));
    print_time(doc, "ended", db_int(row, 10));
    doc_text_or_null(doc, "ended_by", db_text(row, 11));
    doc_text_or_null(doc, "ended_why", db_text(row, 12));
    return doc;
}

/* A server to which the person has not connected. */
static struct doc *doc_of_server(struct span upstream, const struct actor *actor)
{
    static const char *const absent[] = {"client", "issuer", "scopes", "made", "made_by", "renewed", "ended", "ended_by",
                                         "ended_why"};
    struct doc *doc = doc_object();

    doc_null(doc, "account");
    doc_text(doc, "state", SPAN_LIT("not connected"));
    doc_text_or_null(doc, "tenant", actor->tenant.len > 0 ? actor->tenant : SPAN_NONE);
    doc_text(doc, "principal", actor->principal);
    doc_text(doc, "upstream", upstream);
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        doc_null(doc, absent[i]);
    return doc;
}

/* The servers to which whoever lists could connect, and has not. */
static enum code add_servers(const struct asked *asked, struct db *db, const struct actor *actor, struct table *table,
                             struct why *why)
{
    struct route_names names;
    struct faults faults;
    enum code code;

    if (!command_is_guests() || actor->principal.len == 0)
        return CODE_OK;
    faults_init(&faults);
    route_names_init(&names);
    code = route_names_connected(asked->file, &names, &faults);
    for (size_t i = 0; i < names.count && code == CODE_OK; i++) {
        int64_t has_one = 0;
        struct doc *doc;

        code = db_number(db, "SELECT 1 FROM account a WHERE tenant = ?1 AND principal = ?2 AND upstream = ?3 AND NOT EXISTS "
                         "(SELECT 1 FROM account_end e WHERE e.account = a.id)",
                         DB_VALUES(db_of_text(actor->tenant), db_of_text(actor->principal),
                                   db_of_text(span_text(names.routes[i].name))), &has_one);
        if (code != CODE_OK || has_one != 0)
            continue;
        doc = doc_of_server(span_text(names.routes[i].name), actor);
        code = table_add(table, &doc);
    }
    route_names_fini(&names);
    return code == CODE_INVALID ? why_of_faults(why, code, &faults) : code;
}

int cmd_connect_list(const struct asked *asked)
{
    static const struct table_column columns[] = {
        {.title = "account", .is_right = true, .least = TABLE_WHOLE}, {.title = "state", .least = TABLE_WHOLE},
        {.title = "upstream"}, {.title = "tenant"}, {.title = "principal"}, {.title = "made"}, {.title = "renewed"},
        {.title = "why ended", .key = "ended_why"},
    };
    static struct actor actor;
    struct table table;
    struct why why = {""};
    struct db_stmt *row = NULL;
    struct db *db = NULL;
    enum code code = asked_store(asked, DB_READ, &db, &why);

    actor_find(&actor);
    TABLE_BEGIN(&table, columns, asked->json);
    if (code == CODE_OK)
        code = db_select(db, SELECT_ACCOUNTS "WHERE (?1 OR e.id IS NULL) AND (NOT ?2 OR (a.tenant = ?3 AND a.principal = ?4)) "
                         "AND (?5 IS NULL OR a.upstream = ?5) ORDER BY a.id",
                         DB_VALUES(db_of_int(asked->all), db_of_int(command_is_own()), db_of_text(actor.tenant),
                                   db_of_text(actor.principal), db_of_text(span_text(asked->upstream))), &row);
    while (db_next(&row, &code)) {
        struct doc *doc = doc_of(row);

        code = table_add(&table, &doc);
    }
    if (code == CODE_OK && asked->upstream == NULL)
        code = add_servers(asked, db, &actor, &table, &why);
    code = db != NULL && why.text[0] == '\0' ? db_why(&why, code, db, "reading the store") : code;
    db_close(&db);
    table.nothing = code == CODE_OK ? "nobody has connected an account" : NULL;
    (void)table_end(&table);
    return code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
}

/* ---- and their end ---- */

/* Returns: CODE_DENIED: it is another's. */
static enum code check_own(struct db *db, int64_t account, const struct actor *actor, struct why *why)
{
    int64_t is_own = 0;
    enum code code = command_is_own() ? db_number(db, "SELECT tenant = ?2 AND principal = ?3 FROM account WHERE id = ?1",
                                             DB_VALUES(db_of_int(account), db_of_text(actor->tenant),
                                                       db_of_text(actor->principal)), &is_own) : CODE_OK;

    if (code == CODE_OK && command_is_own() && is_own == 0)
        return why_set(why, CODE_DENIED, "account %" PRId64 " is none of yours; `callgate connect list` lists them", account);
    return db_why(why, code, db, "reading the store");
}

int cmd_connect_revoke(const struct asked *asked)
{
    int64_t id = (int64_t)asked_number(asked, 0);
    static struct actor actor;
    struct why why = {""};
    struct db_stmt *row = NULL;
    struct doc *doc = NULL;
    struct db *db = NULL;
    enum code code = asked_store(asked, DB_WRITE, &db, &why);

    actor_find(&actor);
    if (code == CODE_OK)
        code = check_own(db, id, &actor, &why);
    if (code == CODE_OK)
        code = store_account_end(db, id, span_text(actor.name), span_text(asked->why), clock_wall_us(), &why);
    if (code == CODE_OK) {
        code = db_find(db, SELECT_ACCOUNTS "WHERE a.id = ?1", DB_VALUES(db_of_int(id)), &row);
        doc = code == CODE_OK ? doc_of(row) : NULL;
        db_finalize(&row);
        code = db_why(&why, code, db, "reading the store");
    }
    db_close(&db);
    if (code == CODE_OK)
        return told_answer(&doc, asked->json, "account {account} at {upstream} has ended: a running gate calls by it no more "
                           "within a second. What the provider keeps of it is ended there\n");
    if (code == CODE_NOT_FOUND || code == CODE_EXISTS || code == CODE_DENIED)
        return complain(STATUS_NEGATIVE, "%s", why.text);
    return complain_why(code, &why);
}

/* ---- the key ---- */

int cmd_connect_rekey(const struct asked *asked)
{
    struct why why = {""};
    struct db *db = NULL;
    char *path = NULL;
    uint64_t count = 0;
    enum code code = asked_store(asked, DB_WRITE, &db, &why);
    struct faults faults;

    faults_init(&faults);
    if (code == CODE_OK && asked->store == NULL)
        code = conf_store_path(asked->file, &path, &faults);
    if (code == CODE_OK)
        code = store_accounts_rekey(db, asked->store != NULL ? asked->store : path, &count, &why);
    mem_free(path);
    db_close(&db);
    if (code == CODE_OK) {
        struct doc *doc = doc_object();

        doc_int(doc, "accounts", (int64_t)count);
        return told_answer(&doc, asked->json, "{accounts} accounts are sealed by a new key; copies of accounts.key from before "
                           "open nothing that is kept from now on\n");
    }
    return code == CODE_DENIED ? complain(STATUS_NEGATIVE, "%s", why.text) : complain_why(code, &why);
}
