/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of run/ call of each other.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: struct serve's.
 * Errors: logged; the old goes on. */
#ifndef RUN_SERVE_PRIV_H
#define RUN_SERVE_PRIV_H

#include "run/serve.h"
#include "run/serve_audit.h"
#include "json/doc.h"

#define HURRY_US 25000
#define POLL_US 250000 /* so that a new version or a revoked key counts within a second */
#define NAMES_WAIT_MS 2000
#define BUSY_LOOKS 8 /* so often in a row somebody else writes the store before it is worth a line in the log */

/* Starts the process that signs checkpoints. Call it after serve__prepare, before anything is opened that this
 * process must not have. */
enum code serve__start_signer(struct serve *serve, struct why *why) MUST_USE;
/* Likewise the process that starts commands, where the configuration has some. The gate then forgets their secrets. */
enum code serve__start_runner(struct serve *serve, struct why *why) MUST_USE;
enum code serve__dial_command(void *context, struct span command, int *fd) MUST_USE;
/* Whether commands of a fresh configuration can be started; it forgets their secrets too. */
enum code serve__check_commands(const struct serve *serve, struct conf *fresh, struct why *why) MUST_USE;
/* Returns: true once, when that process has ended. */
bool serve__runner_is_lost(struct serve *serve);
/* Likewise the process that takes people's commands, where `people:` names some; their groups must exist. */
enum code serve__start_control(struct serve *serve, struct why *why) MUST_USE;
enum code serve__check_people(const struct conf *conf, struct why *why) MUST_USE;
void serve__reload_control(const struct serve *serve); /* tells it that the configuration has changed */
void serve__mind_control(struct serve *serve);       /* logs its end */
/* The public half of that key, into the file beside it and the log. */
enum code serve__publish_checkpoint_key(const struct serve *serve, struct why *why) MUST_USE;

/* Takes the active policy, the valid keys and what else calls are judged by out of the store, if that has changed. In a fleet
 * it looks at how that is, and tells the courier what is in force. */
void serve__follow_store(struct serve *serve);

/* Takes a version of the policy into force: at once, or when what its rules ask of the past is read. Where the gate knows
 * nothing of the past yet, calls are denied until it does. Takes: policy: a reference, which is taken; NULL: none is active. */
void serve__take_version(struct serve *serve, uint64_t version, struct policy *policy);
/* whether it is in force or waits; another one that waits is dropped */
bool serve__has_version(struct serve *serve, uint64_t version);
void serve__put_in_force(struct serve *serve, uint64_t version, struct policy *policy);

#define PAST_WAIT_MS 200 /* how long main waits for a short reading */
#define PAST_START_WAIT_MS 1000 /* how long connections wait at a start before calls are denied */

/* Sets where counts are kept: beside the store, for each audit on its own. */
enum code serve__past_keeps(struct serve_past *past, const struct conf *conf, const unsigned char key[DIGEST_BYTES]) MUST_USE;
/* Takes: audit: which is read; copied. */
enum code serve__past_init(struct serve_past *past, const char *audit) MUST_USE;
enum code serve__start_past(struct serve *serve, struct why *why) MUST_USE;
/* Waits up to so long for a reading, and takes what was read. */
void serve__mind_past(struct serve *serve, unsigned wait_ms);
/* Reads which steps of plans were used, before the first configuration with plans comes into force. */
enum code serve__remember_plans(struct serve *serve, const struct conf *fresh, struct why *why) MUST_USE;
void serve__past_reloaded(struct serve *serve);
void serve__close_past(struct serve *serve);

/* Tells the store which tools servers have listed, when they are others. */
void serve__keep_listed(struct serve *serve);
/* Tells the store which definitions servers have told, and hands the workers those that are accepted, where these have
 * changed. */
void serve__keep_definitions(struct serve *serve);
void serve__keep_stops(struct serve *serve); /* puts into the store what rules of the policy stop */

/* Says what the version in force names and no route has. */
void serve__log_strays(const struct serve *serve);

/* Names the audit in what the store remembers of it. CODE_NOT_FOUND before there is one. */
enum code serve__mark_audit(struct serve *serve, struct why *why) MUST_USE;

/* Before workers start: what was used before a crash, and what waits. */
enum code serve__open_approvals(struct serve *serve, struct why *why) MUST_USE;
enum code serve__settle_claims(struct serve *serve, struct why *why) MUST_USE;

/* Writes asks and uses into the store, and takes answers out of it. */
void serve__mind_approvals(struct serve *serve);
/* Whether a call waits to hear whose an approval is: the store is looked at more often then. */
bool serve__awaits_approvals(const struct serve *serve);
void serve__drop_asks(struct serve *serve);

/* After the workers have ended: stores the last uses, and leaves approvals that were not used to other gates. */
void serve__close_approvals(struct serve *serve);

/* Posters to a server and to a program, as far as they are configured. Takes: tries: of one text; 0: any number. */
enum code serve__open_posters(struct serve *serve, const struct conf_notify *conf, const char *what, unsigned tries,
                              struct poster *posters[SERVE_POSTERS], struct why *why) MUST_USE;
void serve__add_time(struct doc *doc, const char *key, int64_t time_us);

/* Tells those whom the configuration names of what cannot wait (alert/alerts.h): looks at what holds, and tells what is due. */
enum code serve__open_alerts(struct serve *serve, struct why *why) MUST_USE;
enum code serve__start_alerts(struct serve *serve, struct why *why) MUST_USE;
void serve__mind_alerts(struct serve *serve);
void serve__measure_alerts(const struct serve *serve, struct buf *out);
void serve__close_alerts(struct serve *serve);

/* Tells those whom the configuration names of calls that wait. Opened after the runner, started with the threads. */
enum code serve__open_notify(struct serve *serve, struct why *why) MUST_USE;
enum code serve__start_notify(struct serve *serve, struct why *why) MUST_USE;
void serve__notify(struct serve *serve);
void serve__close_notify(struct serve *serve);

/* Puts what the store knows and the audit does not yet into the audit. */
void serve__put_store_events(struct serve *serve);

/* A line in the log when the audit's disk gets nearly full, and one when it is not any more. */
void serve__watch_disk(struct serve *serve);

/* How long the oldest record waits for a checkpoint that is signed and where it belongs; 0: none waits. */
int64_t serve__checkpoint_late_us(const struct serve *serve, const struct audit_gauges *audit);

/* An event where the wall clock has jumped against the monotonic one, since the trail's times go by it. */
void serve__watch_clock(struct serve *serve);

/* Does what people ask of the audit. Call it after serve__follow_store. */
void serve__run_audit_jobs(struct serve *serve);

/* Checks whether the store is the one that the trail tells of (store_behind.h). Call it before the audit is opened, since
 * its event `start` says the result. */
enum code serve__compare_store(struct serve *serve, struct why *why) MUST_USE;

/* Takes: ready_fd: where the addresses are written, as JSON; 0: nobody reads them. */
enum code serve__report_ready(struct serve *serve, int ready_fd) MUST_USE;

/* Has the store remember what was put and is durable by now. */
void serve__mark_told(struct serve *serve);

/* Puts one event of the gate's own; detail is canonical JSON. */
void serve__event(struct serve *serve, const char *kind, struct span detail);

/* Puts an event where fetching a token for upstreams begins to work or to fail; writes metrics of it. */
void serve__record_outgoing(struct serve *serve);
void serve__measure_outgoing(const struct serve *serve, struct buf *out);

/* The admin port, where one is configured, and the counting of calls for it. After proxy_open, before proxy_run. */
enum code serve__open_admin(struct serve *serve, struct why *why) MUST_USE;

/* Before anything is opened: becomes `user:`, works out what the gate may do, and tries in children that nothing else goes.
 * serve->confined is what came of it, for the start event: a list in JSON, and what follows it. */
enum code serve__prepare(struct serve *serve, struct why *why) MUST_USE;

/* When all is open, and no thread there yet: from here on nothing else goes. */
enum code serve__confine(struct serve *serve, struct why *why) MUST_USE;

/* Whether the upstreams of a configuration can be reached from inside. */
enum code serve__check_ports(const struct serve *serve, const struct conf *fresh, struct why *why) MUST_USE;

/* SIGHUP: configuration, certificates, credentials, policy, keys. */
void serve__reload(struct serve *serve);

/* Looks at the file of the configuration, by the path that the gate was started with, and takes what it holds now: where a pipe
 * asks, or where a pipe has started the gate, so that nobody else would reload it. `serve->file` is what came of it. */
void serve__follow_conf(struct serve *serve, bool is_asked);
void serve__look_for_pipes(void *serve); /* for an inbox: looks at the file, and tells the pipes that wait */
/* A JSON object for events: which file, which digest. */
void serve__describe_conf(const struct conf *conf, struct buf *out);

#endif
