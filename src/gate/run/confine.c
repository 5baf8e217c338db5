/* SPDX-License-Identifier: Apache-2.0 */
/* Confines the gate: works out from the configuration what it has to do, tries in a child that it can do no more, and
 * gives up the rest for good. */
#include "run/serve_priv.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "crypto/digest.h"
#include "os/file.h"
#include "os/sandbox.h"
#include "os/user.h"
#include "tls/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)32 << 10) /* of the program, read at once */
#define EVERYBODY (SANDBOX_BIT(SANDBOX_PARTS) - 1)
#define MAIN SANDBOX_BIT(SANDBOX_MAIN)
#define WORKER SANDBOX_BIT(SANDBOX_WORKER)
#define POSTER SANDBOX_BIT(SANDBOX_POSTER)
#define AUDITORS (SANDBOX_BIT(SANDBOX_WRITER) | SANDBOX_BIT(SANDBOX_KEEPER) | SANDBOX_BIT(SANDBOX_NOTARY))

/* What the C library and OpenSSL read by themselves at any time. Of a link, its end is permitted too. */
static const struct {
    const char *path;
    unsigned parts;
} system_files[] = {
    {"/dev/null", EVERYBODY}, {"/dev/urandom", EVERYBODY}, {"/proc/sys/vm/overcommit_memory", EVERYBODY},
    {"/etc/localtime", MAIN}, {"/usr/share/zoneinfo", MAIN},
};

/* Applies the rule to the file's folder, since what replaces a file has its name and not its inode. */
static enum code may(enum code (*rule)(const char *path, unsigned parts), const char *file, unsigned parts)
{
    const char *slash = strrchr(file, '/');
    char *folder = slash == NULL ? mem_dup(".", 1) : mem_dup(file, slash == file ? 1 : (size_t)(slash - file));
    enum code code = folder != NULL ? rule(folder, parts) : CODE_NOMEM;

    mem_free(folder);
    return code;
}

static enum code read_by_system(void)
{
    enum code code = web_permit(MAIN | WORKER);

    for (size_t i = 0; i < sizeof system_files / sizeof system_files[0] && code == CODE_OK; i++)
        code = sandbox_may_read(system_files[i].path, system_files[i].parts);
    return code;
}

/* Whether the file is a key of the gate's own, which a reload does not read again. */
static bool is_read_once(const struct conf *conf, const char *file)
{
    return strcmp(file, conf->audit.checkpoint_key) == 0 || strcmp(file, conf->audit.redact_key) == 0;
}

#define HTTPS_PORT 443
#define PROVIDER_URLS 3

/* Lists the URLs that the gate itself asks; *url may be NULL. Returns: false: there are no more. */
static bool asked_url(const struct proxy_conf *conf, size_t i, const char **url)
{
    size_t of_providers = PROVIDER_URLS * conf->provider_count;
    const struct identity_provider *provider = i < of_providers ? &conf->providers[i / PROVIDER_URLS] : NULL;

    if (i >= of_providers + conf->route_count)
        return false;
    *url = provider == NULL         ? conf->routes[i - of_providers].upstream.outgoing.token_url
           : i % PROVIDER_URLS == 0 ? provider->rules.issuer
           : i % PROVIDER_URLS == 1 ? provider->keys_url : provider->introspect_url;
    return true;
}

bool serve_asks(const struct conf *conf)
{
    const struct proxy_conf *proxy = conf->proxy;
    bool asks = proxy->provider_count > 0 || conf->audit.checkpoint_server.host != NULL || conf->notify.server.host != NULL ||
                conf->alerts.to.server.host != NULL;

    for (size_t i = 0; i < proxy->route_count && !asks; i++)
        asks = proxy->routes[i].upstream.outgoing.token_url != NULL;
    return asks;
}

/* Permits the ports that the gate itself asks. Where a provider's metadata lead is known only later: only to one of these
 * ports, or that of https. */
static enum code may_ask(const struct proxy_conf *conf)
{
    enum code code = conf->provider_count > 0 ? sandbox_may_connect(HTTPS_PORT, POSTER) : CODE_OK;
    const char *url;

    for (size_t i = 0; code == CODE_OK && asked_url(conf, i, &url); i++)
        if (url != NULL)
            code = sandbox_may_connect(identity_url_port(url), POSTER);
    return code;
}

static enum code set_rules(const struct conf *conf)
{
    const struct proxy_upstream *const posted[] = {&conf->audit.checkpoint_server, &conf->notify.server,
                                                   &conf->alerts.to.server};
    enum code code = may(sandbox_may_read, conf->path, MAIN);

    for (size_t i = 0; i < conf->file_count && code == CODE_OK; i++)
        if (!is_read_once(conf, conf->files[i]))
            code = may(sandbox_may_read, conf->files[i], MAIN);
    if (code == CODE_OK)
        code = may(sandbox_may_change, conf->store, MAIN);
    if (code == CODE_OK)
        code = may(sandbox_may_change, conf->audit.database, MAIN | AUDITORS);
    if (code == CODE_OK && conf->audit.checkpoints != NULL)
        code = may(sandbox_may_change, conf->audit.checkpoints, AUDITORS);
    if (code == CODE_OK)
        code = read_by_system();
    for (size_t i = 0; i < conf->name_count && code == CODE_OK; i++)
        code = sandbox_may_connect(conf->names[i].port, WORKER);
    for (size_t i = 0; i < sizeof posted / sizeof *posted && code == CODE_OK; i++)
        if (posted[i]->host != NULL)
            code = sandbox_may_connect(posted[i]->port, POSTER);
    if (code == CODE_OK)
        code = may_ask(conf->proxy);
    if (code == CODE_OK && serve_asks(conf) && web_proxy_port() != 0)
        code = sandbox_may_connect(web_proxy_port(), POSTER);
    return code;
}

static enum code check_own(const struct conf *conf, const char *path, int rights, struct why *why)
{
    if (access(path, rights) == 0 || errno != EACCES)
        return CODE_OK;
    return why_set(why, CODE_DENIED, "%s cannot be read%s by the user `%s`, as whom the gate goes on; give that user its "
                   "folder with all that the gate keeps there (chown)", path, (rights & W_OK) != 0 ? " and written" : "",
                   conf->user);
}

/* Checks that `user:` can read what the gate needs, since an installation that root has run so far belongs to root. */
static enum code check_user(const struct conf *conf, struct why *why)
{
    static const char *const beside[] = {"", "-journal", "-wal", "-shm", ".lock", ".heads"};
    const char *databases[] = {conf->store, conf->audit.database};
    enum code code = CODE_OK;

    for (size_t i = 0; i < 2 && code == CODE_OK; i++) {
        char *folder = file_beside(databases[i], SPAN_LIT("."));

        code = folder != NULL ? check_own(conf, folder, R_OK | W_OK | X_OK, why) : CODE_NOMEM;
        mem_free(folder);
    }
    for (size_t i = 0; i < 2 * (sizeof beside / sizeof beside[0]) && code == CODE_OK; i++) {
        char path[PATH_MAX + 16], real[PATH_MAX];
        bool is_own = beside[i / 2][0] == '-'; /* of the file that the audit's link names */

        (void)snprintf(path, sizeof path, "%s%s", is_own && realpath(databases[i % 2], real) != NULL ? real : databases[i % 2],
                       beside[i / 2]);
        code = check_own(conf, path, R_OK | W_OK, why);
    }
    if (code == CODE_OK)
        code = check_own(conf, conf->audit.checkpoint_key, R_OK, why);
    return code == CODE_OK ? check_own(conf, conf->audit.redact_key, R_OK, why) : code;
}

/* Warns of a file that a reload could not read, which would keep the old configuration. */
static void warn_of_unreadable(const struct conf *conf, const char *file)
{
    if (access(file, R_OK) != 0 && errno == EACCES)
        log_warn("app", "%s cannot be read by the user `%s`: a reload will fail; give it to that user", file, conf->user);
}

static void describe(const struct sandbox_proof *proof, struct buf *out)
{
    const struct {
        bool holds;
        const char *name;
    } all[] = {{proof->files, "files"}, {proof->ports, "ports"}, {proof->calls, "calls"}, {proof->memory, "memory"}};
    enum code code = buf_add_text(out, "[");

    for (size_t i = 0; i < sizeof all / sizeof all[0] && code == CODE_OK; i++)
        if (all[i].holds)
            code = buf_addf(out, "%s\"%s\"", buf_len(out) > 1 ? "," : "", all[i].name);
    if (code == CODE_OK)
        code = buf_addf(out, "],\"uid\":%u", (unsigned)geteuid());
    if (code != CODE_OK)
        buf_clear(out);
}

static void log_sandbox(const struct conf *conf, const struct sandbox_proof *proof)
{
    if (!SANDBOX_IS_BUILT)
        log_warn("app", "this build confines nothing: it is one for tests");
    else if (conf->is_unconfined)
        log_warn("app", "`sandbox: off`: whoever takes the gate over may do all that its user may");
    else if (!proof->files || !proof->calls)
        log_warn("app", "this kernel confines the gate in part only: files %s, ports %s, system calls %s",
                 proof->files ? "yes" : "NO", proof->ports ? "yes" : "NO", proof->calls ? "yes" : "NO");
    else
        log_info("app", "confined, as was tried: files%s, system calls, no executable memory (Landlock %d)",
                 proof->ports ? " and ports" : "", proof->landlock);
    if (user_is_root())
        log_warn("app", "the gate runs as root; name another user in its configuration, `user: callgate`");
}

/* Which program judges: the SHA-256 of its file, as `sha256sum callgate-gate` says it. Piece by piece, since the C library
 * keeps all large blocks of a process that has once given back one of megabytes. */
static void write_program(struct buf *out)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    char piece[PIECE_BYTES], hex[2 * DIGEST_BYTES];
    unsigned char whole[DIGEST_BYTES];
    struct digest digest;
    ssize_t len = -1;

    digest_init(&digest);
    while (fd >= 0 && (len = read(fd, piece, sizeof piece)) > 0)
        digest_add(&digest, piece, (size_t)len);
    if (fd >= 0)
        (void)close(fd);
    if (len != 0)
        return;
    digest_final(&digest, whole);
    num_hex(whole, sizeof whole, hex);
    (void)buf_addf(out, ",\"program\":\"%.*s\"", (int)sizeof hex, hex);
}

enum code serve__prepare(struct serve *serve, struct why *why)
{
    const struct conf *conf = serve->conf;
    struct sandbox_proof proof = {.landlock = 0};
    enum code code = CODE_OK;

    buf_init(&serve->confined, 16384);
    if (conf->user != NULL) {
        code = user_become(conf->user, why);
        if (code == CODE_OK)
            code = sandbox_harden(why); /* the change of user has made the process dumpable again */
        if (code == CODE_OK)
            code = check_user(conf, why);
        if (code == CODE_OK)
            warn_of_unreadable(conf, conf->path);
        for (size_t i = 0; i < conf->file_count && code == CODE_OK; i++)
            warn_of_unreadable(conf, conf->files[i]);
    }
    if (code == CODE_OK && !conf->is_unconfined) {
        code = set_rules(conf);
        if (code != CODE_OK)
            return why_set(why, code, "the gate cannot be confined: %s", code_text(code));
        code = sandbox_prove(&proof, why);
    }
    if (code != CODE_OK)
        return code;
    log_sandbox(conf, &proof);
    describe(&proof, &serve->confined);
    write_program(&serve->confined);
    buf_add_text(&serve->confined, ",\"configuration\":");
    serve__describe_conf(conf, &serve->confined);
    return CODE_OK;
}

enum code serve__confine(struct serve *serve, struct why *why)
{
    enum code code = user_drop_rights(why);

    if (code == CODE_OK && !serve->conf->is_unconfined)
        code = sandbox_enter(why);
    return code;
}

enum code serve__check_ports(const struct serve *serve, const struct conf *fresh, struct why *why)
{
    const char *url;

    if (serve->web == NULL && serve_asks(fresh))
        return why_set(why, CODE_INVALID, "%s: the gate asked nobody so far, and loads nothing to ask with when it runs; "
                       "restart it", fresh->path);
    for (size_t i = 0; i < fresh->name_count; i++)
        if (!sandbox_knows_port(fresh->names[i].port))
            return why_set(why, CODE_INVALID, "%s: the gate, as it has confined itself, connects to no port %u (%s); "
                           "restart it", fresh->path, fresh->names[i].port, fresh->names[i].host);
    for (size_t i = 0; asked_url(fresh->proxy, i, &url); i++)
        if (url != NULL && !sandbox_knows_port(identity_url_port(url)))
            return why_set(why, CODE_INVALID, "%s: the gate, as it has confined itself, connects to no port %u (%s); "
                           "restart it", fresh->path, identity_url_port(url), url);
    return CODE_OK;
}
