/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf_priv.h"

#define MAX_GROUPS 64
#define MAX_LOGINS 16
#define MAX_MEMBERS 1024
#define MAX_LISTED 64 /* accounts, principals, roles of one */

static struct span read_role(struct conf_reader *reader, const struct yaml_node *node)
{
    struct span text = conf__text(reader, node), tenant;

    if (text.at != NULL && people_role_read(text, &tenant) == 0)
        CONF_FAULT(reader, node, "`%.*s` is no role; write " PEOPLE_ROLES_TEXT, SPAN_ARG(text));
    return text;
}

static struct span read_path(struct conf_reader *reader, const struct yaml_node *map, const char *key)
{
    struct span text = conf__text_of(reader, map, key);
    struct identity_path path;
    struct why why = {""};

    if (text.at != NULL && identity_path_read(text.at, &path, &why) != CODE_OK)
        CONF_FAULT(reader, yaml_member(map, key), "%s", why.text);
    return text;
}

/* ---- logins ---- */

const struct yaml_node *conf__find_provider(struct conf_reader *reader, const struct yaml_node *root,
                                            const struct yaml_node *node, struct span provider, size_t *number,
                                            struct identity_provider *by)
{
    const struct yaml_node *list = yaml_member(root, "providers"), *name;

    *number = 0;
    for (const struct yaml_node *map = list != NULL ? list->child : NULL; map != NULL; map = map->next, ++*number)
        if ((name = yaml_member(map, "name")) != NULL && span_equals(name->text, provider)) {
            if (reader->proxy == NULL)
                conf__provider_rules(reader, map, by);
            return map;
        }
    CONF_FAULT(reader, node, "`providers` has none of this name; write what one of them has as `name`");
    return NULL;
}

static bool says(const struct yaml_node *node, struct span text)
{
    return node != NULL && node->type == YAML_STRING && span_equals(node->text, text);
}

/* Whether agents show tokens for this client: whoever has one would be logged in by it. Takes: client: empty for none. */
static bool is_for_agents(const struct yaml_node *root, const struct conf_login *login, struct span client)
{
    const struct yaml_node *routes = yaml_member(root, "routes");

    for (const struct yaml_node *route = routes != NULL ? routes->child : NULL; route != NULL; route = route->next) {
        const struct yaml_node *identity = yaml_member(route, "identity");

        for (const struct yaml_node *one = identity != NULL ? identity->child : NULL; one != NULL; one = one->next) {
            const struct yaml_node *token = yaml_member(one, "token"), *audience = yaml_member(token, "audience");
            bool is_for = says(audience, client);

            for (const struct yaml_node *of = audience != NULL ? audience->child : NULL; of != NULL; of = of->next)
                is_for = is_for || says(of, client);
            if (is_for && says(yaml_member(token, "provider"), login->provider))
                return true;
        }
    }
    return false;
}

static void read_login(struct conf_reader *reader, const struct yaml_node *root, const struct yaml_node *node,
                       struct conf_login *login)
{
    if (!conf__map(reader, node, conf__logins, "a login") || conf__need(reader, node, "provider", "corp") == NULL ||
        (yaml_member(node, "console") == NULL && conf__need(reader, node, "client", "callgate-cli") == NULL))
        return;
    login->provider = conf__text_of(reader, node, "provider");
    login->client = conf__text_of(reader, node, "client");
    login->console = conf__text_of(reader, node, "console");
    if (login->client.at != NULL && span_equals(login->client, login->console))
        CONF_FAULT(reader, yaml_member(node, "console"), "a login at the console could not be told from one by `callgate "
                   "login`, which programs of that person may use; give the console a client of its own");
    login->principal = read_path(reader, node, "principal");
    if (login->principal.at == NULL)
        login->principal = SPAN_LIT("$.sub");
    login->groups = read_path(reader, node, "groups");
    if (yaml_member(node, "tenant") != NULL)
        conf__tenant_of(reader, node, &login->tenant);
    if (login->provider.at != NULL)
        (void)conf__find_provider(reader, root, yaml_member(node, "provider"), login->provider, &login->number, &login->by);
}

/* Takes: count: of those before it. */
static void check_login(struct conf_reader *reader, const struct yaml_node *root, const struct yaml_node *node,
                        const struct conf_login *logins, size_t count)
{
    static const char *const clients[] = {"client", "console"};

    for (size_t i = 0; i < 2; i++)
        if (is_for_agents(root, &logins[count], i == 0 ? logins[count].client : logins[count].console))
            CONF_FAULT(reader, yaml_member(node, clients[i]), "agents show tokens for this client, as `audience` of a route "
                       "says, and could log in by them; give people's logins a client of their own");
    for (size_t i = 0; i < count; i++)
        if (span_equals(logins[i].provider, logins[count].provider))
            CONF_FAULT(reader, node, "there is a login by this provider already; leave one of the two out");
}

/* ---- members ---- */

static const struct conf_login *login_of(const struct conf_people *people, struct span provider)
{
    for (size_t i = 0; i < people->login_count; i++)
        if (span_equals(people->logins[i].provider, provider))
            return &people->logins[i];
    return NULL;
}

static void check_member(struct conf_reader *reader, const struct yaml_node *node, const struct conf_people *people,
                         const struct conf_member *member)
{
    const struct conf_login *login = login_of(people, member->provider);

    if (member->provider.at != NULL && login == NULL)
        CONF_FAULT(reader, yaml_member(node, "provider"), "nobody logs in by this provider; write it into `people: {logins: "
                   "[{provider: ..., client: ...}]}`");
    if ((member->provider.at == NULL) != (member->subject.at == NULL && member->group.at == NULL))
        CONF_FAULT(reader, node, "`provider` says who somebody is together with his `subject`, or with a `group`; write both "
                   "or none");
    if (member->group.at != NULL &&
        (yaml_member(node, "name") != NULL || member->subject.at != NULL || member->account_count > 0))
        CONF_FAULT(reader, node, "a `group` is many people, whom the provider names; leave name, subject and accounts out");
    if (member->group.at != NULL && login != NULL && login->groups.at == NULL)
        CONF_FAULT(reader, yaml_member(node, "group"), "the login by this provider does not say where its tokens list groups; "
                   "write for example `groups: $.groups` there");
    for (const struct conf_member *other = people->members; other < member; other++)
        if (member->name.at != NULL && span_equals_nocase(other->name, member->name))
            CONF_FAULT(reader, node, "two members are named %.*s; give each person one entry", SPAN_ARG(member->name));
}

static void read_member(struct conf_reader *reader, const struct yaml_node *node, struct conf_member *member)
{
    if (!conf__map(reader, node, conf__members, "a member"))
        return;
    if (yaml_member(node, "group") == NULL)
        member->name = conf__principal(reader, node, "name", "ann");
    member->account_count = conf__texts(reader, node, "accounts", MAX_LISTED, conf__text, &member->accounts);
    member->principal_count = conf__texts(reader, node, "principals", MAX_LISTED, conf__text, &member->principals);
    member->provider = conf__text_of(reader, node, "provider");
    member->subject = conf__text_of(reader, node, "subject");
    member->group = conf__text_of(reader, node, "group");
    if (conf__need(reader, node, "roles", "[approver]") != NULL)
        member->role_count = conf__texts(reader, node, "roles", MAX_LISTED, read_role, &member->roles);
}

void conf__people_of(struct conf_reader *reader, const struct yaml_node *root, struct conf_people *people)
{
    const struct yaml_node *node = yaml_member(root, "people"), *list;
    struct conf_member *members;
    struct conf_login *logins;

    *people = (struct conf_people){.is_on = node != NULL};
    if (node == NULL || !conf__read(reader, node, conf__people, "`people`", people))
        return;
    for (size_t role = 0; role < PEOPLE_ROLES; role++) /* behind `socket`, in the order of enum people_role */
        people->groups[role].count = conf__texts(reader, node, conf__people[1 + role].name, MAX_GROUPS, conf__text,
                                                 &people->groups[role].names);
    list = conf__list(reader, node, "logins", MAX_LOGINS);
    people->logins = logins = list != NULL ? conf__array(reader, list->count, sizeof *logins) : NULL;
    for (const struct yaml_node *one = logins != NULL ? list->child : NULL; one != NULL; one = one->next) {
        read_login(reader, root, one, &logins[people->login_count]);
        check_login(reader, root, one, logins, people->login_count++);
    }
    list = conf__list(reader, node, "members", MAX_MEMBERS);
    people->members = members = list != NULL ? conf__array(reader, list->count, sizeof *members) : NULL;
    for (const struct yaml_node *one = members != NULL ? list->child : NULL; one != NULL; one = one->next) {
        read_member(reader, one, &members[people->member_count]);
        check_member(reader, one, people, &members[people->member_count++]);
    }
}
