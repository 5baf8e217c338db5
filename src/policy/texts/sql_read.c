/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over a parse tree, {"version":N,"stmts":[...]}: a node is an object with one member, whose key is the node's kind
 * and whose value has the node's members; a member that can only be of one kind has that kind's members itself. */
#include "texts/sql_read.h"

#include "base/ascii.h"
#include "base/bug.h"
#include "json/json.h"
#include "sql/sql.h"

#define NAMES_MAX 256
#define ROWS_MAX 128 /* functions in FROM that are in sight at once, and their columns */
#define CTES_MAX 256 /* in sight at once; those of WITH RECURSIVE count twice */
#define TREE_BYTES ((size_t)24 << 20)

const char *const sql_statement_text[] = {"select", "select_into", "select_for_update", "insert", "update", "update_all",
                                          "delete", "delete_all", "merge", "explain", "show", NULL};

struct cte {
    struct span name;
    size_t count; /* with all behind it */
    const struct cte *next;
};

/* A function in FROM. Its row may be a plain value, which any function of one argument takes as `row.function`. */
struct rows {
    struct span name;
    const struct json_node *columns; /* as the text names them, or NULL */
    bool names_column;               /* a column without a name of its own has the row's */
    size_t count; /* with all behind it */
    const struct rows *next;
};

struct walk {
    struct arena *arena;
    struct sql_reading *reading;
    struct why *why;
    enum code code;         /* the first failure; nothing is walked after it */
    const struct cte *ctes; /* in sight, the innermost first */
    const struct rows *rows;
};

struct shape {
    const char *kind;
    /* Known members. `m` is a node or a list of nodes; `m:KIND` has the members of that kind; `m:-` holds nothing that would be
     * a statement, a table or a function, or `look` reads it. */
    const char *members;
    void (*look)(struct walk *walk, const struct json_node *fields);
};

static void refuse(struct walk *walk, const char *what, struct span name)
{
    if (walk->code == CODE_OK)
        walk->code = why_set(walk->why, CODE_UNDECIDED, "%s `%.*s` is not read", what, (int)(name.len < 64 ? name.len : 64),
                             name.len > 0 ? name.at : "");
}

static struct span kept(struct walk *walk, struct span text)
{
    char *at = arena_dup(walk->arena, text.at, text.len);

    if (at == NULL)
        walk->code = CODE_NOMEM;
    return span_of(at, at != NULL ? text.len : 0);
}

/* ---- names ---- */

static void add(struct walk *walk, enum sql_kind kind, struct span schema, struct span name)
{
    struct sql_reading *reading = walk->reading;

    for (uint32_t i = 0; i < reading->count; i++)
        if (reading->names[i].kind == kind && span_equals(reading->names[i].name, name) &&
            span_equals(reading->names[i].schema, schema))
            return;
    if (reading->names == NULL)
        reading->names = arena_alloc(walk->arena, NAMES_MAX * sizeof *reading->names);
    if (reading->names == NULL)
        walk->code = CODE_NOMEM;
    else if (reading->count == NAMES_MAX)
        refuse(walk, "more than 256 names; the next one,", name);
    else
        reading->names[reading->count++] =
            (struct sql_name){.kind = kind, .schema = kept(walk, schema), .name = kept(walk, name)};
}

/* Takes: list: String nodes. Returns: false: neither one nor two. */
static bool split(const struct json_node *list, struct span *schema, struct span *name)
{
    const struct json_node *first = list != NULL && list->type == JSON_ARRAY ? list->child : NULL, *one;

    *schema = *name = SPAN_NONE;
    if (first == NULL || list->count > 2)
        return false;
    for (const struct json_node *at = first; at != NULL; at = at->next) {
        one = json_at(at, "String", "sval", NULL);
        if (one == NULL || one->type != JSON_STRING)
            return false;
        *schema = *name;
        *name = one->text;
    }
    return true;
}

static void add_called(struct walk *walk, const struct json_node *list)
{
    struct span schema, name;

    if (split(list, &schema, &name))
        add(walk, SQL_FUNCTION, schema, name);
    else
        refuse(walk, "a function's name of other than one or two parts", list != NULL ? list->raw : SPAN_NONE);
}

static void look_call(struct walk *walk, const struct json_node *fields)
{
    add_called(walk, json_member(fields, SPAN_LIT("funcname")));
}

static void look_sample(struct walk *walk, const struct json_node *fields)
{
    add_called(walk, json_member(fields, SPAN_LIT("method")));
}

static const struct json_node *list_of(const struct json_node *fields, const char *member)
{
    const struct json_node *list = json_member(fields, span_text(member));

    return list != NULL && list->type == JSON_ARRAY ? list->child : NULL;
}

/* Whatever stands before it, `(x).f` is f(x) where x has no field f: ('/etc/passwd'::text).pg_read_file */
static void look_field(struct walk *walk, const struct json_node *fields)
{
    for (const struct json_node *at = list_of(fields, "indirection"); at != NULL; at = at->next)
        if (json_member(at, SPAN_LIT("String")) != NULL)
            add(walk, SQL_FUNCTION, SPAN_NONE, json_member_text(json_member(at, SPAN_LIT("String")), "sval"));
}

static bool has_column(const struct rows *rows, struct span name)
{
    for (const struct json_node *at = rows->columns; at != NULL; at = at->next)
        if (span_equals(json_member_text(json_member(at, SPAN_LIT("String")), "sval"), name))
            return true;
    return rows->names_column && span_equals(rows->name, name);
}

static void look_column(struct walk *walk, const struct json_node *fields)
{
    struct span before, name;

    if (!split(json_member(fields, SPAN_LIT("fields")), &before, &name))
        return; /* `t.*`, or a table's by its schema */
    for (const struct rows *rows = walk->rows; rows != NULL; rows = rows->next)
        if (span_equals(rows->name, before) && !has_column(rows, name))
            add(walk, SQL_FUNCTION, SPAN_NONE, name);
}

/* SVFOP_CURRENT_TIME_N is current_time(n). */
static void look_value(struct walk *walk, const struct json_node *fields)
{
    static const char before[] = "SVFOP_";
    struct span op = json_member_text(fields, "op"), name;
    char *at;

    if (!span_starts_with(op, span_text(before))) {
        refuse(walk, "the value", op);
        return;
    }
    name = span_part(op, sizeof before - 1, SIZE_MAX);
    if (span_ends_with(name, SPAN_LIT("_N")))
        name.len -= 2;
    at = arena_dup(walk->arena, name.at, name.len);
    if (at == NULL) {
        walk->code = CODE_NOMEM;
        return;
    }
    add(walk, SQL_FUNCTION, SPAN_NONE, ascii_lower_all(name, at));
}

/* Types of PostgreSQL's own whose reading and writing of text says nothing of a database. Schemas of a server's search_path are
 * behind pg_catalog where it does not say otherwise. */
static void look_type(struct walk *walk, const struct json_node *fields)
{
    static const char *const plain[] = {
        "bool", "int2", "int4", "int8", "float4", "float8", "numeric", "text", "varchar", "bpchar", "bytea", "date", "time",
        "timetz", "timestamp", "timestamptz", "interval", "uuid", "json", "jsonb", "jsonpath", "bit", "varbit", "inet", "cidr",
        "macaddr", "money", "point",
    };
    struct span schema, name;

    if (!split(json_member(fields, SPAN_LIT("names")), &schema, &name)) {
        refuse(walk, "a type's name of other than one or two parts", SPAN_NONE);
        return;
    }
    for (size_t i = 0; (schema.len == 0 || span_is(schema, "pg_catalog")) && i < sizeof plain / sizeof *plain; i++)
        if (span_is(name, plain[i]))
            return;
    add(walk, SQL_FUNCTION, schema, name);
}

/* Operators without a schema are taken for PostgreSQL's own. */
static void look_operator(struct walk *walk, const struct json_node *fields)
{
    static const char *const members[] = {"name", "operName", "useOp"};
    struct span schema, name;

    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const struct json_node *list = json_member(fields, span_text(members[i]));

        if (list != NULL && (!split(list, &schema, &name) || (schema.len > 0 && !span_is(schema, "pg_catalog"))))
            refuse(walk, "an operator of another schema,", list->raw);
    }
}

static void add_table(struct walk *walk, const struct json_node *fields)
{
    if (json_member(fields, SPAN_LIT("catalogname")) != NULL)
        refuse(walk, "a table of a database by name,", json_member_text(fields, "catalogname"));
    else
        add(walk, SQL_TABLE, json_member_text(fields, "schemaname"), json_member_text(fields, "relname"));
}

static void look_table(struct walk *walk, const struct json_node *fields)
{
    struct span name = json_member_text(fields, "relname");

    if (json_member(fields, SPAN_LIT("schemaname")) == NULL)
        for (const struct cte *cte = walk->ctes; cte != NULL; cte = cte->next)
            if (span_equals(cte->name, name))
                return;
    add_table(walk, fields);
}

static void add_statement(struct walk *walk, const char *word)
{
    add(walk, SQL_STATEMENT, SPAN_NONE, span_text(word));
}

static void look_select(struct walk *walk, const struct json_node *fields)
{
    add_statement(walk, "select");
    if (json_member(fields, SPAN_LIT("intoClause")) != NULL)
        add_statement(walk, "select_into");
    if (json_member(fields, SPAN_LIT("lockingClause")) != NULL)
        add_statement(walk, "select_for_update");
}

#define STATEMENT(word)                                                             \
    static void look_##word(struct walk *walk, const struct json_node *fields)      \
    {                                                                               \
        (void)fields;                                                               \
        add_statement(walk, #word);                                                 \
    }
STATEMENT(insert)
STATEMENT(merge)
STATEMENT(explain)
STATEMENT(show)

/* Without WHERE it is about all rows. */
static void look_update(struct walk *walk, const struct json_node *fields)
{
    add_statement(walk, "update");
    if (json_member(fields, SPAN_LIT("whereClause")) == NULL)
        add_statement(walk, "update_all");
}

static void look_delete(struct walk *walk, const struct json_node *fields)
{
    add_statement(walk, "delete");
    if (json_member(fields, SPAN_LIT("whereClause")) == NULL)
        add_statement(walk, "delete_all");
}

/* PostgreSQL takes a subquery without a name since version 16; a text that older servers refuse is not read. */
static void look_subselect(struct walk *walk, const struct json_node *fields)
{
    if (json_member(fields, SPAN_LIT("alias")) == NULL)
        refuse(walk, "a subquery in FROM without", SPAN_LIT("alias"));
}

static void look_conflict(struct walk *walk, const struct json_node *fields)
{
    if (!span_is(json_member_text(fields, "action"), "ONCONFLICT_NOTHING"))
        add_statement(walk, "update");
}

/* ---- shapes ---- */

static const struct shape shapes[] = {
    {"A_Const", "ival:- fval:- sval:- bsval:- boolval:- isnull:-", NULL},
    {"ColumnRef", "fields:-", look_column},
    {"ResTarget", "name:- indirection val", NULL},
    {"RangeVar", "schemaname:- relname:- inh:- relpersistence:- alias:-", look_table},
    {"Target", "schemaname:- relname:- inh:- relpersistence:- alias:-", add_table}, /* never a CTE, whatever is in sight */
    {"A_Expr", "kind:- name:- lexpr rexpr", look_operator},
    {"FuncCall", "funcname:- args agg_order agg_filter over:WindowDef agg_within_group:- agg_star:- agg_distinct:- "
                 "func_variadic:- funcformat:-", look_call},
    {"SelectStmt", "distinctClause intoClause:IntoClause targetList fromClause whereClause groupClause groupDistinct:- "
                   "havingClause windowClause valuesLists sortClause limitOffset limitCount limitOption:- lockingClause op:- "
                   "all:- larg:SelectStmt rarg:SelectStmt", look_select},
    {"JoinExpr", "jointype:- isNatural:- larg rarg usingClause:- join_using_alias:- quals alias:-", NULL},
    {"BoolExpr", "boolop:- args", NULL},
    {"TypeCast", "arg typeName:TypeName", NULL},
    {"TypeName", "names:- typmods typemod:- arrayBounds", look_type},
    {"List", "items", NULL},
    {"SortBy", "node sortby_dir:- sortby_nulls:- useOp:-", look_operator},
    {"NullTest", "arg nulltesttype:- argisrow:-", NULL},
    {"BooleanTest", "arg booltesttype:-", NULL},
    {"CaseExpr", "arg args defresult", NULL},
    {"CaseWhen", "expr result", NULL},
    {"CoalesceExpr", "args", NULL},
    {"MinMaxExpr", "op:- args", NULL},
    {"SubLink", "subLinkType:- testexpr operName:- subselect", look_operator},
    {"SQLValueFunction", "op:- typmod:-", look_value},
    {"RangeSubselect", "lateral:- subquery alias:-", look_subselect},
    {"RangeFunction", "lateral:- ordinality:- is_rowsfrom:- functions alias:- coldeflist", NULL},
    {"RangeTableSample", "relation method:- args repeatable", look_sample},
    {"ColumnDef", "colname:- typeName:TypeName is_local:- collClause:-", NULL},
    {"WindowDef", "name:- refname:- partitionClause orderClause frameOptions:- startOffset endOffset", NULL},
    {"CommonTableExpr", "ctename:- aliascolnames:- ctematerialized:- ctequery", NULL},
    {"CollateClause", "arg collname:-", NULL},
    {"ParamRef", "number:-", NULL},
    {"RowExpr", "args row_format:-", NULL},
    {"A_ArrayExpr", "elements", NULL},
    {"A_Indirection", "arg indirection", look_field},
    {"A_Indices", "is_slice:- lidx uidx", NULL},
    {"A_Star", "", NULL},
    {"String", "sval:-", NULL},
    {"Integer", "ival:-", NULL},
    {"Float", "fval:-", NULL},
    {"Boolean", "boolval:-", NULL},
    {"NamedArgExpr", "arg name:- argnumber:-", NULL},
    {"GroupingSet", "kind:- content", NULL},
    {"GroupingFunc", "args", NULL},
    {"IntoClause", "rel:Target colNames:- onCommit:-", NULL},
    {"LockingClause", "lockedRels:- strength:- waitPolicy:-", NULL}, /* names of what stands in FROM */
    {"InsertStmt", "relation:Target cols selectStmt onConflictClause:OnConflictClause returningList override:-", look_insert},
    {"UpdateStmt", "relation:Target targetList whereClause fromClause returningList", look_update},
    {"DeleteStmt", "relation:Target usingClause whereClause returningList", look_delete},
    {"MergeStmt", "relation:Target sourceRelation joinCondition mergeWhenClauses", look_merge},
    {"MergeWhenClause", "matched:- matchKind:- commandType:- override:- condition targetList values", NULL},
    {"OnConflictClause", "action:- infer:InferClause targetList whereClause", look_conflict},
    {"InferClause", "indexElems whereClause conname:-", NULL},
    {"IndexElem", "name:- expr ordering:- nulls_ordering:-", NULL},
    {"SetToDefault", "", NULL},
    {"MultiAssignRef", "source colno:- ncolumns:-", NULL},
    {"ExplainStmt", "query options", look_explain},
    {"DefElem", "defname:- arg defaction:-", NULL},
    {"VariableShowStmt", "name:-", look_show},
    {"RawStmt", "stmt stmt_location:- stmt_len:-", NULL},
};

static const struct shape *shape_of(struct span kind)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (span_is(kind, shapes[i].kind))
            return &shapes[i];
    return NULL;
}

/* What stands behind `member` in the shape: empty, or the kind behind its colon. Returns: false: no such member. */
static bool find_member(const struct shape *shape, struct span member, struct span *kind)
{
    for (struct span rest = span_text(shape->members); rest.len > 0;) {
        struct span word = span_cut(rest, ' ', &rest), name = span_cut(word, ':', kind);

        if (span_equals(name, member))
            return true;
    }
    *kind = SPAN_NONE;
    return span_is(member, "location");
}

/* Recursion is as deep as the reader of JSON allows. */
static void walk_fields(struct walk *walk, const struct shape *shape, const struct json_node *fields);

static void walk_node(struct walk *walk, const struct json_node *node)
{
    const struct shape *shape;

    if (node->type == JSON_ARRAY) {
        for (const struct json_node *at = node->child; at != NULL && walk->code == CODE_OK; at = at->next)
            walk_node(walk, at);
        return;
    }
    if (node->type == JSON_OBJECT && node->count == 0)
        return; /* a list's empty place */
    shape = node->type == JSON_OBJECT && node->count == 1 ? shape_of(node->child->key) : NULL;
    if (shape == NULL)
        refuse(walk, "the node", node->type == JSON_OBJECT ? node->child->key : node->raw);
    else
        walk_fields(walk, shape, node->child);
}

/* A name of a WITH is in sight from the next one on; of WITH RECURSIVE, in all of it. */
static void walk_with(struct walk *walk, const struct json_node *with)
{
    bool recursive = json_member(with, SPAN_LIT("recursive")) != NULL;
    const struct json_node *list = json_member(with, SPAN_LIT("ctes"));

    for (const struct json_node *at = with->child; at != NULL; at = at->next)
        if (!span_is(at->key, "ctes") && !span_is(at->key, "recursive") && !span_is(at->key, "location"))
            refuse(walk, "WithClause's", at->key);
    for (int round = recursive ? 0 : 1; round < 2 && list != NULL; round++)
        for (const struct json_node *at = list->child; at != NULL && walk->code == CODE_OK; at = at->next) {
            const struct json_node *name = json_at(at, "CommonTableExpr", "ctename", NULL);
            struct cte *cte = arena_alloc(walk->arena, sizeof *cte);

            if (cte == NULL || name == NULL) {
                walk->code = cte == NULL ? CODE_NOMEM : CODE_UNDECIDED;
                return;
            }
            if (round == 1)
                walk_node(walk, at);
            *cte = (struct cte){.name = name->text, .next = walk->ctes,
                                .count = walk->ctes != NULL ? walk->ctes->count + 1 : 1};
            walk->ctes = cte;
            if (cte->count > CTES_MAX)
                refuse(walk, "more than 256 names of WITH; the next one,", cte->name);
        }
}

/* Takes: node: a node of FROM, or a list of them. Brings the functions of it in sight. */
static void see_rows(struct walk *walk, const struct json_node *node)
{
    static const char *const named_by_row[] = {"generate_series", "unnest"};
    const struct json_node *joined, *function, *alias, *call;
    struct span schema, name = SPAN_NONE;
    struct rows *rows;

    for (const struct json_node *at = node->type == JSON_ARRAY ? node->child : NULL; at != NULL; at = at->next)
        see_rows(walk, at);
    if (node->type != JSON_OBJECT)
        return;
    joined = json_member(node, SPAN_LIT("JoinExpr"));
    if (joined != NULL) {
        see_rows(walk, json_member(joined, SPAN_LIT("larg")));
        see_rows(walk, json_member(joined, SPAN_LIT("rarg")));
    }
    function = json_member(node, SPAN_LIT("RangeFunction"));
    if (function == NULL || walk->code != CODE_OK || json_member(function, SPAN_LIT("coldeflist")) != NULL ||
        json_member(function, SPAN_LIT("ordinality")) != NULL)
        return; /* with a list of columns, or WITH ORDINALITY, the function returns a record */
    alias = json_member(function, SPAN_LIT("alias"));
    call = json_at(list_of(function, "functions"), "List", "items", NULL);
    call = call != NULL && call->type == JSON_ARRAY ? json_at(call->child, "FuncCall", "funcname", NULL) : NULL;
    if (call != NULL && !split(call, &schema, &name))
        return; /* the walk refuses a name of three parts */
    rows = arena_alloc(walk->arena, sizeof *rows);
    if (rows == NULL) {
        walk->code = CODE_NOMEM;
        return;
    }
    *rows = (struct rows){.name = alias != NULL ? json_member_text(alias, "aliasname") : name, .next = walk->rows,
                          .columns = alias != NULL ? list_of(alias, "colnames") : NULL,
                          .count = walk->rows != NULL ? walk->rows->count + 1 : 1};
    for (const struct json_node *at = rows->columns; at != NULL; at = at->next)
        rows->count++;
    for (size_t i = 0; rows->columns == NULL && i < sizeof named_by_row / sizeof *named_by_row; i++)
        rows->names_column |= span_is(name, named_by_row[i]);
    walk->rows = rows;
    if (rows->name.len == 0)
        refuse(walk, "what stands in FROM without a name of its own,", call != NULL ? call->raw : SPAN_NONE);
    else if (rows->count > ROWS_MAX)
        refuse(walk, "more than 128 functions and columns of theirs in FROM; the next one,", rows->name);
}

static void walk_fields(struct walk *walk, const struct shape *shape, const struct json_node *fields)
{
    static const char *const from[] = {"fromClause", "usingClause", "sourceRelation"};
    const struct cte *before = walk->ctes;
    const struct rows *rows = walk->rows;
    const struct json_node *with;

    if (fields->type != JSON_OBJECT) {
        refuse(walk, "the node", span_text(shape->kind));
        return;
    }
    with = json_member(fields, SPAN_LIT("withClause"));
    if (shape->look != NULL)
        shape->look(walk, fields);
    if (with != NULL)
        walk_with(walk, with);
    for (size_t i = 0; i < sizeof from / sizeof *from; i++)
        if (json_member(fields, span_text(from[i])) != NULL)
            see_rows(walk, json_member(fields, span_text(from[i])));
    for (const struct json_node *at = fields->child; at != NULL && walk->code == CODE_OK; at = at->next) {
        const struct shape *typed;
        struct span kind;

        if (at == with)
            continue;
        if (!find_member(shape, at->key, &kind)) {
            refuse(walk, shape->kind, at->key);
        } else if (kind.len == 0 && !span_is(at->key, "location")) {
            walk_node(walk, at);
        } else if (kind.len > 0 && !span_is(kind, "-")) {
            typed = shape_of(kind);
            BUG_ON(typed == NULL);
            walk_fields(walk, typed, at);
        }
    }
    walk->ctes = before;
    walk->rows = rows;
}

static enum code walk_tree(const struct json_node *tree, struct arena *arena, struct sql_reading *reading, struct why *why)
{
    struct walk walk = {.arena = arena, .reading = reading, .why = why, .code = CODE_OK};
    const struct json_node *list = json_member(tree, SPAN_LIT("stmts"));

    if (list == NULL || list->count == 0)
        return why_set(why, CODE_UNDECIDED, "it holds no statement");
    for (const struct json_node *at = list->child; at != NULL && walk.code == CODE_OK; at = at->next)
        walk_fields(&walk, shape_of(SPAN_LIT("RawStmt")), at);
    return walk.code;
}

enum code sql_read(struct span text, struct arena *arena, struct sql_reading *reading, struct why *why)
{
    static const struct json_rules rules = {.max_depth = 128, .max_nodes = 120000, .max_keys = 64};
    const struct json_node *root;
    struct json_fault fault;
    struct arena nodes;
    struct buf tree;
    enum code code;

    *reading = (struct sql_reading){.count = 0};
    arena_init(&nodes, TREE_BYTES);
    buf_init(&tree, TREE_BYTES);
    code = sql_parse(text, &tree, why);
    if (code == CODE_OK) {
        code = json_read(buf_peek(&tree), &rules, &tree, &nodes, &root, &fault);
        if (code == CODE_OK)
            code = walk_tree(root, arena, reading, why);
        else if (code != CODE_NOMEM)
            code = why_set(why, CODE_UNDECIDED, "its parse tree is %s", fault.text);
    }
    buf_fini(&tree);
    arena_fini(&nodes);
    return code;
}
