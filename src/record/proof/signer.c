/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends are one program, so that messages are structs. The process believes nothing that the gate says: the worst that
 * the gate can do is to tell a leaf that is no row, and that leaf is in the tree from then on. */
#include "proof/signer.h"

#include "proof/merkle.h"
#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

#define LEAVES ((size_t)512) /* of a message */
#define WAIT_MS 5000         /* for an answer; a signature takes some 50 microseconds */

struct hello {
    enum code code;
    unsigned char public[SIGN_PUBLIC_BYTES];
    struct why why;
};

enum kind { KIND_BEGIN = 1, KIND_LEAVES, KIND_REWIND, KIND_KEEP, KIND_SIGN };

struct request {
    enum kind kind;
    uint64_t size;                      /* BEGIN, SIGN: of the tree; LEAVES: how many */
    bool is_tentative, has_tenants;     /* SIGN */
    int64_t time_us;
    uint64_t tenants;
    unsigned char tenants_root[DIGEST_BYTES], root[DIGEST_BYTES];
    char origin[NOTE_ORIGIN_BYTES];     /* BEGIN */
    size_t peaks_len;
    unsigned char bytes[LEAVES * DIGEST_BYTES]; /* BEGIN: peaks; LEAVES */
};

struct answer {
    enum code code;
    unsigned char signature[SIGN_BYTES];
};

_Static_assert(LEAVES >= MERKLE_PEAKS, "the peaks of a tree fit into a message");

/* ---- the gate's end ---- */

struct signer {
    int end;
    atomic_bool is_gone;
    unsigned char public[SIGN_PUBLIC_BYTES];
    uint64_t size, signed_size, before_size; /* leaves that the process was told; leaves under the last signature; under the
                                              * one before */
    bool is_tentative;
    struct request leaves;                   /* the leaves that it is told next */
};

static bool wait_readable(int end)
{
    struct pollfd watch = {.fd = end, .events = POLLIN};
    int ready;

    while ((ready = poll(&watch, 1, WAIT_MS)) < 0 && errno == EINTR)
        continue;
    return ready > 0;
}

static bool receive(int end, void *out, size_t len)
{
    ssize_t got;

    while ((got = read(end, out, len)) < 0 && errno == EINTR)
        continue;
    return got == (ssize_t)len;
}

static bool send_whole(int end, const void *from, size_t len)
{
    ssize_t done;

    while ((done = write(end, from, len)) < 0 && errno == EINTR)
        continue;
    return done == (ssize_t)len;
}

enum code signer_new(int end, struct signer **out, struct why *why)
{
    struct signer *signer = mem_zalloc(sizeof *signer);
    struct hello hello = {.code = CODE_IO};

    *out = NULL;
    if (signer == NULL || !wait_readable(end) || !receive(end, &hello, sizeof hello) || hello.code != CODE_OK) {
        (void)close(end);
        mem_free(signer);
        return why_set(why, hello.code, "%s", hello.why.text[0] != '\0' ? hello.why.text
                                                                        : "the process that signs checkpoints did not begin");
    }
    signer->end = end;
    memcpy(signer->public, hello.public, SIGN_PUBLIC_BYTES);
    signer->leaves.kind = KIND_LEAVES;
    *out = signer;
    return CODE_OK;
}

void signer_free(struct signer **signer)
{
    if (*signer != NULL)
        (void)close((*signer)->end);
    mem_free(*signer);
    *signer = NULL;
}

const unsigned char *signer_public(const struct signer *signer)
{
    return signer->public;
}

bool signer_is_gone(const struct signer *signer)
{
    struct pollfd watch = {.fd = signer->end, .events = 0};

    return atomic_load(&signer->is_gone) || (poll(&watch, 1, 0) == 1 && (watch.revents & (POLLHUP | POLLERR)) != 0);
}

/* Sends a request. A signer that failed to answer once counts as gone, since its late answer would be taken
 * for that of the next question. */
static bool send_request(struct signer *signer, const struct request *request, size_t len)
{
    if (!atomic_load(&signer->is_gone) && !send_whole(signer->end, request, len))
        atomic_store(&signer->is_gone, true);
    return !atomic_load(&signer->is_gone);
}

enum code signer_begin(struct signer *signer, const char *origin, uint64_t size, struct span peaks)
{
    struct request request = {.kind = KIND_BEGIN, .size = size, .peaks_len = peaks.len};

    if (peaks.len > MERKLE_PEAKS * DIGEST_BYTES || strlen(origin) >= sizeof request.origin)
        return CODE_INVALID;
    memcpy(request.origin, origin, strlen(origin));
    if (peaks.len > 0)
        memcpy(request.bytes, peaks.at, peaks.len);
    signer->size = signer->signed_size = signer->before_size = size;
    return send_request(signer, &request, sizeof request) ? CODE_OK : CODE_IO;
}

static void send_leaves(struct signer *signer)
{
    if (signer->leaves.size > 0)
        (void)send_request(signer, &signer->leaves, offsetof(struct request, bytes) + signer->leaves.size * DIGEST_BYTES);
    signer->leaves.size = 0;
}

void signer_add(struct signer *signer, uint64_t size, const unsigned char leaf[DIGEST_BYTES])
{
    if (size != signer->size + 1)
        return;
    memcpy(signer->leaves.bytes + signer->leaves.size * DIGEST_BYTES, leaf, DIGEST_BYTES);
    signer->size = size;
    if (++signer->leaves.size == LEAVES)
        send_leaves(signer);
}

void signer_rewind(struct signer *signer)
{
    const struct request request = {.kind = KIND_REWIND};

    if (signer->is_tentative)
        signer->signed_size = signer->before_size;
    signer->is_tentative = false;
    signer->size = signer->signed_size;
    signer->leaves.size = 0;
    (void)send_request(signer, &request, offsetof(struct request, bytes));
}

void signer_keep(struct signer *signer)
{
    const struct request request = {.kind = KIND_KEEP};

    signer->is_tentative = false;
    (void)send_request(signer, &request, offsetof(struct request, bytes));
}

enum code signer_sign(struct signer *signer, const struct note *note, bool is_tentative, unsigned char signature[SIGN_BYTES])
{
    struct request request = {.kind = KIND_SIGN, .size = note->size, .is_tentative = is_tentative, .time_us = note->time_us,
                              .has_tenants = note->has_tenants, .tenants = note->tenants};
    struct answer answer;

    memcpy(request.root, note->root, DIGEST_BYTES);
    memcpy(request.tenants_root, note->tenants_root, DIGEST_BYTES);
    send_leaves(signer);
    if (!send_request(signer, &request, offsetof(struct request, bytes)))
        return CODE_IO;
    if (!wait_readable(signer->end) || !receive(signer->end, &answer, sizeof answer)) {
        atomic_store(&signer->is_gone, true);
        return CODE_IO;
    }
    if (answer.code != CODE_OK)
        return answer.code;
    signer->before_size = signer->signed_size;
    signer->signed_size = note->size;
    signer->is_tentative = is_tentative;
    memcpy(signature, answer.signature, SIGN_BYTES);
    return CODE_OK;
}

/* ---- the process ---- */

struct log {
    const struct sign_key *key;
    bool has_begun, is_tentative;
    char origin[NOTE_ORIGIN_BYTES];
    struct merkle grown, last, before; /* the trees of all leaves; of the last signature; of the one before it */
};

static bool begin(struct log *log, const struct request *request)
{
    if (log->has_begun || request->peaks_len > sizeof request->bytes ||
        !merkle_load(&log->grown, request->size, span_of(request->bytes, request->peaks_len)))
        return false;
    memcpy(log->origin, request->origin, sizeof log->origin - 1);
    log->last = log->before = log->grown;
    log->has_begun = true;
    return true;
}

static bool grow(struct log *log, const struct request *request, size_t len)
{
    if (request->size > LEAVES || len != offsetof(struct request, bytes) + request->size * DIGEST_BYTES)
        return false;
    for (size_t i = 0; i < request->size; i++)
        merkle_add(&log->grown, request->bytes + i * DIGEST_BYTES);
    return true;
}

static void rewind_tree(struct log *log)
{
    if (log->is_tentative)
        log->last = log->before;
    log->is_tentative = false;
    log->grown = log->last;
}

static enum code sign(struct log *log, const struct request *request, unsigned char signature[SIGN_BYTES])
{
    struct note note = {.origin = span_text(log->origin), .size = log->grown.size, .time_us = request->time_us,
                        .has_tenants = request->has_tenants, .tenants = request->tenants};
    struct buf text;
    enum code code;

    memcpy(note.tenants_root, request->tenants_root, DIGEST_BYTES);
    merkle_root(&log->grown, note.root);
    /* A tree as large as the last one is the last one, signed again at a later time: the process never has
     * another of that size. */
    if (note.size == 0 || request->size != note.size ||
        memcmp(request->root, note.root, DIGEST_BYTES) != 0)
        return CODE_DENIED;
    buf_init(&text, NOTE_BYTES);
    code = note_write(&note, &text);
    if (code == CODE_OK)
        code = sign_text(log->key, buf_peek(&text), signature);
    buf_fini(&text);
    if (code != CODE_OK)
        return code;
    log->before = log->last;
    log->last = log->grown;
    log->is_tentative = request->is_tentative;
    return CODE_OK;
}

/* Returns: false: the request makes no sense, and the process ends. */
static bool obey(struct log *log, const struct request *request, size_t len, int end)
{
    struct answer answer = {.code = CODE_DENIED};

    if (len < offsetof(struct request, bytes) || (request->kind != KIND_BEGIN && !log->has_begun))
        return false;
    switch (request->kind) {
    case KIND_BEGIN: return len == sizeof *request && begin(log, request);
    case KIND_LEAVES: return grow(log, request, len);
    case KIND_REWIND: rewind_tree(log); return true;
    case KIND_KEEP: log->is_tentative = false; return true;
    case KIND_SIGN:
        answer.code = sign(log, request, answer.signature);
        return send_whole(end, &answer, sizeof answer);
    }
    return false;
}

void signer_serve(int end, const struct sign_key *key, const struct why *why)
{
    struct log log = {.key = key};
    struct hello hello = {.code = key != NULL ? CODE_OK : CODE_INVALID, .why = *why};
    struct request request;
    ssize_t got;

    if (key != NULL)
        hello.code = sign_key_public(key, hello.public);
    if (!send_whole(end, &hello, sizeof hello) || hello.code != CODE_OK)
        return;
    do {
        while ((got = read(end, &request, sizeof request)) < 0 && errno == EINTR)
            continue;
    } while (got > 0 && obey(&log, &request, (size_t)got, end));
}
