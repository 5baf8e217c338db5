/* SPDX-License-Identifier: Apache-2.0 */
#include "state/definitions.h"

#include "base/lock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "json/text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define SHARDS 16
#define SETS 1024 /* of a shard, of WAYS each */
#define WAYS 4
#define NOTES_BYTES ((size_t)8 << 20)
#define AGAIN_US (INT64_C(3600) * 1000000) /* how late the store may hear that the same definition was told again */
#define OTHER_US (INT64_C(60) * 1000000)   /* how late it may hear that another one was */
#define UNHEARD_US (-2 * AGAIN_US)

/* What somebody was told. Keys are hashes under a seed that no peer knows. */
struct slot {
    uint64_t key[2];
    unsigned char digest[DIGEST_BYTES];
    int64_t number; /* LIST, ASKER: the list of the telling; TEXT: when the store heard of it; ANYBODY: of one not accepted */
    uint64_t used;
};

struct shard {
    pthread_mutex_t lock;
    struct slot *slots; /* NULL: nothing was told yet */
    uint64_t clock;
};

struct definitions {
    struct shard shards[SHARDS];
    atomic_bool is_any_told; /* false: nothing was told yet, so that nothing need be looked for */
    pthread_mutex_t lock;
    struct buf notes;
};

enum code definitions_new(struct definitions **out)
{
    struct definitions *definitions = mem_zalloc(sizeof *definitions);

    *out = definitions;
    if (definitions == NULL)
        return CODE_NOMEM;
    for (size_t i = 0; i < SHARDS; i++)
        lock_init(&definitions->shards[i].lock);
    lock_init(&definitions->lock);
    buf_init(&definitions->notes, NOTES_BYTES);
    return CODE_OK;
}

void definitions_free(struct definitions **definitions)
{
    struct definitions *gone = *definitions;

    *definitions = NULL;
    if (gone == NULL)
        return;
    for (size_t i = 0; i < SHARDS; i++) {
        mem_free(gone->shards[i].slots);
        pthread_mutex_destroy(&gone->shards[i].lock);
    }
    pthread_mutex_destroy(&gone->lock);
    buf_fini(&gone->notes);
    mem_free(gone);
}

/* ---- tellings ---- */

enum kind { KIND_TEXT = 1, KIND_ANYBODY, KIND_LIST, KIND_ASKER };

static void make_key(enum kind kind, const struct definition_asker *asker, struct span what, uint64_t key[2])
{
    bool is_asked = kind == KIND_LIST || kind == KIND_ASKER, has_session = asker->session.len > 0;
    const uint64_t parts[] = {
        (uint64_t)kind, hash_span(asker->upstream), hash_span(what),
        !is_asked     ? 0
        : has_session ? hash_span(asker->session)
                      : hash_mix(hash_span(asker->tenant), hash_span(asker->principal)),
        is_asked && has_session, 0,
    };

    key[0] = hash_bytes(parts, sizeof parts);
    key[1] = hash_bytes(parts, sizeof parts - sizeof parts[0]);
}

/* Finds the slot with that key, or the one that gives way for it. Call it with the shard's lock held. */
static struct slot *place_of(struct shard *shard, const uint64_t key[2])
{
    struct slot *set = &shard->slots[(key[0] / SHARDS) % SETS * WAYS], *oldest = set;

    for (struct slot *slot = set; slot < set + WAYS; slot++) {
        if (slot->key[0] == key[0] && slot->key[1] == key[1])
            return slot;
        if (slot->used < oldest->used)
            oldest = slot;
    }
    return oldest;
}

static bool recall(struct definitions *definitions, const uint64_t key[2], struct slot *copy)
{
    struct shard *shard = &definitions->shards[key[0] % SHARDS];
    bool is_known = false;

    lock_take(&shard->lock);
    if (shard->slots != NULL) {
        struct slot *slot = place_of(shard, key);

        is_known = slot->used != 0 && slot->key[0] == key[0] && slot->key[1] == key[1];
        if (is_known) {
            slot->used = ++shard->clock;
            *copy = *slot;
        }
    }
    lock_give(&shard->lock);
    return is_known;
}

static void note(struct definitions *definitions, const uint64_t key[2], const unsigned char digest[DIGEST_BYTES],
                 int64_t number)
{
    struct shard *shard = &definitions->shards[key[0] % SHARDS];

    atomic_store(&definitions->is_any_told, true);
    lock_take(&shard->lock);
    if (shard->slots == NULL)
        shard->slots = mem_array((size_t)SETS * WAYS, sizeof *shard->slots);
    if (shard->slots != NULL) {
        struct slot *slot = place_of(shard, key);

        *slot = (struct slot){.key = {key[0], key[1]}, .number = number, .used = ++shard->clock};
        memcpy(slot->digest, digest, DIGEST_BYTES);
    }
    lock_give(&shard->lock);
}

/* ---- what is new ---- */

struct note_head {
    uint32_t share, upstream, tool, text; /* bytes */
    int64_t told_us;
    unsigned char digest[DIGEST_BYTES];
};

/* Returns: whether main will hear of it. */
static bool add_note(struct definitions *definitions, const struct definition_note *about)
{
    const struct note_head head = {(uint32_t)about->share.len, (uint32_t)about->upstream.len, (uint32_t)about->tool.len,
                                   (uint32_t)about->text.len, about->told_us, {0}};
    struct note_head whole = head;
    struct buf_mark mark;
    bool is_added;

    memcpy(whole.digest, about->digest, DIGEST_BYTES);
    lock_take(&definitions->lock);
    mark = buf_mark(&definitions->notes);
    buf_add(&definitions->notes, &whole, sizeof whole);
    buf_add_span(&definitions->notes, about->share);
    buf_add_span(&definitions->notes, about->upstream);
    buf_add_span(&definitions->notes, about->tool);
    buf_add_span(&definitions->notes, about->text);
    is_added = buf_settle(&definitions->notes, mark) == CODE_OK;
    lock_give(&definitions->lock);
    return is_added;
}

void definitions_take(struct definitions *definitions, struct buf *out)
{
    lock_take(&definitions->lock);
    buf_move(out, &definitions->notes);
    lock_give(&definitions->lock);
}

static struct span cut(struct span *rest, size_t len)
{
    struct span first = span_part(*rest, 0, len);

    *rest = span_part(*rest, len, SIZE_MAX);
    return first;
}

bool definitions_next(struct span *notes, struct definition_note *about)
{
    struct note_head head;

    if (notes->len < sizeof head)
        return false;
    memcpy(&head, cut(notes, sizeof head).at, sizeof head);
    about->share = cut(notes, head.share);
    about->upstream = cut(notes, head.upstream);
    about->tool = cut(notes, head.tool);
    about->text = cut(notes, head.text);
    about->told_us = head.told_us;
    memcpy(about->digest, head.digest, DIGEST_BYTES);
    return true;
}

enum code definition_canonical(struct span text, struct buf *out, unsigned char digest[DIGEST_BYTES])
{
    struct buf_mark mark = buf_mark(out);
    size_t begin = buf_len(out);
    struct json_text plain = {.root = NULL};
    enum code code = text.len <= DEFINITION_MAX_BYTES ? CODE_OK : CODE_LIMIT;

    if (code == CODE_OK)
        code = json_text_read(&plain, text, &json_reply_rules, 2 * DEFINITION_MAX_BYTES);
    if (code == CODE_OK && plain.root->type != JSON_OBJECT)
        code = CODE_INVALID;
    if (code == CODE_OK && json_canonical(plain.root, out) == CODE_INVALID) {
        buf_rewind(out, mark);
        buf_add_span(out, buf_peek(&plain.bytes));
    }
    if (code == CODE_OK)
        code = buf_settle(out, mark);
    if (code == CODE_OK)
        digest_of(span_part(buf_peek(out), begin, SIZE_MAX), digest);
    json_text_fini(&plain);
    return code;
}

static bool is_accepted(const struct definition_set *set, const struct definition_asker *asker, struct span tool,
                        const unsigned char digest[DIGEST_BYTES])
{
    return definition_set_accepted(set, asker->upstream, tool, digest) != NULL;
}

/* Makes the canonical form and its digest. Returns: what the store is to keep. */
static struct span read_text(struct span text, struct buf *canonical, unsigned char digest[DIGEST_BYTES])
{
    if (definition_canonical(text, canonical, digest) == CODE_OK)
        return buf_peek(canonical);
    memset(digest, 0, DIGEST_BYTES);
    return SPAN_LIT(DEFINITION_UNKEPT);
}

/* Notes for the store that the upstream told this one last, since a start goes by the store's last one. An accepted one is
 * noted only when a minute has passed since the note of one that is not: within that minute the other may have been told
 * again without a note, and the accepted one would wrongly stand last. */
static void note_for_store(struct definitions *definitions, const struct definition_set *set,
                           const struct definition_asker *asker, const struct definition_told *told,
                           unsigned char digest[DIGEST_BYTES])
{
    struct definition_note about = {.share = told->share, .upstream = asker->upstream, .tool = told->tool,
                                    .told_us = told->now_us};
    struct slot known = {.number = UNHEARD_US}, last = {.number = UNHEARD_US};
    uint64_t key[2], last_key[2];
    struct buf canonical;
    bool is_known, is_other, counts, is_noted;

    buf_init(&canonical, 2 * DEFINITION_MAX_BYTES);
    digest_of(told->text, digest);
    make_key(KIND_TEXT, asker, span_of(digest, DIGEST_BYTES), key);
    make_key(KIND_ANYBODY, asker, told->tool, last_key);
    is_known = recall(definitions, key, &known);
    if (!is_known)
        about.text = read_text(told->text, &canonical, known.digest);
    memcpy(digest, known.digest, DIGEST_BYTES);
    memcpy(about.digest, digest, DIGEST_BYTES);
    is_other = !recall(definitions, last_key, &last) || memcmp(last.digest, digest, DIGEST_BYTES) != 0;
    counts = is_accepted(set, asker, told->tool, digest);
    if (counts && told->now_us - last.number <= OTHER_US) {
        note(definitions, key, digest, UNHEARD_US); /* noted with a later list */
    } else if (told->now_us - known.number > (is_other ? OTHER_US : AGAIN_US)) {
        is_noted = add_note(definitions, &about);
        if (is_noted)
            note(definitions, key, digest, told->now_us);
        if (is_noted && !counts)
            last.number = told->now_us;
    }
    note(definitions, last_key, digest, last.number);
    buf_fini(&canonical);
}

/* Notes what an asker was told. Where one list says two things of a tool, on one page or two, the one that
 * nobody has accepted counts. */
static void note_asker(struct definitions *definitions, const struct definition_set *set, const struct definition_asker *asker,
                       const struct definition_told *told, const unsigned char digest[DIGEST_BYTES])
{
    static const unsigned char none[DIGEST_BYTES];
    struct slot list = {.number = 0}, before;
    uint64_t key[2];

    make_key(KIND_LIST, asker, SPAN_NONE, key);
    if (!recall(definitions, key, &list) || told->begins)
        note(definitions, key, none, ++list.number);
    make_key(KIND_ASKER, asker, told->tool, key);
    if (recall(definitions, key, &before) && before.number == list.number &&
        !is_accepted(set, asker, told->tool, before.digest))
        return;
    note(definitions, key, digest, list.number);
}

bool definitions_learn(struct definitions *definitions, const struct definition_set *set, const struct definition_asker *asker,
                       const struct definition_told *told)
{
    unsigned char digest[DIGEST_BYTES];

    note_for_store(definitions, set, asker, told, digest);
    note_asker(definitions, set, asker, told, digest);
    return is_accepted(set, asker, told->tool, digest);
}

bool definitions_meant(struct definitions *definitions, const struct definition_set *set, const struct definition_asker *asker,
                       struct span tool, unsigned char digest[DIGEST_BYTES])
{
    const struct definition *latest;
    struct slot slot;
    uint64_t key[2];
    bool is_told = false;

    for (int i = 0; i < 2 && !is_told && atomic_load(&definitions->is_any_told); i++) {
        make_key(i == 0 ? KIND_ASKER : KIND_ANYBODY, asker, tool, key);
        is_told = recall(definitions, key, &slot);
    }
    latest = is_told ? NULL : definition_set_find(set, asker->upstream, tool, NULL);
    if (is_told || latest != NULL)
        memcpy(digest, is_told ? slot.digest : latest->digest, DIGEST_BYTES);
    return is_told || latest != NULL;
}
