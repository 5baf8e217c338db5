/* SPDX-License-Identifier: Apache-2.0 */
#include "run/serve_usage.h"

#define AT(member) offsetof(struct serve_asked, member)

static const struct option options[] = {
    {.name = "config", .type = OPTION_FILE, .at = AT(config), .takes = "FILE",
     .help = "by default $CALLGATE_CONFIG, ./callgate.yaml or /etc/callgate/callgate.yaml"},
    {.name = "check", .type = OPTION_FLAG, .at = AT(check), .help = "load everything, change nothing"},
    {.name = "verbose", .type = OPTION_FLAG, .at = AT(verbose),
     .help = "also log why each request was refused and how each connection ended"},
    {.name = "despite-loss", .type = OPTION_FLAG, .at = AT(despite_loss),
     .help = "though audit.db lacks rows that a checkpoint covers; recorded"},
    {.name = "why", .type = OPTION_LINE, .at = AT(why), .takes = "TEXT", .most = 1000,
     .help = "why a loss is accepted, for the record"},
    {.name = "ready-fd", .type = OPTION_TEXT, .at = AT(ready_fd), .takes = "N",
     .help = "write one JSON line with the addresses there when ready"},
    {.name = "upgrades", .type = OPTION_TEXT, .at = AT(upgrades), .takes = "N",
     .help = "take over from the gate behind this socket, as `callgate upgrade` wants it"},
    {.name = "while-used", .type = OPTION_DURATION, .at = AT(while_used_ms), .takes = "DURATION", .most = UINT32_MAX,
     .help = "end so long after the last connection, as `callgate pipe` wants it"},
    {0},
};

const struct usage serve_usage = {
    .path = "callgate serve",
    .synopsis = " [--config FILE] [--check] [--verbose] [--despite-loss --why TEXT]",
    .about = "Stands between agents and their tool servers. SIGHUP reloads, SIGTERM drains.",
    .options = options,
    .was = (const struct spelling[]){{"continue-after-loss", "despite-loss"}, {0}},
};
