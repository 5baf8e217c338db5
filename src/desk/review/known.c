/* SPDX-License-Identifier: Apache-2.0 */
#include "review/known.h"

#include "base/hash.h"
#include "base/mem.h"
#include "files/trail.h"
#include "policy/match.h"
#include "policy/snapshot.h"
#include "store/store.h"
#include "store/store_definitions.h"

#include <stdlib.h>

#define MEMORY_BYTES ((size_t)1 << 30)
#define KEY_BYTES ((size_t)64 << 20)
#define BUCKETS (1U << 18)

/* ---- one table of all that is known ---- */

enum thing { OF_WHO = 0, OF_TOOL, OF_USE, OF_RULE, OF_NAMES, OF_COUNT };

/* A list of groups or scopes, as rows have it. */
struct names_read {
    const struct span *name;
    uint32_t count;
    bool is_cut; /* there were more */
};

struct entry {
    struct entry *next;  /* in the bucket */
    struct entry *after; /* of its kind, the one that was learned before */
    struct span key;
    union {
        struct known_who who;
        struct known_tool tool;
        struct known_use use;
        struct names_read names;
    } is;
};

struct known {
    struct arena arena;
    struct buf key, json;
    struct entry **buckets;
    struct entry *last[OF_COUNT];
    int64_t first_us;
};

enum code known_new(struct known **known)
{
    *known = mem_zalloc(sizeof **known);
    if (*known == NULL)
        return CODE_NOMEM;
    arena_init(&(*known)->arena, MEMORY_BYTES);
    buf_init(&(*known)->key, KEY_BYTES);
    buf_init(&(*known)->json, KEY_BYTES);
    (*known)->buckets = mem_array(BUCKETS, sizeof(struct entry *));
    if ((*known)->buckets != NULL)
        return CODE_OK;
    known_free(known);
    return CODE_NOMEM;
}

void known_free(struct known **known)
{
    if (*known == NULL)
        return;
    mem_free((*known)->buckets);
    buf_fini(&(*known)->key);
    buf_fini(&(*known)->json);
    arena_fini(&(*known)->arena);
    mem_free(*known);
    *known = NULL;
}

/* Each part behind its length, so that no two keys are one. */
static struct span key_of(struct known *known, enum thing thing, const struct span *parts, size_t count)
{
    buf_clear(&known->key);
    buf_add_byte(&known->key, (char)('0' + (int)thing));
    for (size_t i = 0; i < count; i++) {
        const size_t len = parts[i].at == NULL ? SIZE_MAX : parts[i].len;

        (void)buf_add(&known->key, &len, sizeof len);
        buf_add_span(&known->key, parts[i]);
    }
    return buf_code(&known->key) == CODE_OK ? buf_peek(&known->key) : SPAN_NONE;
}

static struct entry **bucket_of(const struct known *known, struct span key)
{
    return &known->buckets[hash_span(key) & (BUCKETS - 1)];
}

static struct entry *find(struct known *known, enum thing thing, const struct span *parts, size_t count)
{
    const struct span key = key_of(known, thing, parts, count);

    for (struct entry *entry = *bucket_of(known, key); entry != NULL; entry = entry->next)
        if (span_equals(entry->key, key))
            return entry;
    return NULL;
}

/* *fresh: whether it was not there. */
static enum code get(struct known *known, enum thing thing, const struct span *parts, size_t count, struct entry **entry,
                     bool *fresh)
{
    struct entry **bucket;
    enum code code;

    *entry = find(known, thing, parts, count);
    *fresh = *entry == NULL;
    if (!*fresh)
        return CODE_OK;
    *entry = arena_zalloc(&known->arena, sizeof **entry);
    code = *entry != NULL && buf_code(&known->key) == CODE_OK ? arena_keep(&known->arena, buf_peek(&known->key), &(*entry)->key)
                                                             : CODE_NOMEM;
    if (code != CODE_OK)
        return code;
    bucket = bucket_of(known, (*entry)->key);
    (*entry)->next = *bucket;
    *bucket = *entry;
    (*entry)->after = known->last[thing];
    known->last[thing] = *entry;
    return CODE_OK;
}

#define PARTS(...) (const struct span[]){__VA_ARGS__}, sizeof((const struct span[]){__VA_ARGS__}) / sizeof(struct span)

static struct span kind_part(enum access_kind kind)
{
    return span_text(access_kind_text(kind));
}

/* Takes: tenant: at == NULL: any. */
static enum code add_who(struct known *known, enum access_kind kind, struct span tenant, struct span name, struct entry **entry)
{
    bool fresh;
    enum code code = get(known, OF_WHO, PARTS(kind_part(kind), tenant, name), entry, &fresh);

    if (code != CODE_OK || !fresh)
        return code;
    (*entry)->is.who.who.kind = kind;
    code = arena_keep(&known->arena, tenant, &(*entry)->is.who.who.tenant);
    return code == CODE_OK ? arena_keep(&known->arena, name, &(*entry)->is.who.who.name) : code;
}

static enum code add_tool(struct known *known, struct span upstream, struct span tool, struct entry **entry)
{
    bool fresh;
    enum code code = get(known, OF_TOOL, PARTS(upstream, tool), entry, &fresh);

    if (code != CODE_OK || !fresh)
        return code;
    code = arena_keep(&known->arena, upstream, &(*entry)->is.tool.upstream);
    return code == CODE_OK ? arena_keep(&known->arena, tool, &(*entry)->is.tool.tool) : code;
}

/* ---- whom rules name ---- */

static enum code add_named(struct known *known, enum access_kind kind, const struct names *names, const struct names *tenants)
{
    struct entry *entry;
    enum code code = CODE_OK;
    bool has_tenant = false;

    for (uint32_t t = 0; t < tenants->count; t++)
        has_tenant |= tenants->name[t].kind == NAME_LITERAL;
    for (uint32_t i = 0; i < names->count && code == CODE_OK; i++) {
        if (names->name[i].kind != NAME_LITERAL)
            continue;
        if (!has_tenant)
            code = add_who(known, kind, SPAN_NONE, names->name[i].text, &entry);
        for (uint32_t t = 0; t < tenants->count && code == CODE_OK; t++)
            if (tenants->name[t].kind == NAME_LITERAL)
                code = add_who(known, kind, tenants->name[t].text, names->name[i].text, &entry);
    }
    return code;
}

static enum code add_match(struct known *known, const struct match *match)
{
    static const enum dimension of[ACCESS_KINDS] = {
        [ACCESS_PRINCIPAL] = DIM_PRINCIPAL, [ACCESS_GROUP] = DIM_GROUP, [ACCESS_AGENT] = DIM_AGENT};
    enum code code = CODE_OK;

    for (enum access_kind kind = ACCESS_PRINCIPAL; kind < ACCESS_KINDS && code == CODE_OK; kind++)
        code = add_named(known, kind, &match->by[of[kind]], &match->by[DIM_TENANT]);
    return code;
}

enum code known_of_policy(struct known *known, const struct policy *policy)
{
    enum code code = CODE_OK;

    for (uint32_t i = 0; i < policy->rule_count && code == CODE_OK; i++)
        code = add_match(known, &policy->rules[i].match);
    return code;
}

/* ---- the store ---- */

struct storing {
    struct known *known;
    int64_t now_us;
};

static enum code take_key(void *context, const struct store_key *key)
{
    struct storing *storing = context;
    struct entry *entry;
    enum code code;

    if (key->roles.at != NULL || key->revoked_us != 0 || (key->expires_us != 0 && key->expires_us <= storing->now_us))
        return CODE_OK;
    code = add_who(storing->known, ACCESS_PRINCIPAL, key->tenant, key->principal, &entry);
    if (code == CODE_OK && key->agent.len > 0)
        code = add_who(storing->known, ACCESS_AGENT, key->tenant, key->agent, &entry);
    return code;
}

static enum code take_definition(void *context, const struct store_definition *definition)
{
    struct entry *entry;

    return add_tool(context, definition->upstream, definition->tool, &entry);
}

enum code known_of_store(struct known *known, struct db *db, int64_t now_us, struct why *why)
{
    const struct store_definitions_asked all = {.upstream = SPAN_NONE};
    struct storing storing = {known, now_us};
    enum code code = store_keys_each(db, take_key, &storing, why);

    return code == CODE_OK ? store_definitions_each(db, &all, take_definition, known, why) : code;
}

/* ---- the trail ---- */

enum { C_TIME, C_TENANT, C_PRINCIPAL, C_AGENT, C_GROUPS, C_SCOPES, C_UPSTREAM, C_METHOD, C_TOOL, C_VERDICT, C_RULE, C_RULES };
#define COLUMNS "time_us, tenant, principal, agent, groups, scopes, upstream, method, tool, verdict, rule, rules"

static enum code read_names(struct known *known, struct span text, struct names_read *names)
{
    const struct json_node *list = NULL;
    struct json_fault fault;
    struct span *own;
    enum code code;

    buf_clear(&known->json);
    code = json_read(text, &json_file_rules, &known->json, &known->arena, &list, &fault);
    if (code == CODE_NOMEM)
        return code;
    names->is_cut = code != CODE_OK || list->type != JSON_ARRAY;
    if (names->is_cut)
        return CODE_OK;
    names->name = own = arena_alloc(&known->arena, (list->count + 1) * sizeof *own);
    code = own != NULL ? CODE_OK : CODE_NOMEM;
    for (const struct json_node *one = list->child; one != NULL && code == CODE_OK; one = one->next) {
        names->is_cut |= one->type != JSON_STRING;
        if (one->type == JSON_STRING)
            code = arena_keep(&known->arena, one->text, &own[names->count++]);
    }
    return code;
}

/* The same lists come again and again. */
static enum code take_names(struct known *known, struct span text, const struct names_read **names)
{
    static const struct names_read none;
    struct entry *entry;
    enum code code;
    bool fresh;

    *names = &none;
    if (text.at == NULL)
        return CODE_OK;
    code = get(known, OF_NAMES, PARTS(text), &entry, &fresh);
    if (code == CODE_OK && fresh)
        code = read_names(known, text, &entry->is.names);
    if (code == CODE_OK)
        *names = &entry->is.names;
    return code;
}

static struct span pointer_part(const void *const *pointer)
{
    return span_of((const char *)pointer, sizeof *pointer);
}

static void count_use(struct known_use *use, int64_t time_us)
{
    use->calls++;
    use->last_us = time_us > use->last_us ? time_us : use->last_us;
}

/* Somebody was seen, and called the tool. Takes: tool: NULL: no tool was called, or not let through. */
static enum code saw(struct known *known, struct db_stmt *row, enum access_kind kind, struct span name,
                     const struct entry *tool, struct entry **entry)
{
    enum code code = add_who(known, kind, db_text(row, C_TENANT), name, entry);
    const void *of[2];
    struct entry *use;
    bool fresh;

    if (code == CODE_OK)
        (*entry)->is.who.is_seen = true;
    if (code != CODE_OK || tool == NULL)
        return code;
    of[0] = *entry;
    of[1] = tool;
    code = get(known, OF_USE, PARTS(pointer_part(&of[0]), pointer_part(&of[1])), &use, &fresh);
    if (code == CODE_OK)
        count_use(&use->is.use, db_int(row, C_TIME));
    return code;
}

static enum code saw_who(struct known *known, struct db_stmt *row, const struct entry *tool)
{
    const struct names_read *groups = NULL, *scopes = NULL;
    struct access_who *who;
    struct entry *entry;
    enum code code = take_names(known, db_text(row, C_GROUPS), &groups);

    if (code == CODE_OK)
        code = take_names(known, db_text(row, C_SCOPES), &scopes);
    if (code == CODE_OK)
        code = saw(known, row, ACCESS_PRINCIPAL, db_text(row, C_PRINCIPAL), tool, &entry);
    if (code != CODE_OK)
        return code;
    who = &entry->is.who.who;
    who->groups = groups->name;
    who->group_count = groups->count;
    who->scopes = scopes->name;
    who->scope_count = scopes->count;
    who->is_known = !groups->is_cut && !scopes->is_cut;
    if (db_text(row, C_AGENT).len > 0)
        code = saw(known, row, ACCESS_AGENT, db_text(row, C_AGENT), tool, &entry);
    for (uint32_t i = 0; i < groups->count && code == CODE_OK; i++)
        code = saw(known, row, ACCESS_GROUP, groups->name[i], tool, &entry);
    return code;
}

static enum code rule_of(struct known *known, struct span id, struct known_use **use)
{
    struct entry *entry;
    bool fresh;
    enum code code = get(known, OF_RULE, PARTS(id), &entry, &fresh);

    *use = code == CODE_OK ? &entry->is.use : NULL;
    return code;
}

/* All that applied: a list of objects, each of which begins with its id, which needs no escape in JSON. */
static enum code saw_rules(struct known *known, struct db_stmt *row)
{
    static const char before[] = "{\"id\":\"";
    const int64_t time_us = db_int(row, C_TIME);
    struct span rest = db_text(row, C_RULES), decided = db_text(row, C_RULE);
    struct known_use *use;
    enum code code = CODE_OK;
    const char *found;

    while (code == CODE_OK && rest.len > 0 && (found = memmem(rest.at, rest.len, before, sizeof before - 1)) != NULL) {
        struct span id;

        rest = span_part(rest, (size_t)(found - rest.at) + sizeof before - 1, SIZE_MAX);
        id = span_part(rest, 0, span_find(rest, '"'));
        code = rule_of(known, id, &use);
        if (code == CODE_OK)
            count_use(use, time_us);
    }
    if (code == CODE_OK && decided.len > 0 && (code = rule_of(known, decided, &use)) == CODE_OK) {
        use->decided++;
        use->last_us = time_us > use->last_us ? time_us : use->last_us;
    }
    return code;
}

static enum code take_row(struct known *known, struct db_stmt *row)
{
    const bool is_call = span_is(db_text(row, C_METHOD), "tools/call") && db_text(row, C_TOOL).len > 0;
    const bool is_permitted = span_is(db_text(row, C_VERDICT), "permit");
    struct entry *tool = NULL;
    enum code code = CODE_OK;

    if (known->first_us == 0 || db_int(row, C_TIME) < known->first_us)
        known->first_us = db_int(row, C_TIME);
    if (is_call && !span_is(db_text(row, C_VERDICT), "deny"))
        code = add_tool(known, db_text(row, C_UPSTREAM), db_text(row, C_TOOL), &tool);
    if (code == CODE_OK && db_text(row, C_TENANT).at != NULL && db_text(row, C_PRINCIPAL).at != NULL)
        code = saw_who(known, row, is_permitted ? tool : NULL);
    return code == CODE_OK ? saw_rules(known, row) : code;
}

enum code known_of_trail(struct known *known, const char *path, int64_t since_us, struct why *why)
{
    struct db_stmt *row = NULL;
    struct db *db = NULL;
    enum code code = trail_open(path, &db, why);

    if (code != CODE_OK)
        return code;
    code = db_prepare(db, "SELECT " COLUMNS " FROM decision WHERE time_us >= ?1 ORDER BY seq", &row);
    if (code == CODE_OK)
        db_bind_int(row, 1, since_us);
    while (db_next(&row, &code))
        code = take_row(known, row);
    if (code != CODE_OK)
        (void)why_set(why, code, "%s: %s", path, code == CODE_NOMEM ? "not enough memory" : db_error(db));
    db_finalize(&row);
    db_close(&db);
    return code;
}

/* ---- all of them ---- */

static int by_who(const void *a, const void *b)
{
    const struct access_who *left = &(*(const struct known_who *const *)a)->who;
    const struct access_who *right = &(*(const struct known_who *const *)b)->who;
    int order = span_compare(left->tenant, right->tenant);

    if (order == 0)
        order = (int)left->kind - (int)right->kind;
    return order != 0 ? order : span_compare(left->name, right->name);
}

static int by_tool(const void *a, const void *b)
{
    const struct known_tool *left = *(const struct known_tool *const *)a, *right = *(const struct known_tool *const *)b;
    int order = span_compare(left->upstream, right->upstream);

    return order != 0 ? order : span_compare(left->tool, right->tool);
}

/* Whether somebody of that name is known in a tenant: few are named without one. */
static bool has_tenant(const struct known *known, const struct access_who *who)
{
    for (const struct entry *entry = known->last[OF_WHO]; entry != NULL; entry = entry->after)
        if (entry->is.who.who.kind == who->kind && entry->is.who.who.tenant.at != NULL &&
            span_equals(entry->is.who.who.name, who->name))
            return true;
    return false;
}

enum code known_lists(struct known *known, struct known_lists *lists)
{
    size_t who = 1, tools = 1;

    for (const struct entry *entry = known->last[OF_WHO]; entry != NULL; entry = entry->after)
        who++;
    for (const struct entry *entry = known->last[OF_TOOL]; entry != NULL; entry = entry->after)
        tools++;
    *lists = (struct known_lists){.who = arena_alloc(&known->arena, who * sizeof *lists->who),
                                  .tools = arena_alloc(&known->arena, tools * sizeof *lists->tools)};
    if (lists->who == NULL || lists->tools == NULL)
        return CODE_NOMEM;
    for (const struct entry *entry = known->last[OF_WHO]; entry != NULL; entry = entry->after)
        if (entry->is.who.who.tenant.at != NULL || !has_tenant(known, &entry->is.who.who))
            lists->who[lists->who_count++] = &entry->is.who;
    for (const struct entry *entry = known->last[OF_TOOL]; entry != NULL; entry = entry->after)
        lists->tools[lists->tool_count++] = &entry->is.tool;
    qsort(lists->who, lists->who_count, sizeof *lists->who, by_who);
    qsort(lists->tools, lists->tool_count, sizeof *lists->tools, by_tool);
    return CODE_OK;
}

/* What is looked up by pointers is the entry, of which the thing is a member. */
static const void *entry_of(const void *is)
{
    return (const char *)is - offsetof(struct entry, is);
}

static struct known_use use_in(const struct known *known, enum thing thing, const struct span *parts, size_t count)
{
    const struct entry *entry = find((struct known *)(uintptr_t)known, thing, parts, count); /* changes its buffer alone */

    return entry != NULL ? entry->is.use : (struct known_use){.calls = 0};
}

struct known_use known_used(const struct known *known, const struct known_who *who, const struct known_tool *tool)
{
    const void *of[] = {entry_of(who), entry_of(tool)};

    return use_in(known, OF_USE, PARTS(pointer_part(&of[0]), pointer_part(&of[1])));
}

struct known_use known_rule_used(const struct known *known, struct span rule)
{
    return use_in(known, OF_RULE, PARTS(rule));
}

int64_t known_first_us(const struct known *known)
{
    return known->first_us;
}
