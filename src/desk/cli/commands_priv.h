/* SPDX-License-Identifier: Apache-2.0 */
/* The forms in which the table of commands (commands.c) is written: who may give one, operands, options, what several commands
 * have.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: an option that goes to a member of another type does not compile. */
#ifndef CLI_COMMANDS_PRIV_H
#define CLI_COMMANDS_PRIV_H

#include "cli/commands.h"
#include "cli/when.h"

#include <stddef.h>

#define APPROVERS PEOPLE_BIT(PEOPLE_APPROVERS)
#define AUTHORS PEOPLE_BIT(PEOPLE_AUTHORS)
#define AUDITORS PEOPLE_BIT(PEOPLE_AUDITORS)
#define ADMINS PEOPLE_BIT(PEOPLE_ADMINS)
#define VIEWERS PEOPLE_BIT(PEOPLE_VIEWERS)
#define RESPONDERS PEOPLE_BIT(PEOPLE_RESPONDERS)
#define ANYBODY (APPROVERS | AUTHORS | AUDITORS | ADMINS | VIEWERS | RESPONDERS)
#define DECIDERS (APPROVERS | ADMINS | PEOPLE_DECIDES_TENANTS | PEOPLE_DECIDES_OWN) /* the last two: of what is theirs */
#define WHOSE PEOPLE_AUDITS_TENANTS /* of those tenants alone */

#define IS(name, function, what) .words = name, .sentence = what, .run = function, .usage.path = "callgate " name
#define GROUP(name, what) {IS(name, NULL, what)}
#define BEHIND(...) .usage.synopsis = " " __VA_ARGS__ /* where it is no mere list of what must be given */
#define ABOUT(...) .usage.about = __VA_ARGS__
#define OPERANDS(...) .usage.operands = (const struct operand[]){__VA_ARGS__, {0}}
#define ONE(called, kind) {.name = called, .type = OPERAND_##kind}
#define MAYBE(called, kind) {.name = called, .type = OPERAND_##kind, .may_lack = true}
#define MANY(called, kind) {.name = called, .type = OPERAND_##kind, .is_many = true}
#define MAYBE_MANY(called, kind) {.name = called, .type = OPERAND_##kind, .may_lack = true, .is_many = true}
#define NUMBERED(called, from, ...) {.name = called, .type = OPERAND_NUMBER, .list = from, __VA_ARGS__}
#define OPTIONS(...) .usage.options = (const struct option[]){__VA_ARGS__, {0}}

/* Where the value goes, if its type is that of the option. */
#define AT(member, kind)         \
    (offsetof(struct asked, member) + \
     0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((struct asked *)NULL)->member), kind) ? 1 : -1]))
#define OPTION(called, kind, to, word, ...) \
    {.name = called, .type = OPTION_##kind, .at = to, .takes = word, .help = __VA_ARGS__}
#define FLAG(name, to, ...) OPTION(name, FLAG, AT(to, bool), NULL, __VA_ARGS__)
#define TEXT(name, to, takes, ...) OPTION(name, TEXT, AT(to, const char *), takes, __VA_ARGS__)
#define LINE(name, to, takes, at_most, ...) OPTION(name, LINE, AT(to, const char *), takes, __VA_ARGS__, .most = at_most)
#define WORD(name, to, takes, list, ...) OPTION(name, WORD, AT(to, const char *), takes, __VA_ARGS__, .words = list)
#define NUMBER(name, to, takes, at_least, usually, ...) \
    OPTION(name, NUMBER, AT(to, uint64_t), takes, __VA_ARGS__, .least = at_least, .usual = usually)
#define TIME(name, to, ...) OPTION(name, TIME, AT(to, int64_t), "TIME", __VA_ARGS__, .when = when_option)
#define DURATION(name, to, ...) OPTION(name, DURATION, AT(to, uint64_t), "DURATION", __VA_ARGS__)
#define LIST(name, to, takes, ...) OPTION(name, LIST, AT(to, struct option_values), takes, __VA_ARGS__)
#define PATH(name, to, takes, ...) OPTION(name, FILE, AT(to, const char *), takes, __VA_ARGS__)
#define PATHS(name, to, takes, ...) OPTION(name, FILES, AT(to, struct option_values), takes, __VA_ARGS__)
#define MUST .must = ""
#define WAS(...) .usage.was = (const struct spelling[]){__VA_ARGS__, {0}} /* options' old spellings */
#define YEAR_MS (UINT64_C(366) * 86400 * 1000)

/* ---- what several commands have ---- */

#define CONFIG PATH("config", config, "FILE", "by default $CALLGATE_CONFIG, ./callgate.yaml or /etc/callgate/callgate.yaml")
#define CONFIG_OF_AUDIT PATH("config", config, "FILE", "names the database where no operand does")
#define STORE CONFIG, PATH("store", store, "FILE", "the store itself, without a configuration")
#define JSON FLAG("json", json, "the answer as JSON")
#define JSON_LINES FLAG("json", json, "one JSON object a line")
#define PROGRESS FLAG("progress", progress, "how far it is, one JSON object a line on standard error")
#define FROM NUMBER("from", from, "N", 1, 0, "rows before number N were given away, and may be missing")
#define SPAN_OF_TIME TIME("since", since_us, WHEN_FORMS), TIME("until", until_us, "likewise; not including it")
#define VALUES                                                                                                   \
    LIST("set", sets, "NAME=VALUE", "the value of a parameter of the file; may be repeated"),                     \
        TEXT("as", as, "NAME", "the file is a copy under this name")
#define ALL_FILES FLAG("all", all, "also sealed files beside the database")
#define ONE_DATABASE OPERANDS(MAYBE("DATABASE", FILE))
#define WHY(...) LINE("why", why, "TEXT", 1000, __VA_ARGS__)
#define REASON(example)                                                                                          \
    WHY("for those who read the audit; must be said",                                                            \
        .must = "say why, for those who read the audit: --why '" example "'")
#define SAID(example)                                                                                            \
    REASON(example),                                                                                             \
        LINE("by", by, "NAME", 128, "who says so; else the login, which is recorded anyway")
#define FLEET FLAG("fleet", fleet, "for all nodes of the fleet; waits until it counts, and says which have it")
#define OF_FLEET                                                                                                 \
    FLAG("fleet", fleet, "the trails of all gates of a fleet, at its centre; needs --membership"),               \
        PATH("membership", membership, "FILE", "with --fleet: who asks; `fleet join --reader` made it")
#define FLEET_ACTIVE                                                                                             \
    FLEET, LIST("without", without, "NODE", "of a fleet: also where this node cannot take it; it denies then; may be repeated")
#define MAYBE_APPROVALS NUMBERED("APPROVAL", "approvals list", .may_lack = true, .is_many = true)
#define OF_DECISION NUMBER("decision", decision, "N", 1, 0, "by the number that the agent was told")
#define FOR_HISTORY WHY("for the history; kept with the version and in the audit"), JSON, STORE
#define CHANGE                                                                                                   \
    FLEET_ACTIVE, FLAG("no-activate", no_activate, "store only"),                                                              \
        FLAG("despite-failing-tests", despite_failing_tests, "store the set although its tests fail; needs --why"), FOR_HISTORY
#define WAS_MESSAGE WAS({"message", "why"})
#define ADMIN                                                                                                    \
    TEXT("admin", admin, "URL", "the centre, as who owns it: postgresql://ROLE@HOST/NAME?sslmode=verify-full&"      \
         "sslrootcert=FILE, or the folder of its socket as HOST (required)", MUST),                                  \
        PATH("password-file", password_file, "FILE", "that role's password; - is the standard input")
#define FLEET_KEY \
    PATH("key-file", key_file, "FILE", "what `callgate fleet init` wrote (required); it is told of the roster", MUST), \
    FLAG("despite-lost-roster", lost_roster, "although the centre has lost the newest roster, and no node brings it")
#define WHY_MEMBER WHY("for the history; kept at the centre, with the roster")
#define FORMAT(words, ...) WORD("format", format, "FORM", words, __VA_ARGS__)
#define DECISION                                                                                                 \
    TEXT("tenant", tenant, "NAME", "of this tenant; in texts * stands for anything"),                            \
        TEXT("correlation", correlation, "ID", "that belong together"),                                          \
        TEXT("principal", principal, "NAME", "in this one's name"),                                              \
        TEXT("agent", agent, "NAME", "of this agent, where it is known which acts for the principal"),           \
        LIST("group", groups, "NAME", "who asked is in this group; may be repeated"),                            \
        LIST("scope", scopes, "NAME", "the token has this scope; may be repeated"),                              \
        TEXT("tool", tool, "NAME", "of this tool, prompt or resource"),                                          \
        TEXT("via", via, "NAME", "of a tool within a call of this one, which calls others"),                     \
        TEXT("method", method, "NAME", "tools/call, initialize ..."),                                            \
        TEXT("upstream", upstream, "NAME", "of this route, or of this slug"),                                    \
        WORD("verdict", verdict, "WORD", verdicts, "permit, deny or hold"),                                      \
        TEXT("reason", reason, "CODE", "decided for this reason: forbidden, no_rule ..."),                       \
        TEXT("rule", rule, "ID", "decided by this rule"),                                                        \
        TEXT("session", session, "ID", "as the agent sent it, or its SHA-256"),                                  \
        TEXT("client", client, "NAME", "from this address: 10.1.2.3, 10.1.*"),                                   \
        TEXT("node", node, "NAME", "at this gate: its name in the fleet, or in its own files that of its machine"), \
        NUMBER("policy-version", policy_version, "N", 1, 0, "judged by this version"), SPAN_OF_TIME,             \
        TEXT("text", text, "TEXT", "anywhere in the call, its arguments included"),                              \
        NUMBER("above", above, "N", 1, 0, "decisions of a larger number, to go on behind some"),                 \
        NUMBER("below", below, "N", 1, 0, "decisions of a smaller number, to go on before some")
/* What an outcome says; a decision that waits for its own matches none. */
#define OUTCOME                                                                                                  \
    TEXT("outcome", outcome, "WORD", "result, tool_error, cancelled, unknown ..."),                              \
        NUMBER("status", status, "N", 100, 0, "the HTTP status that the agent got"),                             \
        WORD("answer", answer, "WORD", effects, "what came back was redacted, withheld or flagged"),             \
        TEXT("answer-rule", answer_rule, "ID", "this rule for answers applied"),                                 \
        TEXT("detector", detector, "NAME", "this detector found something in the answer")

static const char *const verdicts[] = {"permit", "deny", "hold", NULL}, *const effects[] = {"redact", "withhold", "flag", NULL};
static const char *const orders[] = {"newest", "oldest", NULL};
static const char *const formats[] = {"json", "csv", "ocsf", "cef", "sqlite", NULL};
static const char *const asks[] = {"json", "csv", "sql", NULL};
static const char *const sheets[] = {"json", "csv", NULL};
static const char *const reports[] = {"json", "github", "sarif", NULL};

#endif
