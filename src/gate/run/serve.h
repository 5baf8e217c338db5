/* SPDX-License-Identifier: Apache-2.0 */
/* The running gate: everything `callgate serve` starts, in its order, and what its main thread does meanwhile.
 *
 * main: signals, the store's changes, names, events for the audit. Workers and the audit writer have their own threads.
 *
 * Threads: main alone, but for the inboxes, which others poke.
 * Owns: all that it starts.
 * Lifetime: serve_open to serve_close; serve_run between them.
 * Errors: at the start a sentence and an end; later what is broken is logged and the old goes on. */
#ifndef RUN_SERVE_H
#define RUN_SERVE_H

#include "admin/admin.h"
#include "admin/metrics.h"
#include "args/command.h"
#include "conf/conf.h"
#include "run/disk.h"
#include "providers/outside.h"
#include "run/poster.h"
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
    bool is_open;             /* what a crash left open is settled */
    struct list asks;         /* taken from the workers, not stored yet */
    size_t ask_count;
    struct approval_use uses[SERVE_USES]; /* likewise */
    size_t use_count;
    uint64_t round;           /* of handing in what people said */
    int64_t store_seen;       /* as below */
    bool look_again;          /* though the store has not changed */
    int64_t forgot_us;        /* when what has lapsed lost its arguments last */
    bool recount;
    int64_t waiting;          /* for people, in the store */
    int64_t confirmed_us;     /* when the store was told last up to where the audit holds no use that it does not know */
    struct why fault;         /* what was logged last */
    unsigned busy;            /* looks in a row that found the store locked */
};

struct serve_definitions {       /* what servers say of their tools */
    struct buf notes;            /* that the store is to be told of */
    int64_t mark;                /* of what the workers have */
    uint64_t fresh, changed, dropped; /* since the start */
    uint64_t dropped_told;       /* in an event */
    int64_t dropped_us;          /* when that was */
};

enum past_state { PAST_IDLE = 0, PAST_ASKED, PAST_READ };

struct serve_past {              /* of the calls: what rules ask of it is read by a thread */
    struct thread thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum past_state state;       /* under the lock; while it is ASKED the thread has what stands below */
    atomic_bool stop;            /* the reading that is under way */
    atomic_bool hurries;         /* somebody asks: what is counted to be kept waits */
    atomic_bool uses_plans;
    char *path;                  /* the audit's own: a reading goes on through reloads, each of which ends a configuration */
    char *kept_path;             /* likewise */
    unsigned char *kept_key;     /* among the secrets */
    struct policy *coming;       /* for this version, which waits; NULL: for the one in force */
    struct remembering asked;
    struct remembered remembered;
    enum code code;
    struct why why;
    uint64_t coming_version;
    bool has_failed;             /* it is asked once more */
    bool is_starting;            /* calls are denied meanwhile */
    bool is_told;                /* and the log says so */
    struct why told;             /* what was logged last of what failed */
    int64_t began_us, again_us;  /* not before then, behind a failure */
    bool knows;                  /* the thread's: the past of the version in force was read */
    uint64_t kept_seq;           /* likewise: the row that is kept */
    int64_t kept_us;             /* when that was, or was tried */
    struct why kept_fault;       /* what was logged last */
};

#define SERVE_POSTERS 2

struct serve_notify {            /* who is told of what waits: a server, a program */
    struct poster *posters[SERVE_POSTERS]; /* NULL: not configured */
    int64_t offered[SERVE_POSTERS]; /* up to which ask */
    int64_t told;                /* up to which all were told, as the store has it */
    bool is_due;                 /* there may be more to offer */
};

struct serve_attending {         /* to what people ask of the audit */
    struct store_audit_request request; /* the one that is under way; its id 0: none */
    bool is_over;                /* but not answered yet */
    struct audit_done done;
    int64_t store_seen;          /* the store when nothing more was asked */
    struct why fault;            /* what was logged last */
    unsigned busy;
};

struct serve_file {              /* the configuration's, and what came of it */
    int64_t taken_us;            /* since 1970: when what runs was read */
    struct why refused;          /* why the last reload kept the older one; empty: it was taken */
    unsigned char now[DIGEST_BYTES];   /* what the file holds, as it was last looked at */
    unsigned char tried[DIGEST_BYTES]; /* what was refused last */
    bool differs;                /* from what runs, or it cannot be read */
    struct why unread;           /* that */
    int64_t tried_us, looked_us; /* monotonic */
};

struct serve {
    struct conf *conf;
    struct serve_file file;
    int64_t clock_ahead_us;      /* the wall clock of the monotonic one, as the trail knows it */
    struct buf confined;         /* what holds, as JSON */
    struct buf listed;           /* tools that the store is to be told of */
    int64_t listed_next_us;      /* not before then of further ones */
    struct serve_definitions definitions;
    struct loop *loop;
    struct signals signals;
    bool has_signals;
    struct loop_timer poll;      /* the store, for changes */
    uint64_t connections_peak, memory_peak_bytes; /* since memory was given back */
    uint64_t connections_seen, memory_seen_bytes; /* at the last look */
    int64_t trimmed_us;          /* when that was */
    struct loop_timer drain;     /* whether the last connection has gone */
    struct inbox names_changed;
    struct inbox looks;          /* pipes read another configuration */
    bool has_inbox, has_looks;

    struct db *store;
    int64_t store_seen;          /* its data_version; -1: look again */
    uint64_t policy_active;      /* the version in force; 0: none */
    uint64_t policy_refused;     /* one that did not compile, not to be tried four times a second */
    struct why store_fault;      /* what was logged last */
    unsigned store_busy;         /* looks in a row that found it locked */
    bool owes_events;            /* rows may be there that the audit does not know yet */
    bool awaits_audit;           /* rows up to put_to were put and are not known to be durable */
    int64_t put_to[STORE_SOURCES];
    char told_mark[17];          /* which audit was told: several gates on one store have one each */
    char gate_mark[17];          /* which gate this is, among these */
    uint64_t commits_then;       /* the audit's, before they were put */

    struct serve_approvals approvals;
    struct serve_attending attending;
    struct serve_notify notify;
    struct serve_past past;

    struct gate_shared *shared;
    struct gate **gates;         /* one a worker */
    struct signer *signer;       /* a process: it has the key of checkpoints */
    struct runner *runner;       /* a process: it starts commands; NULL: there are none */
    int control;                 /* the way to a process: it takes people's commands; -1: nobody does */
    struct web *web;             /* requests of the gate's own */
    struct outside *outside;     /* providers, and what else calls wait for; NULL: nothing */
    struct identity_proofs *proofs; /* of tokens that are bound to a key; likewise */
    struct poster *poster;       /* of checkpoints; NULL: they go to a file */
    struct audit_key_change key_change; /* `audit rotate-key`: what audit_open records */
    const char *continue_why;    /* --continue-after-loss: recorded, and by whom; NULL: not given */
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
    int64_t drain_until_us;
};

/* Takes conf in any case. continue_why: goes on though rows of the audit are lost, and says why; NULL: does not. */
enum code serve_open(struct serve *serve, struct conf *conf_take, const char *continue_why, struct why *why) MUST_USE;

/* Blocks: until the last connection has gone after a signal. */
enum code serve_run(struct serve *serve, int ready_fd, struct why *why) MUST_USE;
void serve_close(struct serve *serve);

/* Loads what a start would load and changes nothing. */
enum code serve_check(const struct conf *conf, struct why *why) MUST_USE;

#endif
