/* SPDX-License-Identifier: Apache-2.0 */
/* The short form: what `allow`, `ask` and `deny` say by upstream, who and tools becomes rules in the file's tree, behind those
 * that are written there. Whoever reads the tree from then on sees rules alone. */
#include "fill/parameters.h"

#define ID_MAX 128
#define WORDS_MAX_BYTES ((size_t)64 << 10)

struct form {
    const char *key, *effect;
    bool lets_in; /* who may call a tool, or ask for it, may say what comes before a call */
};

static const struct form forms[] = {{"allow", "permit", true}, {"ask", "require_approval", true}, {"deny", "forbid", false}};

struct expansion {
    struct compiler *c;
    struct yaml_tree *tree;
    struct span name; /* of the file, or of the copy */
    const struct form *form;
    struct yaml_chain rules; /* all of them */
};

/* Takes: at: the node whose place it gets. Returns: NULL: no memory, which was noted. */
static struct yaml_node *make(struct expansion *e, enum yaml_type type, const char *key, const struct yaml_node *at)
{
    struct yaml_node *made = arena_zalloc(yaml_arena(e->tree), sizeof *made);

    e->c->no_memory |= made == NULL;
    if (made != NULL)
        *made = (struct yaml_node){.type = type, .key = span_text(key), .line = at->key_line, .column = at->key_column,
                                   .key_line = at->key_line, .key_column = at->key_column};
    return made;
}

static void add(struct yaml_node *parent, struct yaml_node *member)
{
    const struct yaml_node **end = &parent->child;

    while (*end != NULL)
        end = (const struct yaml_node **)&(*end)->next;
    *end = member;
    parent->count++;
}

static void add_text(struct expansion *e, struct yaml_node *parent, const char *key, struct span text,
                     const struct yaml_node *at)
{
    struct yaml_node *made = parent != NULL ? make(e, YAML_STRING, key, at) : NULL;

    if (made == NULL)
        return;
    e->c->no_memory |= yaml_put_text(e->tree, made, text) != CODE_OK;
    add(parent, made);
}

static void add_list_of_one(struct expansion *e, struct yaml_node *parent, const char *key, struct span text,
                            const struct yaml_node *at)
{
    struct yaml_node *list = make(e, YAML_LIST, key, at);

    add_text(e, list, "", text, at);
    if (list != NULL)
        add(parent, list);
}

/* ---- ids ---- */

/* An id has visible ASCII alone, without quotes: what else stands in a name is written as %XX, and so is `%`. */
static void add_escaped(struct buf *id, struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.at[i];

        if (byte <= ' ' || byte > '~' || byte == '"' || byte == '\\' || byte == '%')
            buf_addf(id, "%%%02X", byte);
        else
            buf_add_span(id, span_part(text, i, 1));
    }
}

static void add_id(struct expansion *e, struct yaml_node *rule, const struct yaml_node *upstream, const struct yaml_node *who,
                   const char *tail)
{
    struct buf id;

    buf_init(&id, WORDS_MAX_BYTES);
    buf_addf(&id, "%.*s.%s.", SPAN_ARG(e->name), e->form->key);
    add_escaped(&id, upstream->key);
    buf_addf(&id, ".");
    add_escaped(&id, who->key);
    buf_addf(&id, "%s", tail);
    e->c->no_memory |= buf_code(&id) == CODE_NOMEM;
    if (buf_code(&id) != CODE_OK || buf_len(&id) > ID_MAX)
        FAULT_KEY(e->c, who, "the rule that this stands for would have an id of more than %d bytes; write it under `rules:` "
                  "with an id of its own", ID_MAX);
    else
        add_text(e, rule, "id", buf_peek(&id), who);
    buf_fini(&id);
}

/* ---- who ---- */

static const struct kind {
    const char *prefix, *dimension;
} kinds[] = {{"principal:", "principals"}, {"group:", "groups"}, {"tenant:", "tenants"}, {"agent:", "agents"}};

static bool starts_nocase(struct span text, const char *prefix)
{
    return span_equals_nocase(span_part(text, 0, strlen(prefix)), span_text(prefix));
}

/* What people write who mean another word: as names of principals these would open or close nothing that anybody meant. */
static const char *wrong_who(struct span who)
{
    static const char *const all[] = {"all", "any", "anybody", "anyone", "everybody", "everyone"};
    static const char *const prefixes[] = {"groups:", "tenants:", "principals:", "agents:", "user:", "users:", "role:",
                                           "roles:", "team:", "scope:", "scopes:", "client:"};

    if (who.len == 0)
        return "nobody has an empty name; write a principal, `agent:NAME`, `group:NAME`, `tenant:NAME` or everyone";
    if (span_is(who, "everyone"))
        return NULL;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (span_equals_nocase(span_trim(who), span_text(all[i])))
            return "this would be a principal of that name; write everyone for all, or `principal:` in front of it";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (starts_nocase(who, kinds[i].prefix) && !span_starts_with(who, span_text(kinds[i].prefix)))
            return "this would be a principal of that name; write `agent:`, `group:`, `tenant:` or `principal:` in small "
                   "letters";
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (starts_nocase(who, prefixes[i]))
            return "who stands here is a principal, `agent:NAME`, `group:NAME`, `tenant:NAME` or everyone; write one of "
                   "these, or `principal:` in front of it where it is a name";
    return NULL;
}

/* Returns: false: with a fault. */
static bool is_who(struct expansion *e, const struct yaml_node *who)
{
    const char *wrong = wrong_who(who->key);

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (span_is(who->key, kinds[i].prefix))
            wrong = "no name stands behind the colon; write one, as in `group:doctors`";
    if (wrong != NULL)
        FAULT_KEY(e->c, who, "`%.*s`: %s", SPAN_ARG(who->key), wrong);
    return wrong == NULL;
}

static void add_who(struct expansion *e, struct yaml_node *match, const struct yaml_node *who)
{
    const char *dimension = "principals";
    struct span name = who->key;

    if (span_is(name, "everyone"))
        return;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (span_starts_with(who->key, span_text(kinds[i].prefix))) {
            dimension = kinds[i].dimension;
            name = span_part(who->key, strlen(kinds[i].prefix), SIZE_MAX);
        }
    add_list_of_one(e, match, dimension, name, who);
}

/* ---- rules ---- */

/* Takes: tools: those of the list; NULL: the rule is about what comes before a call. */
static void expand(struct expansion *e, const struct yaml_node *upstream, const struct yaml_node *who,
                   const struct yaml_node *tools)
{
    struct yaml_node *rule = make(e, YAML_MAP, "", who), *match = make(e, YAML_MAP, "match", who);
    struct yaml_node *list = tools != NULL ? make(e, YAML_LIST, "tools", tools) : NULL;

    if (e->c->no_memory)
        return;
    add_id(e, rule, upstream, who, tools != NULL ? "" : ".protocol");
    add_text(e, rule, "effect", tools != NULL ? span_text(e->form->effect) : SPAN_LIT("permit"), who);
    add_list_of_one(e, match, "upstreams", upstream->key, upstream);
    if (list != NULL) {
        list->line = tools->line;
        list->column = tools->column;
        list->child = tools->child;
        list->count = tools->count;
        add(match, list);
    } else {
        add_list_of_one(e, match, "methods", SPAN_LIT("protocol"), who);
    }
    add_who(e, match, who);
    add(rule, match);
    yaml_chain_add(&e->rules, rule);
}

/* `*`, `?*`, `**`: whatever the tools are called. */
static bool is_every_name(struct span text)
{
    size_t stars = 0, at = 0;

    for (; at < text.len && (text.at[at] == '*' || text.at[at] == '?'); at++)
        stars += text.at[at] == '*';
    return stars > 0 && at == text.len;
}

/* A forbid of all tools leaves prompts, resources and what servers ask open, which nobody means who denies everything. */
static void check_tools(struct expansion *e, const struct yaml_node *upstream, const struct yaml_node *tools)
{
    for (const struct yaml_node *tool = tools->child; tool != NULL; tool = tool->next) {
        if (tool->type != YAML_STRING)
            FAULT(e->c, tool, "the short form takes names and globs of tools; write a rule under `rules:` for more");
        else if (!e->form->lets_in && is_every_name(tool->text))
            FAULT(e->c, tool, "`deny` speaks of tools alone, and all tools are not all that can be asked of `%.*s`; "
                  "write a rule: {id: NAME, effect: forbid, match: {upstreams: ['%.*s']}}", SPAN_ARG(upstream->key),
                  SPAN_ARG(upstream->key));
    }
}

static void expand_upstream(struct expansion *e, const struct yaml_node *upstream)
{
    if (upstream->type != YAML_MAP) {
        FAULT(e->c, upstream, "below an upstream stands who, and behind that the tools; write {everyone: [search]}");
        return;
    }
    for (const struct yaml_node *who = upstream->child; who != NULL && !e->c->no_memory; who = who->next) {
        if (who->type != YAML_LIST) {
            FAULT(e->c, who, "behind who stand tools in a list; write [search, 'get_*']");
            continue;
        }
        if (!is_who(e, who))
            continue;
        check_tools(e, upstream, who);
        expand(e, upstream, who, who);
        if (e->form->lets_in && !e->c->no_memory)
            expand(e, upstream, who, NULL);
    }
}

static void expand_form(struct expansion *e, const struct yaml_node *map)
{
    if (map == NULL)
        return;
    if (map->type != YAML_MAP)
        FAULT(e->c, map, "`%s` names upstreams, who and tools; write %s: {UPSTREAM: {everyone: [TOOL]}}", e->form->key,
              e->form->key);
    else
        for (const struct yaml_node *upstream = map->child; upstream != NULL && !e->c->no_memory; upstream = upstream->next)
            expand_upstream(e, upstream);
}

/* A copy that can stand in another list: what is in it stays where it is. */
static struct yaml_node *again(struct expansion *e, const struct yaml_node *node)
{
    struct yaml_node *copy = make(e, node->type, "", node);

    if (copy != NULL) {
        *copy = *node;
        copy->next = NULL;
    }
    return copy;
}

/* The root with all rules in place of those that were written. */
static void put_rules(struct expansion *e, const struct yaml_node *root, const struct yaml_node *written)
{
    struct yaml_node *made = again(e, root), *list = make(e, YAML_LIST, "rules", written != NULL ? written : root);
    struct yaml_chain members = {.first = NULL};

    for (const struct yaml_node *member = root->child; member != NULL && !e->c->no_memory; member = member->next)
        if (member != written)
            yaml_chain_add(&members, again(e, member));
    if (e->c->no_memory)
        return;
    yaml_chain_into(&e->rules, list, YAML_LIST);
    yaml_chain_add(&members, list);
    yaml_chain_into(&members, made, YAML_MAP);
    yaml_put_root(e->tree, made);
}

void parameters__expand(struct compiler *c, struct open_file *file)
{
    const struct yaml_node *root = yaml_root(file->tree), *name = parameters_name(root), *rules = yaml_member(root, "rules");
    struct expansion e = {.c = c, .tree = file->tree, .name = name != NULL ? name->text : SPAN_NONE};
    bool any = false;

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        any |= yaml_member(root, forms[i].key) != NULL;
    if (!any || (rules != NULL && rules->type != YAML_LIST))
        return;
    for (const struct yaml_node *rule = rules != NULL ? rules->child : NULL; rule != NULL && !c->no_memory; rule = rule->next)
        yaml_chain_add(&e.rules, again(&e, rule));
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !c->no_memory; i++) {
        e.form = &forms[i];
        expand_form(&e, yaml_member(root, forms[i].key));
    }
    if (!c->no_memory)
        put_rules(&e, root, rules);
}
