/* SPDX-License-Identifier: Apache-2.0 */
/* The running gate: everything that `callgate serve` starts, in order, and what its main thread does.
 *
 * main: signals, the store's changes, names, events for the audit. Workers and the audit writer have their own threads.
 *
 * Threads: main alone, but for the inboxes, which others poke.
 * Owns: all that it starts.
 * Lifetime: serve_open to serve_close; serve_run between them.
 * Errors: at the start a sentence, and the start ends; later a fault is logged, and what was before goes on. */
#ifndef RUN_SERVE_H
#define RUN_SERVE_H

#include "admin/admin.h"
#include "admin/metrics.h"
#include "args/command.h"
#include "conf/conf.h"
#include "handover/handover.h"
#include "fleet/watch.h"
#include "admin/disk.h"
#include "providers/providers.h"
#include "post/poster.h"
#include "run/serve_usage.h"
#include "store/store_audit.h"
#include "store/store_behind.h"
#include "store/store_definitions.h"
#include "proof/signer.h"
#include "audit/writer.h"
#include "db/db.h"
#include "enforce/remember.h"
#include "os/inbox.h"
#include "os/loop.h"
#include "os/signal.h"
#include "os/thread.h"
#include "proxy/proxy.h"
#include "web/web.h"

#define SERVE_USES 64

struct serve_approvals {
    bool is_open;             /* claims that a crash left open are settled */
    struct list asks;         /* asks that were taken from the workers and are not stored yet */
    size_t ask_count;
    struct approval_use uses[SERVE_USES]; /* likewise */
    size_t use_count;
    uint64_t round;           /* round of handing in what people answered */
    int64_t store_seen;       /* as serve.store_seen */
    bool look_again;          /* look at the store although it has not changed */
    int64_t wanted_us;        /* monotonic: when a call last began to wait for an approval; 0: never */
    int64_t forgot_us;        /* when arguments of lapsed asks were last erased */
    bool recount;
    int64_t waiting;          /* asks in the store that wait for people */
    int64_t confirmed_us;     /* when the store was last told up to which row the audit has no use that the store does not
                               * know */
    struct why fault;         /* what was logged last */
    unsigned busy;            /* looks in a row that found the store locked */
};

struct serve_definitions {       /* what servers say of their tools */
    struct buf notes;            /* that the store is to be told of */
    int64_t mark;                /* the store's, of the set that workers have */
    struct definition_set *accepted; /* that set, or NULL */
    uint64_t fresh, changed, dropped; /* since the start */
    uint64_t dropped_told;       /* how many of `dropped` an event has told */
    int64_t dropped_us;          /* when that was */
};

enum past_state { PAST_IDLE = 0, PAST_ASKED, PAST_READ };

struct serve_past {              /* Past calls: a thread reads what rules ask of them. */
    struct thread thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum past_state state;       /* under the lock; while it is ASKED the thread has what stands below */
    atomic_bool stop;            /* the reading that is under way */
    atomic_bool hurries;         /* another reading is wanted, so counting to be kept must wait */
    atomic_bool uses_plans;
    char *path;                  /* the audit's path; a copy, since a reading may outlast the configuration */
    char *kept_path;             /* likewise */
    unsigned char *kept_key;     /* among the secrets */
    struct policy *coming;       /* the waiting version for which is read; NULL: the one in force */
    struct remembering asked;
    struct remembered remembered;
    enum code code;
    struct why why;
    uint64_t coming_version;
    bool has_failed;             /* the last reading failed, and is repeated */
    bool is_starting;            /* calls are denied meanwhile */
    bool is_told;                /* and the log says so */
    struct why told;             /* the failure that was logged last */
    int64_t began_us, again_us;  /* `again_us`: after a failure, no new reading before then */
    bool knows;                  /* only the thread's: the past of the version in force was read */
    uint64_t kept_seq;           /* likewise: the row up to which the count is kept */
    int64_t kept_us;             /* when that was done or tried */
    struct why kept_fault;       /* what was logged last */
};

#define SERVE_POSTERS 2

struct serve_notify {            /* Who is told of calls that wait: a server, a program. */
    struct poster *posters[SERVE_POSTERS]; /* NULL: not configured */
    int64_t offered[SERVE_POSTERS]; /* up to which ask each was offered them */
    int64_t told;                /* up to which ask all were told, as the store has it */
    bool is_due;                 /* there may be more to offer */
};

struct serve_alerts {            /* Who is told of what cannot wait. */
    struct poster *posters[SERVE_POSTERS]; /* NULL: not configured */
    int64_t posted[SERVE_POSTERS]; /* the number of what was offered last */
    struct alert *due;           /* room for all that one post tells */
    int64_t looked_us;
    bool disk_is_low;            /* below what `alerts` says */
    char node[256];
};

struct serve_audit_jobs {         /* Doing what people ask of the audit. */
    struct store_audit_request request; /* the request that is under way; id 0: none */
    bool is_over;                /* it is done, but not answered yet */
    struct audit_done done;
    int64_t store_seen;          /* the store's data_version when nothing more was asked */
    struct why fault;            /* what was logged last */
    unsigned busy;
};

struct serve_file {              /* The configuration's file, and what came of reading it. */
    int64_t taken_us;            /* since 1970: when the configuration that runs was read */
    struct why refused;          /* why the last reload kept the old configuration; empty: it took the new one */
    unsigned char now[DIGEST_BYTES];   /* what the file holds, as it was last looked at */
    unsigned char tried[DIGEST_BYTES]; /* what was refused last */
    bool differs;                /* the file differs from what runs, or cannot be read */
    struct why unread;           /* why it cannot be read; empty: it can */
    int64_t tried_us, looked_us; /* monotonic */
};

struct serve {
    struct conf *conf;
    struct serve_file file;
    int64_t clock_ahead_us;      /* how far the wall clock is ahead of the monotonic one, as the trail was last told */
    struct buf confined;         /* what confines the process, as JSON */
    struct buf listed;           /* tools that the store is to be told of */
    int64_t listed_next_us;      /* further ones are not written before then */
    struct serve_definitions definitions;
    struct loop *loop;
    struct signals signals;
    bool has_signals;
    struct loop_timer poll;      /* the store, for changes */
    uint64_t connections_peak, memory_peak_bytes; /* since memory was given back */
    uint64_t connections_seen, memory_seen_bytes; /* at the look before */
    int64_t trimmed_us;          /* when memory was given back last */
    struct loop_timer drain;     /* asks whether the last connection has gone */
    struct inbox names_changed;
    struct inbox looks;          /* pipes read another configuration */
    bool has_inbox, has_looks;

    struct db *store;
    int64_t store_seen;          /* its data_version; -1: look again */
    int64_t stops_mark;          /* of what is stopped, as it was published; -1: nothing is known of it */
    uint64_t policy_active;      /* the version in force; 0: none */
    uint64_t policy_refused;     /* one that did not compile, and is not tried again */
    struct why store_fault;      /* what was logged last */
    unsigned store_busy;         /* looks in a row that found it locked */
    bool owes_events;            /* the store may have rows that the audit does not know yet */
    bool awaits_audit;           /* rows up to put_to were put, but are not known to be durable */
    int64_t put_to[STORE_SOURCES];
    char told_mark[17];          /* names the audit that is told, since several gates on one store have one each */
    char gate_mark[17];          /* names this gate among these */
    uint64_t commits_then;       /* the audit's count of commits before the rows were put */

    struct serve_approvals approvals;
    struct serve_audit_jobs audit_jobs;
    struct serve_notify notify;
    struct serve_alerts alerts;
    struct serve_past past;
    struct fleet_watch fleet;

    struct gate_shared *shared;
    struct gate **gates;         /* one a worker */
    struct signer *signer;       /* a process: it has the key of checkpoints */
    struct runner *runner;       /* a process: it starts commands; NULL: there are none */
    int control;                 /* a socket to the process that takes people's commands; -1: there is none */
    struct web *web;             /* requests of the gate's own */
    struct providers *providers;     /* providers, and what else calls wait for; NULL: nothing */
    struct identity_proofs *proofs; /* used proofs of tokens that are bound to a key; NULL: there are none */
    struct poster *poster;       /* posts checkpoints; NULL: they go to a file */
    struct audit_key_change key_change; /* `audit rotate-key`: what audit_open records */
    const char *continue_why;    /* --despite-loss: recorded, and by whom; NULL: not given */
    char continue_actor[ACTOR_BYTES];
    bool store_was_behind;       /* at the start; see store_behind.h */
    struct audit *audit;
    struct audit_ring *ring;     /* main's own */
    struct proxy *proxy;
    struct resolver *resolver;
    struct admin *admin;         /* NULL: none is configured; likewise metrics */
    struct metrics *metrics;

    bool is_called_off;          /* a signal ended the start, which waited for another gate */
    int64_t started_us;          /* since 1970 */
    int64_t linger_us;           /* it ends so long after its last connection; 0: it does not */
    int64_t used_us;             /* when there was one last */

    bool signer_is_lost, runner_is_lost;
    bool disk_is_low;            /* and the log says so */
    struct disk_growth disk_growth;
    bool is_draining;
    bool is_over;
    int64_t calm_until_us, drain_until_us;
    struct service_sockets inherited;
    struct handover handover;    /* to the gate that comes after this one, from the one before */
    int lock_fd;                 /* the audit's, until that is open */
};

/* Takes conf in any case. */
enum code serve_open(struct serve *serve, struct conf *conf_take, const struct serve_asked *asked, struct why *why) MUST_USE;

/* Blocks: until the last connection has gone after a signal. */
enum code serve_run(struct serve *serve, int ready_fd, struct why *why) MUST_USE;
void serve_close(struct serve *serve);

/* Loads what a start would load and changes nothing. */
enum code serve_check(const struct conf *conf, struct why *why) MUST_USE;

/* Whether the gate itself may ask somebody: a provider, or who takes checkpoints or held calls. */
bool serve_asks(const struct conf *conf);

#endif
