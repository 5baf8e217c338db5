/* SPDX-License-Identifier: Apache-2.0 */
/* Who gives a command over the control socket, by more than an account: a key of a person's, or an ID token of a provider's. */
#include "people/control.h"
#include "providers/kept_keys.h"
#include "args/print.h"
#include "store/store.h"

#include "json/doc.h"
#include "json/json.h"
#include "os/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NAMES_BYTES ((size_t)128 << 10)

void control_rights_init(struct control_rights *rights)
{
    *rights = (struct control_rights){.roles = 0};
    buf_init(&rights->names, NAMES_BYTES);
}

void control_name_roles(unsigned roles, struct buf *names)
{
    for (unsigned role = 0; role < PEOPLE_ROLES; role++)
        if ((roles & PEOPLE_BIT(role)) != 0)
            (void)buf_addf(names, "role:%.*s\n", SPAN_ARG(people_role_names[role]));
}

void control_add_name(struct control_rights *rights, const char *kind, struct span name)
{
    if (name.len > 0 && span_find(name, '\n') == name.len)
        (void)buf_addf(&rights->names, "%s:%.*s\n", kind, SPAN_ARG(name));
}

void control_add_role(struct control_rights *rights, struct span role)
{
    struct span tenant;
    unsigned bit = people_role_read(role, &tenant);

    if (bit == 0 || (bit == PEOPLE_AUDITS_TENANTS && rights->tenant_count == AUDIT_TENANTS_MAX))
        return;
    rights->roles |= bit;
    control_add_name(rights, "role", role);
    if (bit == PEOPLE_DECIDES_TENANTS)
        control_add_name(rights, "tenant", tenant);
    if (bit == PEOPLE_AUDITS_TENANTS)
        rights->tenants[rights->tenant_count++] = tenant;
}

/* ---- members ---- */

/* Takes: actor or rights NULL: they stay as they are. */
static void become(const struct conf_member *member, struct actor *actor, struct control_rights *rights)
{
    if (actor != NULL && member->name.at != NULL) {
        if (actor->shown[0] == '\0') /* by his account alone */
            (void)snprintf(actor->shown, sizeof actor->shown, "%.*s", SPAN_ARG(member->name));
        actor_add_name(actor, member->name);
        actor_add_name(actor, member->subject);
    }
    for (size_t i = 0; actor != NULL && i < member->account_count; i++)
        actor_add_name(actor, member->accounts[i]);
    for (size_t i = 0; actor != NULL && i < member->principal_count; i++)
        actor_add_alias(actor, member->principals[i]);
    for (size_t i = 0; rights != NULL && i < member->role_count; i++)
        control_add_role(rights, member->roles[i]);
}

/* By an account: whose of the members it is, and what this one may.
 * Takes: rights NULL: he has shown a login, and may what that one may. */
static void know_account(const struct conf_people *conf, const struct control_people *people, uid_t uid, struct actor *actor,
                         struct control_rights *rights)
{
    for (size_t i = 0; i < people->account_count; i++) {
        const struct conf_member *member = &conf->members[people->accounts[i].member];

        if (people->accounts[i].account == actor->account)
            become(member, actor, NULL);
        if (people->accounts[i].account == uid && rights != NULL)
            become(member, NULL, rights);
    }
}

/* Recorded is who it is, and by which account he came, which may be an account of many. */
static void be_called(const struct conf_people *conf, struct span name, struct actor *actor)
{
    char account[ACTOR_ALIAS_BYTES];

    (void)snprintf(account, sizeof account, "%s", actor->alias[0]);
    (void)snprintf(actor->name, sizeof actor->name, span_is(name, account) ? "%.*s" : "%.*s (as %.16s)",
                   (int)(name.len < 40 ? name.len : 40), name.at, account);
    (void)snprintf(actor->shown, sizeof actor->shown, "%.*s", SPAN_ARG(name));
    memset(actor->is_own, 0, sizeof actor->is_own);
    actor_add_name(actor, name);
    for (size_t i = 0; i < conf->member_count; i++)
        if (conf->members[i].name.at != NULL && span_equals_nocase(conf->members[i].name, name))
            become(&conf->members[i], actor, NULL);
}

/* ---- keys ---- */

static enum code know_key(const struct conf_people *conf, const char *store, struct span text, struct actor *actor,
                          struct control_rights *rights, struct why *why)
{
    static struct store_person_key key; /* the roles' texts live as long as the process, which is of one command */
    struct db *db = NULL;
    enum code code = store_open(store, DB_READ, &db, why);

    if (code == CODE_OK)
        code = store_key_of_person(db, text, clock_wall_us(), &key, why);
    db_close(&db);
    if (code != CODE_OK)
        return code;
    be_called(conf, span_text(key.name), actor);
    for (struct span rest = span_text(key.roles); rest.len > 0;)
        control_add_role(rights, span_cut(rest, ' ', &rest));
    return CODE_OK;
}

/* ---- tokens ---- */

static bool is_in(const struct identity_token *token, struct span group)
{
    for (size_t i = 0; i < token->group_count; i++)
        if (span_equals(token->groups[i], group))
            return true;
    return false;
}

/* All names by which the token speaks of its owner, since an agent may have come by any of them. */
static void add_claims(const struct identity_token *token, struct actor *actor)
{
    static const char *const names[] = {"sub", "email", "preferred_username", "upn", "username"};

    actor_add_name(actor, token->principal);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct json_node *claim = json_member(token->claims, span_text(names[i]));

        if (claim != NULL && claim->type == JSON_STRING)
            actor_add_name(actor, claim->text);
    }
    for (const struct json_node *claim = token->claims->child; claim != NULL; claim = claim->next)
        if (claim->type == JSON_STRING) /* a route may call an agent by any of them */
            actor_add_alias(actor, claim->text);
}

static bool says_tenant(const struct conf_login *login)
{
    return login->tenant.constant != NULL || login->tenant.claim.count > 0;
}

/* What is asked in this principal's name under `approvers: self` is this person's to decide, whatever roles he has. */
static void be_principal(const struct conf_login *login, const struct identity_token *token, struct actor *actor,
                         struct control_rights *rights)
{
    static char tenant[ACTOR_ALIAS_BYTES], principal[ACTOR_ALIAS_BYTES]; /* as long as the process, which is of one command */

    if (token->tenant.len >= sizeof tenant || token->principal.len >= sizeof principal)
        return;
    (void)snprintf(tenant, sizeof tenant, "%.*s", SPAN_ARG(token->tenant));
    (void)snprintf(principal, sizeof principal, "%.*s", SPAN_ARG(token->principal));
    actor->tenant = span_text(tenant);
    actor->principal = span_text(principal);
    actor->issuer = span_text(login->by.rules.issuer);
    rights->roles |= PEOPLE_DECIDES_OWN;
    control_add_name(rights, "tenant", token->tenant);
}

/* Whether it is the console's, and not of `callgate login`, whose file a program of that person may read. */
static bool is_of_console(const struct conf_login *login, const struct identity_token *token)
{
    const struct json_node *party = json_member(token->claims, SPAN_LIT("azp")),
                           *audience = json_member(token->claims, SPAN_LIT("aud"));

    if (party == NULL && audience != NULL && audience->type == JSON_ARRAY)
        party = audience->count == 1 ? audience->child : NULL;
    else if (party == NULL)
        party = audience;
    return party != NULL && party->type == JSON_STRING && span_equals(party->text, login->console);
}

static void take_token(const struct conf_people *conf, const struct conf_login *login, const struct identity_token *token,
                       struct actor *actor, struct control_rights *rights)
{
    char name[ACTOR_ALIAS_BYTES];
    struct span called = SPAN_NONE;

    for (size_t i = 0; i < conf->member_count; i++) {
        const struct conf_member *member = &conf->members[i];

        if (!span_equals(member->provider, login->provider))
            continue;
        if (member->subject.at != NULL && span_equals(member->subject, token->principal))
            called = member->name;
        if (member->group.at != NULL ? is_in(token, member->group) : span_equals(member->subject, token->principal))
            become(member, NULL, rights);
    }
    for (size_t i = 0; i < token->group_count; i++)
        control_add_name(rights, "group", token->groups[i]);
    if (says_tenant(login) && (login->console.at == NULL || is_of_console(login, token)))
        be_principal(login, token, actor, rights);
    (void)snprintf(name, sizeof name, "%.*s:%.*s", SPAN_ARG(login->provider), SPAN_ARG(token->principal));
    be_called(conf, called.at != NULL ? called : span_text(name), actor);
    add_claims(token, actor);
}

static enum identity_fault read_token(const struct conf_login *login, const struct identity_key_set *keys, struct span text,
                                      struct identity_token **token)
{
    const char *const audiences[] = {login->client.at != NULL ? login->client.at : login->console.at,
                                     login->client.at != NULL ? login->console.at : NULL, NULL};
    struct identity_token_rules rules = {.audiences = audiences, .tenant = {.constant = "people"}, .is_login = true};
    struct why why = {""};
    enum identity_fault fault;

    if (says_tenant(login))
        rules.tenant = login->tenant;
    if (identity_path_read(login->principal.at, &rules.principal.claim, &why) != CODE_OK ||
        (login->groups.at != NULL && identity_path_read(login->groups.at, &rules.groups, &why) != CODE_OK))
        return IDENTITY_FAULT_PRINCIPAL; /* the configuration was checked */
    fault = identity_token_read(&login->by.rules, &rules, keys, text, clock_wall_us(), token);
    if (fault == IDENTITY_FAULT_NONE && (*token)->bound != 0) {
        identity_token_unref(token);
        return IDENTITY_FAULT_CONFIRMATION; /* nothing here checks what it is bound to */
    }
    return fault;
}

/* By the set as the gate has it. */
static enum identity_fault read_by_kept(const struct conf_login *login, const char *store, struct span text,
                                        struct identity_token **token, struct why *why)
{
    struct identity_key_set *keys = NULL;
    enum identity_fault fault;
    int64_t fetched_us;
    struct span set;
    struct buf kept;

    buf_init(&kept, 4 * IDENTITY_KEY_SET_BYTES_MAX);
    if (kept_keys_read(store, &login->by, clock_wall_us(), &kept, &set, &fetched_us, why) == CODE_OK &&
        identity_key_set_read(set, &keys, why) != CODE_OK)
        keys = NULL;
    fault = read_token(login, keys, text, token);
    identity_key_set_unref(&keys);
    buf_fini(&kept);
    return fault;
}

/* A key that is not in the set may be a new one: the gate is asked to fetch it, by the number of the provider. */
static enum identity_fault read_in_time(const struct conf_login *login, const char *store, struct span text,
                                        struct identity_token **token, struct why *why)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    enum identity_fault fault = read_by_kept(login, store, text, token, why);
    char number = (char)(1 + login->number);

    if (fault == IDENTITY_FAULT_UNKNOWN_KEY)
        (void)!send(CONTROL_GATE_FD, &number, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    for (int i = 0; fault == IDENTITY_FAULT_UNKNOWN_KEY && i < 50; i++) {
        (void)nanosleep(&pause, NULL);
        fault = read_by_kept(login, store, text, token, why);
    }
    return fault;
}

static enum code know_token(const struct conf_people *conf, const char *store, struct span text,
                            const struct identity_token_hint *hint, struct actor *actor, struct control_rights *rights,
                            struct why *why)
{
    const struct conf_login *login = NULL;
    struct identity_token *token = NULL;
    enum identity_fault fault;

    for (size_t i = 0; i < conf->login_count; i++)
        if (conf->logins[i].by.rules.issuer != NULL && strcmp(conf->logins[i].by.rules.issuer, hint->issuer) == 0)
            login = &conf->logins[i];
    if (login == NULL)
        return why_set(why, CODE_DENIED, "nobody logs in by this issuer; `people: {logins}` of the gate's configuration says "
                       "by whom");
    fault = read_in_time(login, store, text, &token, why);
    if (fault != IDENTITY_FAULT_NONE)
        return why_set(why, CODE_DENIED, "the login by %.*s is not taken: %s", SPAN_ARG(login->provider),
                       identity_fault_text(fault));
    take_token(conf, login, token, actor, rights);
    identity_token_unref(&token);
    return CODE_OK;
}

/* By what he shows: a person's key, or an ID token. The rights are those of the login alone.
 * Takes: store: its path; the key sets of providers are beside it.
 * Errors: CODE_DENIED with a sentence that says why nobody is let in by it. */
static enum code know_login(const struct conf_people *conf, const char *store, struct span login, struct actor *actor,
                            struct control_rights *rights, struct why *why)
{
    struct identity_token_hint hint;

    return identity_token_looks(login, &hint) ? know_token(conf, store, login, &hint, actor, rights, why)
                                              : know_key(conf, store, login, actor, rights, why);
}

/* ---- all of it ---- */

bool control_rights_equal(const struct control_rights *a, const struct control_rights *b)
{
    bool is_same = a->roles == b->roles && a->tenant_count == b->tenant_count &&
                   span_equals(buf_peek(&a->names), buf_peek(&b->names));

    for (size_t i = 0; is_same && i < a->tenant_count; i++)
        is_same = span_equals(a->tenants[i], b->tenants[i]);
    return is_same;
}

unsigned control_roles_of(const struct control_people *people, const struct person *person)
{
    unsigned roles = 0;

    if (person->uid == 0 || (person->uid == geteuid() && person->uid != PERSON_NOBODY))
        return ~0u;
    for (size_t i = 0; i < people->count; i++)
        if (person_is_in(person, people->all[i].group))
            roles |= people->all[i].roles;
    return roles;
}

enum code control_know(const struct conf_people *conf, const struct control_people *people, const char *store,
                       const struct person *person, unsigned roles, const char *login, struct actor *actor,
                       struct control_rights *rights, struct why *why)
{
    enum code code = CODE_OK;

    control_rights_init(rights);
    if (login == NULL) {
        rights->roles = roles;
        control_name_roles(roles, &rights->names);
        for (size_t i = 0; i < people->count; i++)
            if (person_is_in(person, people->all[i].group))
                control_add_name(rights, "group", people->all[i].name);
        know_account(conf, people, person->uid, actor, rights);
    } else {
        code = know_login(conf, store, span_text(login), actor, rights, why);
    }
    actor->names = buf_peek(&rights->names);
    if (code == CODE_OK && login != NULL) /* a member's account is one person's, whatever is shown over it */
        know_account(conf, people, person->uid, actor, NULL);
    return code;
}

int control_tell_who(const struct conf_people *conf, const struct actor *actor, const struct control_rights *rights)
{
    struct doc *doc = doc_object(), *list = doc_add_array(doc, "roles");

    doc_text(doc, "person", span_text(actor->name));
    for (unsigned role = 0; role < PEOPLE_ROLES; role++)
        if ((rights->roles & PEOPLE_BIT(role)) != 0)
            doc_text(list, NULL, people_role_names[role]);
    list = doc_add_array(doc, "audits");
    for (size_t i = 0; i < rights->tenant_count; i++)
        doc_text(list, NULL, rights->tenants[i]);
    list = doc_add_array(doc, "decides");
    for (struct span rest = buf_peek(&rights->names), name; rest.len > 0;) {
        name = span_cut(rest, '\n', &rest);
        if (span_starts_with(name, SPAN_LIT("role:approver:")))
            doc_text(list, NULL, span_part(name, 14, SIZE_MAX));
    }
    doc_text_or_null(doc, "principal", actor->principal);
    doc_text_or_null(doc, "tenant", actor->tenant);
    doc_lines(doc, "names", buf_peek(&rights->names));
    list = doc_add_array(doc, "logins");
    for (size_t i = 0; i < conf->login_count; i++) {
        struct doc *login = doc_add_object(list, NULL);

        doc_text(login, "provider", conf->logins[i].provider);
        doc_text(login, "issuer", span_text(conf->logins[i].by.rules.issuer));
        doc_text_or_null(login, "client", conf->logins[i].client);
        doc_text_or_null(login, "console", conf->logins[i].console);
    }
    return print_doc(&doc);
}
