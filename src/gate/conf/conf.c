/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf_priv.h"
#include "base/mem.h"
#include "crypto/secret.h"
#include "os/file.h"
#include "os/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX_BYTES ((size_t)4 << 20)
#define ARENA_MAX_BYTES ((size_t)64 << 20)
#define MAX_HOSTS 1024
#define MAX_WORKERS 256

static void read_trusted_proxies(struct conf_reader *reader, const struct yaml_node *root)
{
    const struct yaml_node *list = conf__list(reader, root, "trusted_proxies", MAX_HOSTS);
    struct sock_net *nets;

    if (list == NULL)
        return;
    nets = conf__array(reader, list->count, sizeof *nets);
    for (const struct yaml_node *node = list->child; node != NULL && !reader->out_of_memory; node = node->next) {
        struct why why = {""};

        if (conf__text(reader, node).at != NULL &&
            sock_net_parse(node->text, &nets[reader->proxy->trusted_proxy_count++], &why) != CODE_OK)
            CONF_FAULT(reader, node, "%s", why.text);
    }
    reader->proxy->trusted_proxies = nets;
}

static unsigned read_workers(struct conf_reader *reader, const struct yaml_node *root)
{
    const struct yaml_node *node = yaml_member(root, "workers");
    unsigned cores = thread_cores();

    if (node == NULL || span_is(node->text, "auto"))
        return cores < MAX_WORKERS ? cores : MAX_WORKERS;
    if (node->type != YAML_INT) {
        CONF_FAULT(reader, node, "`workers` is `auto` or a whole number between 1 and %d", MAX_WORKERS);
        return 1;
    }
    return conf__number(reader, root, "workers", MAX_WORKERS);
}

static void read_audit(struct conf_reader *reader, const struct yaml_node *root, struct conf_audit *audit)
{
    const struct yaml_node *node = yaml_member(root, "audit"), *checkpoints = yaml_member(node, "checkpoints");
    char heads[4200];

    if (audit->database == NULL)
        return;
    if (snprintf(heads, sizeof heads, "%s.heads", audit->database) >= (int)sizeof heads) {
        CONF_FAULT(reader, root, "the path of the audit's database is too long; name a nearer folder");
        return;
    }
    /* The default comes of a path that is seen from the file's folder already; conf__path would do that a second time. */
    if (!conf__checkpoint_server(reader, checkpoints, &audit->checkpoint_server))
        audit->checkpoints = checkpoints != NULL ? conf__path(reader, node, "checkpoints", NULL)
                                                 : conf__copy(reader, span_text(heads)).at;
}

/* Two roles in one file would destroy each other. */
static void check_files(struct conf_reader *reader, const struct yaml_node *root, const struct conf *conf)
{
    const char *files[] = {conf->store, conf->audit.database, conf->audit.checkpoints, conf->audit.checkpoint_key,
                           conf->audit.redact_key, conf->path, conf->fleet.membership};
    static const char *const names[] = {"store", "audit.database", "audit.checkpoints", "audit.checkpoint_key",
                                        "audit.redact_key", "the configuration", "fleet.membership"};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (size_t j = 0; j < i; j++)
            if (files[i] != NULL && files[j] != NULL && strcmp(files[i], files[j]) == 0)
                CONF_FAULT(reader, root, "%s and %s are one file; give each its own", names[j], names[i]);
}

void conf__admin_of(struct conf_reader *reader, const struct yaml_node *root, struct conf_admin *admin)
{
    static const char *const pages[] = {"healthz", "readyz", "metrics", NULL};
    const struct yaml_node *node = yaml_member(root, "admin"), *address, *list;
    struct why why = {""};
    bool *shown[] = {&admin->public_healthz, &admin->public_readyz, &admin->public_metrics};

    if (node == NULL || !conf__read(reader, node, conf__admin, "`admin`", admin))
        return;
    admin->is_on = true;
    address = yaml_member(node, "address");
    if (address == NULL ? sock_parse(SPAN_LIT("127.0.0.1:9901"), &admin->address, &why) != CODE_OK
                        : conf__text(reader, address).at != NULL &&
                              sock_parse(address->text, &admin->address, &why) != CODE_OK)
        CONF_FAULT(reader, address != NULL ? address : node, "%s", why.text);
    list = conf__list(reader, node, "public", 3);
    for (size_t i = 0; i < 3; i++)
        *shown[i] = yaml_member(node, "public") == NULL;
    for (const struct yaml_node *page = list != NULL ? list->child : NULL; page != NULL; page = page->next)
        *shown[conf__word(reader, page, "public", pages)] = true;
}

/* Every host that is asked for, each once. */
static void collect_names(struct conf_reader *reader, struct conf *conf)
{
    const struct proxy_conf *proxy = reader->proxy;
    struct resolve_name *names = conf__array(reader, proxy->route_count, sizeof *names);

    for (size_t i = 0; i < proxy->route_count && !reader->out_of_memory; i++) {
        const struct proxy_upstream *upstream = &proxy->routes[i].upstream;
        size_t seen = 0;

        if (upstream->host == NULL || !span_is_empty(upstream->command))
            continue;
        while (seen < conf->name_count &&
               (strcmp(names[seen].host, upstream->host) != 0 || names[seen].port != upstream->port))
            seen++;
        if (seen < conf->name_count)
            continue;
        (void)snprintf(names[seen].host, sizeof names[seen].host, "%s", upstream->host);
        names[seen].port = upstream->port;
        conf->name_count++;
    }
    conf->names = names;
}

static void read_all(struct conf_reader *reader, const struct yaml_node *root, struct conf *conf)
{
    struct proxy_conf *proxy = reader->proxy;

    reader->files = conf__array(reader, CONF_FILES_MAX, sizeof *reader->files);
    (void)conf__read(reader, root, conf__top, "the configuration", conf);
    conf->workers = read_workers(reader, root);
    read_audit(reader, root, &conf->audit);
    conf__fleet_of(reader, root, &conf->fleet);
    check_files(reader, root, conf);
    conf__admin_of(reader, root, &conf->admin);
    conf__check_pipe(reader, root, &conf->pipe);
    conf__people_of(reader, root, &conf->people);
    conf__console_of(reader, root, &conf->console);
    conf__name_files(reader, yaml_member(root, "telemetry"), conf__telemetry);
    conf__notification(reader, yaml_member(root, "notify"), conf__notify, "(notify)", &conf->notify);
    conf__notification(reader, yaml_member(root, "alerts"), conf__alerts, "(alerts)", &conf->alerts.to);
    reader->arena = &proxy->arena;
    proxy->console_url = conf->console.url != NULL ? conf__copy(reader, span_text(conf->console.url)).at : NULL;
    proxy->host_count = conf__texts(reader, root, "hosts", MAX_HOSTS, conf__host, &proxy->hosts);
    read_trusted_proxies(reader, root);
    (void)conf__read(reader, yaml_member(root, "limits"), conf__limits, "`limits`", proxy);
    conf__listens(reader, root, &conf->pipe);
    conf__providers(reader, root);
    conf__routes(reader, root);
    reader->arena = &conf->arena;
    collect_names(reader, conf);
    conf->files = reader->files;
    conf->file_count = reader->file_count;
}

const char *conf_find(const char *given)
{
    static const char *const usual[] = {"callgate.yaml", "/etc/callgate/callgate.yaml"};
    const char *named = getenv("CALLGATE_CONFIG");

    if (given != NULL)
        return given;
    if (named != NULL && named[0] != '\0')
        return named;
    return access(usual[0], F_OK) != 0 && access(usual[1], F_OK) == 0 ? usual[1] : usual[0];
}

static enum code read_text(const char *path, struct buf *text, struct why *why)
{
    return file_read(path, FILE_TRUSTED, FILE_MAX_BYTES, text, why);
}

enum code conf_digest(const char *path, unsigned char digest[DIGEST_BYTES], struct why *why)
{
    struct buf text;
    enum code code;

    buf_init(&text, FILE_MAX_BYTES);
    code = read_text(path, &text, why);
    if (code == CODE_OK)
        digest_of(buf_peek(&text), digest);
    buf_fini(&text);
    return code;
}

enum code conf__tree(const char *path, struct yaml_tree **tree, unsigned char *digest, struct faults *faults)
{
    struct buf text;
    struct why why = {""};
    enum code code;

    *tree = NULL;
    buf_init(&text, FILE_MAX_BYTES);
    code = read_text(path, &text, &why);
    if (code == CODE_OK && digest != NULL)
        digest_of(buf_peek(&text), digest);
    if (code == CODE_OK)
        code = yaml_read(buf_peek(&text), path, tree, faults);
    else if (code != CODE_NOMEM) {
        faults_add(faults, path, 0, 0, "%s%s", why.text, code == CODE_NOT_FOUND ?
                   "; --config names another place, and `callgate init` writes a first one" : "");
        code = CODE_INVALID;
    }
    buf_fini(&text);
    if (code != CODE_OK)
        return code;
    if (yaml_root(*tree)->type == YAML_MAP)
        return CODE_OK;
    faults_add(faults, path, 1, 1, "a configuration is a map; write `routes:` with at least one route");
    yaml_tree_free(tree);
    return CODE_INVALID;
}

static struct conf *make_conf(const char *path)
{
    struct conf *conf = mem_zalloc(sizeof *conf);

    if (conf == NULL)
        return NULL;
    arena_init(&conf->arena, ARENA_MAX_BYTES);
    conf->path = arena_dup(&conf->arena, path, strlen(path));
    conf->proxy = proxy_conf_new();
    if (conf->path == NULL || conf->proxy == NULL)
        conf_free(&conf);
    return conf;
}

enum code conf_load(const char *path, struct conf **conf, struct faults *faults, struct faults *warnings)
{
    struct faults unheard;
    struct conf_reader reader = {.path = path, .faults = faults, .warnings = warnings != NULL ? warnings : &unheard};
    struct yaml_tree *tree;
    struct why why = {""};
    unsigned char digest[DIGEST_BYTES];
    size_t before = faults->added;
    enum code code = conf__tree(path, &tree, digest, faults);

    *conf = NULL;
    if (code != CODE_OK)
        return code;
    faults_init(&unheard);
    *conf = make_conf(path);
    reader.out_of_memory = *conf == NULL;
    if (*conf != NULL) {
        reader.tree = tree;
        reader.proxy = (*conf)->proxy;
        memcpy(reader.proxy->digest, digest, sizeof digest);
        reader.arena = reader.own_arena = &(*conf)->arena;
        read_all(&reader, yaml_root(tree), *conf);
        (*conf)->commands = reader.commands;
    }
    yaml_tree_free(&tree);
    code = reader.out_of_memory ? CODE_NOMEM : faults->added > before ? CODE_INVALID : CODE_OK;
    if (code == CODE_OK)
        code = proxy_conf_seal((*conf)->proxy, &why);
    if (code == CODE_INVALID && why.text[0] != '\0')
        faults_add(faults, path, 0, 0, "%s", why.text);
    if (code != CODE_OK)
        conf_free(conf);
    return code;
}

static void conf_notify_fini(struct conf_notify *notify)
{
    proxy_upstream_fini(&notify->server);
    secret_free((void *)(uintptr_t)notify->secret.at, notify->secret.len);
}

void conf_free(struct conf **conf)
{
    if (*conf != NULL) {
        proxy_conf_unref(&(*conf)->proxy);
        runner_commands_unref(&(*conf)->commands);
        proxy_upstream_fini(&(*conf)->audit.checkpoint_server);
        conf_notify_fini(&(*conf)->notify);
        conf_notify_fini(&(*conf)->alerts.to);
        arena_fini(&(*conf)->arena);
    }
    mem_free(*conf);
    *conf = NULL;
}
