/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated gate: one lane of the proxy with the real judgement, memory streams for sockets, a fake audit, virtual time.
 * Scripts speak for the agent and for the upstream; sim_run lets everybody go on until nothing moves any more. */
#ifndef FAKES_SIM_H
#define FAKES_SIM_H

#include "fakes/fake_audit.h"
#include "fakes/fake_clock.h"
#include "fakes/mem_stream.h"
#include "proxy/front_priv.h"
#include "back/legacy.h"
#include "back/reply_priv.h"
#include "back/upstream_priv.h"

enum sim_weather { SIM_PLAIN = 0, SIM_ONE_BYTE, SIM_AGAIN, SIM_SLOW_AUDIT, SIM_WEATHERS };

#define SIM_UPSTREAMS 72
#define SIM_TEXT (1 << 20)

struct sim {
    enum sim_weather weather;
    struct fake_clock clock;
    struct budget budget;
    struct lane lane;
    struct audit_ring *ring;
    struct gate_shared *shared;
    struct resolver *resolver;
    struct proxy_route *route;  /* the only one; conf is sealed, but a test may turn its screws between calls */
    struct proxy_listen *listen;
    bool holds_audit;           /* sim_run settles nothing by itself */
    bool refuses_dials;
    bool hangs_up;              /* each upstream connection ends as soon as it stands */
    bool is_deaf_behind;        /* sim_run tells the gate nothing of its upstreams */
    const char *greeting;       /* what each upstream says before it was asked */
    unsigned handshakes;        /* of each upstream connection before it is ready */
    struct stream *agent;       /* the agent's end */
    struct stream *upstreams[SIM_UPSTREAMS]; /* the upstream's ends, in the order of connections */
    unsigned upstream_count;
    size_t capacity_bytes;      /* of each stream made from now on */
    struct proxy_listen listens[1];
    struct proxy_route routes[1];
    struct identity_source identity[1];
    char got[SIM_TEXT];         /* what sim_take* gave last, NUL-terminated */
    size_t got_len;
};

/* Policy: permits `protocol`, tools/call of everything but `forbidden`, sampling/createMessage, answers, notifications,
 * subscriptions. */
void sim_init(struct sim *sim, enum sim_weather weather);
void sim_fini(struct sim *sim); /* checks that every permit has its outcome, and that nothing is left */

void sim_connect(struct sim *sim);                     /* a new agent */
void sim_run(struct sim *sim);
void sim_pass(struct sim *sim, int64_t us);            /* time, with turns at every due timer */
void sim_agent_says(struct sim *sim, const char *text);
void sim_agent_posts(struct sim *sim, const char *json, const char *headers); /* headers: lines with CRLF, or "" */
void sim_agent_leaves(struct sim *sim);
const char *sim_agent_hears(struct sim *sim);          /* everything that came since */
void sim_upstream_says(struct sim *sim, unsigned index, const char *text);
void sim_upstream_answers(struct sim *sim, unsigned index, const char *media, const char *body);
const char *sim_upstream_hears(struct sim *sim, unsigned index);
void sim_upstream_leaves(struct sim *sim, unsigned index);

struct pair *sim_pair(struct sim *sim); /* the only one, or NULL */
const struct fake_outcome *sim_last_outcome(const struct sim *sim);
const struct fake_decision *sim_last_decision(const struct sim *sim);

#endif
