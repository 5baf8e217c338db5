/* SPDX-License-Identifier: Apache-2.0 */
/* Every command with its operands and options, and who may give it over the gate's socket. What a guest may name there hangs on
 * the type of an option or operand alone: tests/unit/cli/test_commands.c goes through all of them. */
#include "cli/commands_people_tbl.h"
#include "cli/commands_priv.h"

#include "run/serve_usage.h"

/* ---- the table ---- */

const struct command commands[] = {
    {IS("init", cmd_init, "ask a server for its tools and write a first configuration"),
     .example = "init --url http://127.0.0.1:9000/mcp", .writes = true,
     BEHIND("--url URL | --command LINE | --client NAME | --registry FOLDER [OPTIONS]"), WAS({"upstream", "url"}),
     ABOUT("Asks the server for its tools; writes callgate.yaml, a policy and a key. With --command:\n"
           "what to paste into the configuration of desktop clients. With --client: the file by which that client asks\n"
           "the gate before its own tools run, with each switch that fails closed (policies/HOOKS.md). With --registry: files\n"
           "of a registry of MCP servers that has the gate's routes alone, for clients that take no other server."),
     OPTIONS(TEXT("url", url, "URL", "the server's MCP endpoint"),
             TEXT("command", line, "LINE", "the command of a server that a desktop client starts"),
             TEXT("name", name, "NAME", "the route's name; by default from the URL's host or the command"),
             PATH("ca", ca, "FILE", "certificates to trust; the system's by default"),
             PATH("bearer-file", bearer_file, "FILE", "a token that the server wants"),
             FLAG("insecure", insecure, "plain HTTP to a server that is not on this machine"),
             TEXT("client", client, "NAME", "claude-code, codex or cursor"),
             FLAG("managed", managed, "with --client: for all of the machine, whom it leaves no other hooks and servers"),
             PATH("registry", registry, "FOLDER", "a new folder, for a web server"),
             CONFIG, JSON)},
    {IS("serve", cmd_serve, "the gate itself"), .example = "serve --config callgate.yaml", .of_another = &serve_usage},
    {IS("upgrade", cmd_upgrade, "a new gate in the place of the one that runs"),
     ABOUT("Starts PROGRAM, by default this one, as a gate that takes the listening sockets and the audit over from the\n"
           "one that runs: no call fails; new ones wait until those that are open have ended. Where it does not take\n"
           "the configuration, or cannot start, the one that runs goes on. --check asks what would change."),
     OPERANDS(MAYBE("PROGRAM", FILE)), OPTIONS(FLAG("check", check, "change nothing; 1: something is bad"), JSON, CONFIG)},
    {IS("pipe", cmd_pipe, "a tool server's command behind the gate, for desktop clients"),
     BEHIND("[--config FILE] [--route NAME] [--dialect NAME] -- COMMAND [ARGUMENT...]"),
     ABOUT("Runs a tool server's command behind the gate: what an agent writes to stdin is judged and recorded like any\n"
           "call, by the gate that runs for the configuration, or by one that is started. The server's stderr, its exit\n"
           "status and signals pass. A key that the route asks for stands in the environment, as CALLGATE_KEY."),
     OPERANDS(MANY("COMMAND", FILE)),
     OPTIONS(CONFIG, TEXT("route", route, "NAME", "the route, where the configuration has several for pipes"),
             TEXT("dialect", dialect, "NAME", "the one that is meant; refused where the route has another"))},
    {IS("hook", cmd_hook, "whether a client's own tool may run, for a client to ask"),
     BEHIND("--client NAME [--config FILE]"),
     ABOUT("Reads from stdin what a client says before a tool of its own runs, and asks the running gate, which judges and\n"
           "records it like any call. Exit status 0: it may run. Anything else is a denial, as is no answer in two seconds.\n"
           "policies/HOOKS.md says how clients are set up."),
     OPTIONS(TEXT("client", client, "NAME", "claude-code, codex or cursor"), CONFIG)},
    {IS("status", cmd_status, "why is everything denied?"), .example = "status", .roles = ANYBODY,
     ABOUT("Says in words whether calls can pass, and if not, why. Over the gate's socket it says so of store, audit\n"
           "and disk, and connects to nobody. Exit status 1: something is bad."), OPTIONS(CONFIG, JSON)},

    COMMANDS_OF_STOPS,

    GROUP("policy", "policies"),
    {IS("policy check", cmd_policy_check, "read policy files: all errors, then warnings"),
     ABOUT("Reads the files as one complete set: all errors, then warnings. Regexes are tried on hostile input. Where there\n"
           "is a configuration, upstreams that rules forbid, hold or redact must be those of some route. Exit status 0:\n"
           "sound, warnings are told; 1: warnings, with --strict; 2: errors; 3: a file cannot be read."),
     OPERANDS(MANY("FILE", CONTENT)),
     WAS({"github", "format=github"}, {"sarif", "format=sarif"}),
     OPTIONS(JSON, VALUES,
             FORMAT(reports, "json, github: annotations of a workflow, or sarif: SARIF 2.1.0 for forges and editors"),
             PATH("config", config, "FILE", "as for `load`, where it is there: upstreams must be its routes"),
             FLAG("strict", strict, "warnings give exit status 1"))},
    {IS("policy fmt", cmd_policy_fmt, "write policy files in the one manner"),
     ABOUT("Writes the files anew, in place: keys in their order, quotes, blanks and breaks of long lines in one manner.\n"
           "Comments and blank lines stay, and so does all that the files say: what they compile to has the same hashes.\n"
           "Prints the names of those that it changed. Exit status 2: a file is no YAML, and was left as it is."),
     OPERANDS(MANY("FILE", FILE)),
     OPTIONS(FLAG("check", check, "change nothing; exit status 1 where a file would be changed"), JSON)},
    {IS("policy import", cmd_policy_import, "draft a policy out of a client's or another gateway's rules"),
     ABOUT("Drafts `allow`, `ask` and `deny` out of permission rules (FORM claude, cursor, codex) or lists of tools (docker,\n"
           "toolhive), never wider than they are, with a comment where each line comes from. Says on stderr what was left\n"
           "out, and why; exit status 1 then."),
     OPERANDS(ONE("FORM", TEXT), ONE("FILE", CONTENT)),
     OPTIONS(TEXT("upstream", upstream, "NAME", "the server of a file that names none"),
             TEXT("name", name, "NAME", "the policy's name; `imported` by default"), JSON)},
    {IS("policy test", cmd_policy_test, "run the tests that stand in policy files"),
     ABOUT("Judges the calls under `tests:` by the files as one complete set. Exit status 1 where one\n"
           "fails."),
     OPERANDS(MANY("FILE", CONTENT)),
     OPTIONS(TEXT("filter", filter, "GLOB", "only tests whose name it matches"),
             FLAG("coverage", coverage, "also what the tests saw: rules that decided, conditions true and false"),
             PATH("junit", junit, "FILE", "write a JUnit report"), VALUES, JSON)},
    {IS("policy load", cmd_policy_load, "store policy files as a new version and activate it"),
     .example = "policy load mail.yaml --why 'mail to our own people'", .roles = AUTHORS | ADMINS, .writes = true, WAS_MESSAGE,
     ABOUT("Takes the active version, puts the files in the place of those with the same `policy:` name, keeps the rest,\n"
           "runs the tests of the whole set, stores it as a new version, unless one has these very texts, and activates that.\n"
           "All or nothing: where a test fails nothing is stored, and the exit status is 1. Names of upstreams are held\n"
           "against the configuration's routes, unless --store is all that is given."),
     OPERANDS(MANY("FILE", CONTENT)),
     OPTIONS(VALUES, FLAG("only", only, "the version holds exactly these files"),
             FLAG("yes", yes, "--only may remove policies"),
             FLAG("despite-unknown-upstreams", despite_unknown_upstreams,
                  "store it although no route has upstreams of its forbids; needs --why"), CHANGE)},
    {IS("policy remove", cmd_policy_remove, "store a new version without one policy and activate it"),
     .roles = AUTHORS | ADMINS, .writes = true, WAS_MESSAGE,
     ABOUT("Stores the active version without the policy of that name, and activates it, where the tests of what stays pass."),
     OPERANDS(ONE("NAME", TEXT)), OPTIONS(CHANGE)},
    {IS("policy activate", cmd_policy_activate, "activate a stored version, also an old one"),
     .roles = AUTHORS | ADMINS, .writes = true, WAS_MESSAGE,
     ABOUT("Makes a stored version the active one; an old one is how a change is rolled back. Warns of\n"
           "upstreams of its rules that no route has."),
     OPERANDS(NUMBERED("VERSION", "policy list")), OPTIONS(FLEET_ACTIVE, FOR_HISTORY)},
    {IS("policy list", cmd_policy_list, "show all versions"), .roles = ANYBODY,
     ABOUT("Shows all versions, or all activations, the newest first."),
     OPTIONS(FLAG("activations", activations, "what was in force when, by whom and why"), JSON_LINES, STORE)},
    {IS("policy show", cmd_policy_show, "print a version's files"), .roles = ANYBODY,
     ABOUT("Prints the files of a version, or of the active one; with --rules the rules that they stand for:\n"
           "values of parameters and lists are in their places, and `allow`, `ask` and `deny` are written out."),
     OPERANDS(NUMBERED("VERSION", "policy list", .may_lack = true)),
     OPTIONS(FLAG("rules", shows_rules, "the rules, one a line"), JSON, STORE)},
    {IS("policy diff", cmd_policy_diff, "say what a change permits and denies, in words and in calls"),
     .roles = AUTHORS | ADMINS,
     BEHIND("VERSION [VERSION] | FILE... [OPTIONS]"),
     ABOUT("What becomes permitted, what becomes denied, and by which rule: of two versions, of one and the active one, or\n"
           "of the active one and FILES laid over it as `load` would. The words are backed by calls: those of all tests, and\n"
           "calls around the bounds of what changed, judged by both. Exit status 0: the same, 1: it differs."),
     OPERANDS(MANY("VERSION|FILE", CONTENT)),
     OPTIONS(VALUES, FLAG("only", only, "FILES alone, without the other policies that are active"), JSON, STORE)},
    {IS("policy explain", cmd_policy_explain, "judge one call and say why"),
     .example = "policy explain --decision 17",
     .roles = AUTHORS | AUDITORS | ADMINS, .is_of_audit = true,
     BEHIND("(--tool NAME | --call FILE | --test NAME | --decision N) [OPTIONS]"),
     WAS({"seq", "decision"}, {"answer", "result"}, {"time", "at"}),
     ABOUT("Judges a call by the active version (a recorded one by the version that judged it), or by --policy files, and\n"
           "says why in a sentence: the verdict, the rule with its file and line, the value that decided. --all shows the\n"
           "walk over each rule, --result also what rules for answers find where, and what becomes of it. Nothing that the\n"
           "answer holds is printed. Exit status 0: permit, 1: deny or hold, or something of the answer does not go on.\n"
           "Nothing is sent or recorded."),
     OPTIONS(PATH("call", call, "FILE", "a call as under `tests:`, or a JSON-RPC request"),
             TEXT("test", test, "NAME", "the call of a test of the policy"),
             NUMBER("decision", decision, "N", 1, 0, "a recorded call, by its number in the audit"),
             PATH("audit", audit, "DATABASE", "with --decision: the configuration's by default"),
             TEXT("tool", tool, "NAME", "the tool that is called"),
             LIST("arg", args, "KEY=VALUE", "an argument, JSON or text; may be repeated"),
             TEXT("tenant", tenant, "NAME", "test by default"), TEXT("principal", principal, "NAME", "test by default"),
             TEXT("agent", agent, "NAME", "the program that acts for the principal; none by default"),
             LIST("group", groups, "NAME", "a group of who asks; may be repeated"),
             LIST("scope", scopes, "NAME", "a scope of the token; may be repeated"),
             LIST("claim", claims, "KEY=VALUE", "a claim of the token; may be repeated"),
             TEXT("upstream", upstream, "NAME", "the route, or test"), FLAG("agent-judged", agent_judged, "it judges agents"),
             TEXT("method", method, "NAME", "tools/call by default; --arg then gives its params"),
             TEXT("answers", answers, "NAME", "with --method response: what it answers"),
             TEXT("prompt", prompt, "NAME", "with --method prompts/get"),
             TEXT("path", path, "PATH", "below a route that ends in /*"),
             TEXT("query", query, "TEXT", "without the ?"),
             TIME("at", at_us, "when it comes: " WHEN_FORMS),
             TEXT("client", client, "NAME", "where it comes from, an address"),
             PATH("result", result, "FILE", "also what becomes of this result, as JSON, or of a JSON-RPC message"),
             PATHS("policy", policies, "FILE", "judge by these files; may be repeated"), VALUES,
             NUMBER("version", version, "N", 1, 0, "judge by this stored version"),
             FLAG("all", all, "also the walk over each rule and condition"), JSON, STORE)},
    {IS("policy replay", cmd_policy_replay, "judge the recorded calls again and show what flips"),
     .roles = AUDITORS | ADMINS, .is_of_audit = true, .lasts = true,
     BEHIND("[FILE... | --version N] [OPTIONS]"), WAS({"list", "all"}),
     ABOUT("Judges the recorded calls again: by the active version with FILES laid over it as `load` would, by a stored\n"
           "version, or by the active one as it is. Shows which verdicts flip, by rule. Where what decides a call was cut,\n"
           "redacted or erased, it counts as one that cannot be replayed. Approvals that were given count as given. Answers\n"
           "are judged again where a route kept them as they came; denials that were folded into events are not judged.\n"
           "Exit status 1 when a verdict flips, something else is done\n"
           "to an answer, or a file of the trail is missing. Nothing is changed; the gate may go on writing."),
     OPERANDS(MAYBE_MANY("FILE", CONTENT)),
     OPTIONS(VALUES, NUMBER("version", version, "N", 1, 0, "a stored version, instead of FILES"),
             FLAG("only", only, "FILES alone, without the policies that are active"), SPAN_OF_TIME,
             TEXT("tenant", tenant, "NAME", "calls of this tenant"), TEXT("tool", tool, "NAME", "calls of this tool"),
             PATH("audit", audit, "DATABASE", "with the sealed ones beside it; the configuration's by default"),
             FLAG("all", all, "also each call that flips or cannot be replayed, as it comes"),
             NUMBER("threads", threads, "N", 1, 0, "one a core by default; always one for limits and sequences"), FROM,
             FLAG("json", json, "one JSON object a line, the sum last"), PROGRESS, STORE)},
    {IS("policy learn", cmd_policy_learn, "draft permits out of the recorded calls"), BEHIND("[--since TIME] [OPTIONS] > FILE"),
     .roles = AUDITORS | ADMINS, .is_of_audit = true, .lasts = true,
     ABOUT("Drafts a policy that permits what the recorded, permitted calls show, and nothing else: tools, arguments, types,\n"
           "ranges, few values, prefixes, folders, lengths, by upstream, tenant and principal, with tests. Where the store\n"
           "has an accepted definition of the tool that all calls fit, that binds, too (`arguments: by_schema`). Before it\n"
           "prints the draft it replays it over these calls. It is a draft: read it, then `callgate policy check` and\n"
           "`load`. Exit status 1: no call is recorded there, or a file of the trail is missing."),
     OPTIONS(SPAN_OF_TIME, TEXT("tenant", tenant, "NAME", "calls of this tenant"),
             TEXT("upstream", upstream, "NAME", "calls of this route"),
             NUMBER("min-calls", min_calls, "N", 0, 1, "no rule for a tool with fewer; 1 by default"),
             TEXT("name", name, "NAME", "the policy's name; `learned` by default"),
             PATH("audit", audit, "DATABASE", "with the sealed ones beside it; the configuration's by default"), FROM,
             FLAG("json", json, "the draft and what is known of it as one JSON object"), CONFIG)},
    {IS("policy access", cmd_policy_access, "who may call what, by which rule, and who did"),
     .roles = AUDITORS | ADMINS, .is_of_audit = true, .lasts = true,
     ABOUT("Tells of each principal, group and agent that a rule names, that has a key or that the trail saw, and of each\n"
           "tool that a server told or that was called: permit, forbid, ask (a person is asked) or depends, with the rules\n"
           "and what they ask of the call that is not known; how often it was called, and when last. By the gate's own\n"
           "judgement, of calls of which nothing else is known: arguments, time, address and what came before are open. A\n"
           "principal has the groups and scopes with which it last came. What no rule permits and nobody called is left out,\n"
           "but for --all. --unused shows the rules that applied to no call for so long instead. Stops, and definitions that\n"
           "nobody accepted, deny calls besides. Exit status 1: a file of the trail is missing; what is there counts."),
     OPTIONS(TEXT("tenant", tenant, "NAME", "of this tenant; in names * stands for anything"),
             TEXT("principal", principal, "NAME", "this principal, and nobody else who is not named"),
             TEXT("agent", agent, "NAME", "this agent, likewise"),
             LIST("group", groups, "NAME", "this group, likewise; may be repeated"),
             TEXT("upstream", upstream, "NAME", "tools of this route"), TEXT("tool", tool, "NAME", "this tool"),
             DURATION("unused", unused_ms, "rules that applied to no call for so long: 90d"),
             TIME("since", since_us, "count calls from then on: " WHEN_FORMS),
             NUMBER("version", version, "N", 1, 0, "by this stored version; by default the active one"),
             FLAG("all", all, "also what no rule permits"),
             FORMAT(sheets, "json, or csv: RFC 4180 with a line of names, made safe for spreadsheets"),
             PATH("audit", audit, "DATABASE", "with the sealed ones beside it; the configuration's by default"), FROM,
             JSON_LINES, STORE)},

    GROUP("approvals", "calls that a person decides"),
    {IS("approvals list", cmd_approvals_list, "the calls that wait for a person"), .roles = DECIDERS, .lasts = true,
     .shows_held = true, ABOUT("Lists the calls that a require_approval rule holds until a person decides; with --follow also\n"
           "further ones as they come, until it is interrupted; with --follow --all each once more when it is decided."),
     OPTIONS(FLAG("follow", follow, "go on as calls come, until it is interrupted"),
             FLAG("all", all, "also what is decided, used or over"), TEXT("tenant", tenant, "NAME", "only this tenant's"),
             JSON_LINES,
             STORE)},
    {IS("approvals show", cmd_approvals_show, "one of them, with its arguments, as a story"), .roles = DECIDERS,
     .shows_held = true, BEHIND("(APPROVAL... | --decision N) [OPTIONS]"),
     ABOUT("Tells the story of a held call: who asks for what, with which arguments, which rule holds it\n"
           "and why, and what people said. Arguments are shown as they are, and which of them the audit\n"
           "does not show; once it is decided, they are erased."),
     OPERANDS(MAYBE_APPROVALS), OPTIONS(OF_DECISION, JSON_LINES, STORE)},
    {IS("approvals approve", cmd_approvals_approve, "permit exactly that call, once"),
     .example = "approvals approve 1 --why 'Ada expects the invoice'", .roles = DECIDERS, .writes = true,
     BEHIND("(APPROVAL... | --decision N) --why TEXT [OPTIONS]"),
     WAS({"unseen", "despite-unseen"}, {"again", "despite-refusal"}),
     ABOUT("Permits exactly that call, once: same tenant, principal, upstream, path, query, tool, arguments and other\n"
           "params, while the rule that held it is unchanged. The agent's identical retry passes; a forbid still\n"
           "denies it. Where the rule asks several people it waits for as many different ones, and nobody approves what\n"
           "is asked for in his own name. The store then forgets its arguments. Exit status 1: one could not be approved."),
     OPERANDS(MAYBE_APPROVALS),
     OPTIONS(SAID("Ada expects the invoice"),
             DURATION("for", lasts_ms, "how long it may be used: 30min, 2h, 1d; 1h by default", .most = YEAR_MS),
             OF_DECISION, JSON_LINES,
             STORE, FLAG("despite-unseen", unseen, "although only the beginning of its arguments is kept, or nothing of them"),
             FLAG("despite-refusal", again, "although it was refused before"))},
    {IS("approvals refuse", cmd_approvals_refuse, "deny exactly that call for a while"),
     .roles = DECIDERS, .writes = true,
     BEHIND("(APPROVAL... | --decision N) --why TEXT [OPTIONS]"),
     ABOUT("Denies exactly that call for a while, and takes back an approval that was not used. Afterwards the same call\n"
           "is held and asked for anew."),
     OPERANDS(MAYBE_APPROVALS),
     OPTIONS(SAID("Eve is no customer"),
             DURATION("for", lasts_ms, "how long it stays denied: 30min, 2h, 7d; 24h by default", .most = YEAR_MS), OF_DECISION,
             JSON_LINES, STORE)},

    COMMANDS_OF_ACCOUNTS,

    GROUP("tools", "definitions of tools"),
    {IS("tools list", cmd_tools_list, "what servers say that their tools are, and whether it is accepted"), .roles = ANYBODY,
     ABOUT("Lists what servers say that their tools are: accepted, changed (another than was accepted),\n"
           "new (nothing was), withdrawn. With `definitions: hold` on a route agents see accepted ones."),
     OPTIONS(TEXT("upstream", upstream, "NAME", "its tools alone"),
             FLAG("all", all, "also what was told once, and was neither accepted nor told since"), JSON_LINES, STORE)},
    {IS("tools show", cmd_tools_show, "definitions of a tool, whole"), .roles = ANYBODY,
     ABOUT("Shows definitions of tools whole, a line a value, with what deserves a second look: characters that nobody\n"
           "sees (shown as \\u200b), sentences that address a model, text in odd places, names that look like others'."),
     OPERANDS(MANY("NAME[@DIGEST]", TEXT)), OPTIONS(TEXT("upstream", upstream, "NAME", "whose tool"), JSON_LINES, STORE)},
    {IS("tools diff", cmd_tools_diff, "what is new in it"), .roles = ANYBODY,
     ABOUT("Shows what a tool's definition says now that the accepted one did not, in words and by line."),
     OPERANDS(MANY("NAME[@DIGEST]", TEXT)), OPTIONS(TEXT("upstream", upstream, "NAME", "whose tool"), JSON_LINES, STORE)},
    {IS("tools fetch", cmd_tools_fetch, "ask servers for their tools now"),
     .writes = true, ABOUT("Asks the servers of the configuration for their tools, with the credentials of their routes,\n"
           "and notes what they say. Nothing is accepted by that."),
     OPERANDS(MAYBE_MANY("UPSTREAM", TEXT)),
     OPTIONS(TEXT("tenant", tenant, "NAME", "whose credential goes up, where each tenant has its own"),
             TEXT("principal", principal, "NAME", "likewise"), JSON_LINES, CONFIG)},
    {IS("tools accept", cmd_tools_accept, "let a definition count"), .roles = AUTHORS | ADMINS, .writes = true,
     BEHIND("(NAME[@DIGEST]... | --waiting) --why TEXT [OPTIONS]"), WAS({"all", "waiting"}),
     ABOUT("Lets what a server says of a tool count, as `tools diff` shows it: where the route says `definitions: hold`\n"
           "the tool is listed and may be called, as far as policies permit. Exit status 1: one could not be accepted,\n"
           "and nothing was done. Other definitions of the tool that are accepted stay so, until they are withdrawn."),
     OPERANDS(MAYBE_MANY("NAME[@DIGEST]", TEXT)),
     OPTIONS(SAID("read it with Ada"), TEXT("upstream", upstream, "NAME", "whose tools"), FLEET, JSON_LINES, STORE,
             FLAG("waiting", waiting, "all that wait by now, read or not"))},
    {IS("tools withdraw", cmd_tools_withdraw, "take that back"), .roles = AUTHORS | ADMINS, .writes = true,
     ABOUT("Takes an acceptance back, of one definition or of all of a tool."),
     OPERANDS(MANY("NAME[@DIGEST]", TEXT)),
     OPTIONS(SAID("its text gives orders"), TEXT("upstream", upstream, "NAME", "whose tools"), FLEET, JSON_LINES, STORE)},

    /* A key is a right to call and no text that others can read first: making one is no author's. */
    GROUP("key", "keys of agents and people"),
    {IS("key create", cmd_key_create, "make a key and print it once"),
     .example = "key create --tenant acme --principal bot", .roles = ADMINS, .writes = true,
     BEHIND("--principal NAME (--tenant NAME | --role NAME...) [OPTIONS]"), WAS({"note", "why"}, {"expires", "for"}),
     ABOUT("Makes a key and prints it, once. An agent calls tools by it; a running gate accepts it within a second. A person\n"
           "with --role gives commands over the gate's socket by it (`callgate login --key-file`): . Neither is good for the\n"
           "other."),
     OPTIONS(TEXT("principal", principal, "NAME", "who the agent, or the person, is (required)", MUST),
             TEXT("tenant", tenant, "NAME", "of an agent's: whom it works for"),
             TEXT("agent", agent, "NAME", "of an agent's: which program it is, where rules are to tell it by that"),
             LIST("role", roles, "NAME", "of a person's, who then logs in by it; may be repeated"),
             LIST("may-claim", may_claim, "GLOB", "a further tenant it may name; may be repeated"),
             DURATION("for", lasts_ms, "how long it is good: 12h, 90d; for ever by default"),
             WHY("what it is for; kept with the key"), FLEET, JSON, STORE)},
    {IS("key list", cmd_key_list, "show all keys, without the keys themselves"), .roles = AUDITORS | ADMINS,
     ABOUT("Lists all keys, revoked and expired ones too."), OPTIONS(JSON_LINES, STORE)},
    {IS("key revoke", cmd_key_revoke, "end keys for good"), .roles = ADMINS, .writes = true,
     ABOUT("Ends keys for good; open connections end with their next request."),
     OPERANDS(NUMBERED("KEY", "key list", .is_many = true)),
     OPTIONS(WHY("for those who read the audit; kept with the key, too"), FLEET, JSON_LINES, STORE)},

    GROUP("plan", "intent plans"),
    {IS("plan sign", cmd_plan_sign, "sign a plan of what a principal may do"),
     ABOUT("Signs an intent plan: what a principal may do, step by step, until when. The draft is\n"
           "YAML or JSON; the line that comes out is what an agent shows with its calls."),
     OPERANDS(ONE("DRAFT", FILE)), WAS({"key", "key-file"}, {"out", "output"}),
     OPTIONS(PATH("key-file", key_file, "FILE", "a private Ed25519 key as `openssl genpkey` makes it (required)", MUST),
             TEXT("key-id", key_id, "ID", "the key's id among the gate's, where it is not that of its digest"),
             PATH("output", output, "FILE", "write the plan to this file instead of stdout"))},
    {IS("plan check", cmd_plan_check, "say what a signed plan allows, and whether a call is a step of it"),
     ABOUT("Says in words what a signed plan allows, and whether a call is a step of it. Status 1:\n"
           "the plan does not count, or the call is none of its steps."),
     OPERANDS(ONE("PLAN", FILE)),
     OPTIONS(PATH("keys", keys, "FILE", "public keys, as the route's `plan: {keys: {file}}` has them (required)", MUST),
             PATH("call", call, "FILE", "whether this call is a step: as a policy's test writes it, or JSON-RPC"),
             TIME("at", at_us, "at another time than now: " WHEN_FORMS), JSON)},

    GROUP("identity", "who asks"),
    {IS("identity explain", cmd_identity_explain, "say who a token or a certificate would be, and why not"),
     ABOUT("Says who a token or a certificate (PEM) would be, on which route, and why not. It comes from\n"
           "a file or from standard input (-), and is not printed. Nobody is asked: keys are those that the\n"
           "gate has kept. Exit status 0: it is somebody, 1: nobody."),
     OPERANDS(MAYBE("FILE", FILE)),
     OPTIONS(TEXT("route", route, "NAME", "on this route only; by default on each"),
             TEXT("slug", slug, "NAME", "below a route with {slug}"),
             PATH("keys", keys, "FILE", "the provider's key set; by default what is kept"), JSON, CONFIG)},

    GROUP("audit", "the audit trail"),
    {IS("audit query", cmd_audit_query, "find calls by tenant, correlation, tool, verdict, time ..."),
     .example = "audit query --verdict deny --since 1h", .roles = AUDITORS | ADMINS | WHOSE,
     .is_of_audit = true, .lasts = true,
     ABOUT("Lists calls. All conditions must hold. Only reads; the gate may go on writing. Sealed\n"
           "files are indexed by correlation, tenant, tool, principal and rule; in the one that is\n"
           "written, and for the rest, all rows of the time are looked through.\n"
           "--follow goes on with calls as they end, over rotations: denials at once, permitted calls when\n"
           "their outcome is there.\n"
           "Exit status 1: with --all, a file of the trail is missing; what is there was asked."),
     ONE_DATABASE,
     WAS({"csv", "format=csv"}, {"lines", "limit"}),
     OPTIONS(FLAG("follow", follow, "go on as calls end, until it is interrupted"),
             NUMBER("stop-after", stop_after, "N", 1, 0, "with --follow: end once so many were shown"),
             DECISION, OUTCOME, NUMBER("limit", limit, "N", 0, 100, "so many at most; 100 by default, 0 for all"),
             WORD("order", order, "END", orders, "newest or oldest first; else newest, told forward"), ALL_FILES, FROM,
             JSON_LINES,
             FORMAT(asks, "json; csv: RFC 4180 with a line of names, made safe for spreadsheets; sql: the question itself"),
             TEXT("fields", fields, "LIST", "columns of the view `call`, by commas, or all"), PROGRESS, OF_FLEET,
             CONFIG_OF_AUDIT)},
    {IS("audit show", cmd_audit_show, "one call as a story: request, walk of the policy, outcome, neighbours"),
     .roles = AUDITORS | ADMINS | WHOSE, .is_of_audit = true,
     ABOUT("Tells one call as a story, which begins with the verdict, the rule with its file and line, and the value that\n"
           "decided: what was asked, what came of it, approvals, the calls of the same correlation around it and, with\n"
           "--all, how the policy version of then walks over it. ROW is the number of a decision, or of its outcome; of an\n"
           "event, that is shown. Sealed files beside the database are looked through, too."),
     OPERANDS(NUMBERED("ROW", "audit query"), MAYBE("DATABASE", FILE)),
     OPTIONS(FLAG("all", all, "also the walk of the policy over each rule and condition"), OF_FLEET,
             TEXT("node", node, "NAME", "with --fleet: whose ROW; where one node alone has it, that is found"),
             FLAG("json", json, "the same, and the walk, as one JSON object"), STORE)},
    {IS("audit stats", cmd_audit_stats, "calls, denials and latencies by tenant, tool, rule ..."),
     .roles = AUDITORS | ADMINS | WHOSE | VIEWERS, .is_of_audit = true, .lasts = true,
     ABOUT("Counts calls, denials, failures and latencies, whole and by tenant, tool, rule ... Percentiles are right within\n"
           "3 %. Bars are drawn where the terminal is wide enough. Every call is read that no filter by tenant, correlation,\n"
           "tool or time passes over: some two seconds of CPU for a million, and as long as the disk takes for 700 MB.\n"
           "Denials of a flood that were folded into events have no row, and are not counted. Exit status 1: with --all, a\n"
           "file of the trail is missing; what is there was counted."),
     ONE_DATABASE, WAS({"by", "per"}),
     OPTIONS(DECISION, OUTCOME,
             TEXT("per", per, "LIST",
                  "tenant,tool,verdict,reason,rule,principal,agent,upstream,method,outcome,answer,answer_rule,"
                  "detector,node,minute"),
             NUMBER("newest", newest, "N", 1, 0, "the newest N calls alone"),
             NUMBER("top", top, "N", 0, 10, "of each, those with most calls; 10 by default, 0 for all"), ALL_FILES, FROM,
             FLAG("json", json, "the figures as JSON; times in microseconds"), PROGRESS, OF_FLEET, CONFIG_OF_AUDIT)},
    {IS("audit open", cmd_audit_open, "sqlite3 over all files of a time, as one database"),
     ABOUT("Starts sqlite3 with the rows of all files of a time as one database: the tables, views and\n"
           "indices of a sealed file. Up to ten sealed files are asked where they are; of the others it\n"
           "makes a copy in $TMPDIR or /var/tmp, which is removed when sqlite3 ends. Calls are not held\n"
           "up. A file by itself needs none of that: `sqlite3 -readonly FILE`. Exit status 1: a file of\n"
           "the trail is missing, or sqlite3 failed."),
     ONE_DATABASE, OPTIONS(SPAN_OF_TIME, FROM, CONFIG_OF_AUDIT)},
    {IS("audit export", cmd_audit_export, "every row as JSON lines, CSV, OCSF or CEF, to go on from later; or as one database"),
     .roles = AUDITORS | ADMINS | WHOSE, .is_of_audit = true, .lasts = true,
     ABOUT("Writes every row for another program, in the order of its number: decisions, later their outcomes as records of\n"
           "their own, and events. Sealed files beside the database are gone through first. With --cursor and --output\n"
           "nothing is lost and nothing is there twice, even if it is killed; on stdout the rows of a killed run come again.\n"
           "Where a file of the trail is missing, a cursor stops before it; without one the rest follows, and the exit\n"
           "status is 1. --format sqlite --output FILE writes a new database with the tables, views and indices of a sealed\n"
           "file instead: all files of a time, for sqlite3."),
     ONE_DATABASE,
     OPTIONS(FORMAT(formats, "json (lines; the default), csv, ocsf, cef, or sqlite: one database"), JSON_LINES,
             PATH("cursor", cursor, "FILE", "go on where the last export with it stopped; made where missing"),
             PATH("output", output, "FILE", "append to this file instead of stdout"),
             FLAG("follow", follow, "go on as rows come, until it is interrupted"),
             FLAG("no-events", no_events, "decisions and outcomes only"), FROM, DECISION, OF_FLEET, CONFIG_OF_AUDIT)},
    {IS("audit files", cmd_audit_files, "the files of the trail: their rows and days, and how far checkpoints cover them"),
     .roles = AUDITORS | ADMINS, .is_of_audit = true,
     ABOUT("Lists the files of the trail, the oldest first, and what is missing before them. It reads little of each: whether\n"
           "rows and signatures are as they were says `callgate audit verify`. Exit status 1: a file is missing."),
     ONE_DATABASE, OPTIONS(JSON_LINES, FROM, CONFIG_OF_AUDIT)},
    {IS("audit verify", cmd_audit_verify, "check that nothing was changed, removed or inserted"),
     .roles = AUDITORS | ADMINS, .is_of_audit = true, .lasts = true,
     WAS({"checkpoint", "checkpoints"}),
     ABOUT("Checks the chain of all rows and of each tenant, that no number is missing, that each permit\n"
           "has its one outcome, that values match their digests, and signed checkpoints against all\n"
           "that. The gate may go on writing. Without a key the answer is \"consistent, not proven\".\n"
           "A file that `callgate audit prove` wrote is checked by itself. --fleet proves every node's\n"
           "trail from the fleet's centre alone, by the keys that its roster has.\n"
           "Exit status: 0 consistent, 1 broken or a file of the trail is missing, 3 not readable,\n"
           "4 consistent, but rows at the end are not signed although they are older than seconds,\n"
           "nothing stands behind a sealed file, the key of checkpoints was lost, a node of the\n"
           "fleet has no row at the centre, or something stands beside that is no part of it."),
     OPERANDS(MAYBE("DATABASE|PROOF", FILE)),
     OPTIONS(FLAG("all", all, "also sealed files beside the database, each against the one before"),
             PATHS("key", public_keys, "PUB", "audit-key.pub, PEM, or name+id+key: who signed; again for each that did and "
                   "that no signed change of key leads to"),
             PATH("checkpoints", checkpoints, "FILE", "checkpoints kept elsewhere; DATABASE.heads by default, if it is there"),
             PATH("store", store, "FILE", "callgate.db: it must hold the policies that rows name, as they were"), FROM,
             DURATION("unsigned", unsigned_ms, "so old may rows be that nobody signed yet; 10s by default, "
                      "more where `checkpoint_interval` is"),
             TEXT("tenant", tenant, "NAME", "the file is a proof of this tenant's rows"), OF_FLEET,
             TEXT("node", node, "NAME", "with --fleet: of this node alone"),
             PATH("against", against, "DATABASE", "with --fleet and --node: that node's own audit.db must say the same"),
             CONFIG_OF_AUDIT, PROGRESS, JSON)},
    {IS("audit prove", cmd_audit_prove, "write a proof of a row, of two checkpoints or of a tenant's rows"),
     .roles = AUDITORS | ADMINS | WHOSE, .is_of_audit = true, .lasts = true,
     BEHIND("ROW [DATABASE] | ROWS ROWS [DATABASE] | --tenant NAME [DATABASE]"),
     WAS({"from", "earlier"}, {"to", "checkpoint"}),
     ABOUT("Writes a proof for somebody who does not get the database: that a row is in a signed\n"
           "checkpoint, that a later checkpoint holds all that an earlier one held, or what rows a\n"
           "tenant has and that none is left out. A row is looked\n"
           "for in the sealed files, too. `callgate audit verify PROOF --key PUB` checks proofs, and\n"
           "so does tools/verify-audit. Exit status: 1: there is no such row or checkpoint."),
     OPERANDS(MAYBE("ROW", NUMBER), MAYBE("ROWS", NUMBER), MAYBE("DATABASE", FILE)),
     OPTIONS(NUMBER("checkpoint", checkpoint, "ROWS", 1, 0, "the checkpoint over so many rows; the last one by default"),
             PATH("earlier", earlier, "ROWS|FILE", "one that it is to follow: of the database, or kept in a file"),
             TEXT("tenant", tenant, "NAME", "all rows of one tenant, and that these are all"), CONFIG_OF_AUDIT)},
    {IS("audit evidence", cmd_audit_evidence, "an auditor's folder: the answers of a time, and a signed list of them"),
     BEHIND("FOLDER --since TIME [--until TIME]"),
     ABOUT("Makes a folder with what happened in a time, each file the answer of a command: calls, denials, the whole trail,\n"
           "who may call what, the policies that were in force and how they changed, approvals, people and keys, stops,\n"
           "holds, definitions, files, checkpoints, and what `audit verify` says. SHA256SUMS has the digests of all, signed\n"
           "with the key of checkpoints; README.txt says how sha256sum and openssl verify it. The folder has another name\n"
           "until it is whole. It holds what agents sent. Exit status 1: something of the trail is missing, or not as it\n"
           "was, or a command could not answer: it is named."),
     OPERANDS(ONE("FOLDER", FILE)),
     OPTIONS(TIME("since", since_us, WHEN_FORMS, MUST),
             TIME("until", until_us, "likewise, not including it; until now by default"), JSON, CONFIG)},
    {IS("audit archive", cmd_audit_archive, "seal the file and go on in a new one; calls go on"),
     .writes = true,
     ABOUT("Seals the audit's file: an event `sealed` and a signed checkpoint over it are its last words. It is renamed to\n"
           "audit-FIRST-LAST.db beside it, and the next file goes on with its chain. Calls go on, but for some\n"
           "milliseconds. It waits while somebody reads the file. query, stats and verify --all, show, export and policy\n"
           "replay find sealed files that are beside the audit."),
     OPTIONS(CONFIG, JSON)},
    {IS("audit rotate-key", cmd_audit_rotate_key, "change the key of checkpoints, by the old one's word; no gate may run"),
     .writes = true,
     ABOUT("Makes a new key of checkpoints in the place of the old one, which is not kept. The old key signs the new one, and\n"
           "the new one the old, over the last checkpoint, in an event `checkpoint_key`: `audit verify --all --key` proves\n"
           "the whole trail with either. No gate may run. Killed at any moment, either key is in place and goes on; run it\n"
           "again then. --lost records that the old key is gone: verifying takes both keys from then on, and says so."),
     OPTIONS(FLAG("lost", lost, "the old key is gone, and cannot sign the new one; needs --why"),
             WHY("how it was lost; recorded, with who says so"), JSON, CONFIG)},
    {IS("audit retire", cmd_audit_retire, "record that sealed files are given away, and why"),
     .writes = true,
     ABOUT("Records that a sealed file of the trail and all files before it are given away: an event `retired` with the rows,\n"
           "who says so and why. It prints their paths and leaves them where they are: move them then. Where they are\n"
           "missing later, --all takes the event's word for it. Nothing is given away that a hold keeps, or may have kept,\n"
           "of rows that are not here any more; nor what of a node's trail its fleet's centre does not have yet."),
     OPERANDS(ONE("FILE", FILE)),
     OPTIONS(REASON("to the archive of the auditors, on tape 12"),
             FLAG("despite-unshipped", despite_unshipped, "although the centre has not all of it, and will not get it"), CONFIG,
             JSON)},
    {IS("audit hold", cmd_audit_hold, "keep values from erasure: a tenant's, a person's, of a time"), .roles = ADMINS,
     .writes = true,
     ABOUT("Keeps values from erasure: of a tenant, of a person, of a time, or of all that are named together.\n"
           "`callgate audit erase` takes the values of all persons of a tenant from before a time: it is refused\n"
           "where a hold keeps any of these. The hold stands in the trail, as does its release."),
     OPTIONS(TEXT("tenant", tenant, "NAME", "whose values; without: every tenant's"),
             TEXT("principal", principal, "NAME", "of this person's, or agent's, calls"), SPAN_OF_TIME,
             REASON("the court asks for them, 4 O 12/26"), FLEET, JSON, STORE)},
    {IS("audit release", cmd_audit_release, "end a hold"), .roles = ADMINS, .writes = true,
     ABOUT("Ends a hold: what it kept may be erased. Both stand in the trail."),
     OPERANDS(NUMBERED("HOLD", "audit holds")), OPTIONS(REASON("the case is closed"), FLEET, JSON, STORE)},
    {IS("audit holds", cmd_audit_holds, "show all holds"), .roles = AUDITORS | ADMINS,
     ABOUT("Lists all holds, released ones too."), OPTIONS(JSON_LINES, STORE)},
    {IS("audit erase", cmd_audit_erase, "erase a tenant's argument values; the chain stays whole"),
     .writes = true,
     ABOUT("Erases the arguments that a tenant's calls were made with, what of their answers was kept, and the salts of their\n"
           "digests, for good: from the audit, its WAL, the sealed files beside it, and what the store keeps of held calls.\n"
           "Who called what, when, and what came of it stays, the chain stays whole, and the erasure is recorded first as an\n"
           "event of the tenant, with why. What a hold keeps (`callgate audit hold`) is refused whole.\n"
           "An answer counts by when it came: of a call under way at TIME it stays.\n"
           "At one node of a fleet it reaches what the centre has of that node; with --fleet every node erases, one that is\n"
           "away once it is back. It waits a minute, and names the nodes that have not done it: exit status 1 then.\n"
           "What was exported, copied or backed up is not reached, nor blocks that the file system freed."),
     OPTIONS(TEXT("tenant", tenant, "NAME", "whose values", MUST),
             TIME("before", before_us, "of calls before: " WHEN_FORMS, MUST),
             REASON("the contract with them has ended"), FLAG("yes", yes, "do not ask"), FLEET, JSON, CONFIG)},

    GROUP("fleet", "many gates with one policy and one trail, at a PostgreSQL database"),
    {IS("fleet init", cmd_fleet_init, "make a database the centre of a new fleet"),
     ABOUT("Makes the schema `callgate` and its roles in a PostgreSQL database (15 or later), and writes the fleet's key.\n"
           "Nodes join by that key: keep it away from them, and a copy elsewhere. --admin may make roles."),
     OPTIONS(ADMIN, TEXT("database", database, "URL", "how nodes find the centre, without a role; by default as --admin"),
             DURATION("keep", keep_ms, "days of the trail older than this are dropped there, but for the chain's proof: 400d"),
             PATH("output", output, "FILE", "where the fleet's key goes; it must not be there yet (required)", MUST), JSON)},
    {IS("fleet join", cmd_fleet_join, "make a node, or somebody who only reads, a member"), .writes = true,
     ABOUT("Makes a role of that name at the centre, puts the node into the roster that the fleet's key signs, and writes its\n"
           "membership: the one file that the node's gate needs (`fleet: {membership: FILE}`). It holds secrets.\n"
           "With --reader it is for who asks the centre by `callgate audit query --fleet`, and sees the whole trail."),
     OPERANDS(ONE("NAME", TEXT)),
     OPTIONS(ADMIN, FLEET_KEY, WHY_MEMBER, FLAG("reader", reader, "who reads, and is no node"),
             PATH("output", output, "FILE", "where the membership goes; it must not be there yet (required)", MUST), JSON)},
    {IS("fleet leave", cmd_fleet_leave, "end a membership; what the node recorded stays"), .writes = true,
     ABOUT("Takes the node out of the roster and its role from the centre. What it signed until now counts, and nothing more:\n"
           "so it is to be said at once where a node was stolen. Its rows stay at the centre."),
     OPERANDS(ONE("NAME", TEXT)),
     OPTIONS(ADMIN, FLEET_KEY, WHY_MEMBER, FLAG("reader", reader, "who reads, and is no node"), JSON)},
    {IS("fleet rejoin", cmd_fleet_rejoin, "bring a node that forked back, under another name"), .writes = true,
     ABOUT("For a node of which there are two records: its trail was restored from an older copy, or two had its\n"
           "name. It denies until then. Ends its membership, and makes one under a name that no node had. Both records\n"
           "stay at the centre. All that the node's own files have goes up again under the new name."),
     OPERANDS(ONE("NAME", TEXT)),
     OPTIONS(ADMIN, FLEET_KEY, TEXT("as", as, "NAME", "the name under which it comes back (required)", MUST),
             PATH("output", output, "FILE", "where the membership goes; it must not be there yet (required)", MUST),
             REASON("its disk was restored from Monday's copy"), JSON)},
    {IS("fleet upgrade", cmd_fleet_upgrade, "bring the centre's schema to this version, before any node"),
     ABOUT("Brings the centre's schema to what this callgate needs. Nodes of the version before go on; newer ones ship\n"
           "nothing until then."), OPTIONS(ADMIN, JSON)},
    {IS("fleet status", cmd_fleet_status, "every node: when it was heard, how far it is, what ails it"), .roles = ANYBODY,
     ABOUT("Asks the centre what each node of the roster last told of itself. Over the gate's socket it is the gate's\n"
           "courier that asks, and the last answer is told where the centre is away. Exit status 1: a node is late, behind,\n"
           "forked or has a problem; 3: the centre cannot be asked."),
     OPTIONS(PATH("membership", membership, "FILE", "a node's or a reader's; by default the configuration's"), JSON, CONFIG)},

    {IS("backup", cmd_backup, "configuration, store, trail and keys in one folder"),
     ABOUT(
        "Writes the configuration and every file that it names, the store, the trail with its checkpoints, and the keys into\n"
        "a new folder, while the gate runs. `callgate restore` puts it back; `callgate audit verify --all` reads the trail in\n"
        "it as it stands. It holds secrets. An erasure (`callgate audit erase`) does not reach it."),
     OPERANDS(ONE("FOLDER", FILE)), OPTIONS(CONFIG, JSON)},
    {IS("restore", cmd_restore, "put a backup in place, after it was looked at"),
     .writes = true,
     ABOUT(
        "Puts back what `callgate backup` saved: first all of it is looked at (digests, the store, the trail with its chain\n"
        "and checkpoints), then it is put in place, and what stood there is moved into a folder `replaced-TIME` beside the\n"
        "configuration. No gate may run. The next start records it. What was recorded after the backup stands in that folder\n"
        "alone; keys that were revoked since are keys again: `callgate key list` shows them."),
     OPERANDS(ONE("FOLDER", FILE)),
     OPTIONS(PATH("config", config, "FILE", "where the configuration is to be (required), with the files of its folder",
                  .must = "--config FILE is required: where the configuration is to be"),
             WHY("for the record (required, but with --check)"),
             FLAG("check", check, "only look whether the backup is whole; change nothing"),
             PATHS("key", public_keys, "PUB", "audit-key.pub from elsewhere: who must have signed; else the backup's own"),
             JSON)},
    {IS("login", cmd_login, "say who you are to the gate's socket, by a provider or a key"),
     BEHIND("[--provider NAME | --key-file FILE] [OPTIONS]"), WAS({"key", "key-file=-"}),
     ABOUT("Logs you in to the gate's socket (`people:`), for `callgate approvals` and the like: by a provider's page, which\n"
           "you open in any browser, or by a key of `callgate key create --role`. What is kept is yours alone\n"
           "($XDG_STATE_HOME/callgate/login.json), renewed while the provider lets it be, and gone with `callgate logout`.\n"
           "CALLGATE_LOGIN holds a key without it. Without a login you are who the kernel says."),
     OPTIONS(TEXT("provider", provider, "NAME", "where to log in; by default the only one"),
             PATH("key-file", key_file, "FILE", "by a person's key instead, from this file; - is the standard input"),
             FLAG("who", who, "only say who you are to the gate"),
             LIST("scope", scopes, "NAME", "what to ask the provider for; by default openid, and to be renewed"),
             PATH("ca", ca, "FILE", "by whom the provider's certificate is; by default the system's"),
             JSON, CONFIG)},
    {IS("logout", cmd_logout, "forget that again"), ABOUT("Forgets your login; from then on you are who the kernel says."),
     .usage.options = (const struct option[]){{0}}},
    {IS("console", cmd_console, "pages for who decides and who looks: approvals, calls, one call"),
     ABOUT("Serves pages in which people decide about held calls and look at recorded ones, each by what commands say to the\n"
           "person who is logged in. It opens no file of the gate's. Where `console: {url}` says nothing, it prints a URL\n"
           "that is good once, within ten minutes, and logs in as you; others log in by a key (`key create --role`)."),
     OPTIONS(TEXT("address", address, "ADDRESS", "where browsers connect; by default 127.0.0.1:8480"),
             FLAG("json", json, "what it prints as JSON"), CONFIG)},
    {IS("telemetry", cmd_telemetry, "calls as OpenTelemetry's spans, metrics and logs, to a collector"),
     ABOUT("Follows the trail, which it only reads, and sends what `telemetry` of the configuration says to its collector.\n"
           "The next run goes on behind what was taken; the first one begins with the next row."),
     OPTIONS(FLAG("all", all, "the first run begins with the first row"), FLAG("check", check, "read the configuration alone"),
             FROM, CONFIG)},
    {IS("completion", cmd_completion, "what a shell completes behind `callgate`"), BEHIND("bash|zsh|fish"),
     ABOUT("Prints a script for the shell, made of all commands and their options. `make install` puts it where the shell\n"
           "finds it; else: source <(callgate completion bash), or callgate completion fish | source."),
     OPERANDS(ONE("SHELL", TEXT)), .usage.options = (const struct option[]){{0}}},
    {IS("version", cmd_version, "which build this is"), ABOUT("Says which build this is."),
     WAS({"verbose", "all"}), OPTIONS(FLAG("all", all, "also of everything linked"), JSON)},
    {.words = NULL},
};
