/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_definitions.h"

#include "store/store.h"
#include "base/num.h"
#include "schema/schema_compile.h"
#include "json/text.h"

#define DAY_US (INT64_C(86400) * 1000000)
#define AT_ONCE 64 /* notes: with a tool that has 8,192 definitions each takes some milliseconds of the main thread */

/* ---- what was told ---- */

static enum code find_id(struct db *db, const struct definition_note *note, struct span digest, int64_t *id)
{
    return db_number(db, "SELECT id FROM definition WHERE upstream = ?1 AND tool = ?2 AND digest = ?3",
                     DB_VALUES(db_of_text(note->upstream), db_of_text(note->tool), db_of_text(digest)), id);
}

#define UNKEPT_DIGEST "0000000000000000000000000000000000000000000000000000000000000000"
#define UNKEPT "'" UNKEPT_DIGEST "'"
#define IS_SPOKEN(upstream, tool) "EXISTS (SELECT 1 FROM definition o JOIN definition_word w ON w.definition = o.id " \
                                  "WHERE o.upstream = " upstream " AND o.tool = " tool ")"
#define MAY_GO "d.share = ?1 AND NOT EXISTS (SELECT 1 FROM definition_word WHERE definition = d.id) AND (digest <> " UNKEPT \
               " OR NOT " IS_SPOKEN("d.upstream", "d.tool") ")"
#define GOING "(SELECT * FROM definition d WHERE " MAY_GO " ORDER BY told_us, id LIMIT 64) d "

/* Deletes definitions that no person spoke of. Where people spoke of other definitions of the tool, a row without a body keeps
 * when the deleted ones were told. */
static enum code make_room(struct db *db, struct span share)
{
    static const char *const steps[] = {
        "INSERT OR IGNORE INTO definition(upstream, tool, digest, share, bytes, told_us, body) "
        "SELECT upstream, tool, " UNKEPT ", share, 0, told_us, ?2 FROM " GOING "WHERE " IS_SPOKEN("d.upstream", "d.tool"),
        "INSERT INTO definition_seen SELECT u.id, max(l.seen_us) FROM " GOING "JOIN definition_seen l ON l.definition = d.id "
        "JOIN definition u ON u.upstream = d.upstream AND u.tool = d.tool AND u.digest = " UNKEPT " WHERE ?2 <> '' AND "
        "d.digest <> " UNKEPT " GROUP BY u.id ON CONFLICT DO UPDATE SET seen_us = max(seen_us, excluded.seen_us)",
        "DELETE FROM definition WHERE ?2 <> '' AND id IN (SELECT id FROM " GOING ")",
    };
    int64_t over = 1;
    enum code code = CODE_OK;

    while (code == CODE_OK && over != 0) {
        code = db_number(db, "SELECT count(*) >= 8192 OR total(bytes) >= 33554432 FROM definition d WHERE " MAY_GO,
                         DB_VALUES(db_of_text(share)), &over);
        for (size_t i = 0; i < sizeof steps / sizeof *steps && code == CODE_OK && over != 0; i++)
            code = db_change(db, steps[i], DB_VALUES(db_of_text(share), db_of_text(SPAN_LIT(DEFINITION_UNKEPT))));
    }
    return code;
}

static enum code insert(struct db *db, const struct definition_note *note, struct span digest, struct span text,
                        struct store_definitions_put *put, int64_t *id)
{
    int64_t has_before = 0;
    enum code code = db_change(db, "INSERT INTO definition(upstream, tool, digest, share, bytes, before, told_us, body) VALUES "
                                   "(?1, ?2, ?3, ?4, ?5, (SELECT digest FROM definition_state WHERE upstream = ?1 AND tool = "
                                   "?2 AND latest), ?6, ?7)",
                               DB_VALUES(db_of_text(note->upstream), db_of_text(note->tool), db_of_text(digest),
                                         db_of_text(note->share), db_of_int((int64_t)text.len), db_of_int(note->told_us),
                                         db_of_text(text)));

    *id = code == CODE_OK ? db_last_id(db) : 0;
    if (code == CODE_OK)
        code = db_number(db, "SELECT before IS NOT NULL FROM definition WHERE id = ?1", DB_VALUES(db_of_int(*id)),
                         &has_before);
    put->fresh += code == CODE_OK;
    put->changed += has_before != 0;
    return code;
}

/* For a tool that somebody spoke of, the store keeps at least that another definition was told. */
static enum code put_unkept(struct db *db, const struct definition_note *note, struct store_definitions_put *put, int64_t *id)
{
    int64_t is_spoken;
    enum code code = db_number(db, "SELECT " IS_SPOKEN("?1", "?2"),
                               DB_VALUES(db_of_text(note->upstream), db_of_text(note->tool)), &is_spoken);

    if (code != CODE_OK || is_spoken == 0)
        return code;
    code = find_id(db, note, SPAN_LIT(UNKEPT_DIGEST), id);
    return code != CODE_OK || *id != 0
               ? code : insert(db, note, SPAN_LIT(UNKEPT_DIGEST), SPAN_LIT(DEFINITION_UNKEPT), put, id);
}

static enum code put_fresh(struct db *db, const struct definition_note *note, struct span digest, int64_t now_us,
                           struct store_definitions_put *put, int64_t *id)
{
    int64_t over;
    enum code code = db_number(db, "SELECT count(*) >= 4096 OR total(bytes) >= 16777216 FROM definition "
                                   "WHERE share = ?1 AND told_us > ?2",
                               DB_VALUES(db_of_text(note->share), db_of_int(now_us - DAY_US)), &over);

    if (code == CODE_OK && over != 0) {
        put->dropped++;
        return put_unkept(db, note, put, id);
    }
    if (code == CODE_OK)
        code = make_room(db, note->share);
    return code == CODE_OK ? insert(db, note, digest, note->text, put, id) : code;
}

static enum code put_one(struct db *db, const struct definition_note *note, int64_t now_us,
                         struct store_definitions_put *put)
{
    char hex[2 * DIGEST_BYTES];
    struct span digest = span_of(hex, sizeof hex);
    int64_t id, was_latest = 0, is_spoken = 0;
    enum code code;

    num_hex(note->digest, DIGEST_BYTES, hex);
    code = find_id(db, note, digest, &id);
    if (code == CODE_OK && id != 0)
        code = db_number(db, "SELECT latest FROM definition_state WHERE id = ?1", DB_VALUES(db_of_int(id)), &was_latest);
    if (code == CODE_OK && id == 0)
        code = note->text.len > 0 ? put_fresh(db, note, digest, now_us, put, &id) : put_unkept(db, note, put, &id);
    if (code != CODE_OK || id == 0)
        return code;
    code = db_change(db, "INSERT INTO definition_seen VALUES (?1, ?2) "
                         "ON CONFLICT DO UPDATE SET seen_us = max(seen_us, excluded.seen_us)",
                     DB_VALUES(db_of_int(id), db_of_int(note->told_us)));
    if (code == CODE_OK && was_latest == 0)
        code = db_number(db, "SELECT " IS_SPOKEN("?1", "?2"),
                         DB_VALUES(db_of_text(note->upstream), db_of_text(note->tool)), &is_spoken);
    put->is_other |= is_spoken != 0;
    return code;
}

enum code store_definitions_put(struct db *db, struct span *notes, int64_t now_us, struct store_definitions_put *put,
                                struct why *why)
{
    struct span rest = *notes;
    struct definition_note note;
    enum code code = store_begin(db, why);

    *put = (struct store_definitions_put){.notes = 0};
    if (code != CODE_OK)
        return code;
    while (code == CODE_OK && put->notes < AT_ONCE && definitions_next(&rest, &note)) {
        code = put_one(db, &note, now_us, put);
        put->notes++;
    }
    code = store_end(db, code, "keeping what servers say of their tools", why);
    if (code == CODE_OK)
        *notes = rest;
    return code;
}

/* ---- what is accepted ---- */

enum code store_definitions_mark(struct db *db, int64_t *mark, struct why *why)
{
    /* Both numbers only grow. */
    enum code code = db_number(db, "SELECT coalesce((SELECT max(id) FROM definition_word), 0) * 4294967296 + "
                                   "coalesce((SELECT max(id) FROM definition), 0)", NULL, 0, mark);

    return db_why(why, code, db, "reading the store");
}

/* As the view, but for many at once: a tool may have thousands of definitions, each of which the view compares with all. */
#define STATE                                                                                                        \
    "WITH s AS (SELECT d.id, l.seen_us, w.id AS word, coalesce(w.accepted, 0) AS accepted, w.given_us, w.given_by, "  \
    "w.login, w.why, row_number() OVER (PARTITION BY d.upstream, d.tool ORDER BY l.seen_us DESC, d.id DESC) = 1 "     \
    "AS latest, max(iif(w.accepted, w.given_us, 0)) OVER (PARTITION BY d.upstream, d.tool) AS accepted_us, "          \
    "count(w.id) OVER (PARTITION BY d.upstream, d.tool) AS words FROM definition d JOIN definition_seen l "           \
    "ON l.definition = d.id LEFT JOIN definition_word w ON w.id = (SELECT max(id) FROM definition_word "              \
    "WHERE definition = d.id)) "
/* Of the tools that anybody spoke of, what is accepted and what is told now. */
#define IN_SET "WHERE words > 0 AND (accepted OR latest)"
/* Nobody spoke of it, and it is the one that is told now, or was told since somebody accepted another. */
#define WAITING "word IS NULL AND (latest OR seen_us > accepted_us)"

/* Compiles the definition's inputSchema. Returns: NULL: none that could bind arguments. Whoever accepts such a definition is
 * told so, and a permit that asks for its schema does not apply. */
static struct policy_schema *compile(struct span body)
{
    const struct json_node *schema;
    struct policy_schema *compiled = NULL;
    struct json_text text;
    struct why why;

    if (json_text_read(&text, body, &json_reply_rules, 2 * DEFINITION_MAX_BYTES) == CODE_OK) {
        schema = json_member(text.root, SPAN_LIT("inputSchema"));
        if (schema != NULL && policy_schema_compile(schema->raw, &compiled, &why) != CODE_OK)
            compiled = NULL;
    }
    json_text_fini(&text);
    return compiled;
}

/* The same digest is the same definition. To compile thousands anew, each time that somebody accepts one, would hold up the
 * main thread for seconds. */
static enum code schema_of(struct db *db, int64_t id, const struct definition_set *before, struct definition *definition)
{
    const struct definition *known =
        definition_set_accepted(before, definition->upstream, definition->tool, definition->digest);
    struct db_stmt *stmt;
    enum code code;

    if (known != NULL) {
        definition->schema = known->schema != NULL ? policy_schema_ref(known->schema) : NULL;
        return CODE_OK;
    }
    code = db_find(db, "SELECT body FROM definition WHERE id = ?1", DB_VALUES(db_of_int(id)), &stmt);
    if (code == CODE_OK)
        definition->schema = compile(db_text(stmt, 0));
    db_finalize(&stmt);
    return code;
}

enum code store_definitions_load(struct db *db, const struct definition_set *before, struct definition_set **set,
                                 struct why *why)
{
    struct db_stmt *stmt = NULL;
    int64_t count = 0;
    enum code code = db_number(db, STATE "SELECT count(*) FROM s " IN_SET, NULL, 0, &count);

    *set = NULL;
    if (code == CODE_OK && count > 0)
        code = definition_set_new(count < DEFINITION_SET_MAX ? (size_t)count : DEFINITION_SET_MAX, set);
    if (code == CODE_OK && count > 0)
        code = db_prepare(db, STATE "SELECT upstream, tool, digest, accepted, latest, id FROM s JOIN definition USING (id) "
                          IN_SET, &stmt);
    while (stmt != NULL && db_next(&stmt, &code)) {
        struct definition definition = {.upstream = db_text(stmt, 0), .tool = db_text(stmt, 1),
                                        .is_latest = db_int(stmt, 4) != 0,
                                        .is_accepted = db_int(stmt, 3) != 0 && !span_is(db_text(stmt, 2), UNKEPT_DIGEST)};

        code = num_unhex(db_text(stmt, 2), definition.digest, DIGEST_BYTES);
        if (code == CODE_OK && definition.is_accepted)
            code = schema_of(db, db_int(stmt, 5), before, &definition);
        if (code == CODE_OK)
            code = definition_set_add(*set, &definition);
    }
    if (code == CODE_OK)
        return CODE_OK;
    definition_set_unref(set);
    return db_why(why, code, db, "reading what definitions are accepted");
}

/* ---- what people say ---- */

enum code store_definition_say(struct db *db, const struct store_definition_word *word, struct why *why)
{
    enum code code = db_change(db, "INSERT INTO definition_word(definition, accepted, given_us, given_by, login, why) "
                                   "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                               DB_VALUES(db_of_int(word->definition), db_of_int(word->is_accepted), db_of_int(word->given_us),
                                         db_of_text(word->by), db_of_text(word->login), db_of_text(word->why)));

    return db_why(why, code, db, "writing the store");
}

/* ---- what people ask ---- */

enum code store_definitions_each(struct db *db, const struct store_definitions_asked *asked, store_definition_fn each,
                                 void *context, struct why *why)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_select(db, STATE "SELECT id, upstream, tool, digest, body, before, told_us, seen_us, latest, word IS "
                                         "NOT NULL, accepted, given_by, login, why, given_us, " WAITING " AS waits FROM s JOIN "
                                         "definition USING (id) WHERE (?1 IS NULL OR upstream = ?1) AND (?2 IS NULL OR tool = "
                                         "?2) AND (?3 IS NULL OR substr(digest, 1, length(?3)) = ?3) AND (NOT ?4 OR waits) "
                                         "ORDER BY upstream, tool, seen_us DESC, id DESC",
                               DB_VALUES(db_of_text(asked->upstream), db_of_text(asked->tool), db_of_text(asked->digest),
                                         db_of_int(asked->waiting)), &stmt);

    while (db_next(&stmt, &code)) {
        const struct store_definition definition = {
            .id = db_int(stmt, 0), .upstream = db_text(stmt, 1), .tool = db_text(stmt, 2), .digest = db_text(stmt, 3),
            .text = db_text(stmt, 4), .before = db_text(stmt, 5), .told_us = db_int(stmt, 6), .seen_us = db_int(stmt, 7),
            .is_latest = db_int(stmt, 8) != 0, .is_spoken = db_int(stmt, 9) != 0, .is_accepted = db_int(stmt, 10) != 0,
            .given_by = db_text(stmt, 11), .login = db_text(stmt, 12), .why = db_text(stmt, 13),
            .given_us = db_int(stmt, 14), .is_waiting = db_int(stmt, 15) != 0,
        };

        code = each(context, &definition);
    }
    db_finalize(&stmt);
    return code == CODE_OK || why->text[0] != '\0' ? code : db_why(why, code, db, "reading definitions");
}

enum code store_definitions_count(struct db *db, int64_t *waiting, struct why *why)
{
    enum code code = db_number(db, STATE "SELECT count(*) FROM s WHERE " WAITING, NULL, 0, waiting);

    return db_why(why, code, db, "reading definitions");
}
