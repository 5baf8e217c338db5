/* SPDX-License-Identifier: Apache-2.0 */
/* callgate init: asks a server for its tools and writes what a first start needs: callgate.yaml, a policy, a key. */
#include "cli/commands.h"
#include "conf/conf.h"
#include "setup/dialogue.h"
#include "setup/init_command.h"
#include "setup/lister.h"
#include "args/print.h"
#include "cli/told.h"
#include "store/store.h"

#include "base/mem.h"
#include "os/clock.h"
#include "os/file.h"
#include "policy/schema.h"
#include "schema/schema_compile.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUMMARY_MAX 90

struct init {
    const struct asked *asked;
    const char *url, *line, *name, *ca, *bearer_file;
    struct init_command command;    /* where a line was given */
    struct dialogue dialogue;       /* where a URL was */
    bool insecure;
    const char *conf_path;
    char policy_path[256];
    struct buf conf_text, policy_text;
    unsigned tools, read_only, left_out, private;
    struct lister lister;
};

/* The last but one label of the host's name says most: mcp.shop.example -> shop. */
static void name_from_url(const char *url, char out[64])
{
    struct span rest, host, label, after;

    (void)span_cut(span_text(url), '/', &rest);
    (void)span_cut(rest, '/', &rest);
    host = span_cut(span_cut(rest, '/', &after), ':', &after);
    label = span_cut(host, '.', &after);
    if (span_find(after, '.') < after.len)
        label = span_cut(after, '.', &after);
    if (label.len == 0 || label.len > 40 || (label.at[0] >= '0' && label.at[0] <= '9') || label.at[0] == '[')
        label = SPAN_LIT("upstream");
    (void)snprintf(out, 64, "%.*s", SPAN_ARG(label));
}

static struct span path_of_url(const char *url)
{
    struct span rest, path;

    (void)span_cut(span_text(url), '/', &rest);
    (void)span_cut(rest, '/', &rest);
    path = span_part(rest, span_find(rest, '/'), SIZE_MAX);
    return path.len > 0 ? path : SPAN_LIT("/");
}

/* Desktop clients start pipes, and those the gate: it listens nowhere, and who may call is told by the user whose it is. */
static enum code write_conf_of_command(struct init *init)
{
    char actor[ACTOR_BYTES];

    actor_name(actor);
    return buf_addf(&init->conf_text,
        "# Written by `callgate init`. Desktop clients start `callgate pipe`, which starts this gate where it does not run.\n"
        "store: callgate.db\n"
        "audit: {database: audit.db}\n"
        "routes:\n  - name: '%s'\n    dialect: mcp\n    identity: [{none: {principal: '%s', tenant: desktop}}]\n",
        init->name, strpbrk(actor, "'\\ ") == NULL ? actor : "me");
}

static enum code write_conf_of_url(struct init *init)
{
    struct buf *out = &init->conf_text;

    buf_addf(out,
             "# Written by `callgate init`. Agents send the key that it printed as X-API-Key, or as a bearer token.\n"
             "listen:\n  - {address: '127.0.0.1:8080'}\n"
             "store: callgate.db\n"
             "audit: {database: audit.db}\n"
             "admin: {address: '127.0.0.1:9901'}\n"
             "routes:\n  - name: %s\n    path: '%.*s'\n    dialect: mcp\n    upstream:\n      url: '%s'\n",
             init->name, SPAN_ARG(path_of_url(init->url)), init->url);
    if (init->ca != NULL)
        buf_addf(out, "      ca: '%s'\n", init->ca);
    if (init->insecure)
        buf_add_text(out, "      insecure: true\n");
    if (init->bearer_file != NULL)
        buf_addf(out, "      headers: {Authorization: {file: '%s', prefix: 'Bearer '}}\n", init->bearer_file);
    return buf_add_text(out, "    identity:\n      - {api_key: X-API-Key}\n      - {bearer: key}\n");
}

/* The server's words are not to be trusted with more than one plain line of a comment. */
static void write_summary(struct buf *out, struct span words)
{
    size_t len = words.len < SUMMARY_MAX ? words.len : SUMMARY_MAX;

    buf_add_text(out, "  # ");
    for (size_t i = 0; i < len && words.at[i] != '\n'; i++)
        buf_add_byte(out, words.at[i] >= ' ' && words.at[i] <= '~' ? words.at[i] : '?');
    buf_add_byte(out, '\n');
}

/* Of a schema that `arguments: by_schema` cannot ask. */
static void write_unbound(struct buf *out, const struct json_node *schema)
{
    struct policy_schema *bound = NULL;
    struct why why = {""};

    if (schema != NULL && policy_schema_compile(schema->raw, &bound, &why) != CODE_OK) {
        buf_add_text(out, "  # its schema cannot bind:\n");
        write_summary(out, span_text(why.text));
    }
    policy_schema_unref(&bound);
}

static bool is_plain_name(struct span name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

    for (size_t i = 0; i < name.len; i++)
        if (memchr(plain, name.at[i], sizeof plain - 1) == NULL)
            return false;
    return name.len > 0 && name.len <= 100;
}

/* By the ids of our own rules, and by those of tools that got another for it. */
static bool is_taken(struct span name)
{
    return span_is(name, "protocol") || span_starts_with(name, SPAN_LIT("offers.")) ||
           span_starts_with(name, SPAN_LIT("tool."));
}

/* Whether a word of the text, letters between others or from one capital to the next, is among these. */
static bool has_word(struct span text, const char *const *words)
{
    for (size_t i = 0, end; i < text.len; i = end) {
        char word[16] = "";

        for (end = i; end < text.len && isalpha((unsigned char)text.at[end]) &&
                      (end == i || !isupper((unsigned char)text.at[end]) || isupper((unsigned char)text.at[end - 1])); end++)
            if (end - i < sizeof word - 1)
                word[end - i] = (char)tolower((unsigned char)text.at[end]);
        for (size_t w = 0; words[w] != NULL; w++)
            if (end - i < sizeof word && strcmp(word, words[w]) == 0)
                return true;
        end += end == i;
    }
    return false;
}

/* A server's word that a tool changes nothing says nothing of what it tells: what may read environments, secrets or files is
 * for a person to permit. Names, titles, arguments and descriptions say so. */
static bool may_tell_secrets(const struct json_node *tool)
{
    static const char *const words[] = {
        "env", "environ", "environment", "secret", "secrets", "credential", "credentials", "password", "passwords", "passwd",
        "token", "tokens", "apikey", "keychain", "vault", "config", "file", "files", "filename", "filepath", "path", "paths",
        "dir", "directory", "directories", "folder", "folders", "fs", "filesystem", NULL};
    const struct json_node *said[] = {
        json_member(tool, SPAN_LIT("name")), json_member(tool, SPAN_LIT("title")),
        json_member(tool, SPAN_LIT("description")), json_at(tool, "annotations", "title", NULL)};
    const struct json_node *arguments = json_at(tool, "inputSchema", "properties", NULL);

    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        if (said[i] != NULL && said[i]->type == JSON_STRING && has_word(said[i]->text, words))
            return true;
    for (const struct json_node *one = arguments != NULL ? arguments->child : NULL; one != NULL; one = one->next)
        if (has_word(one->key, words))
            return true;
    return false;
}

/* A tool that the server itself does not call read-only is for a person to permit. */
static enum code write_tool(void *context, const struct json_node *tool)
{
    struct init *init = context;
    const struct json_node *hint = json_at(tool, "annotations", "readOnlyHint", NULL);
    const bool is_marked = hint != NULL && hint->type == JSON_TRUE, is_read_only = is_marked && !may_tell_secrets(tool);
    const struct json_node *name = json_member(tool, SPAN_LIT("name"));
    const struct json_node *about = json_member(tool, SPAN_LIT("description"));
    const char *tool_part;

    if (name == NULL || !is_plain_name(name->text)) {
        init->left_out++;
        return buf_code(&init->policy_text);
    }
    init->tools++;
    init->read_only += is_read_only;
    init->private += is_marked && !is_read_only;
    if (about != NULL)
        write_summary(&init->policy_text, about->text);
    write_unbound(&init->policy_text, json_member(tool, SPAN_LIT("inputSchema")));
    tool_part = is_taken(name->text) ? "tool." : "";
    return buf_addf(&init->policy_text, "  %s- {id: %s.%s%.*s, effect: permit, match: {upstreams: ['%s'], tools: ['%.*s']}}\n",
                    is_read_only ? "" : "# ", init->name, tool_part, SPAN_ARG(name->text), init->name, SPAN_ARG(name->text));
}

static enum code write_policy_head(struct init *init)
{
    return buf_addf(&init->policy_text,
        "# Written by `callgate init`: it permits what the server calls read-only, but for what may read environments,\n"
        "# secrets or files. Take the `# ` away before what else agents\n"
        "# may call, take out what they must not, add conditions on arguments, or `arguments: by_schema` where you have read\n"
        "# and accepted what the server says that its tools are (callgate tools accept). Then:\n"
        "# callgate policy check %s && callgate policy load %s\n"
        "policy: '%s'\n"
        "description: The tools of %s.\n"
        "rules:\n"
        "  # connecting, listing tools, notifications\n"
        "  - {id: %s.protocol, effect: permit, match: {upstreams: ['%s'], methods: [protocol]}}\n",
        init->policy_path, init->policy_path, init->name, init->name, init->name, init->name);
}

static enum code write_offers(struct init *init)
{
    for (size_t i = 0; i < LISTER_OFFERS; i++)
        if (init->lister.is_offered[i])
            buf_addf(&init->policy_text, "  - {id: %s.offers.%s, effect: permit, match: {upstreams: ['%s'], "
                            "methods: [%s]}}\n", init->name, lister_offers[i].capability, init->name, lister_offers[i].methods);
    return buf_code(&init->policy_text);
}

static enum code ask_all(struct init *init, bool *is_old, struct why *why)
{
    enum code code = init->line != NULL ? lister_ask(&init->lister, why) : lister_ask_any(&init->lister, is_old, why);

    return code == CODE_OK ? write_offers(init) : code;
}

static enum code ask_tools(struct init *init, const struct conf *conf, struct why *why)
{
    struct web *web = NULL;
    bool is_old = false;
    enum code code = web_new(&web, why);

    if (code == CODE_OK)
        code = web_start(web, why);
    dialogue_init(&init->dialogue, &conf->proxy->routes[0].upstream, web);
    if (code == CODE_OK)
        code = ask_all(init, &is_old, why);
    if (code == CODE_OK && is_old)
        code = buf_add_text(&init->conf_text, "    transports: [http+sse]\n");
    dialogue_fini(&init->dialogue);
    web_free(&web);
    if (code == CODE_IO) {
        const struct why said = *why;

        (void)why_set(why, code, "%s; start the server, or give its own address by --url", said.text);
    }
    return code;
}

/* The configuration is read back by the reader that `serve` uses, from a file that is not there before all is well. */
static enum code try_conf(struct init *init, struct why *why)
{
    char draft[512];
    struct conf *conf = NULL;
    struct faults faults;
    struct why said = {""};
    enum code code;

    (void)snprintf(draft, sizeof draft, "%s.draft-%ld", init->conf_path, (long)getpid());
    code = file_create(draft, 0600, buf_peek(&init->conf_text), &said);
    if (code != CODE_OK) /* said of the draft, of which nobody knows */
        return why_set(why, code, "%s%s; go to a folder in which you may write", init->conf_path, said.text + strlen(draft));
    faults_init(&faults);
    code = conf_load(draft, &conf, &faults, NULL);
    if (code == CODE_OK)
        code = init->line != NULL ? ask_all(init, NULL, why) : ask_tools(init, conf, why);
    else
        why_set(why, code, "%s", faults.count > 0 ? faults.fault[0].text : code_text(code));
    conf_free(&conf);
    (void)unlink(draft);
    return code;
}

static enum code make_key(const struct asked *asked, const char *principal, char text[48], struct why *why)
{
    const struct store_key key = {.principal = span_text(principal), .tenant = SPAN_LIT("default"),
                                  .made_why = SPAN_LIT("made by init"), .made_us = clock_wall_us()};
    unsigned char digest[DIGEST_BYTES];
    char actor[ACTOR_BYTES];
    struct store_key made = key;
    struct db *store = NULL;
    int64_t id;
    enum code code;

    actor_name(actor);
    made.made_by = span_text(actor);
    code = identity_key_make(text, digest);
    if (code == CODE_OK)
        code = asked_store(asked, DB_CREATE, &store, why);
    if (code == CODE_OK)
        code = store_key_add(store, &made, digest, &id, why);
    db_close(&store);
    return code;
}

static enum code write_all(struct init *init, char key[48], struct why *why)
{
    enum code code = init->line != NULL ? init_command_start(&init->command, why) : CODE_OK;

    if (code == CODE_OK)
        code = init->line != NULL ? write_conf_of_command(init) : write_conf_of_url(init);

    if (code == CODE_OK)
        code = write_policy_head(init);
    if (code == CODE_OK)
        code = try_conf(init, why);
    if (code == CODE_OK)
        code = file_create(init->policy_path, 0644, buf_peek(&init->policy_text), why);
    if (code == CODE_OK) {
        code = file_create(init->conf_path, 0644, buf_peek(&init->conf_text), why);
        if (code != CODE_OK)
            (void)unlink(init->policy_path);
    }
    return code == CODE_OK && init->line == NULL ? make_key(init->asked, "agent", key, why) : code;
}

static const char told_words[] =
    "{tools} tools found; {read_only} are read-only by the server's word, and permitted. The rest are comments in the policy.\n"
    "[{private} of these are called read-only, too, and may read environments, secrets or files.\n]"
    "[{left_out} more have names that are not plain; add them to the policy by hand.\n]wrote {config} and {policy_file}\n"
    "[the agent's key, shown only now: {key}\n\n]next:  edit {policy_file}\n       callgate policy load {policy_file}\n"
    "[{?clients}then put in place of the server's own lines:\n{clients:lines 0}]"
    "[       callgate serve\nagents then use {url} with the header X-API-Key\n]";

static int tell(const struct init *init, const char *key)
{
    struct doc *doc = doc_object();
    char conf[PATH_MAX] = "";
    struct buf clients, url;

    buf_init(&clients, 65536);
    buf_init(&url, 65536);
    if (init->line == NULL)
        buf_addf(&url, "http://127.0.0.1:8080%.*s", SPAN_ARG(path_of_url(init->url)));
    else if (realpath(init->conf_path, conf) == NULL ||
             init_command_tell(&init->command, init->name, conf, &clients) != CODE_OK)
        buf_clear(&clients);
    doc_text(doc, "config", span_text(init->conf_path));
    doc_text(doc, "policy_file", span_text(init->policy_path));
    doc_int(doc, "tools", init->tools);
    doc_int(doc, "read_only", init->read_only);
    doc_int(doc, "private", init->private);
    doc_int(doc, "left_out", init->left_out);
    doc_text_or_null(doc, "key", init->line == NULL ? span_text(key) : SPAN_NONE);
    doc_text_or_null(doc, "url", init->line == NULL ? buf_peek(&url) : SPAN_NONE);
    doc_text_or_null(doc, "clients", init->line != NULL ? buf_peek(&clients) : SPAN_NONE);
    buf_fini(&clients);
    buf_fini(&url);
    return told_answer(&doc, init->asked->json, told_words);
}

static int init_with(struct init *init)
{
    char name[64], key[48] = "";
    struct why why = {0};
    enum code code;
    int status;

    init->lister = (struct lister){.dialogue = init->line == NULL ? &init->dialogue : NULL,
                                   .command = init->line != NULL ? &init->command : NULL, .each = write_tool, .context = init};
    if (init->name == NULL) {
        if (init->line != NULL)
            init_command_name(&init->command, name);
        else
            name_from_url(init->url, name);
        init->name = name;
    }
    if (!is_plain_name(span_text(init->name)) || strlen(init->name) > 60)
        return complain(STATUS_USAGE, "--name %s: use letters, digits, '_', '.' and '-'", init->name);
    if (access(init->conf_path, F_OK) == 0 && init->line != NULL)
        return complain(STATUS_CANNOT, "%s is there already; use another folder, and for one gate and one trail then add to "
                        "the routes of this one: - {name: %s, dialect: mcp, identity: [{none: {principal: me, tenant: "
                        "desktop}}]}, load the policy written there, and let --config name this file",
                        init->conf_path, init->name);
    if (access(init->conf_path, F_OK) == 0)
        return complain(STATUS_CANNOT, "%s is there already; move it away or use another folder", init->conf_path);
    (void)snprintf(init->policy_path, sizeof init->policy_path, "%s.policy.yaml", init->name);
    buf_init(&init->conf_text, 65536);
    buf_init(&init->policy_text, 8u << 20);
    code = write_all(init, key, &why);
    status = code == CODE_OK ? tell(init, key) : complain_why(code, &why);
    mem_wipe(key, sizeof key);
    buf_fini(&init->policy_text);
    buf_fini(&init->conf_text);
    return status;
}

int cmd_init(const struct asked *asked)
{
    struct init init = {.asked = asked, .conf_path = "callgate.yaml", .url = asked->url, .line = asked->line,
                        .name = asked->name, .ca = asked->ca, .bearer_file = asked->bearer_file, .insecure = asked->insecure};
    struct why why = {0};
    int status;

    if ((asked->client != NULL) + (asked->registry != NULL) + (init.url != NULL || init.line != NULL) > 1)
        return complain(STATUS_USAGE, "--client is about a client, --registry about all of the gate's servers, --url and "
                        "--command about one; leave all but one out");
    if (asked->registry != NULL)
        return cmd_init_registry(asked);
    if (asked->client != NULL)
        return cmd_init_client(asked);
    if (asked->managed)
        return complain(STATUS_USAGE, "--managed says for whom a client's file is; name the client with --client");
    if (init.url != NULL && init.line != NULL)
        return complain(STATUS_USAGE, "--url is for a server that listens, --command for one that clients start; "
                        "leave one out");
    if (init.line != NULL && (init.ca != NULL || init.bearer_file != NULL || init.insecure))
        return complain(STATUS_USAGE, "--ca, --bearer-file and --insecure are for --url; with --command leave them out");
    if ((init.url == NULL && init.line == NULL) || (init.url != NULL && strpbrk(init.url, "'\n") != NULL))
        return complain(STATUS_USAGE, "init needs --url URL, --command LINE, --client NAME or --registry FOLDER; write for "
                        "example --url http://127.0.0.1:3001/mcp or --command 'npx -y @modelcontextprotocol/server-memory'");
    if (init.line != NULL && init_command_open(&init.command, init.line, &why) != CODE_OK)
        status = complain(STATUS_USAGE, "%s", why.text);
    else
        status = init_with(&init);
    if (init.line != NULL)
        init_command_close(&init.command);
    return status;
}
