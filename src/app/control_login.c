/* SPDX-License-Identifier: Apache-2.0 */
/* Who gives a command over the control socket, by more than an account: a key of a person's, or an ID token of a provider's. */
#include "app/control.h"
#include "app/print.h"
#include "app/store.h"

#include "json/doc.h"
#include "os/clock.h"

#include <stdio.h>
#include <string.h>

void control_add_role(struct control_rights *rights, struct span role)
{
    struct span tenant;
    unsigned bit = people_role_read(role, &tenant);

    if (bit == PEOPLE_AUDITS_TENANTS && rights->tenant_count == AUDIT_TENANTS_MAX)
        return;
    rights->roles |= bit;
    if (bit == PEOPLE_AUDITS_TENANTS)
        rights->tenants[rights->tenant_count++] = tenant;
}

/* ---- members ---- */

/* Takes: actor or rights NULL: they stay as they are. */
static void become(const struct conf_member *member, struct actor *actor, struct control_rights *rights)
{
    if (actor != NULL && member->name.at != NULL) {
        (void)snprintf(actor->shown, sizeof actor->shown, "%.*s", SPAN_ARG(member->name));
        actor_add_alias(actor, member->name);
        actor_add_alias(actor, member->subject);
    }
    for (size_t i = 0; actor != NULL && i < member->account_count; i++)
        actor_add_alias(actor, member->accounts[i]);
    for (size_t i = 0; actor != NULL && i < member->principal_count; i++)
        actor_add_alias(actor, member->principals[i]);
    for (size_t i = 0; rights != NULL && i < member->role_count; i++)
        control_add_role(rights, member->roles[i]);
}

void control_know_account(const struct conf_people *conf, const struct control_people *people, uid_t uid, struct actor *actor,
                          struct control_rights *rights)
{
    for (size_t i = 0; i < people->account_count; i++) {
        const struct conf_member *member = &conf->members[people->accounts[i].member];

        if (people->accounts[i].account == actor->account)
            become(member, actor, NULL);
        if (people->accounts[i].account == uid)
            become(member, NULL, rights);
    }
}

/* Recorded is who it is, and by which account he came. */
static void be_called(const struct conf_people *conf, struct span name, struct actor *actor)
{
    char account[ACTOR_ALIAS_BYTES];

    (void)snprintf(account, sizeof account, "%s", actor->alias[0]);
    (void)snprintf(actor->name, sizeof actor->name, span_is(name, account) ? "%.*s" : "%.*s (as %.16s)",
                   (int)(name.len < 40 ? name.len : 40), name.at, account);
    (void)snprintf(actor->shown, sizeof actor->shown, "%.*s", SPAN_ARG(name));
    actor_add_alias(actor, name);
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

enum code control_know_login(const struct conf_people *conf, const char *store, struct span login, struct actor *actor,
                             struct control_rights *rights, struct why *why)
{
    return know_key(conf, store, login, actor, rights, why);
}

int control_tell_who(const struct conf_people *conf, const struct actor *actor, const struct control_rights *rights)
{
    static const char *const words[PEOPLE_ROLES] = {"approver", "author", "auditor", "admin", "viewer"};
    struct doc *doc = doc_object(), *list = doc_add_array(doc, "roles");

    doc_text(doc, "person", span_text(actor->name));
    for (unsigned role = 0; role < PEOPLE_ROLES; role++)
        if ((rights->roles & PEOPLE_BIT(role)) != 0)
            doc_text(list, NULL, span_text(words[role]));
    list = doc_add_array(doc, "audits");
    for (size_t i = 0; i < rights->tenant_count; i++)
        doc_text(list, NULL, rights->tenants[i]);
    list = doc_add_array(doc, "logins");
    for (size_t i = 0; i < conf->login_count; i++) {
        struct doc *login = doc_add_object(list, NULL);

        doc_text(login, "provider", conf->logins[i].provider);
        doc_text(login, "issuer", span_text(conf->logins[i].rules.issuer));
        doc_text(login, "client", conf->logins[i].client);
    }
    return print_doc(&doc);
}
