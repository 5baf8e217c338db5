/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the table of commands (commands.c) that are about people's own accounts at servers, and about what is stopped.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: none. */
#ifndef CLI_COMMANDS_PEOPLE_TBL_H
#define CLI_COMMANDS_PEOPLE_TBL_H

#include "cli/commands_priv.h"

#define COMMANDS_OF_ACCOUNTS                                                                                                   \
    GROUP("connect", "people's own accounts at servers"),                                                                      \
    {IS("connect list", cmd_connect_list, "who lets the gate act for him, and where"), .roles = ADMINS | PEOPLE_DECIDES_OWN,   \
     ABOUT("Lists the accounts that people have connected (`upstream: {authorization: {connect: ...}}`), and to who lists\n"   \
           "them at the console the servers to which he could connect. Nothing of a token is shown."),                         \
     OPTIONS(FLAG("all", all, "also those that have ended"), TEXT("upstream", upstream, "NAME", "only at this server"),        \
             JSON_LINES, STORE)},                                                                                              \
    {IS("connect revoke", cmd_connect_revoke, "end one: the gate forgets its token"), .roles = ADMINS | PEOPLE_DECIDES_OWN,    \
     .writes = true,                                                                                                           \
     ABOUT("Ends an account: its token is erased, and a running gate calls by it no more within a second. What the provider\n" \
           "keeps of it stays the provider's to end. Whoever has no role ends his own."),                                      \
     OPERANDS(NUMBERED("ACCOUNT", "connect list")), OPTIONS(REASON("the laptop was lost"), JSON, STORE)},                      \
    {IS("connect begin", cmd_connect_begin, "where a person lets the gate in; the console gives this"),                        \
     .roles = PEOPLE_DECIDES_OWN, .writes = true,                                                                              \
     ABOUT("Says where the browser goes, so that the person lets the gate act for him at UPSTREAM. BROWSER is the SHA-256 of\n"\
           "what his browser keeps, by which `connect finish` knows it again within ten minutes."),                            \
     OPERANDS(ONE("UPSTREAM", TEXT), ONE("BROWSER", TEXT)), OPTIONS(JSON, STORE)},                                             \
    {IS("connect finish", cmd_connect_finish, "what his browser brought back; the console gives this"),                        \
     .roles = PEOPLE_DECIDES_OWN, .writes = true,                                                                              \
     ABOUT("Has the gate show the provider the CODE that came back with STATE, from ISSUER where the browser says so, and\n"   \
           "keeps the token that is given for it. Only the browser that began, and the principal for whom, end it."),          \
     OPERANDS(ONE("UPSTREAM", TEXT), ONE("BROWSER", TEXT), ONE("STATE", TEXT), ONE("CODE", TEXT), MAYBE("ISSUER", TEXT)),      \
     OPTIONS(JSON, STORE)},                                                                                                    \
    {IS("connect rekey", cmd_connect_rekey, "seal all their tokens by a new key"), .writes = true,                             \
     ABOUT("Makes a new key in accounts.key, which lies beside the store, seals all tokens by it, and takes the old one out.\n"\
           "Also while a gate runs; killed at any moment, it leaves tokens that open, and is given again."),                   \
     OPTIONS(JSON, STORE)}

#define COMMANDS_OF_STOPS                                                                                                      \
    {IS("stop", cmd_stop, "stop calls at once: a tenant's, a person's, an agent's, a server's, a tool's"),                     \
     .roles = RESPONDERS | ADMINS, .writes = true,                                                                             \
     BEHIND("(--tenant NAME | --principal NAME | ... | --all) --why TEXT [OPTIONS]"),                                          \
     ABOUT("Denies, within a second and whatever the policy says, each call that has all that is named, and cancels\n"         \
           "those that are under way; what servers did of these is not undone. Cancelling, and the end of a session, stay\n"   \
           "open. Held calls stay held, and nobody can approve them. No restart ends a stop: `resume` does, or its time."),    \
     OPTIONS(TEXT("tenant", tenant, "NAME", "whose agents"), TEXT("principal", principal, "NAME", "in whose name they call"),  \
             TEXT("agent", agent, "NAME", "which agent"), TEXT("upstream", upstream, "NAME", "which server"),                  \
             TEXT("tool", tool, "NAME", "which tool"),                                                                         \
             TEXT("session", session, "ID", "as the agent sent it, or its SHA-256"), FLAG("all", all, "every call"),           \
             DURATION("for", lasts_ms, "how long: 30min, 2h; until it is lifted by default"),                                  \
             FLAG("check", check, "say whether such names were seen, and stop nothing"),                                       \
             REASON("it deletes what it should read"), FLEET, JSON, STORE)},                                                   \
    {IS("resume", cmd_resume, "lift a stop"), .roles = RESPONDERS | ADMINS, .writes = true,                                    \
     ABOUT("Lifts a stop: such calls are judged by the policy again. A responder lifts his own, an admin any."),               \
     OPERANDS(NUMBERED("STOP", "stops")), OPTIONS(REASON("the agent was mended"), FLEET, JSON, STORE)},                        \
    {IS("stops", cmd_stops, "show what is stopped"), .roles = ANYBODY,                                                         \
     ABOUT("Lists the stops that stand; with --all those that were lifted or are over, too."),                                 \
     OPTIONS(FLAG("all", all, "also what was lifted, or is over"), JSON_LINES, STORE)}

#endif
