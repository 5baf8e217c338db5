/* SPDX-License-Identifier: Apache-2.0 */
/* callgate key: keys of agents and people. The store holds only their SHA-256; a key itself is printed once, never again. */
#include "cli/commands.h"
#include "cli/fleet_words.h"
#include "cli/table.h"
#include "cli/told.h"
#include "args/print.h"
#include "store/store.h"

#include "base/ascii.h"
#include "base/mem.h"
#include "base/num.h"
#include "json/doc.h"
#include "os/clock.h"

#include <stdio.h>
#include <string.h>

#define NAME_BYTES_MAX 128
#define ROLES_BYTES_MAX 4000

/* What policies and headers can name: printable ASCII without blanks. */
static int check_name(const char *option, const char *name)
{
    size_t len = strlen(name);

    if (!ascii_is_all(span_text(name), ASCII_VISIBLE))
        return complain(STATUS_USAGE, "--%s \"%s\" holds a blank or a character that is not ASCII; use letters, digits "
                        "and punctuation", option, name);
    if (len == 0 || len > NAME_BYTES_MAX)
        return complain(STATUS_USAGE, "--%s must have 1 to %d characters; give another", option, NAME_BYTES_MAX);
    return OPTIONS_GO;
}

/* What begins every document of a key: a person has roles, an agent a tenant. */
static struct doc *doc_of(const struct store_key *key)
{
    struct doc *doc = doc_object();

    doc_int(doc, "api_key", key->id);
    doc_text(doc, "principal", key->principal);
    doc_text_or_null(doc, "agent", key->agent);
    doc_text_or_null(doc, "roles", key->roles);
    doc_text_or_null(doc, "tenant", key->roles.at == NULL ? key->tenant : SPAN_NONE);
    print_time(doc, "expires", key->expires_us);
    return doc;
}

static int print_made(const struct store_key *key, const char *text, bool as_json)
{
    struct doc *doc = doc_of(key);
    struct told told;
    enum code code;

    doc_text(doc, "key", span_text(text));
    if (as_json)
        return print_doc(&doc);
    code = told_read(&told, doc);
    if (code == CODE_OK) {
        told_say(told.root, "{key}\n");
        told_print(stderr, told.root, "key {api_key} of {principal}[ by the agent {agent}], [a person who is {roles}]"
                   "[tenant {tenant}]; it is not shown again, keep it safe\n");
    }
    told_end(&told);
    doc_free(&doc);
    return complain_code(code);
}

static int make_key(struct store_key *key, const struct asked *asked)
{
    unsigned char digest[DIGEST_BYTES];
    char text[48];
    struct why why = {0};
    struct fleet_words words;
    int status;
    enum code code = fleet_words_open(&words, asked, DB_CREATE, FLEET_WORDS_LOCKED, &why);

    if (code == CODE_OK)
        code = identity_key_make(text, digest);
    if (code == CODE_OK)
        code = store_key_add(words.db, key, digest, &key->id, &why);
    code = fleet_words_end(&words, code, "key", &key->id, &why);
    fleet_words_close(&words);
    status = code == CODE_OK ? print_made(key, text, asked->json) : complain_why(code, &why);
    mem_wipe(text, sizeof text);
    return status;
}

/* Whose it is: an agent's, or a person's. Takes: roles: its text, which the key borrows. */
static int check_whose(const char *tenant, const struct option_values *claims, const struct option_values *roles,
                       struct buf *text)
{
    struct span none;
    int status = tenant != NULL ? check_name("tenant", tenant) : OPTIONS_GO;

    if ((tenant == NULL) == (roles->count == 0))
        return complain(STATUS_USAGE, "a key is an agent's, with --tenant, or a person's, with --role; name one of the two");
    for (size_t i = 0; i < claims->count && status == OPTIONS_GO; i++)
        status = roles->count > 0 ? complain(STATUS_USAGE, "--may-claim is for agents; leave it out")
                                  : check_name("may-claim", claims->value[i]);
    if (claims->count == OPTION_VALUES_MAX)
        return complain(STATUS_USAGE, "too many --may-claim; use globs");
    for (size_t i = 0; i < roles->count && status == OPTIONS_GO; i++) {
        if (people_role_read(span_text(roles->value[i]), &none) == 0)
            status = complain(STATUS_USAGE, "--role \"%s\" is none; write " PEOPLE_ROLES_TEXT, roles->value[i]);
        else if (buf_addf(text, "%s%s", i > 0 ? " " : "", roles->value[i]) != CODE_OK)
            status = complain(STATUS_USAGE, "too many --role; give fewer");
    }
    return status;
}

int cmd_key_create(const struct asked *asked)
{
    struct buf role_text;
    char actor[ACTOR_BYTES];
    struct store_key key = {.made_us = clock_wall_us()};
    int status = check_name("principal", asked->principal);

    if (status != OPTIONS_GO)
        return status;
    actor_name(actor);
    buf_init(&role_text, ROLES_BYTES_MAX);
    status = check_whose(asked->tenant, &asked->may_claim, &asked->roles, &role_text);
    if (status == OPTIONS_GO && asked->agent != NULL)
        status = asked->roles.count > 0 ? complain(STATUS_USAGE, "--agent says which program calls tools by the key, and a "
                                                   "person's calls none; leave it out")
                                        : check_name("agent", asked->agent);
    key.expires_us = asked->lasts_ms > 0 ? key.made_us + (int64_t)asked->lasts_ms * 1000 : 0;
    key.principal = span_text(asked->principal);
    key.agent = span_text(asked->agent);
    key.tenant = span_text(asked->tenant != NULL ? asked->tenant : "");
    key.roles = asked->roles.count > 0 ? buf_peek(&role_text) : SPAN_NONE;
    key.made_why = span_text(asked->why);
    key.made_by = span_text(actor);
    key.may_claim = asked->may_claim.value;
    if (status == OPTIONS_GO)
        status = make_key(&key, asked);
    buf_fini(&role_text);
    return status;
}

static const char *state_of(const struct store_key *key)
{
    if (key->revoked_us != 0)
        return "revoked";
    return key->expires_us != 0 && key->expires_us <= clock_wall_us() ? "expired" : "valid";
}

static struct doc *whole_doc_of(const struct store_key *key)
{
    struct doc *doc = doc_of(key), *claims = doc_add_array(doc, "may_claim");

    doc_text(doc, "state", span_text(state_of(key)));
    for (const char *const *claim = key->may_claim; claim != NULL && *claim != NULL; claim++)
        doc_text(claims, NULL, span_text(*claim));
    print_time(doc, "made", key->made_us);
    doc_text(doc, "made_by", key->made_by);
    doc_text_or_null(doc, "made_why", key->made_why);
    print_time(doc, "revoked", key->revoked_us);
    doc_text_or_null(doc, "revoked_by", key->revoked_us != 0 ? key->revoked_by : SPAN_NONE);
    doc_text_or_null(doc, "revoked_why", key->revoked_why);
    return doc;
}

static enum code list_one(void *context, const struct store_key *key)
{
    struct doc *doc = whole_doc_of(key);

    return table_add(context, &doc);
}

int cmd_key_list(const struct asked *asked)
{
    static const struct table_column columns[] = {
        {.title = "key", .key = "api_key", .is_right = true, .least = TABLE_WHOLE}, {.title = "state", .least = TABLE_WHOLE},
        {.title = "principal"}, {.title = "agent", .none = ""},
        {.title = "tenant, or roles", .words = "[{tenant}][{roles}]"}, {.title = "expires", .none = "never"},
        {.title = "why", .key = "made_why", .none = ""},
    };
    struct table table;
    struct why why = {0};
    struct db *db = NULL;
    enum code code = asked_store(asked, DB_READ, &db, &why);

    TABLE_BEGIN(&table, columns, asked->json);
    if (code == CODE_OK)
        code = store_keys_each(db, list_one, &table, &why);
    db_close(&db);
    table.nothing = code == CODE_OK ? "there is no key; `callgate key create` makes one" : NULL;
    (void)table_end(&table);
    return code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
}

struct revoking {
    int64_t id;
    bool as_json;
};

static enum code tell_revoked(void *context, const struct store_key *key)
{
    const struct revoking *revoking = context;
    struct doc *doc = key->id == revoking->id ? whole_doc_of(key) : NULL;

    if (doc == NULL || told_answer(&doc, revoking->as_json, "key {api_key} is revoked; a running gate refuses it within a "
                                   "second\n") == STATUS_DONE)
        return CODE_OK;
    return CODE_NOMEM;
}

int cmd_key_revoke(const struct asked *asked)
{
    struct revoking revoking = {.as_json = asked->json};
    char actor[ACTOR_BYTES];
    struct why why = {0};
    struct fleet_words words;
    int done = 0;
    enum code code = fleet_words_open(&words, asked, DB_WRITE, FLEET_WORDS_CLOSING, &why), told = CODE_OK;

    actor_name(actor);
    while (code == CODE_OK && done < asked->given.count) {
        code = store_key_revoke(words.db, (int64_t)asked_number(asked, done), actor, span_text(asked->why), clock_wall_us(),
                                &why);
        done += code == CODE_OK;
    }
    if (words.is_fleets && code != CODE_OK)
        done = 0; /* there it is all or nothing */
    code = fleet_words_end(&words, code, "revocation", NULL, &why);
    for (int i = 0; told == CODE_OK && i < done; i++) {
        revoking.id = (int64_t)asked_number(asked, i);
        told = store_keys_each(words.db, tell_revoked, &revoking, &why);
    }
    code = code == CODE_OK ? told : code;
    fleet_words_close(&words);
    if (code == CODE_NOT_FOUND || code == CODE_EXISTS)
        return complain(STATUS_NEGATIVE, "%s", why.text);
    return code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
}
