/* SPDX-License-Identifier: Apache-2.0 */
/* What a person asked of a command: every option of every command by its name, once, and the files that they lead to.
 *
 * Threads: main.
 * Owns: nothing; what is opened is the caller's.
 * Lifetime: argv's.
 * Errors: exit statuses, told on stderr; enum code with a sentence. */
#ifndef CLI_ASKED_H
#define CLI_ASKED_H

#include "args/command.h"
#include "conf/conf.h"
#include "db/db.h"

/* What was not given is NULL, 0 or false, but for numbers that have a usual value in the table (commands.c). */
struct asked {
    struct given given; /* the operands; first */
    char **words;       /* all of the command line behind the program's name, as it was written */
    int word_count;
    /* where */
    struct conf_file *file; /* the configuration that is meant: read when somebody asks it, and once */
    const char *config, *store, *audit;
    uint64_t from; /* rows before it were given away */
    /* which calls */
    const char *tenant, *correlation, *principal, *tool, *via, *method, *upstream, *verdict, *reason, *rule, *session, *agent;
    const char *client, *text, *outcome, *answer, *answer_rule, *detector;
    uint64_t decision, status, policy_version, above, below; /* above, below: numbers of decisions */
    int64_t since_us, until_us, before_us, at_us;
    /* how much, in which order and form */
    bool all, activations, shows_rules, coverage, follow, no_events, json, progress;
    const char *order, *format, *fields, *per, *filter, *cursor, *output, *junit;
    uint64_t limit, newest, top, stop_after, threads, min_calls;
    /* one call, as it is made up or recorded */
    const char *call, *test, *result, *answers, *prompt, *path, *query;
    struct option_values args, groups, scopes, claims;
    /* policies */
    struct option_values policies, sets;
    const char *as;
    uint64_t version;
    struct option_values without; /* nodes of a fleet */
    bool fleet;                   /* for, or of, all of its nodes */
    const char *membership, *node, *against;
    bool only, yes, strict, no_activate, despite_failing_tests, despite_unknown_upstreams, despite_unshipped;
    /* who says so, and why */
    const char *by, *why;
    uint64_t lasts_ms, keep_ms, unused_ms;
    bool unseen, again, waiting, lost, check;
    /* proofs and keys */
    const char *checkpoints, *earlier, *key_file, *keys, *key_id;
    struct option_values public_keys, roles, may_claim;
    uint64_t checkpoint, unsigned_ms;
    /* routes, servers and logins */
    const char *route, *slug, *dialect, *name, *url, *line, *ca, *bearer_file, *provider, *address, *registry;
    bool insecure, who, managed, agent_judged;
    /* many gates */
    const char *admin, *password_file, *database;
    bool reader, lost_roster;
};

/* Ends what reading the words has begun. */
void asked_end(struct asked *asked);

/* All of the configuration that is meant. Returns: OPTIONS_GO with *conf, which is the caller's (conf_free), or the exit
 * status. */
int asked_conf(const struct asked *asked, struct conf **conf);

/* Opens the store that is meant. */
enum code asked_store(const struct asked *asked, enum db_mode mode, struct db **db, struct why *why) MUST_USE;

/* The audit's database: what was named, or the configuration's. Takes: named: NULL where nothing was. Returns: OPTIONS_GO with
 * *path, which is the caller's (mem_free), or the exit status. */
int asked_trail(const struct asked *asked, const char *named, char **path);
/* The session that is meant, which was named as its agent does or by its SHA-256. */
void asked_session(const struct asked *asked, unsigned char bytes[DIGEST_BYTES]);
/* An operand by its place; NULL: it was not given. */
char *asked_operand(const struct asked *asked, int at);
/* One that is a number; 0: it was not given. */
uint64_t asked_number(const struct asked *asked, int at);

#endif
