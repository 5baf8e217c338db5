/* SPDX-License-Identifier: Apache-2.0 */
/* callgate key: keys of agents and people. The store holds only their SHA-256; a key itself is printed once, never again. */
#include "cli/commands.h"
#include "conf/conf.h"
#include "args/print.h"
#include "store/store.h"

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

    for (size_t i = 0; i < len; i++)
        if (name[i] <= ' ' || name[i] > '~')
            return complain(STATUS_USAGE, "--%s \"%s\" holds a blank or a character that is not ASCII; use letters, digits "
                            "and punctuation", option, name);
    if (len == 0 || len > NAME_BYTES_MAX)
        return complain(STATUS_USAGE, "--%s must have 1 to %d characters; give another", option, NAME_BYTES_MAX);
    return OPTIONS_GO;
}

/* A duration from now, or 0 for NULL. */
static int read_expiry(const char *text, int64_t now_us, int64_t *expires_us)
{
    uint64_t ms;

    *expires_us = 0;
    if (text == NULL)
        return OPTIONS_GO;
    if (num_duration(span_text(text), &ms) != CODE_OK || ms == 0 || ms > UINT64_C(100) * 366 * 86400 * 1000)
        return complain(STATUS_USAGE, "--expires \"%s\" is no time; write for example 90d or 12h", text);
    *expires_us = now_us + (int64_t)ms * 1000;
    return OPTIONS_GO;
}

/* A person has roles, an agent a tenant. */
static void add_whose(struct doc *doc, const struct store_key *key)
{
    doc_text(doc, "principal", key->principal);
    if (key->roles.at != NULL)
        doc_text(doc, "roles", key->roles);
    else
        doc_text(doc, "tenant", key->tenant);
}

static int print_made(const struct store_key *key, const char *text, bool as_json)
{
    struct doc *doc;

    if (!as_json) {
        print_safely(stdout, "%s\n", text);
        print_safely(stderr, "key %lld of %.*s, %s %.*s; it is not shown again, keep it safe\n", (long long)key->id,
                     SPAN_ARG(key->principal), key->roles.at != NULL ? "a person who is" : "tenant",
                     SPAN_ARG(key->roles.at != NULL ? key->roles : key->tenant));
        return STATUS_DONE;
    }
    doc = doc_object();
    doc_int(doc, "id", key->id);
    doc_text(doc, "key", span_text(text));
    add_whose(doc, key);
    print_time(doc, "expires", key->expires_us);
    return print_doc(&doc);
}

static int make_key(struct store_key *key, const struct store_place *place, bool as_json)
{
    unsigned char digest[DIGEST_BYTES];
    char text[48];
    struct why why = {0};
    struct db *db = NULL;
    int status;
    enum code code = store_find(place, DB_CREATE, &db, &why);

    if (code == CODE_OK)
        code = identity_key_make(text, digest);
    if (code == CODE_OK)
        code = store_key_add(db, key, digest, &key->id, &why);
    db_close(&db);
    status = code == CODE_OK ? print_made(key, text, as_json) : complain_why(code, &why);
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
            status = complain(STATUS_USAGE, "--role \"%s\" is none; write viewer, approver, author, auditor, auditor:TENANT or "
                              "admin", roles->value[i]);
        else if (buf_addf(text, "%s%s", i > 0 ? " " : "", roles->value[i]) != CODE_OK)
            status = complain(STATUS_USAGE, "too many --role; give fewer");
    }
    return status;
}

static int run_create(int argc, char **argv)
{
    struct store_place place = {0};
    struct option_values claims = {0}, roles = {0};
    const char *principal = NULL, *tenant = NULL, *expires = NULL, *note = NULL;
    bool as_json = false;
    const struct option options[] = {
        {.name = "principal", .takes = "NAME", .help = "who the agent, or the person, is (required)", .value = &principal},
        {.name = "tenant", .takes = "NAME", .help = "of an agent's: whom it works for", .value = &tenant},
        {.name = "role", .takes = "NAME", .help = "of a person's, who then logs in by it; may be repeated", .many = &roles},
        {.name = "may-claim", .takes = "GLOB", .help = "a further tenant it may name; may be repeated", .many = &claims},
        {.name = "expires", .takes = "TIME", .help = "90d, 12h; without: never", .value = &expires},
        {.name = "note", .takes = "TEXT", .help = "for people", .value = &note},
        {.name = "json", .help = "the answer as JSON", .flag = &as_json},
        STORE_OPTIONS(&place),
        {0},
    };
    const struct usage usage = {"callgate key create --principal NAME (--tenant NAME | --role NAME...) [OPTIONS]",
                                "Makes a key and prints it, once. An agent calls tools by it; a running gate accepts it\n"
                                "within a second. A person with --role gives commands over the gate's socket by it\n"
                                "(`callgate login --key`): viewer, approver, author, auditor, auditor:TENANT or admin.\n"
                                "Neither is good for the other.",
                                options, 0, 0};
    struct buf role_text;
    char actor[ACTOR_BYTES];
    struct store_key key = {.made_us = clock_wall_us()};
    int operands, status = options_read(&usage, argc, argv, &operands);

    if (status != OPTIONS_GO)
        return status;
    if (principal == NULL)
        return complain(STATUS_USAGE, "--principal is required; usage: %s", usage.synopsis);
    if ((status = check_name("principal", principal)) != OPTIONS_GO ||
        (status = read_expiry(expires, key.made_us, &key.expires_us)) != OPTIONS_GO)
        return status;
    actor_name(actor);
    buf_init(&role_text, ROLES_BYTES_MAX);
    status = check_whose(tenant, &claims, &roles, &role_text);
    key.principal = span_text(principal);
    key.tenant = span_text(tenant != NULL ? tenant : "");
    key.roles = roles.count > 0 ? buf_peek(&role_text) : SPAN_NONE;
    key.note = span_text(note);
    key.made_by = span_text(actor);
    key.may_claim = claims.value;
    if (status == OPTIONS_GO)
        status = make_key(&key, &place, as_json);
    buf_fini(&role_text);
    return status;
}

static const char *state_of(const struct store_key *key)
{
    if (key->revoked_us != 0)
        return "revoked";
    return key->expires_us != 0 && key->expires_us <= clock_wall_us() ? "expired" : "valid";
}

static enum code list_json(void *context, const struct store_key *key)
{
    struct doc *doc = doc_object(), *claims;
    int status;

    (void)context;
    doc_int(doc, "id", key->id);
    doc_text(doc, "state", span_text(state_of(key)));
    add_whose(doc, key);
    claims = doc_add_array(doc, "may_claim");
    for (const char *const *claim = key->may_claim; claim != NULL && *claim != NULL; claim++)
        doc_text(claims, NULL, span_text(*claim));
    print_time(doc, "expires", key->expires_us);
    if (key->note.at != NULL)
        doc_text(doc, "note", key->note);
    print_time(doc, "made", key->made_us);
    doc_text(doc, "made_by", key->made_by);
    if (key->revoked_us != 0) {
        print_time(doc, "revoked", key->revoked_us);
        doc_text(doc, "revoked_by", key->revoked_by);
    }
    status = print_doc(&doc);
    return status == STATUS_DONE ? CODE_OK : CODE_NOMEM;
}

static enum code list_line(void *context, const struct store_key *key)
{
    size_t *count = context;
    char expires[CLOCK_TEXT_BYTES] = "never";

    if ((*count)++ == 0)
        print_safely(stdout, "%4s  %-8s %-20s %-16s %-28s %s\n", "id", "state", "principal", "tenant, or roles", "expires",
                     "note");
    if (key->expires_us != 0)
        clock_text(key->expires_us, expires);
    print_safely(stdout, "%4lld  %-8s %-20.*s %-16.*s %-28s %.*s\n", (long long)key->id, state_of(key),
                 SPAN_ARG(key->principal), SPAN_ARG(key->roles.at != NULL ? key->roles : key->tenant), expires,
                 SPAN_ARG(key->note));
    return CODE_OK;
}

static int run_list(int argc, char **argv)
{
    struct store_place place = {0};
    bool as_json = false;
    const struct option options[] = {
        {.name = "json", .help = "one JSON object a line", .flag = &as_json},
        STORE_OPTIONS(&place),
        {0},
    };
    const struct usage usage = {"callgate key list [OPTIONS]", "Lists all keys, revoked and expired ones too.", options, 0, 0};
    struct why why = {0};
    struct db *db = NULL;
    size_t count = 0;
    enum code code;
    int operands, status = options_read(&usage, argc, argv, &operands);

    if (status != OPTIONS_GO)
        return status;
    code = store_find(&place, DB_READ, &db, &why);
    if (code == CODE_OK)
        code = store_keys_each(db, as_json ? list_json : list_line, &count, &why);
    db_close(&db);
    return code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
}

static int revoke_all(const struct store_place *place, char **ids, int count)
{
    char actor[ACTOR_BYTES];
    struct why why = {0};
    struct db *db = NULL;
    enum code code = store_find(place, DB_WRITE, &db, &why);

    actor_name(actor);
    for (int i = 0; code == CODE_OK && i < count; i++) {
        int64_t id;

        if (num_i64(span_text(ids[i]), &id) != CODE_OK)
            code = why_set(&why, CODE_INVALID, "\"%s\" is no key's number; `callgate key list` shows them", ids[i]);
        else
            code = store_key_revoke(db, id, actor, clock_wall_us(), &why);
        if (code == CODE_OK)
            printf("key %lld is revoked; a running gate refuses it within a second\n", (long long)id);
    }
    db_close(&db);
    if (code == CODE_NOT_FOUND || code == CODE_EXISTS)
        return complain(STATUS_NEGATIVE, "%s", why.text);
    return code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
}

static int run_revoke(int argc, char **argv)
{
    struct store_place place = {0};
    const struct option options[] = {STORE_OPTIONS(&place), {0}};
    const struct usage usage = {"callgate key revoke ID... [OPTIONS]",
                                "Ends keys for good; open connections end with their next request.", options, 1, -1};
    int operands, status = options_read(&usage, argc, argv, &operands);

    return status != OPTIONS_GO ? status : revoke_all(&place, argv, operands);
}

static const struct command subs[] = {
    {"create", "make a key and print it once", run_create, NULL},
    {"list", "show all keys, without the keys themselves", run_list, NULL},
    {"revoke", "end keys for good", run_revoke, NULL},
    {NULL, NULL, NULL, NULL},
};

const struct command cmd_key = {"key", "keys of agents and people: create, list, revoke", NULL, subs};
