/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a row and hashing it is nearly all of the work, and needs of the other rows only the stored hash of the one
 * before. So some threads do that a chunk at a time, and what must be seen in order is left to the one that waits for them.
 * Where anything is wrong with a chunk, it walks that chunk's rows itself.
 *
 * Each chunk is a read transaction of its own, and all threads rest together when the -wal file grows, so that a gate's
 * keeper can begin it anew. */
#include "audit/trail.h"
#include "evidence/verify_priv.h"

#include "base/bug.h"
#include "os/thread.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 16
#define ARENA_BYTES ((size_t)64 << 20)
#define WAL_GROWTH_BYTES ((off_t)8 << 20)
#define REST_MS 10
#define RESTS 30

struct verify_crew {
    const struct verifier *verifier;
    char wal[4200];
    pthread_mutex_t lock; /* what follows, up to the empty line */
    pthread_cond_t changed;
    struct db *db;        /* to find where rows are */
    struct db_stmt *find;
    int64_t next_first, marks_from;
    uint64_t begun, taken; /* chunks that were begun, and that the consumer is done with */
    bool is_over, rests;
    unsigned working;

    struct verify_chunk *chunks; /* twice as many as threads */
    unsigned chunk_count, thread_count;
    struct member {
        struct verify_crew *crew;
        struct thread thread;
        struct db *db;
    } members[THREADS_MAX];
    off_t wal_bytes;
    bool gave; /* a chunk is with the consumer */
};

/* ---- one chunk --------------------------------------------------------------------------------------------------- */

static enum code read_marks(const struct verifier *verifier, struct db *db, struct verify_chunk *chunk)
{
    struct db_stmt *stmt;
    size_t room = 0;
    enum code code;

    chunk->mark_count = 0;
    if (!verifier->has_checkpoints)
        return CODE_OK;
    code = db_prepare(db, VERIFY_MARKS, &stmt);
    if (code != CODE_OK)
        return code;
    db_bind_int(stmt, 1, chunk->marks_from);
    db_bind_int(stmt, 2, chunk->last);
    while ((code = db_step(stmt)) == CODE_OK) {
        struct verify_mark *mark;
        struct span peaks;

        if (chunk->mark_count == room) {
            struct verify_mark *more = mem_resize(chunk->marks, (room = room * 2 + 16) * sizeof *more);

            code = more == NULL ? CODE_NOMEM : CODE_OK;
            if (code != CODE_OK)
                break;
            chunk->marks = more;
        }
        mark = &chunk->marks[chunk->mark_count++];
        verify__judge_mark(verifier, stmt, mark);
        peaks = mark->peaks;
        mark->peaks.at = arena_dup(&chunk->arena, peaks.at, peaks.len);
        if (mark->peaks.at == NULL)
            mark->peaks.len = 0;
    }
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

/* The hash of the last row before the chunk; that of `file` where there is none. */
static enum code read_before(struct db *db, struct verify_chunk *chunk)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(db, "SELECT hash FROM (SELECT * FROM (SELECT seq, hash FROM decision WHERE seq < ?1 "
                                "ORDER BY seq DESC LIMIT 1) UNION ALL SELECT * FROM (SELECT seq, hash FROM outcome WHERE "
                                "seq < ?1 ORDER BY seq DESC LIMIT 1) UNION ALL SELECT * FROM (SELECT seq, hash FROM event "
                                "WHERE seq < ?1 ORDER BY seq DESC LIMIT 1) UNION ALL SELECT * FROM (SELECT -1, hash FROM "
                                "file)) ORDER BY seq DESC LIMIT 1", &stmt);

    if (code != CODE_OK)
        return code;
    db_bind_int(stmt, 1, chunk->first);
    code = db_step(stmt);
    if (code == CODE_OK && db_blob(stmt, 0).len != DIGEST_BYTES)
        code = CODE_INVALID;
    if (code == CODE_OK)
        memcpy(chunk->before, db_blob(stmt, 0).at, DIGEST_BYTES);
    db_finalize(&stmt);
    return code;
}

static bool keep(struct verify_chunk *chunk, struct span *text, const struct span *like)
{
    if (text->at == NULL)
        return true;
    if (like->at != NULL && span_equals(*text, *like)) {
        *text = *like;
        return true;
    }
    text->at = arena_dup(&chunk->arena, text->at, text->len);
    return text->at != NULL;
}

/* False: something about the row is not as it should be, and is told when the chunk is walked. */
static bool take_row(const struct verifier *verifier, struct verify_chunk *chunk, const struct walk_row *walked,
                     const unsigned char before[DIGEST_BYTES])
{
    struct verify_row *row = &chunk->rows[chunk->row_count];
    struct verify_values values = {.field = NULL};
    unsigned char hash[DIGEST_BYTES];

    row__hash(walked->table, walked->values, before, hash);
    if (!verify__holds(&walked->hash, hash))
        return false;
    values = verify__values(verifier, walked);
    verify__digest(walked, row);
    row->is_erased = values.is_erased;
    if (values.fault != NULL || !keep(chunk, &row->tenant, chunk->row_count > 0 ? &row[-1].tenant : &(struct span){NULL, 0}) ||
        !keep(chunk, &row->detail, &(struct span){NULL, 0}))
        return false;
    chunk->row_count++;
    return true;
}

static bool read_rows(const struct verifier *verifier, struct db *db, struct verify_chunk *chunk)
{
    const unsigned char *before = chunk->before;
    struct walk walk;
    struct walk_row row;
    bool clean = true;
    enum code code;

    if (read_before(db, chunk) != CODE_OK || walk__init(&walk, db, chunk->first, chunk->last) != CODE_OK)
        return false;
    while (clean && (code = walk__next(&walk, &row)) == CODE_OK) {
        clean = chunk->row_count < VERIFY_CHUNK_ROWS && take_row(verifier, chunk, &row, before);
        if (clean)
            before = chunk->rows[chunk->row_count - 1].hash;
    }
    walk__fini(&walk);
    return clean && code == CODE_NOT_FOUND;
}

static void fill(const struct verifier *verifier, struct db *db, struct verify_chunk *chunk)
{
    bool begun = db_exec(db, "BEGIN") == CODE_OK;

    arena_reset(&chunk->arena);
    chunk->row_count = 0;
    chunk->is_clean = chunk->is_last || (begun && read_rows(verifier, db, chunk));
    chunk->marks_code = read_marks(verifier, db, chunk);
    db_rollback(db);
}

/* ---- the threads ------------------------------------------------------------------------------------------------- */

/* Where the next rows are; numbers may have been changed so that they lie far apart. */
static void assign(struct verify_crew *crew, struct verify_chunk *chunk)
{
    int64_t end = crew->verifier->last;
    enum code code;

    db_bind_int(crew->find, 1, crew->next_first);
    code = db_step(crew->find);
    *chunk = (struct verify_chunk){.arena = chunk->arena, .rows = chunk->rows, .marks = chunk->marks,
                                   .marks_from = crew->marks_from, .last = INT64_MAX, .is_last = true};
    if (code != CODE_OK) { /* the consumer walks what is left, and says what cannot be read */
        *chunk = (struct verify_chunk){.arena = chunk->arena, .rows = chunk->rows, .marks = chunk->marks,
                                       .marks_from = INT64_MAX, .first = crew->next_first, .last = end};
        crew->is_over = true;
    } else if (!db_is_null(crew->find, 0) && db_int(crew->find, 0) <= end) {
        chunk->is_last = false;
        chunk->first = db_int(crew->find, 0);
        chunk->last = chunk->first > end - VERIFY_CHUNK_ROWS ? end : chunk->first + VERIFY_CHUNK_ROWS - 1;
        crew->marks_from = chunk->last + 1;
        crew->next_first = chunk->last + 1;
        if (chunk->last == INT64_MAX)
            crew->is_over = true;
    } else {
        crew->is_over = true;
    }
    db_reset(crew->find);
}

static void work(void *argument)
{
    struct member *member = argument;
    struct verify_crew *crew = member->crew;

    (void)pthread_mutex_lock(&crew->lock);
    while (!crew->is_over) {
        struct verify_chunk *chunk;

        if (crew->rests || crew->begun - crew->taken >= crew->chunk_count) {
            (void)pthread_cond_wait(&crew->changed, &crew->lock);
            continue;
        }
        chunk = &crew->chunks[crew->begun++ % crew->chunk_count];
        assign(crew, chunk);
        crew->working++;
        (void)pthread_mutex_unlock(&crew->lock);
        fill(crew->verifier, member->db, chunk);
        (void)pthread_mutex_lock(&crew->lock);
        crew->working--;
        chunk->is_done = true;
        (void)pthread_cond_broadcast(&crew->changed);
    }
    (void)pthread_cond_broadcast(&crew->changed);
    (void)pthread_mutex_unlock(&crew->lock);
}

/* What tells one life of the -wal file from the next: the salts in its head. */
static uint64_t wal_life(const struct verify_crew *crew)
{
    int fd = open(crew->wal, O_RDONLY | O_CLOEXEC);
    uint64_t salts = 0;

    if (fd >= 0 && pread(fd, &salts, sizeof salts, 16) != sizeof salts)
        salts = 0;
    if (fd >= 0)
        (void)close(fd);
    return salts;
}

/* Holding the lock. */
static void rest(struct verify_crew *crew)
{
    const struct timespec pause = {.tv_nsec = REST_MS * 1000000};
    struct stat now;
    uint64_t life;

    if (stat(crew->wal, &now) != 0 || now.st_size < crew->wal_bytes + WAL_GROWTH_BYTES)
        return;
    crew->rests = true;
    while (crew->working > 0)
        (void)pthread_cond_wait(&crew->changed, &crew->lock);
    life = wal_life(crew);
    for (int i = 0; i < RESTS && wal_life(crew) == life; i++)
        (void)nanosleep(&pause, NULL);
    crew->wal_bytes = now.st_size;
    crew->rests = false;
    (void)pthread_cond_broadcast(&crew->changed);
}

const struct verify_chunk *verify__crew_next(struct verify_crew *crew)
{
    struct verify_chunk *chunk;

    (void)pthread_mutex_lock(&crew->lock);
    if (crew->gave) {
        crew->chunks[crew->taken % crew->chunk_count].is_done = false;
        crew->taken++;
        (void)pthread_cond_broadcast(&crew->changed);
    }
    if (!crew->is_over)
        rest(crew);
    chunk = &crew->chunks[crew->taken % crew->chunk_count];
    while (!chunk->is_done && !(crew->is_over && crew->taken == crew->begun))
        (void)pthread_cond_wait(&crew->changed, &crew->lock);
    crew->gave = chunk->is_done;
    (void)pthread_mutex_unlock(&crew->lock);
    return crew->gave ? chunk : NULL;
}

static enum code make_chunks(struct verify_crew *crew)
{
    crew->chunk_count = crew->thread_count * 2;
    crew->chunks = mem_array(crew->chunk_count, sizeof crew->chunks[0]);
    if (crew->chunks == NULL)
        return CODE_NOMEM;
    for (unsigned i = 0; i < crew->chunk_count; i++) {
        arena_init(&crew->chunks[i].arena, ARENA_BYTES);
        crew->chunks[i].rows = mem_alloc(VERIFY_CHUNK_ROWS * sizeof crew->chunks[i].rows[0]);
        if (crew->chunks[i].rows == NULL)
            return CODE_NOMEM;
    }
    return CODE_OK;
}

static enum code open_member(struct verify_crew *crew, struct member *member, struct why *why)
{
    enum code code = trail_open(crew->verifier->conf->path, &member->db, why);

    member->crew = crew;
    if (code == CODE_OK)
        code = db_exec(member->db, "PRAGMA cache_size = -4096");
    return code == CODE_OK ? thread_start(&member->thread, "verify", work, member, why) : code;
}

enum code verify__crew_new(const struct verifier *verifier, struct verify_crew **out, struct why *why)
{
    struct verify_crew *crew = mem_zalloc(sizeof *crew);
    unsigned cores = verifier->conf->threads != 0 ? verifier->conf->threads : thread_cores();
    struct stat wal;
    enum code code = CODE_OK;

    *out = crew;
    if (crew == NULL)
        return CODE_NOMEM;
    crew->verifier = verifier;
    crew->thread_count = cores < THREADS_MAX ? cores : THREADS_MAX;
    crew->next_first = crew->marks_from = INT64_MIN;
    (void)pthread_mutex_init(&crew->lock, NULL);
    (void)pthread_cond_init(&crew->changed, NULL);
    (void)snprintf(crew->wal, sizeof crew->wal, "%s-wal", verifier->conf->path);
    crew->wal_bytes = stat(crew->wal, &wal) == 0 ? wal.st_size : 0;
    code = make_chunks(crew);
    if (code == CODE_OK)
        code = db_open(verifier->conf->path, DB_READ, &crew->db, why);
    if (code == CODE_OK)
        code = db_prepare(crew->db, "SELECT min(seq) FROM (SELECT min(seq) AS seq FROM decision WHERE seq >= ?1 UNION ALL "
                          "SELECT min(seq) FROM outcome WHERE seq >= ?1 UNION ALL "
                          "SELECT min(seq) FROM event WHERE seq >= ?1)", &crew->find);
    for (unsigned i = 0; i < crew->thread_count && code == CODE_OK; i++)
        code = open_member(crew, &crew->members[i], why);
    return code;
}

void verify__crew_free(struct verify_crew **out)
{
    struct verify_crew *crew = *out;

    if (crew == NULL)
        return;
    (void)pthread_mutex_lock(&crew->lock);
    crew->is_over = true;
    (void)pthread_cond_broadcast(&crew->changed);
    (void)pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < crew->thread_count; i++) {
        thread_join(&crew->members[i].thread);
        db_close(&crew->members[i].db);
    }
    for (unsigned i = 0; crew->chunks != NULL && i < crew->chunk_count; i++) {
        arena_fini(&crew->chunks[i].arena);
        mem_free(crew->chunks[i].rows);
        mem_free(crew->chunks[i].marks);
    }
    mem_free(crew->chunks);
    db_finalize(&crew->find);
    db_close(&crew->db);
    (void)pthread_cond_destroy(&crew->changed);
    (void)pthread_mutex_destroy(&crew->lock);
    mem_free(crew);
    *out = NULL;
}
