/* SPDX-License-Identifier: Apache-2.0 */
#include "people/known_people.h"
#include "people/control.h"
#include "store/store.h"

#include "policy/snapshot.h"

#define TEXT_BYTES ((size_t)16384)

struct known {
    struct control_rights all; /* of everybody */
    bool has_tenants;          /* logins may say any */
    bool has_self;             /* some login says which tenant it is of */
};

static enum code add_key(void *context, const struct store_key *key)
{
    struct known *known = context;

    for (struct span rest = key->revoked_us == 0 ? key->roles : SPAN_NONE; rest.len > 0;)
        control_add_role(&known->all, span_cut(rest, ' ', &rest));
    return CODE_OK;
}

static void add_login(struct known *known, const struct identity_naming *tenant)
{
    known->has_self = known->has_self || tenant->constant != NULL || tenant->claim.count > 0;
    known->has_tenants = known->has_tenants || (tenant->claim.count > 0 && tenant->table == NULL);
    control_add_name(&known->all, "tenant", tenant->constant != NULL ? span_text(tenant->constant) : SPAN_NONE);
    for (size_t i = 0; i < tenant->table_count; i++)
        control_add_name(&known->all, "tenant", span_text(tenant->table[i].name));
}

static void find_known(const struct conf_people *people, struct db *db, struct known *known)
{
    struct why why = {""};

    control_rights_init(&known->all);
    if (!people->is_on) /* then whoever may open the store */
        control_name_roles(~0u, &known->all.names);
    for (unsigned role = 0; role < PEOPLE_ROLES; role++)
        for (size_t i = 0; i < people->groups[role].count; i++) {
            control_add_role(&known->all, people_role_names[role]);
            control_add_name(&known->all, "group", people->groups[role].names[i]);
        }
    for (size_t i = 0; i < people->member_count; i++) {
        control_add_name(&known->all, "group", people->members[i].group);
        for (size_t j = 0; j < people->members[i].role_count; j++)
            control_add_role(&known->all, people->members[i].roles[j]);
    }
    for (size_t i = 0; i < people->login_count; i++)
        add_login(known, &people->logins[i].tenant);
    if (people->is_on && store_keys_each(db, add_key, known, &why) != CODE_OK)
        buf_clear(&known->all.names);
}

static bool is_known(const struct known *known, struct span name)
{
    if (span_is(name, "self"))
        return known->has_self;
    if (known->has_tenants && span_starts_with(name, SPAN_LIT("tenant:")))
        return true;
    for (struct span rest = buf_peek(&known->all.names); rest.len > 0;)
        if (span_equals(span_cut(rest, '\n', &rest), name))
            return true;
    return false;
}

static void look_at(const struct rule *rule, const struct known *known, struct faults *warnings)
{
    struct buf strangers;

    buf_init(&strangers, TEXT_BYTES);
    for (struct span rest = rule->people.approvers, name; rest.len > 0;) {
        name = span_cut(rest, '\n', &rest);
        if (!is_known(known, name))
            (void)buf_addf(&strangers, "%s%.*s", buf_len(&strangers) > 0 ? ", " : "", SPAN_ARG(name));
    }
    if (span_is(buf_peek(&strangers), "self"))
        faults_add(warnings, rule->source->path_text, rule->line, rule->column, "rule %.*s: `approvers: self` is for logins "
                   "that say whose they are, and none does; write `tenant` into one of `people: {logins}`", SPAN_ARG(rule->id));
    else if (buf_len(&strangers) > 0)
        faults_add(warnings, rule->source->path_text, rule->line, rule->column, "rule %.*s: its `approvers` name %.*s, which "
                   "nobody is whom `people:` of the configuration or a key names; write such a member, or another name",
                   SPAN_ARG(rule->id), SPAN_ARG(span_part(buf_peek(&strangers), 0, 200)));
    buf_fini(&strangers);
}

void known_people_warn(const struct policy *policy, struct conf_file *file, struct db *db, struct faults *warnings)
{
    struct known known = {.has_self = false};
    struct conf_people people;
    struct faults unheard;
    struct arena arena;
    bool is_read;

    faults_init(&unheard);
    arena_init(&arena, SIZE_MAX);
    is_read = conf_people(file, &arena, &people, &unheard) == CODE_OK;
    if (is_read)
        find_known(&people, db, &known);
    for (uint32_t i = 0; is_read && buf_len(&known.all.names) > 0 && i < policy->rule_count; i++)
        if (policy->rules[i].people.approvers.at != NULL)
            look_at(&policy->rules[i], &known, warnings);
    if (is_read)
        buf_fini(&known.all.names);
    arena_fini(&arena);
}
