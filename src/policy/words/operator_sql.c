/* SPDX-License-Identifier: Apache-2.0 */
/* sql: what a text of SQL may do, as PostgreSQL's own parser reads it (texts/sql_read.h). True where all that it uses is
 * listed; anything else is undecided, never false: what is listed says what may be, not what else there is. */
#include "words/operator_priv.h"

#include "base/glob.h"
#include "texts/sql_read.h"
#include "sql/sql.h"

/* A pattern as in `orders` or 'public.*': a glob of the schema stands before the dot. */
struct sql_pattern {
    bool has_schema;
    struct span schema, name;
};

struct sql_terms {
    const bool *statements; /* by their place in sql_statement_text */
    const struct sql_pattern *tables, *functions;
    uint32_t table_count, function_count;
};

#define VISITS_EACH_BYTE 32 /* reading takes 0.1 us a byte, 0.25 at the worst */

static void take_pattern(struct compiler *c, const struct yaml_node *text, void *part)
{
    struct sql_pattern *pattern = part;
    struct span rest, first;
    struct span written = compiler_copy(c, text->text);

    first = span_cut(written, '.', &rest);
    pattern->has_schema = first.len < written.len;
    pattern->schema = pattern->has_schema ? first : SPAN_NONE;
    pattern->name = pattern->has_schema ? rest : first;
    if (pattern->name.len == 0 || (pattern->has_schema && first.len == 0) || span_find(rest, '.') < rest.len)
        FAULT(c, text, "`%.*s` is no name of PostgreSQL's; write a name, or a schema, a dot and a name, without quotes; globs "
              "go in both", SPAN_ARG(text->text));
}

static const struct sql_pattern *compile_patterns(struct compiler *c, const struct yaml_node *list, uint32_t *count)
{
    return compiler_is_list(c, list) ? compiler_texts(c, list, sizeof(struct sql_pattern), take_pattern, count) : NULL;
}

static void compile(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    static const char *const known[] = {"statements", "tables", "functions", NULL};
    const struct yaml_node *statements = yaml_member(node, "statements");
    struct sql_terms *terms = compiler_alloc(c, 1, sizeof *terms);
    size_t words = 0;
    bool *listed;

    while (sql_statement_text[words] != NULL)
        words++;
    listed = compiler_alloc(c, words, sizeof *listed);
    op->written = compiler_written(c, node);
    op->terms = terms;
    if (terms == NULL || listed == NULL || !compiler_is_map_of(c, node, known, "`sql`"))
        return;
    terms->statements = listed;
    if (statements == NULL || (statements->type == YAML_LIST && statements->count == 0))
        FAULT(c, node, "`sql` without `statements` allows nothing; write {statements: [select], tables: ['public.*'], "
              "functions: [count]}");
    if (compiler_is_list(c, statements))
        for (const struct yaml_node *at = statements->child; at != NULL; at = at->next) {
            int word = compiler_word(c, at, sql_statement_text);

            if (word >= 0)
                listed[word] = true;
        }
    terms->tables = compile_patterns(c, yaml_member(node, "tables"), &terms->table_count);
    terms->functions = compile_patterns(c, yaml_member(node, "functions"), &terms->function_count);
}

static bool is_listed(const struct sql_pattern *patterns, uint32_t count, struct span schema, struct span name)
{
    for (uint32_t i = 0; i < count; i++)
        if (patterns[i].has_schema == (schema.len > 0) && glob_matches(patterns[i].name, name) &&
            (schema.len == 0 || glob_matches(patterns[i].schema, schema)))
            return true;
    return false;
}

static bool may(const struct sql_terms *terms, const struct sql_name *name)
{
    static const struct span own = SPAN_LIT("pg_catalog");
    bool is_own = span_equals(name->schema, own);

    switch (name->kind) {
    case SQL_STATEMENT:
        for (size_t i = 0; sql_statement_text[i] != NULL; i++)
            if (span_is(name->name, sql_statement_text[i]))
                return terms->statements[i];
        return false;
    case SQL_TABLE: /* names that begin with pg_ are PostgreSQL's own without a schema, too, wherever a search_path leads */
        is_own |= name->schema.len == 0 && span_starts_with(name->name, SPAN_LIT("pg_"));
        return is_listed(terms->tables, terms->table_count, is_own ? own : name->schema, name->name);
    case SQL_FUNCTION: /* the parser writes pg_catalog before syntax of its own */
        return is_listed(terms->functions, terms->function_count, name->schema, name->name) ||
               (is_own && is_listed(terms->functions, terms->function_count, SPAN_NONE, name->name));
    }
    return false;
}

static enum truth sql(struct rule_walk *walk, const struct op *op, struct span text)
{
    struct sql_reading reading;
    enum code code = sql_read(text, walk->arena, &reading, NULL);

    walk->no_memory |= code == CODE_NOMEM;
    for (uint32_t i = 0; code == CODE_OK && i < reading.count; i++)
        if (!may(op->terms, &reading.names[i]))
            return TRUTH_UNDECIDED;
    return code == CODE_OK ? TRUTH_TRUE : TRUTH_UNDECIDED;
}

static uint64_t cost(const struct op *op, struct span text)
{
    const struct sql_terms *terms = op->terms;

    return VISITS_EACH_BYTE * (uint64_t)(text.len < SQL_MAX_BYTES ? text.len : 0) + terms->table_count + terms->function_count;
}

/* Tells "select from public.orders; functions count", and marks what is not listed. */
static void show(const struct op *op, const struct json_node *value, struct buf *out)
{
    static const char *const before[] = {[SQL_STATEMENT] = "", [SQL_TABLE] = " from ", [SQL_FUNCTION] = "; functions "};
    struct sql_reading reading;
    struct why why = {""};
    struct arena arena;
    enum code code;

    arena_init(&arena, (size_t)1 << 20);
    code = sql_read(value->text, &arena, &reading, &why);
    if (code != CODE_OK)
        buf_addf(out, "not read: %s", code == CODE_NOMEM ? "not enough memory" : why.text);
    for (enum sql_kind kind = SQL_STATEMENT; code == CODE_OK && kind <= SQL_FUNCTION; kind++) {
        const char *sep = before[kind];

        for (uint32_t i = 0; i < reading.count; i++) {
            const struct sql_name *name = &reading.names[i];

            if (name->kind != kind)
                continue;
            buf_addf(out, "%s%.*s%s%.*s%s", sep, SPAN_ARG(name->schema), name->schema.len > 0 ? "." : "", SPAN_ARG(name->name),
                     may(op->terms, name) ? "" : " (not listed)");
            sep = ", ";
        }
    }
    arena_fini(&arena);
}

static void sample(const struct op *op, struct samples *samples)
{
    const struct sql_terms *terms = op->terms;

    samples->json(samples, SPAN_LIT("\"SELECT 1\""));
    samples->json(samples, SPAN_LIT("\"DELETE FROM t\""));
    for (uint32_t i = 0; i < terms->function_count; i++)
        if (!terms->functions[i].has_schema)
            samples->text(samples, "SELECT ", terms->functions[i].name, "(1)");
    for (uint32_t i = 0; i < terms->table_count; i++)
        samples->text(samples, "SELECT 1 FROM ",
                      terms->tables[i].has_schema ? span_of(terms->tables[i].schema.at,
                          terms->tables[i].schema.len + 1 + terms->tables[i].name.len) : terms->tables[i].name, "");
}

/* `sql` is never false, so that a closing rule with it applies to every text. */
static const char *closing_doubt(const struct op *op)
{
    (void)op;
    return "`sql` is true or undecided, so that here it lets the rule apply to every text; write `not: {arg: ..., sql: ...}`";
}

const struct operator operator__sql = {
    .word = "sql", .types = TYPES_SCALAR, .compile = compile, .of_text = sql, .cost = cost, .sample = sample, .tell = show,
    .closing_doubt = closing_doubt,
};
