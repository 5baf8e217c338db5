/* SPDX-License-Identifier: Apache-2.0 */
#include "uses/uses.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "os/clock.h"
#include "os/thread.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define AT_ONCE 256
#define BEAT_US INT64_C(1000000)
#define AGAIN_US INT64_C(700000)   /* what has waited for so long is asked for no more */
#define RETRY_US INT64_C(300000)
#define TELL_US INT64_C(2000000)   /* so often the gate is asked what it has used */
#define WAIT_MS 1000
#define STOP_MS 500
#define KEY_BYTES 16
#define TEXT_BYTES ((size_t)16 << 20)
#define OWN_MOST INT64_C(4000000000000000000) /* as the centre's rows hold */
#define TIME_MOST_US (INT64_MAX / 4) /* all that is reckoned with it stays a number */

struct uses {
    struct uses_conf conf;
    unsigned char secret[DIGEST_BYTES];
    char name[96];
    struct thread thread;
    struct pg *pg;             /* NULL: the centre is away */
    int64_t retry_us;          /* then it is tried again; all times here are monotonic */
    int64_t beat_us;           /* the next is due */
    int64_t told_us;           /* when the gate was asked last */
    int64_t seen_us;           /* the fleet's time as it was told last; 0: never */
    int64_t mark_us, heard_us; /* likewise with a beat, and when that was heard, by a clock that goes on in sleep */
    atomic_bool is_over;       /* the gate is gone, or has recorded its last row */
    bool is_telling;
    struct buf asks;           /* that wait, as JSON */
    struct {
        uint64_t ticket;
        int64_t came_us;
        int64_t asked; /* as the centre is shown it */
    } waiting[AT_ONCE];
    size_t count;
    struct why fault;
    union {
        enum fleet_kind kind;
        struct fleet_wish wish;
        struct fleet_told told;
        struct fleet_message message;
    } said;
};

/* ---- what goes to the gate ---- */

static void say(const struct uses *uses, const void *message, size_t bytes)
{
    struct pollfd room = {.fd = uses->conf.gate, .events = POLLOUT};

    if (poll(&room, 1, WAIT_MS) == 1)
        (void)!send(uses->conf.gate, message, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void answer(const struct uses *uses, uint64_t ticket, enum wish_fate fate)
{
    const struct fleet_answer said = {.kind = FLEET_ANSWER, .answer = {.ticket = ticket, .fate = fate}};

    say(uses, &said, sizeof said);
}

/* STEP:TIMES, with commas between them. */
static void read_used(struct span text, struct wish_answer *answer)
{
    while (text.len > 0 && answer->count < WISH_STEPS_MAX) {
        struct span one = span_cut(text, ',', &text), times_text, step = span_cut(one, ':', &times_text);
        uint64_t number, times;

        if (num_u64(step, &number) != CODE_OK || num_u64(times_text, &times) != CODE_OK || number == 0 ||
            number > WISH_STEPS_MAX)
            return;
        answer->used[answer->count++] =
            (struct wish_used){(uint16_t)number, (uint16_t)(times < UINT16_MAX ? times : UINT16_MAX)};
    }
}

static int64_t within(int64_t number, int64_t most)
{
    return number < 0 ? 0 : number < most ? number : most;
}

void uses_read_answer(const int64_t numbers[USES_NUMBERS], struct span used, struct wish_answer *answer)
{
    static const enum wish_fate fates[] = {WISH_GIVEN, WISH_FULL};
    int64_t status = numbers[1];

    *answer = (struct wish_answer){
        .ticket = (uint64_t)numbers[0], .fate = status == 0 || status == 1 ? fates[status] : WISH_AWAY,
        .at = (uint32_t)within(numbers[2], UINT32_MAX), .wait_us = within(numbers[3], WISH_FULL_US),
        .taken = (uint64_t)within(numbers[4], INT64_MAX)};
    read_used(used, answer);
}

static void answer_row(const struct uses *uses, const struct pg_rows *rows, size_t row)
{
    struct fleet_answer said = {.kind = FLEET_ANSWER};
    int64_t numbers[USES_NUMBERS];

    if (pg_rows_int(rows, row, 0) != uses->waiting[row].asked) {
        answer(uses, uses->waiting[row].ticket, WISH_AWAY);
        return;
    }
    for (size_t i = 0; i < USES_NUMBERS; i++)
        numbers[i] = i == 0 ? (int64_t)uses->waiting[row].ticket : pg_rows_int(rows, row, i);
    uses_read_answer(numbers, pg_rows_bytes(rows, row, USES_NUMBERS), &said.answer);
    say(uses, &said, sizeof said);
}

/* ---- the connection ---- */

static void lose(struct uses *uses, const struct why *why)
{
    if (strcmp(uses->fault.text, why->text) != 0)
        log_warn("fleet", "limits over the fleet: %s", why->text);
    uses->fault = *why;
    uses->is_telling = false;
    pg_close(&uses->pg);
    uses->retry_us = clock_monotonic_us() + RETRY_US;
}

static bool connect_again(struct uses *uses)
{
    struct pg_place place = uses->conf.place;
    struct why why = {""};

    if (uses->pg != NULL)
        return true;
    if (clock_monotonic_us() < uses->retry_us)
        return false;
    place.wait_ms = WAIT_MS;
    if (pg_open(&place, uses->name, &uses->pg, &why) != CODE_OK)
        lose(uses, &why);
    return uses->pg != NULL;
}

/* Asks something to which the fleet's time is said. What has passed here since a beat was heard bounds by how much it may have
 * gone on there. Takes: asks: at == NULL: a beat. */
static enum code ask_centre(struct uses *uses, struct span asks, size_t time_column, struct pg_rows **rows, struct why *why)
{
    const char *sql = asks.at == NULL ? "SELECT time_us, must_tell FROM callgate.limit_beat($1, $2)"
                                      : "SELECT ticket, status, at, wait_us, taken, used, time_us "
                                        "FROM callgate.limit_use($1, $2, $3)";
    const struct pg_value values[] = {pg_of_int(uses->seen_us),
                                      pg_of_int(uses->mark_us + clock_up_us() - uses->heard_us), pg_of_text(asks)};
    int64_t time_us;
    enum code code = pg_ask(uses->pg, sql, values, asks.at == NULL ? 2 : 3, rows, why);

    if (code != CODE_OK || pg_rows_count(*rows) == 0)
        return code;
    time_us = pg_rows_int(*rows, 0, time_column);
    if (time_us < 0 || time_us > TIME_MOST_US)
        return why_set(why, CODE_INVALID, "the centre tells a time of the fleet's that cannot be, %" PRId64, time_us);
    if (asks.at == NULL || time_us < uses->seen_us || uses->seen_us == 0) {
        uses->mark_us = time_us;
        uses->heard_us = clock_up_us();
    }
    uses->seen_us = time_us;
    uses->fault.text[0] = '\0';
    return code;
}

/* ---- wishes ---- */

static void digest_key(const struct uses *uses, const struct wish_take *take, size_t bytes, struct buf *out)
{
    char text[1 + DIGEST_BYTES], hex[2 * KEY_BYTES];
    unsigned char digest[DIGEST_BYTES];

    text[0] = (char)('0' + take->kind + (bytes == KEY_BYTES ? 0 : 4));
    memcpy(text + 1, take->key, bytes);
    hmac_of(span_of(uses->secret, DIGEST_BYTES), span_of(text, 1 + bytes), digest);
    num_hex(digest, KEY_BYTES, hex);
    (void)buf_add(out, hex, sizeof hex);
}

/* {"kind":0,"key":"..","value":"..","most":1,"amount":1,"per":1, without an end */
static void write_take(const struct uses *uses, const struct wish_take *take, struct buf *out)
{
    (void)buf_addf(out, "{\"kind\":%d,\"key\":\"", (int)take->kind);
    digest_key(uses, take, take->kind == WISH_STEP ? DIGEST_BYTES : KEY_BYTES, out);
    (void)buf_add_text(out, "\",\"value\":\"");
    if (take->kind == WISH_VALUE)
        digest_key(uses, take, DIGEST_BYTES, out);
    else if (take->kind == WISH_STEP)
        (void)buf_addf(out, "%" PRIu64, take->most);
    (void)buf_addf(out, "\",\"most\":%" PRIu64 ",\"amount\":%" PRIu64 ",\"per\":%" PRId64, take->most, take->amount,
                   take->per_us);
}

/* The same ticket is shown as the same number, and nobody at the centre knows which is the next, to say that it was given. */
static int64_t shown_ticket(const struct uses *uses, uint64_t ticket)
{
    unsigned char digest[DIGEST_BYTES];
    int64_t shown;

    hmac_of(span_of(uses->secret, DIGEST_BYTES), span_of(&ticket, sizeof ticket), digest);
    memcpy(&shown, digest, sizeof shown);
    return shown & INT64_MAX;
}

static void note_wish(struct uses *uses, const struct fleet_wish *wish)
{
    struct buf *out = &uses->asks;
    int64_t asked = shown_ticket(uses, wish->ticket);

    (void)buf_addf(out, "%s{\"ticket\":%" PRId64 ",\"takes\":[", uses->count == 0 ? "[" : ",", asked);
    for (uint32_t i = 0; i < wish->count; i++) {
        (void)buf_add_text(out, i > 0 ? "," : "");
        write_take(uses, &wish->takes[i], out);
        (void)buf_addf(out, ",\"flag\":%s,\"own\":%" PRId64 "}", wish->takes[i].is_beyond ? "true" : "false",
                       within((int64_t)wish->takes[i].own, OWN_MOST));
    }
    (void)buf_add_text(out, "]}");
    uses->waiting[uses->count].ticket = wish->ticket;
    uses->waiting[uses->count].asked = asked;
    uses->waiting[uses->count++].came_us = clock_monotonic_us();
}

/* An answer that was lost is asked for again at once, on a new connection. */
static void ask_all(struct uses *uses)
{
    int64_t since_us = uses->waiting[0].came_us;
    struct pg_rows *rows = NULL;
    struct why why = {""};
    enum code code = CODE_IO;

    (void)buf_add_text(&uses->asks, "]");
    while (code == CODE_IO && connect_again(uses)) {
        code = buf_code(&uses->asks);
        if (code == CODE_OK)
            code = ask_centre(uses, buf_peek(&uses->asks), 6, &rows, &why);
        if (code == CODE_OK)
            break;
        lose(uses, &why);
        if (clock_monotonic_us() - since_us < AGAIN_US)
            uses->retry_us = 0;
        pg_rows_free(&rows);
    }
    for (size_t i = 0; i < pg_rows_count(rows) && i < uses->count; i++)
        answer_row(uses, rows, i);
    for (size_t i = pg_rows_count(rows); i < uses->count; i++)
        answer(uses, uses->waiting[i].ticket, WISH_AWAY);
    pg_rows_free(&rows);
    buf_clear(&uses->asks);
    uses->count = 0;
}

/* ---- what the gate tells ---- */

static enum code tell_centre(struct uses *uses, const struct fleet_told *told, struct why *why)
{
    struct buf text;
    enum code code = told->begins ? pg_begin(uses->pg, why) : CODE_OK;

    buf_init(&text, TEXT_BYTES);
    for (uint32_t i = 0; i < told->count; i++) {
        (void)buf_add_text(&text, i == 0 ? "[" : ",");
        write_take(uses, &told->uses[i].take, &text);
        (void)buf_addf(&text, ",\"age\":%" PRId64 "}", told->uses[i].age_us);
    }
    (void)buf_add_text(&text, told->count == 0 ? "[]" : "]");
    if (code == CODE_OK)
        code = buf_code(&text);
    if (code == CODE_OK)
        code = pg_ask(uses->pg, "SELECT callgate.limit_tell($1, $2 <> 0, $3 <> 0)",
                      PG_VALUES(pg_of_text(buf_peek(&text)), pg_of_int(told->begins), pg_of_int(told->ends)), NULL, why);
    if (code == CODE_OK && told->ends)
        code = pg_commit(uses->pg, NULL, why);
    buf_fini(&text);
    return code;
}

/* What does not follow its beginning is dropped: the gate is asked again. */
static void take_told(struct uses *uses, const struct fleet_told *told)
{
    struct why why = {""};

    if (uses->pg == NULL || (!uses->is_telling && !told->begins))
        return;
    uses->is_telling = !told->ends;
    if (tell_centre(uses, told, &why) != CODE_OK)
        lose(uses, &why);
}

static void beat(struct uses *uses)
{
    const struct fleet_message tell = {.kind = FLEET_TELL};
    struct pg_rows *rows = NULL;
    int64_t now_us = clock_monotonic_us();
    struct why why = {""};

    uses->beat_us = now_us + BEAT_US;
    if (!connect_again(uses) || uses->is_telling)
        return;
    if (ask_centre(uses, SPAN_NONE, 0, &rows, &why) != CODE_OK) {
        lose(uses, &why);
    } else if (pg_rows_int(rows, 0, 1) != 0 && now_us - uses->told_us >= TELL_US) {
        uses->told_us = now_us;
        say(uses, &tell, sizeof tell);
    }
    pg_rows_free(&rows);
}

/* ---- the loop ---- */

bool uses_hear_in_force(struct uses_in_force *in_force, const void *message, size_t bytes)
{
    struct fleet_in_force said;

    if (bytes != sizeof said)
        return false;
    memcpy(&said, message, sizeof said);
    if (said.kind != FLEET_IN_FORCE)
        return false;
    atomic_store(&in_force->change, said.change);
    atomic_store(&in_force->version, said.version);
    return true;
}

static void take_message(struct uses *uses, size_t got)
{
    const struct fleet_wish *wish = &uses->said.wish;
    const struct fleet_told *told = &uses->said.told;

    if (uses->said.kind == FLEET_WISH && got >= offsetof(struct fleet_wish, takes) && wish->count > 0 &&
        fleet_is_whole(got, offsetof(struct fleet_wish, takes), wish->count, sizeof wish->takes[0], WISH_TAKES_MAX))
        note_wish(uses, wish);
    else if (uses->said.kind == FLEET_TOLD && got >= offsetof(struct fleet_told, uses) &&
             fleet_is_whole(got, offsetof(struct fleet_told, uses), told->count, sizeof told->uses[0], FLEET_TOLD_MAX))
        take_told(uses, told);
    else if (uses_hear_in_force(uses->conf.in_force, &uses->said, got))
        return;
    else if (uses->said.kind == FLEET_LAST && got == sizeof uses->said.message)
        atomic_store(&uses->is_over, true);
    else
        log_error("fleet", "the gate has said %zu bytes that are no message", got);
}

static void hear_gate(struct uses *uses)
{
    ssize_t got = 1;

    while (uses->count < AT_ONCE && !atomic_load(&uses->is_over) &&
           (got = recv(uses->conf.gate, &uses->said, sizeof uses->said, MSG_DONTWAIT)) > 0)
        take_message(uses, (size_t)got);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        atomic_store(&uses->is_over, true);
    if (uses->count > 0)
        ask_all(uses);
}

static void serve(void *argument)
{
    struct uses *uses = argument;

    while (!atomic_load(&uses->is_over) && !atomic_load(&uses->thread.is_stopping)) {
        struct pollfd gate = {.fd = uses->conf.gate, .events = POLLIN};
        int64_t left_us = uses->beat_us - clock_monotonic_us();

        if (left_us > STOP_MS / 2 * 1000)
            left_us = STOP_MS / 2 * 1000;
        if (left_us <= 0)
            beat(uses);
        else if (poll(&gate, 1, (int)(left_us / 1000) + 1) > 0)
            hear_gate(uses);
    }
}

enum code uses_start(const struct uses_conf *conf, struct uses **out, struct why *why)
{
    struct uses *uses = mem_zalloc(sizeof *uses);

    *out = uses;
    if (uses == NULL)
        return why_set(why, CODE_NOMEM, "out of memory");
    uses->conf = *conf;
    hmac_of(span_of(conf->secret, DIGEST_BYTES), SPAN_LIT("limits"), uses->secret);
    buf_init(&uses->asks, TEXT_BYTES);
    (void)snprintf(uses->name, sizeof uses->name, "callgate %s, limits", conf->name);
    return thread_start(&uses->thread, "uses", serve, uses, why);
}

bool uses_are_over(const struct uses *uses)
{
    return atomic_load(&uses->is_over);
}

bool uses_stop(struct uses **uses)
{
    struct uses *gone = *uses;

    if (gone == NULL)
        return true;
    atomic_store(&gone->thread.is_stopping, true);
    if (!thread_join_within(&gone->thread, STOP_MS))
        return false;
    pg_close(&gone->pg);
    buf_fini(&gone->asks);
    mem_wipe(gone->secret, sizeof gone->secret);
    mem_free(gone);
    *uses = NULL;
    return true;
}
