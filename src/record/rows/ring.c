/* SPDX-License-Identifier: Apache-2.0 */
/* A byte ring for one producer and one consumer. `tail` and `head` only grow; a place is the count modulo the size. A record
 * may go over the end of the room, so no bytes are wasted there, and a reservation is a plain number of bytes.
 *
 * A ring begins small and doubles when it is full, since a ring of 2 MiB would touch all its pages sooner or later. The
 * rooms of all sizes lie one behind the other in one allocation, which costs only the pages that were touched. Bytes that were
 * not released are copied into the larger room; the smaller one stays as it is, since the writer may be reading in it. */
#include "rows/ring.h"
#include "rows/ring_drain.h"

#include "base/bug.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/utf8.h"
#include "os/park.h"

#define BEGIN_BYTES 1024          /* bytes that are kept of arguments that are cut */
#define DENIED_ARGUMENTS_BYTES 4096
#define CUT_MARK "\xe2\x80\xa6"   /* U+2026 */
#define CUT_MARK_BYTES (sizeof CUT_MARK - 1)
#define RING_BYTES_MIN 65536
#define JSON_TEXTS (TEXT_ARGUMENTS - TEXT_RULES) /* the JSON texts are those between these two */

size_t ring_record_max(const struct ring_shared *shared)
{
    size_t values = 2 * (size_t)shared->arguments_max_bytes;
    size_t texts = TEXT_RULES * (size_t)AUDIT_TEXT_BYTES + JSON_TEXTS * (size_t)AUDIT_JSON_BYTES + BEGIN_BYTES +
                   AUDIT_CLAIMS_BYTES + AUDIT_QUERY_BYTES;

    return sizeof(struct ring_head) + sizeof(struct ring_decision) + TEXT_COUNT * sizeof(uint32_t) + texts +
           (values > AUDIT_ANSWER_BYTES ? values : AUDIT_ANSWER_BYTES) + 8;
}

enum code ring_new(struct ring_shared *shared, uint64_t bytes, struct audit_ring **out)
{
    struct audit_ring *ring = mem_zalloc(sizeof *ring);

    *out = NULL;
    if (ring == NULL)
        return CODE_NOMEM;
    ring->most = RING_BYTES_MIN;
    while (ring->most < bytes || ring->most < 2 * ring_record_max(shared))
        ring->most *= 2;
    ring->shared = shared;
    atomic_init(&ring->size, RING_BYTES_MIN);
    memset(ring->policy_hex, '0', sizeof ring->policy_hex); /* the hexadecimal of an all-zero hash */
    ring->bytes = mem_alloc(2 * ring->most); /* the rooms of all sizes take less than twice the largest */
    ring->seq_of = mem_array(AUDIT_TICKETS, sizeof *ring->seq_of);
    if (ring->bytes == NULL || ring->seq_of == NULL) {
        ring_free(&ring);
        return CODE_NOMEM;
    }
    *out = ring;
    return CODE_OK;
}

void ring_free(struct audit_ring **ring)
{
    if (*ring == NULL)
        return;
    mem_free((*ring)->bytes);
    mem_free((void *)(*ring)->seq_of);
    mem_free(*ring);
    *ring = NULL;
}

void ring_break(struct ring_shared *shared, const char *what)
{
    if (!atomic_exchange(&shared->is_broken, true))
        log_error("audit", "%s; every call is denied until the gate is started again: please report it", what);
}

/* Finds the byte `at` in the room of this size, and how many bytes follow it in one piece. */
static unsigned char *place_in(const struct audit_ring *ring, uint64_t size, uint64_t at, uint64_t *in_line)
{
    uint64_t place = at & (size - 1);

    *in_line = size - place;
    return ring->bytes + (size - RING_BYTES_MIN) + place;
}

/* ---- producer ---------------------------------------------------------------------------------------------------- */

struct pen {
    struct audit_ring *ring;
    unsigned char *place;
    uint64_t in_line; /* bytes from there to the end of the room */
    uint64_t left;    /* bytes of the record */
};

static struct pen pen_at(struct audit_ring *ring, uint64_t at, uint64_t bytes)
{
    struct pen pen = {.ring = ring, .left = bytes};

    pen.place = place_in(ring, atomic_load_explicit(&ring->size, memory_order_relaxed), at, &pen.in_line);
    return pen;
}

/* Goes on where the room begins. */
static __attribute__((cold, noinline)) struct pen write_over(struct pen pen, const void *bytes, size_t len)
{
    size_t first = pen.in_line;

    memcpy(pen.place, bytes, first);
    pen.place = place_in(pen.ring, atomic_load_explicit(&pen.ring->size, memory_order_relaxed), 0, &pen.in_line);
    memcpy(pen.place, (const unsigned char *)bytes + first, len - first);
    pen.place += len - first;
    pen.in_line -= len - first;
    return pen;
}

/* The pen goes by value, so that it stays in registers over a record's many short texts. */
static inline struct pen pen_write(struct pen pen, const void *bytes, size_t len)
{
    pen.left -= len;
    if (len > pen.in_line)
        return write_over(pen, bytes, len);
    if (len > 0)
        memcpy(pen.place, bytes, len);
    pen.place += len;
    pen.in_line -= len;
    return pen;
}

/* The writer learns of the new room before it learns of a record that lies in it alone. */
static bool grow(struct audit_ring *ring)
{
    uint64_t size = atomic_load_explicit(&ring->size, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed), in_line, rest;

    if (size >= ring->most)
        return false;
    for (uint64_t at = ring->head_seen; at < tail; at += in_line) {
        const unsigned char *from = place_in(ring, size, at, &in_line);

        in_line = in_line < tail - at ? in_line : tail - at;
        memcpy(place_in(ring, 2 * size, at, &rest), from, in_line);
    }
    atomic_store_explicit(&ring->size, 2 * size, memory_order_release);
    return true;
}

static bool has_room(struct audit_ring *ring, uint64_t bytes, bool ticket)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint64_t lost = atomic_load_explicit(&ring->rooms_lost, memory_order_acquire);
    uint64_t reserved = (ring->reserved - lost) * RING_RESULT_BYTES + ring->reserved_said;

    if (ticket && ring->tickets - audit_settled(ring) >= AUDIT_TICKETS / 2)
        return false;
    if (tail - ring->head_seen + reserved + bytes <= atomic_load_explicit(&ring->size, memory_order_relaxed))
        return true;
    ring->head_seen = atomic_load(&ring->head);
    while (tail - ring->head_seen + reserved + bytes > atomic_load_explicit(&ring->size, memory_order_relaxed))
        if (!grow(ring))
            return false;
    return true;
}

/* Whether there is room; if not, says that the producer waits. It asks once more then, because the writer
 * may have made room before it could see that. */
static bool has_room_or_waits(struct audit_ring *ring, uint64_t bytes, bool ticket)
{
    if (has_room(ring, bytes, ticket))
        return true;
    atomic_store(&ring->starved, true);
    return has_room(ring, bytes, ticket);
}

void ring_wake_writer(struct ring_shared *shared, enum ring_sleep from)
{
    int sleeps = atomic_load(&shared->sleeps);

    /* Where the exchange fails, the writer has woken, and looks at the tails again before it sleeps. */
    if (sleeps >= (int)from && atomic_compare_exchange_strong(&shared->sleeps, &sleeps, RING_AWAKE))
        park_wake(&shared->sleeps);
}

static void publish(struct audit_ring *ring, uint64_t end, enum ring_sleep from)
{
    if (from == RING_DOZES) /* one thread alone adds, so no lock is needed for it */
        atomic_store_explicit(&ring->pressing,
                              atomic_load_explicit(&ring->pressing, memory_order_relaxed) + 1, memory_order_relaxed);
    atomic_store(&ring->tail, end);
    ring_wake_writer(ring->shared, from);
}

/* A record's texts, and how much of each goes into the ring. Each is bounded, however long an agent makes it. */
struct texts {
    int count;
    uint64_t bytes;
    uint32_t length[TEXT_COUNT]; /* with the mark where the text was cut; RING_NULL: there is none */
    struct span text[TEXT_COUNT];
};

static inline void set_text(struct texts *texts, int at, struct span text)
{
    texts->text[at] = text;
    texts->length[at] = text.at == NULL ? RING_NULL : (uint32_t)text.len;
    texts->bytes += text.len;
}

static __attribute__((cold, noinline)) void set_cut(struct texts *texts, int at, struct span text, size_t max)
{
    set_text(texts, at, utf8_cut(text, max - CUT_MARK_BYTES));
    texts->length[at] += CUT_MARK_BYTES;
    texts->bytes += CUT_MARK_BYTES;
}

static inline void set_bounded(struct texts *texts, int at, struct span text, size_t max)
{
    if (text.len <= max)
        set_text(texts, at, text);
    else
        set_cut(texts, at, text, max);
}

static inline void set_json(struct texts *texts, int at, struct span json, size_t max)
{
    set_text(texts, at, json.len <= max ? json : SPAN_LIT("\"too long\""));
}

static uint64_t record_bytes(size_t fixed, const struct texts *texts)
{
    uint64_t bytes = sizeof(struct ring_head) + fixed + (size_t)texts->count * sizeof(uint32_t) + texts->bytes;

    return (bytes + 7) & ~(uint64_t)7;
}

static void put(struct audit_ring *ring, enum ring_kind kind, const void *fixed, size_t fixed_bytes, const struct texts *texts,
                uint64_t bytes, enum ring_sleep from)
{
    static const char zeros[8];
    uint64_t at = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    struct pen pen = pen_at(ring, at, bytes);
    struct ring_head head = {(uint32_t)bytes, kind};

    pen = pen_write(pen, &head, sizeof head);
    pen = pen_write(pen, fixed, fixed_bytes);
    pen = pen_write(pen, texts->length, (size_t)texts->count * sizeof texts->length[0]);
    for (int i = 0; i < texts->count; i++) {
        if (texts->length[i] == RING_NULL)
            continue;
        pen = pen_write(pen, texts->text[i].at, texts->text[i].len);
        if (texts->length[i] > texts->text[i].len)
            pen = pen_write(pen, CUT_MARK, CUT_MARK_BYTES);
    }
    (void)pen_write(pen, zeros, pen.left);
    publish(ring, at + bytes, from);
}

static void draw_salt(struct audit_ring *ring, unsigned char salt[ROW_SALT_BYTES])
{
    if (ring->random_left < ROW_SALT_BYTES) {
        random_bytes(ring->random, sizeof ring->random);
        ring->random_left = sizeof ring->random;
    }
    ring->random_left -= ROW_SALT_BYTES;
    memcpy(salt, ring->random + ring->random_left, ROW_SALT_BYTES);
}

static void salted(const unsigned char salt[ROW_SALT_BYTES], struct span bytes, unsigned char out[DIGEST_BYTES])
{
    digest_of_two(span_of(salt, ROW_SALT_BYTES), bytes, out);
}

/* Sets the policy's hash, and keeps its bytes, since one version judges many calls. */
static void set_policy_hash(struct audit_ring *ring, struct span hex, struct ring_decision *fixed)
{
    if (!span_equals(hex, span_of(ring->policy_hex, sizeof ring->policy_hex))) {
        if (num_unhex(hex, ring->policy_hash, DIGEST_BYTES) != CODE_OK)
            return;
        memcpy(ring->policy_hex, hex.at, sizeof ring->policy_hex);
    }
    fixed->has_policy_hash = true;
    memcpy(fixed->policy_hash, ring->policy_hash, DIGEST_BYTES);
}

static void gather_columns(const struct audit_decision *from, struct ring_decision *fixed, struct texts *texts)
{
    texts->count = TEXT_COUNT;
    texts->bytes = 0;
#define NUMBER(NAME, name) fixed->name = from->name;
#define CUT(NAME, name) set_bounded(texts, TEXT_##NAME, from->name, AUDIT_TEXT_BYTES);
#define WHOLE(NAME, name) set_json(texts, TEXT_##NAME, from->name, AUDIT_JSON_BYTES);
#define SIZE(NAME, name, text) fixed->name = from->text.len, fixed->has_##text = from->text.at != NULL;
    DECISION_TABLE(ROW_SKIP, NUMBER, NUMBER, CUT, WHOLE, SIZE, ROW_SKIP)
#undef NUMBER
#undef CUT
#undef WHOLE
#undef SIZE
}

/* Keeps the beginning of a value that is too long. The digest is of what is kept; the body's digest covers the whole. */
static void gather_begun(struct span value, uint64_t max, const struct ring_decision *fixed, unsigned char digest[DIGEST_BYTES],
                         struct texts *texts, int at)
{
    if (value.len > max)
        value = utf8_cut(value, BEGIN_BYTES);
    if (value.at != NULL)
        salted(fixed->salt, value, digest);
    set_text(texts, at, value);
}

static void gather_values(struct audit_ring *ring, const struct audit_decision *from, struct ring_decision *fixed,
                          struct texts *texts)
{
    struct span begin = SPAN_NONE, arguments = from->arguments;
    uint64_t max = ring->shared->arguments_max_bytes;

    if (from->verdict != AUDIT_PERMIT && max > DENIED_ARGUMENTS_BYTES)
        max = DENIED_ARGUMENTS_BYTES;
    draw_salt(ring, fixed->salt);
    salted(fixed->salt, from->arguments, fixed->arguments_digest);
    if (arguments.len > max) {
        begin = arguments.len > BEGIN_BYTES ? utf8_cut(arguments, BEGIN_BYTES - CUT_MARK_BYTES) : arguments;
        arguments = SPAN_NONE;
        fixed->arguments_cut = true;
        salted(fixed->salt, begin, fixed->begin_digest);
    }
    set_text(texts, TEXT_ARGUMENTS, arguments);
    set_text(texts, TEXT_BEGIN, begin);
    gather_begun(from->params, max, fixed, fixed->params_digest, texts, TEXT_PARAMS);
    gather_begun(from->claims, AUDIT_CLAIMS_BYTES, fixed, fixed->claims_digest, texts, TEXT_CLAIMS);
    if (fixed->has_body)
        salted(fixed->salt, from->body, fixed->body_digest);
    if (fixed->has_query)
        salted(fixed->salt, from->query, fixed->query_digest);
    set_text(texts, TEXT_QUERY, from->target.at != NULL ? from->query : SPAN_NONE);
    fixed->has_session = from->session.at != NULL;
    if (fixed->has_session)
        digest_of(from->session, fixed->session);
    set_policy_hash(ring, from->policy_hash, fixed);
}

enum code audit_put_decision(struct audit_ring *ring, const struct audit_decision *from, uint64_t *ticket)
{
    struct ring_decision fixed = {.ticket = 0};
    struct texts texts; /* not cleared: all are set */
    bool reserves = from->expects_outcome && !from->is_told_later;
    uint64_t bytes;

    *ticket = 0;
    if ((from->expects_outcome && from->verdict != AUDIT_PERMIT) || from->query.len > AUDIT_QUERY_BYTES)
        ring_break(ring->shared, "a decision has an outcome that it cannot have, or a query that is too long");
    if (audit_is_down(ring)) {
        enum reason reason = from->verdict == AUDIT_PERMIT ? REASON_AUDIT_DOWN : from->reason;

        atomic_fetch_add_explicit(&ring->refused[reason], 1, memory_order_relaxed);
        return CODE_DOWN;
    }
    gather_columns(from, &fixed, &texts);
    gather_values(ring, from, &fixed, &texts);
    bytes = record_bytes(sizeof fixed, &texts);
    if (!has_room_or_waits(ring, bytes + (reserves ? RING_RESULT_BYTES : 0), true))
        return CODE_BUSY;
    fixed.ticket = *ticket = ++ring->tickets;
    fixed.is_told_later = from->is_told_later;
    ring->reserved += reserves;
    put(ring, RING_DECISION, &fixed, sizeof fixed, &texts, bytes, RING_DOZES);
    return CODE_OK;
}

/* No room was reserved for an answer, since other calls would lack that room as long as this one lasts. Where the ring has
 * none, the answer is kept as an empty text, which is no JSON, and `answer_bytes` says what is missing. */
static void gather_answer(struct audit_ring *ring, struct audit_result *result, struct texts *texts)
{
    struct span answer = utf8_cut(result->answer, AUDIT_ANSWER_BYTES);

    set_text(texts, RESULT_ANSWER, answer);
    if (answer.at == NULL)
        return;
    if (!has_room(ring, record_bytes(sizeof *result, texts), false)) {
        texts->bytes -= answer.len;
        set_text(texts, RESULT_ANSWER, answer = span_part(answer, 0, 0));
        atomic_fetch_add_explicit(&ring->answers_lost, 1, memory_order_relaxed);
    }
    draw_salt(ring, result->answer_salt);
    salted(result->answer_salt, answer, result->answer_digest);
}

bool audit_reserve_said(struct audit_ring *ring)
{
    bool is_there = has_room(ring, RING_SAID_BYTES, false);

    ring->reserved_said += is_there ? RING_SAID_BYTES : 0;
    return is_there;
}

static void gather_said(const struct audit_result *from, struct texts *texts)
{
    texts->count = RESULT_TEXTS;
    texts->bytes = 0;
#define CUT(NAME, name) set_bounded(texts, RESULT_##NAME, from->has_said_room ? from->name : SPAN_NONE, AUDIT_SAID_TEXT_BYTES);
#define WHOLE(NAME, name) set_json(texts, RESULT_##NAME, from->has_said_room ? from->name : SPAN_NONE, AUDIT_SAID_JSON_BYTES);
    OUTCOME_TABLE(ROW_SKIP, ROW_SKIP, CUT, WHOLE)
#undef CUT
#undef WHOLE
}

void audit_put_result(struct audit_ring *ring, const struct audit_result *from)
{
    struct audit_result copy = *from, *result = &copy;
    struct texts texts;
    uint64_t seq;

    if ((result->decision == 0) == (result->ticket == 0) || (result->has_said_room && ring->reserved_said < RING_SAID_BYTES)) {
        ring_break(ring->shared, "an outcome is of no decision, or of two, or has no room");
        return;
    }
    if (result->has_said_room)
        ring->reserved_said -= RING_SAID_BYTES;
    if (result->ticket != 0 && audit_fate(ring, result->ticket, &seq) == AUDIT_FAILED)
        return; /* the decision failed, and the writer has given its room back */
    if (ring->reserved == 0) {
        ring_break(ring->shared, "an outcome comes for which no decision has reserved room");
        return;
    }
    ring->reserved--;
    gather_said(from, &texts);
    gather_answer(ring, result, &texts);
    put(ring, RING_RESULT, result, sizeof *result, &texts, record_bytes(sizeof *result, &texts), RING_SLEEPS);
    /* answers may fill a ring before the writer's short sleep is over */
    if (result->answer.at != NULL && ring_is_pressed(ring))
        ring_wake_writer(ring->shared, RING_DOZES);
}

enum code audit_put_told(struct audit_ring *ring, const struct audit_result *from)
{
    struct audit_result copy = *from;
    struct texts texts;
    uint64_t bytes;

    copy.is_told = true;
    copy.has_said_room = false;
    gather_said(&copy, &texts);
    gather_answer(ring, &copy, &texts);
    bytes = record_bytes(sizeof copy, &texts);
    if (audit_is_down(ring))
        return CODE_DOWN;
    if (!has_room(ring, bytes, false))
        return CODE_BUSY;
    put(ring, RING_RESULT, &copy, sizeof copy, &texts, bytes, RING_SLEEPS);
    return CODE_OK;
}

enum code audit_put_event(struct audit_ring *ring, const struct audit_event *event)
{
    struct texts texts = {.count = EVENT_TEXTS};
    uint64_t bytes;

#define CUT(NAME, name) set_bounded(&texts, EVENT_##NAME, event->name, AUDIT_TEXT_BYTES);
#define WHOLE(NAME, name) set_json(&texts, EVENT_##NAME, event->name, AUDIT_JSON_BYTES);
    EVENT_TABLE(ROW_SKIP, ROW_SKIP, CUT, WHOLE)
#undef CUT
#undef WHOLE
    bytes = record_bytes(sizeof event->time_us, &texts);
    if (!has_room_or_waits(ring, bytes, false))
        return CODE_BUSY;
    put(ring, RING_EVENT, &event->time_us, sizeof event->time_us, &texts, bytes, RING_DOZES);
    return CODE_OK;
}

enum audit_fate audit_fate(const struct audit_ring *ring, uint64_t ticket, uint64_t *seq)
{
    *seq = 0;
    if (ticket > audit_settled(ring))
        return atomic_load(&ring->is_lost) ? AUDIT_FAILED : AUDIT_WAITING;
    if (ticket == 0 || ring->tickets - ticket >= AUDIT_TICKETS)
        ring_break(ring->shared, "the fate of a decision is asked for that is forgotten");
    else
        *seq = ring_seq(ring, ticket);
    return *seq != 0 ? AUDIT_DURABLE : AUDIT_FAILED;
}

uint64_t audit_settled(const struct audit_ring *ring)
{
    return atomic_load_explicit(&ring->settled, memory_order_acquire);
}

bool audit_is_down(const struct audit_ring *ring)
{
    return atomic_load_explicit(&ring->shared->down, memory_order_relaxed) ||
           atomic_load_explicit(&ring->shared->is_broken, memory_order_relaxed);
}

/* ---- writer ------------------------------------------------------------------------------------------------------ */

/* Takes: bytes: no more than the scratch has. */
static const unsigned char *linear(const struct audit_ring *ring, struct ring_scratch *scratch, uint64_t at,
                                   size_t bytes)
{
    uint64_t size = atomic_load_explicit(&ring->size, memory_order_acquire), first, rest;
    const unsigned char *place = place_in(ring, size, at, &first);

    if (first >= bytes)
        return place;
    memcpy(scratch->bytes, place, first);
    memcpy(scratch->bytes + first, place_in(ring, size, at + first, &rest), bytes - first);
    return scratch->bytes;
}

static void read_texts(const unsigned char *at, struct span *texts, int count)
{
    const unsigned char *bytes = at + (size_t)count * sizeof(uint32_t);

    for (int i = 0; i < count; i++) {
        uint32_t len;

        memcpy(&len, at + (size_t)i * sizeof len, sizeof len);
        texts[i] = len == RING_NULL ? SPAN_NONE : span_of(bytes, len);
        if (len != RING_NULL)
            bytes += len;
    }
}

/* Gives the whole ring up, since records behind a broken length cannot be found. */
static bool lose(struct audit_ring *ring, uint64_t *at, uint64_t end)
{
    ring_break(ring->shared, "a record that waits to be written has a length that none can have");
    atomic_store(&ring->is_lost, true);
    *at = end;
    return false;
}

bool ring_next(struct audit_ring *ring, struct ring_scratch *scratch, uint64_t *at, uint64_t end,
               struct ring_view *view)
{
    struct ring_head head;
    const unsigned char *record;

    if (*at == end)
        return false;
    record = linear(ring, scratch, *at, sizeof head);
    memcpy(&head, record, sizeof head);
    if (head.bytes < sizeof head || head.bytes > scratch->size || head.bytes > end - *at)
        return lose(ring, at, end);
    record = linear(ring, scratch, *at, head.bytes) + sizeof head;
    view->kind = head.kind;
    switch (head.kind) {
    case RING_DECISION:
        memcpy(&view->decision, record, sizeof view->decision);
        read_texts(record + sizeof view->decision, view->text, TEXT_COUNT);
        break;
    case RING_RESULT:
        memcpy(&view->result, record, sizeof view->result);
        read_texts(record + sizeof view->result, view->text, RESULT_TEXTS);
#define TEXT(NAME, name) view->result.name = view->text[RESULT_##NAME];
        OUTCOME_TABLE(ROW_SKIP, ROW_SKIP, TEXT, TEXT)
#undef TEXT
        view->result.answer = view->text[RESULT_ANSWER];
        break;
    case RING_EVENT:
        memcpy(&view->event_time_us, record, sizeof view->event_time_us);
        read_texts(record + sizeof view->event_time_us, view->text, EVENT_TEXTS);
        break;
    }
    *at += head.bytes;
    return true;
}

bool ring_release(struct audit_ring *ring, uint64_t at)
{
    atomic_store(&ring->head, at);
    return atomic_load(&ring->starved) && atomic_exchange(&ring->starved, false);
}

void ring_set_seq(struct audit_ring *ring, uint64_t ticket, uint64_t seq)
{
    atomic_store_explicit(&ring->seq_of[ticket % AUDIT_TICKETS], seq, memory_order_relaxed);
}

uint64_t ring_seq(const struct audit_ring *ring, uint64_t ticket)
{
    return atomic_load_explicit(&ring->seq_of[ticket % AUDIT_TICKETS], memory_order_relaxed);
}

void ring_settle(struct audit_ring *ring, uint64_t ticket)
{
    atomic_store_explicit(&ring->settled, ticket, memory_order_release);
}
