/* SPDX-License-Identifier: Apache-2.0 */
/* What a fleet decided is put into the store; the chain of its changes; what commands ask of the courier. */
#include "store/store_fleet_priv.h"

#include "base/mem.h"
#include "base/num.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- rows ---- */

/* A definition of the change, and the number that this store has for it. */
struct known {
    int64_t was, is;
};

struct putting {
    struct db *db;
    struct known *known;
    size_t count;
    unsigned char blob[DIGEST_BYTES]; /* a row has one at most */
};

static bool read_number(const struct putting *putting, const struct store__column *column, const struct json_node *value,
                        struct db_value *out)
{
    out->type = DB_INT;
    if (value->type != JSON_NUMBER || num_i64(value->raw, &out->number) != CODE_OK)
        return false;
    for (size_t i = 0; column->of == FLEET_DEFINITION && i < putting->count; i++)
        if (putting->known[i].was == out->number) {
            out->number = putting->known[i].is;
            return true;
        }
    return column->of != FLEET_DEFINITION || column == &store__fleet[FLEET_DEFINITION].column[0];
}

static bool read_value(struct putting *putting, const struct store__column *column, const struct json_node *value,
                       struct db_value *out)
{
    if (value == NULL)
        return false;
    if (value->type == JSON_NULL) {
        *out = db_of_text(SPAN_NONE);
        return column->may_lack;
    }
    if (column->type == DB_INT)
        return read_number(putting, column, value, out);
    if (value->type != JSON_STRING)
        return false;
    *out = db_of_text(value->text.at != NULL ? value->text : SPAN_LIT(""));
    if (column->type == DB_TEXT)
        return true;
    *out = db_of_blob(span_of(putting->blob, sizeof putting->blob));
    return num_unhex(value->text, putting->blob, sizeof putting->blob) == CODE_OK;
}

/* Returns: how many columns there are; 0: the row has others. */
static size_t read_row(struct putting *putting, const struct store__table *table, const struct json_node *row,
                       struct db_value values[STORE__COLUMNS_MAX])
{
    size_t count = 0;

    for (; table->column[count].name != NULL; count++)
        if (!read_value(putting, &table->column[count], json_member(row, span_text(table->column[count].name)),
                        &values[count]))
            return 0;
    return row->type == JSON_OBJECT && row->count == count ? count : 0;
}

/* `INSERT INTO t(...) SELECT ... WHERE NOT EXISTS`: what is there already is not there twice. */
static void write_insert(const struct store__table *table, char sql[1024])
{
    size_t at = (size_t)snprintf(sql, 1024, "INSERT INTO %s(", table->name), from = table->is_by_word ? 1 : 0;

    for (size_t i = from; table->column[i].name != NULL; i++)
        at += (size_t)snprintf(sql + at, 1024 - at, "%s%s", i > from ? ", " : "", table->column[i].name);
    at += (size_t)snprintf(sql + at, 1024 - at, ") SELECT ");
    for (size_t i = from; table->column[i].name != NULL; i++)
        at += (size_t)snprintf(sql + at, 1024 - at, "%s?%zu", i > from ? ", " : "", i + 1);
    at += (size_t)snprintf(sql + at, 1024 - at, " WHERE NOT EXISTS (SELECT 1 FROM %s WHERE ", table->name);
    if (table->same != NULL)
        at += (size_t)snprintf(sql + at, 1024 - at, "%s", table->same);
    for (size_t i = 0; table->same == NULL && table->column[i].name != NULL; i++)
        at += (size_t)snprintf(sql + at, 1024 - at, "%s%s IS ?%zu", i > 0 ? " AND " : "", table->column[i].name, i + 1);
    (void)snprintf(sql + at, 1024 - at, ")");
}

/* Which number this store has for a definition, and that it was seen: views leave out what never was. */
static enum code know_definition(struct putting *putting, const struct db_value *values)
{
    int64_t id = 0;
    enum code code = db_number(putting->db, "SELECT id FROM definition WHERE upstream IS ?1 AND tool IS ?2 AND digest IS ?3",
                               DB_VALUES(values[1], values[2], values[3]), &id);

    if (code == CODE_OK && id == 0)
        return CODE_NOT_FOUND;
    putting->known[putting->count] = (struct known){values[0].number, id};
    if (code == CODE_OK)
        code = db_change(putting->db, "INSERT INTO definition_seen(definition, seen_us) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                         DB_VALUES(db_of_int(putting->known[putting->count].is), values[7]));
    putting->count += code == CODE_OK;
    return code;
}

static enum code put_list(struct putting *putting, enum store__fleet_table at, const struct json_node *list, struct why *why)
{
    const struct store__table *table = &store__fleet[at];
    struct db_value values[STORE__COLUMNS_MAX];
    char sql[1024];
    enum code code = list->type == JSON_ARRAY ? CODE_OK : CODE_INVALID;

    write_insert(table, sql);
    for (const struct json_node *row = list->child; row != NULL && code == CODE_OK; row = row->next) {
        size_t count = read_row(putting, table, row, values);

        code = count > 0 ? db_change(putting->db, sql, values, count) : CODE_INVALID;
        if (code == CODE_IO && db_is_refused(putting->db)) /* it refers to a row that is not there, say; no disk failed */
            code = CODE_INVALID;
        if (code == CODE_OK && at == FLEET_DEFINITION)
            code = know_definition(putting, values);
    }
    if (code == CODE_INVALID)
        return why_set(why, code, "a row of %s is none that this build knows; upgrade this node, or find out who made it",
                       table->name);
    if (code == CODE_EXISTS)
        return why_set(why, code, "another row of %s has the number of one of the fleet's: this node's store has rows of its "
                                  "own",
                       table->name);
    return db_why(why, code, putting->db, "storing what the fleet decided");
}

static size_t count_known(const struct json_node *rows)
{
    const struct json_node *list = json_member(rows, span_text(store__fleet[FLEET_DEFINITION].name));

    return list != NULL ? (size_t)list->count + 1 : 1;
}

static bool is_table(struct span name)
{
    for (size_t i = 0; i < FLEET_TABLES; i++)
        if (span_is(name, store__fleet[i].name))
            return true;
    return false;
}

enum code store_fleet_put(struct db *db, const struct json_node *rows, struct why *why)
{
    struct putting putting = {.db = db, .known = mem_array(count_known(rows), sizeof(struct known))};
    enum code code = putting.known != NULL ? CODE_OK : CODE_NOMEM;

    for (const struct json_node *list = rows->child; list != NULL && code == CODE_OK; list = list->next)
        if (!is_table(list->key))
            code = why_set(why, CODE_INVALID, "rows of `%.*s` are none that a fleet may bring; upgrade this node, or find out "
                           "who made them", SPAN_ARG(list->key));
    for (size_t i = 0; i < FLEET_TABLES && code == CODE_OK; i++) {
        const struct json_node *list = json_member(rows, span_text(store__fleet[i].name));

        if (list != NULL)
            code = put_list(&putting, (enum store__fleet_table)i, list, why);
    }
    mem_free(putting.known);
    return code;
}

/* ---- the chain ---- */

enum code store_fleet_end(struct db *db, struct store_fleet_end *end, struct why *why)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_find(db, "SELECT number, hash FROM fleet_change ORDER BY number DESC LIMIT 1", NULL, 0, &stmt);

    *end = (struct store_fleet_end){.number = 0};
    if (code == CODE_OK && db_blob(stmt, 1).len == DIGEST_BYTES) {
        end->number = db_int(stmt, 0);
        memcpy(end->hash, db_blob(stmt, 1).at, DIGEST_BYTES);
    }
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : db_why(why, code, db, "reading the fleet's changes");
}

enum code store_fleet_keep(struct db *db, const struct store_fleet_change *change, int64_t now_us, struct why *why)
{
    enum code code = db_change(db, "INSERT INTO fleet_change(number, text, signature, hash, node, outbox, taken_us) VALUES "
                               "(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                               DB_VALUES(db_of_int(change->number), db_of_blob(change->text), db_of_blob(change->signature),
                                         db_of_blob(change->hash), db_of_text(change->node), db_of_int(change->outbox),
                                         db_of_int(now_us)));

    return db_why(why, code, db, "keeping a change of the fleet");
}

enum code store_fleet_change(struct db *db, int64_t number, store_fleet_change_fn each, void *context, struct why *why)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_find(db, "SELECT number, outbox, text, signature, hash, node FROM fleet_change WHERE number = ?1",
                             DB_VALUES(db_of_int(number)), &stmt);

    if (code == CODE_OK) {
        const struct store_fleet_change change = {
            .number = db_int(stmt, 0), .outbox = db_int(stmt, 1), .text = db_blob(stmt, 2), .signature = db_blob(stmt, 3),
            .hash = db_blob(stmt, 4), .node = db_text(stmt, 5)};

        code = each(context, &change);
        db_finalize(&stmt);
        return code;
    }
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? code : db_why(why, code, db, "reading the fleet's changes");
}

enum code store_fleet_changes_of(struct db *db, struct span node, int64_t outbox, int64_t *numbers, size_t room, size_t *count,
                                 struct why *why)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_select(db, "SELECT number FROM fleet_change WHERE node = ?1 AND outbox = ?2 ORDER BY number",
                               DB_VALUES(db_of_text(node), db_of_int(outbox)), &stmt);

    *count = 0;
    while (stmt != NULL && db_next(&stmt, &code))
        if (*count < room)
            numbers[(*count)++] = db_int(stmt, 0);
    return db_why(why, code, db, "reading the fleet's changes");
}

enum code store_fleet_refuse(struct db *db, int64_t change, struct span reason, int64_t now_us, struct why *why)
{
    enum code code = db_change(db, "INSERT INTO fleet_refusal(change, why, refused_us) VALUES (?1, ?2, ?3)",
                               DB_VALUES(db_of_int(change), db_of_text(reason), db_of_int(now_us)));

    return db_why(why, code, db, "noting what was refused");
}

/* ---- commands ---- */

enum code store_fleet_ask(struct db *db, const struct store_fleet_command *command, int64_t *id, struct why *why)
{
    enum code code = db_change(db, "INSERT INTO fleet_outbox(kind, rows, onto, without, asked_us, asked_by) VALUES "
                               "(?1, ?2, ?3, ?4, ?5, ?6)",
                               DB_VALUES(db_of_text(command->kind), db_of_text(command->rows), db_of_int(command->onto),
                                         db_of_text(command->without), db_of_int(command->asked_us),
                                         db_of_text(command->asked_by)));

    *id = code == CODE_OK ? db_last_id(db) : 0;
    return db_why(why, code, db, "storing what is to be told to the fleet");
}

enum code store_fleet_next(struct db *db, int64_t above, store_fleet_command_fn each, void *context, struct why *why)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_find(db, "SELECT id, kind, rows, onto, without, asked_us, asked_by FROM fleet_outbox WHERE id > ?1 AND "
                             "id NOT IN (SELECT outbox FROM fleet_outbox_end) ORDER BY id LIMIT 1",
                             DB_VALUES(db_of_int(above)), &stmt);

    if (code == CODE_OK) {
        const struct store_fleet_command command = {
            .id = db_int(stmt, 0), .kind = db_text(stmt, 1), .rows = db_text(stmt, 2), .onto = db_int(stmt, 3),
            .without = db_text(stmt, 4), .asked_us = db_int(stmt, 5), .asked_by = db_text(stmt, 6)};

        code = each(context, &command);
        db_finalize(&stmt);
        return code;
    }
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? code : db_why(why, code, db, "reading what is to be told to the fleet");
}

enum code store_fleet_answer(struct db *db, int64_t command, const struct store_fleet_answer *answer, int64_t now_us,
                             struct why *why)
{
    enum code code = db_change(db, "INSERT INTO fleet_outbox_end(outbox, change, id, problem, ended_us) VALUES "
                               "(?1, nullif(?2, 0), nullif(?3, 0), ?4, ?5) ON CONFLICT DO NOTHING",
                               DB_VALUES(db_of_int(command), db_of_int(answer->change), db_of_int(answer->id),
                                         db_of_text(answer->problem), db_of_int(now_us)));

    return db_why(why, code, db, "saying how a command for the fleet ended");
}

enum code store_fleet_answered(struct db *db, int64_t command, struct store_fleet_answer *answer, struct why *problem,
                               struct why *why)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_find(db, "SELECT change, id, problem FROM fleet_outbox_end WHERE outbox = ?1",
                             DB_VALUES(db_of_int(command)), &stmt);

    *answer = (struct store_fleet_answer){.change = 0};
    problem->text[0] = '\0';
    if (code == CODE_OK) {
        answer->change = db_int(stmt, 0);
        answer->id = db_int(stmt, 1);
        (void)why_set(problem, CODE_OK, "%.*s", SPAN_ARG(db_text(stmt, 2)));
        answer->problem = span_text(problem->text);
    }
    db_finalize(&stmt);
    return code == CODE_OK || code == CODE_NOT_FOUND ? code : db_why(why, code, db, "reading how the command ended");
}
