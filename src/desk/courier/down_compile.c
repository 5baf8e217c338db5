/* SPDX-License-Identifier: Apache-2.0 */
/* Whether nodes can compile what somebody wants to make active. Each answers who asks, and signs what it says: the centre can
 * keep an answer back, and make none. */
#include "courier/down_priv.h"

#include "fleet/signed.h"
#include "language/store.h"
#include "os/clock.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CONTEXT "callgate compile answer 1\n"
#define TURN_US (INT64_C(1) * 1000000) /* so long other work of the courier may wait for answers */
#define AGAIN_US (INT64_C(5) * 1000000) /* what was told is told again, as long as it is asked */
#define ANSWER_BYTES ((size_t)2048)

/* What an answer says, as it is signed. */
static enum code write_answer(const struct down *down, const struct down_answer *answer, struct buf *text)
{
    (void)buf_addf(text, "%.*s\n%.*s\n%.*s\n%" PRId64 "\n%" PRId64 "\n", SPAN_ARG(down->self.fleet), SPAN_ARG(answer->node),
                   SPAN_ARG(answer->asked_by), answer->ask, answer->version);
    return buf_add_span(text, answer->problem);
}

bool down__is_answer(const struct down *down, const struct down_answer *answer, struct span signature)
{
    const struct roster_node *node = roster_find(down->self.roster->now, answer->node);
    struct buf text;
    bool is;

    buf_init(&text, ANSWER_BYTES);
    is = node != NULL && write_answer(down, answer, &text) == CODE_OK &&
         signed_is_good(CONTEXT, buf_peek(&text), signature, node->key);
    buf_fini(&text);
    return is;
}

enum code down__compile(struct down *down, int64_t version, struct why *fault, struct why *why)
{
    struct policy *policy = NULL;
    enum code code = CODE_OK;

    if (down->tried != version) {
        down->tried_fault.text[0] = '\0';
        code = store_compile_policy(down->self.store, (uint64_t)version, NULL, &policy, &down->tried_fault);
        policy_unref(&policy);
        down->tried = code == CODE_OK || code == CODE_INVALID ? version : 0;
    }
    *fault = down->tried_fault;
    if (code == CODE_INVALID && fault->text[0] != '\0')
        return CODE_OK;
    return code == CODE_OK || code == CODE_NOT_FOUND ? code : why_set(why, code, "%s", fault->text);
}

static enum code tell(struct down *down, struct pg *pg, struct down_answer *answer, struct why *why)
{
    unsigned char signature[SIGN_BYTES];
    struct why fault;
    struct buf text;
    enum code code = down__compile(down, answer->version, &fault, why);

    if (code == CODE_NOT_FOUND) /* it has not come yet; they ask again */
        return CODE_OK;
    answer->problem = span_text(fault.text);
    buf_init(&text, ANSWER_BYTES);
    if (code == CODE_OK)
        code = write_answer(down, answer, &text);
    if (code == CODE_OK)
        code = signed_make(CONTEXT, buf_peek(&text), down->self.key, signature);
    if (code == CODE_OK)
        code = pg_ask(pg, "SELECT callgate.compile_tell($1, $2, $3, $4)",
                      PG_VALUES(pg_of_text(answer->asked_by), pg_of_int(answer->ask), pg_of_bytes(answer->problem),
                                pg_of_bytes(span_of(signature, sizeof signature))), NULL, why);
    buf_fini(&text);
    return code;
}

/* Whether it was told a moment ago; else that is noted. */
static bool is_told(struct down *down, int64_t ask, int64_t now_us)
{
    size_t oldest = 0;

    for (size_t i = 0; i < DOWN_COMMANDS; i++) {
        if (down->told[i].ask == ask && now_us - down->told[i].us < AGAIN_US)
            return true;
        if (down->told[i].us < down->told[oldest].us)
            oldest = i;
    }
    down->told[oldest] = (struct down_told){ask, now_us};
    return false;
}

static enum code read_asks(struct down *down, struct pg *pg, struct pg_rows **rows, struct why *why)
{
    struct buf names;
    enum code code;

    buf_init(&names, ROSTER_TEXT_BYTES);
    code = roster_names(down->self.roster->now, down->self.node, &names);
    if (code == CODE_OK)
        code = pg_ask(pg, "SELECT asked_by, id, version FROM callgate.compile_asks($1, $2)",
                      PG_VALUES(pg_of_text(buf_peek(&names)), pg_of_text(span_text(down->asks_behind))), rows, why);
    buf_fini(&names);
    return code;
}

/* Goes round the nodes that ask, each of which has one row: what stands under other names keeps nobody waiting. */
enum code down__answer(struct down *down, struct pg *pg, int64_t now_us, struct why *why)
{
    const int64_t until_us = clock_monotonic_us() + TURN_US;
    struct pg_rows *rows = NULL;
    enum code code = read_asks(down, pg, &rows, why);
    const size_t count = pg_rows_count(rows);
    size_t i = 0;

    for (; i < count && code == CODE_OK && clock_monotonic_us() < until_us; i++) {
        struct down_answer answer = {.node = down->self.node, .asked_by = pg_rows_bytes(rows, i, 0),
                                     .ask = pg_rows_int(rows, i, 1), .version = pg_rows_int(rows, i, 2)};

        (void)snprintf(down->asks_behind, sizeof down->asks_behind, "%.*s", SPAN_ARG(answer.asked_by));
        if (roster_find(down->self.roster->now, answer.asked_by) != NULL && !is_told(down, answer.ask, now_us))
            code = tell(down, pg, &answer, why);
    }
    if (i == count)
        down->asks_behind[0] = '\0';
    pg_rows_free(&rows);
    return code;
}
