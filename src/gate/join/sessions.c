/* SPDX-License-Identifier: Apache-2.0 */
#include "join/sessions.h"

#include "base/hash.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"
#include "crypto/digest.h"
#include "join/name.h"

#define SESSIONS_BYTES ((size_t)64 << 20)
/* A session that nobody has used for so long is forgotten: its agent gets 404 and begins a new one. */
#define SESSION_US (INT64_C(8) * 3600 * 1000000)
#define CALLS_MOST 64
#define RETRY_US INT64_C(1000000)
#define RETRY_DOUBLINGS 6

struct member {
    uint64_t name; /* its hash; 0: nobody's */
    enum join_member_state state;
    unsigned offers, failures;
    int64_t retry_us;
    char *session;
};

struct session {
    struct map_entry entry; /* first */
    char id[JOIN_SESSION_BYTES];
    char revision[JOIN_REVISION_BYTES];
    uint64_t changes;
    struct member members[JOIN_SERVERS_MAX];
    struct {
        uint64_t call, token, server; /* their hashes; 0: none */
    } calls[CALLS_MOST];
    size_t next_call;
    size_t params_len;
    char params[];
};

/* A server that was late for one caller. Its place in the table goes by a hash: of two with one place, the later one is
 * kept. */
struct late {
    uint64_t name;
    unsigned failures;
    int64_t until_us;
};

#define LATE_MOST 256

struct join_sessions {
    struct map *map;
    pthread_mutex_t lock; /* over what follows */
    struct late late[LATE_MOST];
};

static void free_session(struct map_entry *entry)
{
    struct session *session = (struct session *)(void *)entry;

    for (size_t i = 0; i < JOIN_SERVERS_MAX; i++)
        mem_free(session->members[i].session);
    mem_free(session);
}

enum code join_sessions_new(struct join_sessions **out)
{
    static const struct map_conf conf = {.cap = SESSIONS_BYTES, .shards = 16, .buckets = 1024,
                                         .key_at = offsetof(struct session, id), .key_bytes = JOIN_SESSION_BYTES,
                                         .free = free_session};

    *out = mem_zalloc(sizeof **out);
    if (*out == NULL)
        return CODE_NOMEM;
    lock_init(&(*out)->lock);
    if (map_new(&conf, &(*out)->map) == CODE_OK)
        return CODE_OK;
    join_sessions_free(out);
    return CODE_NOMEM;
}

void join_sessions_free(struct join_sessions **sessions)
{
    if (*sessions == NULL)
        return;
    map_free(&(*sessions)->map);
    pthread_mutex_destroy(&(*sessions)->lock);
    mem_free(*sessions);
    *sessions = NULL;
}

/* ---- servers that are late ---- */

int64_t join_rest_us(unsigned failures)
{
    return RETRY_US << (failures < RETRY_DOUBLINGS ? failures : RETRY_DOUBLINGS);
}

static uint64_t late_name(struct share whose, struct span server)
{
    return hash_span(server) ^ whose.tenant ^ whose.principal;
}

void join_server_said(struct join_sessions *sessions, struct share whose, struct span server, bool is_there, int64_t now_us)
{
    uint64_t name = late_name(whose, server);
    struct late *late = &sessions->late[name % LATE_MOST];

    lock_take(&sessions->lock);
    if (late->name != name)
        *late = (struct late){.name = name};
    late->until_us = is_there ? 0 : now_us + join_rest_us(late->failures);
    late->failures = is_there ? 0 : late->failures + 1;
    lock_give(&sessions->lock);
}

bool join_server_rests(struct join_sessions *sessions, struct share whose, struct span server, int64_t now_us)
{
    uint64_t name = late_name(whose, server);
    const struct late *late = &sessions->late[name % LATE_MOST];
    bool rests;

    lock_take(&sessions->lock);
    rests = late->name == name && late->until_us > now_us;
    lock_give(&sessions->lock);
    return rests;
}

/* ---- one session, under its shard's lock ---- */

static struct session *hold(struct join_sessions *sessions, struct span id, struct map_shard **shard)
{
    struct map_entry *found;
    uint64_t hash;

    if (id.len != JOIN_SESSION_BYTES)
        return NULL;
    hash = map_hash(sessions->map, id.at);
    *shard = map_shard(sessions->map, hash);
    map_lock(*shard);
    found = map_find(*shard, hash, id.at);
    if (found == NULL)
        map_unlock(*shard);
    return (struct session *)(void *)found;
}

enum code join_session_begin(struct join_sessions *sessions, struct share whose, struct span params, struct span revision,
                             int64_t now_us, char id[JOIN_SESSION_BYTES])
{
    size_t bytes = sizeof(struct session) + params.len;
    unsigned char random[JOIN_SESSION_BYTES / 2];
    struct session *session = mem_zalloc(bytes);
    struct map_shard *shard;
    enum code code;
    uint64_t hash;

    if (session == NULL || revision.len >= JOIN_REVISION_BYTES) {
        mem_free(session);
        return session == NULL ? CODE_NOMEM : CODE_INVALID;
    }
    random_bytes(random, sizeof random);
    num_hex(random, sizeof random, id);
    memcpy(session->id, id, JOIN_SESSION_BYTES);
    memcpy(session->revision, revision.at, revision.len);
    memcpy(session->params, params.at, params.len);
    session->params_len = params.len;
    session->entry.whose = whose;
    session->entry.weight = bytes;
    session->entry.lapses_us = now_us + SESSION_US;
    hash = map_hash(sessions->map, id);
    shard = map_shard(sessions->map, hash);
    map_lock(shard);
    code = map_add(shard, hash, &session->entry, now_us);
    map_unlock(shard);
    if (code != CODE_OK)
        free_session(&session->entry);
    return code;
}

void join_session_end(struct join_sessions *sessions, struct span id)
{
    struct map_shard *shard;
    struct session *session = hold(sessions, id, &shard);

    if (session == NULL)
        return;
    map_drop(shard, &session->entry);
    map_unlock(shard);
}

enum code join_session_of(struct join_sessions *sessions, struct span id, int64_t now_us, struct buf *params,
                          char revision[JOIN_REVISION_BYTES], uint64_t *changes)
{
    struct map_shard *shard;
    struct session *session = hold(sessions, id, &shard);
    enum code code = CODE_OK;

    if (session == NULL)
        return CODE_NOT_FOUND;
    session->entry.lapses_us = now_us + SESSION_US;
    memcpy(revision, session->revision, JOIN_REVISION_BYTES);
    *changes = session->changes;
    if (params != NULL)
        code = buf_add_span(params, span_of(session->params, session->params_len));
    map_unlock(shard);
    return code;
}

/* ---- its servers ---- */

/* Takes: server: its name. Returns: NULL: the session knows as many other servers as it may. */
static struct member *member_of(struct session *session, struct span server)
{
    uint64_t name = hash_span(server) | 1;

    for (size_t i = 0; i < JOIN_SERVERS_MAX; i++)
        if (session->members[i].name == name || session->members[i].name == 0) {
            session->members[i].name = name;
            return &session->members[i];
        }
    return NULL;
}

enum code join_member_of(struct join_sessions *sessions, struct span id, struct span server, struct join_member *out)
{
    struct map_shard *shard;
    struct session *session = hold(sessions, id, &shard);
    const struct member *member = session != NULL ? member_of(session, server) : NULL;

    out->state = JOIN_AWAY;
    out->session[0] = '\0';
    if (member != NULL) {
        out->state = member->state;
        out->offers = member->offers;
        out->retry_us = member->retry_us;
        if (member->session != NULL)
            memcpy(out->session, member->session, strlen(member->session) + 1);
    }
    if (session != NULL)
        map_unlock(shard);
    return member != NULL ? CODE_OK : CODE_NOT_FOUND;
}

enum code join_member_came(struct join_sessions *sessions, struct span id, struct span server, struct span inner,
                           unsigned offers)
{
    char *copy = inner.len < JOIN_INNER_BYTES ? mem_dup(inner.at, inner.len) : NULL;
    struct map_shard *shard;
    struct session *session = hold(sessions, id, &shard);
    struct member *member = session != NULL && copy != NULL ? member_of(session, server) : NULL;

    if (member != NULL && (member->session == NULL || strlen(member->session) < inner.len) &&
        map_grow(shard, &session->entry, inner.len + 1, 0) != CODE_OK)
        member = NULL;
    if (member != NULL) {
        mem_free(member->session);
        member->session = copy;
        session->changes += member->state == JOIN_AWAY;
        member->state = JOIN_UP;
        member->offers = offers;
        member->failures = 0;
    } else {
        mem_free(copy);
    }
    if (session != NULL)
        map_unlock(shard);
    return member != NULL ? CODE_OK : CODE_NOT_FOUND;
}

void join_member_went(struct join_sessions *sessions, struct span id, struct span server, int64_t now_us)
{
    struct map_shard *shard;
    struct session *session = hold(sessions, id, &shard);
    struct member *member = session != NULL ? member_of(session, server) : NULL;

    if (member != NULL) {
        session->changes += member->state == JOIN_UP;
        member->state = JOIN_AWAY;
        member->retry_us = now_us + join_rest_us(member->failures);
        member->failures++;
    }
    if (session != NULL)
        map_unlock(shard);
}

void join_member_lost(struct join_sessions *sessions, struct span id, struct span server)
{
    struct map_shard *shard;
    struct session *session = hold(sessions, id, &shard);
    struct member *member = session != NULL ? member_of(session, server) : NULL;

    if (member != NULL && member->state == JOIN_UP) {
        session->changes++;
        member->state = JOIN_NEW;
    }
    if (session != NULL)
        map_unlock(shard);
}

/* ---- its calls ---- */

void join_call_open(struct join_sessions *sessions, struct span id, struct span call, struct span token,
                    struct span server)
{
    struct map_shard *shard;
    struct session *session = hold(sessions, id, &shard);

    if (session == NULL)
        return;
    session->calls[session->next_call].call = hash_span(call) | 1;
    session->calls[session->next_call].token = span_is_empty(token) ? 0 : hash_span(token) | 1;
    session->calls[session->next_call].server = hash_span(server);
    session->next_call = (session->next_call + 1) % CALLS_MOST;
    map_unlock(shard);
}

/* Takes: server: only a call of that server is found; NULL: a call of any server is found, and forgotten. */
static bool find_call(struct join_sessions *sessions, struct span id, struct span call, const struct span *server)
{
    struct map_shard *shard;
    struct session *session = hold(sessions, id, &shard);
    uint64_t hash = hash_span(call) | 1;
    bool is_found = false;

    if (session == NULL)
        return false;
    for (size_t i = 0; i < CALLS_MOST && !is_found; i++) {
        is_found = session->calls[i].call == hash && (server == NULL || session->calls[i].server == hash_span(*server));
        if (is_found && server == NULL)
            session->calls[i].call = 0;
    }
    map_unlock(shard);
    return is_found;
}

void join_call_over(struct join_sessions *sessions, struct span id, struct span call)
{
    (void)find_call(sessions, id, call, NULL);
}

bool join_call_is_of(struct join_sessions *sessions, struct span id, struct span call, struct span server)
{
    return find_call(sessions, id, call, &server);
}

bool join_token_is_anothers(struct join_sessions *sessions, struct span id, struct span token, struct span server)
{
    struct map_shard *shard;
    struct session *session = hold(sessions, id, &shard);
    bool is_anothers = false;

    if (session == NULL)
        return true;
    for (size_t i = 0; i < CALLS_MOST; i++) {
        size_t at = (session->next_call + i) % CALLS_MOST; /* the oldest first */

        if (session->calls[at].token == (hash_span(token) | 1))
            is_anothers = session->calls[at].server != hash_span(server);
    }
    map_unlock(shard);
    return is_anothers;
}
