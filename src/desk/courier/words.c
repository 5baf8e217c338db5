/* SPDX-License-Identifier: Apache-2.0 */
#include "courier/words.h"

#include "base/num.h"
#include "crypto/seal.h"
#include "fleet/signed.h"
#include "store/store.h"
#include "store/store_approvals.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CONTEXT "callgate approval word 1\n" /* nothing else that a node signs begins so */
#define PLACE_BYTES 256

const char *const word_kinds[WORD_KINDS] = {"ask", "answer", "use"};

#define HEAD \
    "'fleet', ?2, 'node', ?3, 'number', ?4, 'kind', ?5, 'of', ?1, 'digest', hex(a.digest), 'rule_hash', hex(a.rule_hash)"

static const char *const told[WORD_KINDS] = {
    [WORD_ASK] = "SELECT json_object(" HEAD ", 'tenant', tenant, 'principal', principal, 'authentication', authentication, "
                 "'agent', agent, 'session', (SELECT session FROM approval_seen WHERE ask = a.id), 'via', via, "
                 "'upstream', upstream, 'method', method, 'tool', tool, 'target', target, 'arguments_bytes', arguments_bytes, "
                 "'redacted', redacted, 'rule', rule, 'rule_reason', rule_reason, 'needed', needed, 'approvers', approvers, "
                 "'policy_version', policy_version, 'client', client, 'correlation', correlation, 'decision', decision, "
                 "'asked_us', asked_us, 'arguments', arguments, 'query', query, 'params', params) "
                 "FROM approval_ask a LEFT JOIN approval_held h ON h.ask = a.id WHERE a.id = ?1",
    [WORD_ANSWER] = "SELECT json_object(" HEAD ", 'ask_node', f.node, 'ask_number', f.number, 'granted', granted, 'given_us', "
                    "given_us, 'until_us', until_us, 'by', given_by, 'login', login, 'account', account, 'person', person, "
                    "'known', known, 'why', why, 'unseen', unseen) FROM approval_answer w JOIN approval_ask a ON a.id = w.ask "
                    "JOIN fleet_ask f ON f.ask = a.id WHERE w.id = ?1",
    [WORD_USE] = "SELECT json_object(" HEAD ", 'ask_node', f.node, 'ask_number', f.number) "
                 "FROM fleet_ask f JOIN approval_ask a ON a.id = f.ask WHERE f.ask = ?1",
};

static struct span place_text(const struct member *self, const struct word_place *place, char text[PLACE_BYTES])
{
    (void)snprintf(text, PLACE_BYTES, "%s %.*s %" PRId64, self->fleet, SPAN_ARG(place->node), place->number);
    return span_text(text);
}

enum code word_write(struct db *store, const struct member *self, enum word_kind kind, int64_t of,
                     const struct word_place *place, struct buf *sealed, unsigned char signature[SIGN_BYTES], struct why *why)
{
    char where[PLACE_BYTES];
    struct db_stmt *row = NULL;
    enum code code = db_find(store, told[kind],
                             DB_VALUES(db_of_int(of), db_of_text(span_text(self->fleet)), db_of_text(place->node),
                                       db_of_int(place->number), db_of_text(span_text(word_kinds[kind]))), &row);

    if (code == CODE_OK)
        code = signed_make(CONTEXT, db_text(row, 0), self->key, signature);
    if (code == CODE_OK)
        code = seal_close(self->secrets->seal, place_text(self, place, where), db_text(row, 0), sealed);
    db_finalize(&row);
    return db_why(why, code, store, "telling the fleet of a held call");
}

/* ---- taking ---- */

struct said {
    struct span text;
    const struct word_heard *heard;
    struct span fleet, node, kind, ask_node;
    int64_t number, of, ask_number;
    unsigned char digest[DIGEST_BYTES], rule_hash[DIGEST_BYTES];
};

#define SAYS(name) "json_extract(?1, '$." name "')"

static enum code open_word(const struct member *self, const struct word_heard *heard, struct buf *text, struct why *why)
{
    char where[PLACE_BYTES];
    enum code code = seal_open(self->secrets->seal, place_text(self, &heard->place, where), heard->sealed, text);

    if (code == CODE_OK && !signed_is_good(CONTEXT, buf_peek(text), heard->signature, heard->key))
        code = CODE_DENIED;
    return code != CODE_DENIED ? code
           : why_set(why, code, "word %" PRId64 " of node %.*s on held calls is not that node's: somebody has changed the "
                     "centre; nothing that it says behind it is taken", heard->place.number, SPAN_ARG(heard->place.node));
}

enum code word_check(const struct member *self, const struct word_heard *heard, struct why *why)
{
    struct buf text;
    enum code code;

    buf_init(&text, WORD_BYTES);
    buf_wipes(&text);
    code = open_word(self, heard, &text, why);
    buf_fini(&text);
    return code;
}

/* A word says itself where it belongs, so that none can be shown for another. */
static bool is_in_place(const struct member *self, const struct said *said)
{
    return span_is(said->fleet, self->fleet) && span_equals(said->node, said->heard->place.node) &&
           said->number == said->heard->place.number;
}

static enum code take_ask(struct db *store, const struct said *said, struct why *why)
{
    const struct db_value text = db_of_text(said->text);
    int64_t id;
    enum code code = db_change(
        store, "INSERT INTO approval_ask(digest, rule_hash, gate, tenant, principal, authentication, upstream, method, tool, "
        "target, arguments_bytes, redacted, rule, rule_reason, needed, approvers, policy_version, client, correlation, "
        "decision, asked_us, agent, via) VALUES (?2, ?3, ?4, " SAYS("tenant") ", " SAYS("principal") ", "
        SAYS("authentication") ", " SAYS("upstream") ", " SAYS("method") ", " SAYS("tool") ", " SAYS("target") ", "
        SAYS("arguments_bytes") ", " SAYS("redacted") ", "
        SAYS("rule") ", " SAYS("rule_reason") ", " SAYS("needed") ", " SAYS("approvers") ", " SAYS("policy_version") ", "
        SAYS("client") ", " SAYS("correlation") ", " SAYS("decision") ", " SAYS("asked_us") ", "
        SAYS("agent") ", " SAYS("via") ")",
        DB_VALUES(text, db_of_blob(span_of(said->digest, DIGEST_BYTES)), db_of_blob(span_of(said->rule_hash, DIGEST_BYTES)),
                  db_of_text(said->node)));

    id = db_last_id(store);
    if (code == CODE_OK)
        code = db_change(store, "INSERT INTO approval_seen(ask, gate, decision, session, seen_us, times) VALUES (?2, ?3, "
                         SAYS("decision") ", " SAYS("session") ", min(" SAYS("asked_us") ", ?4), 1)",
                         DB_VALUES(text, db_of_int(id), db_of_text(said->node), db_of_int(said->heard->now_us)));
    if (code == CODE_OK)
        code = db_change(store, "INSERT INTO approval_held(ask, bytes, arguments, query, params) SELECT ?2, "
                         "coalesce(length(a), 0) + coalesce(length(q), 0) + coalesce(length(p), 0), a, q, p FROM (SELECT "
                         SAYS("arguments") " AS a, " SAYS("query") " AS q, " SAYS("params") " AS p) "
                         "WHERE a IS NOT NULL OR q IS NOT NULL OR p IS NOT NULL", DB_VALUES(text, db_of_int(id)));
    if (code == CODE_OK)
        code = db_change(store, "INSERT INTO fleet_ask(ask, node, number) VALUES (?1, ?2, ?3)",
                         DB_VALUES(db_of_int(id), db_of_text(said->node), db_of_int(said->of)));
    return db_why(why, code, store, "storing a held call of another node");
}

/* The ask here that a word is about, whose digest and rule it names, too. */
static enum code find_ask(struct db *store, const struct said *said, int64_t *ask)
{
    enum code code = db_number(store, "SELECT a.id FROM fleet_ask f JOIN approval_ask a ON a.id = f.ask WHERE f.node = ?1 AND "
                               "f.number = ?2 AND a.digest = ?3 AND a.rule_hash = ?4",
                               DB_VALUES(db_of_text(said->ask_node), db_of_int(said->ask_number),
                                         db_of_blob(span_of(said->digest, DIGEST_BYTES)),
                                         db_of_blob(span_of(said->rule_hash, DIGEST_BYTES))), ask);

    return code == CODE_OK && *ask == 0 ? CODE_NOT_FOUND : code;
}

static enum code take_answer(struct db *store, const struct said *said, struct why *why)
{
    struct store_answer answer = {.ask = 0};
    struct db_stmt *row = NULL;
    int64_t id = 0;
    enum code code = find_ask(store, said, &answer.ask);

    if (code == CODE_OK)
        code = db_find(store, "SELECT " SAYS("granted") ", " SAYS("given_us") ", " SAYS("until_us") ", " SAYS("by") ", "
                       SAYS("login") ", " SAYS("account") ", " SAYS("person") ", " SAYS("known") ", " SAYS("why") ", "
                       SAYS("unseen"), DB_VALUES(db_of_text(said->text)), &row);
    if (code == CODE_OK) {
        answer.is_granted = db_int(row, 0) != 0;
        answer.given_us = db_int(row, 1);
        answer.until_us = db_int(row, 2);
        answer.by = db_text(row, 3);
        answer.login = db_text(row, 4);
        answer.person = (struct store_person){.account = db_int(row, 5), .name = db_text(row, 6), .known = db_text(row, 7)};
        answer.why = db_text(row, 8);
        code = store_approval_answer_of_node(store, &answer, db_int(row, 9) == 0, &id, why);
    }
    db_finalize(&row);
    if (code == CODE_OK && id != 0)
        code = db_change(store, "INSERT INTO fleet_answer(answer, node, number) VALUES (?1, ?2, ?3)",
                         DB_VALUES(db_of_int(id), db_of_text(said->node), db_of_int(said->of)));
    return code;
}

static enum code take_use(struct db *store, const struct said *said, struct why *why)
{
    struct approval_use use = {.used_us = said->heard->now_us};
    enum code code = find_ask(store, said, &use.number);

    return code == CODE_OK ? store_approval_use(store, said->node, &use, why) : code;
}

static enum code take_said(struct db *store, const struct said *said, struct why *why)
{
    int64_t known = 0;
    enum code code = db_number(store, "SELECT (SELECT count(*) FROM fleet_ask WHERE node = ?1 AND number = ?2 AND ?3 = 'ask') "
                               "+ (SELECT count(*) FROM fleet_answer WHERE node = ?1 AND number = ?2 AND ?3 = 'answer')",
                               DB_VALUES(db_of_text(said->node), db_of_int(said->of), db_of_text(said->kind)), &known);

    if (code != CODE_OK || known > 0) /* said twice, since the answer to a commit was lost */
        return code;
    if (span_is(said->kind, word_kinds[WORD_ASK]))
        return take_ask(store, said, why);
    return span_is(said->kind, word_kinds[WORD_ANSWER]) ? take_answer(store, said, why) : take_use(store, said, why);
}

enum code word_take(struct db *store, const struct member *self, const struct word_heard *heard, struct why *why)
{
    struct said said = {.heard = heard};
    struct db_stmt *row = NULL;
    struct buf text;
    enum code code;

    buf_init(&text, WORD_BYTES);
    buf_wipes(&text);
    code = open_word(self, heard, &text, why);
    said.text = buf_peek(&text);
    if (code == CODE_OK)
        code = db_find(store, "SELECT " SAYS("fleet") ", " SAYS("node") ", " SAYS("kind") ", " SAYS("ask_node") ", "
                       SAYS("number") ", " SAYS("of") ", " SAYS("ask_number") ", " SAYS("digest") ", " SAYS("rule_hash"),
                       DB_VALUES(db_of_text(said.text)), &row);
    if (code == CODE_OK) {
        said.fleet = db_text(row, 0);
        said.node = db_text(row, 1);
        said.kind = db_text(row, 2);
        said.ask_node = db_text(row, 3);
        said.number = db_int(row, 4);
        said.of = db_int(row, 5);
        said.ask_number = db_int(row, 6);
        if (!is_in_place(self, &said) || num_unhex(db_text(row, 7), said.digest, DIGEST_BYTES) != CODE_OK ||
            num_unhex(db_text(row, 8), said.rule_hash, DIGEST_BYTES) != CODE_OK)
            code = why_set(why, CODE_DENIED, "word %" PRId64 " of node %.*s on held calls stands in the place of another",
                           heard->place.number, SPAN_ARG(heard->place.node));
    }
    if (code == CODE_OK)
        code = take_said(store, &said, why);
    db_finalize(&row);
    buf_fini(&text);
    return code;
}
