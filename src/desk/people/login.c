/* SPDX-License-Identifier: Apache-2.0 */
#include "people/login.h"

#include "base/num.h"
#include "json/doc.h"
#include "json/text.h"
#include "os/clock.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define RENEW_US INT64_C(60000000) /* before it ends */

/* Returns: false where nobody's home is known. */
static bool find_path(char path[PATH_MAX])
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int len = -1;

    if (state != NULL && state[0] == '/')
        len = snprintf(path, PATH_MAX, "%s/callgate/login.json", state);
    else if (home != NULL && home[0] == '/')
        len = snprintf(path, PATH_MAX, "%s/.local/state/callgate/login.json", home);
    return len > 0 && len < PATH_MAX;
}

/* Each folder of the path that is not there. */
static bool make_folders(const char *path)
{
    char folder[PATH_MAX];

    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        if (mkdir(folder, 0700) != 0 && errno != EEXIST)
            return false;
    }
    return true;
}

/* ---- the file ---- */

/* Takes: reading: whose the texts are, which the caller ends in any case. */
static enum code read_kept(struct json_text *reading, struct login_kept *kept, struct why *why)
{
    const struct json_node *root;
    struct buf text;
    char path[PATH_MAX];
    enum code code;

    *reading = (struct json_text){.root = NULL};
    *kept = (struct login_kept){.expires_us = 0};
    if (!find_path(path) || access(path, F_OK) != 0)
        return CODE_NOT_FOUND;
    buf_init(&text, LOGIN_BYTES);
    buf_wipes(&text);
    code = file_read(path, FILE_SECRET, LOGIN_BYTES, &text, why);
    if (code == CODE_OK && json_text_read(reading, buf_peek(&text), &json_file_rules, LOGIN_BYTES) != CODE_OK)
        code = why_set(why, CODE_INVALID, "%s cannot be read; `callgate login` writes it anew", path);
    buf_fini(&text);
    if (code != CODE_OK)
        return code;
    root = reading->root;
    *kept = (struct login_kept){
        .socket = json_member_text(root, "socket"), .key = json_member_text(root, "key"),
        .token = json_member_text(root, "token"), .refresh = json_member_text(root, "refresh"),
        .issuer = json_member_text(root, "issuer"), .client = json_member_text(root, "client"),
        .endpoint = json_member_text(root, "endpoint"), .ca = json_member_text(root, "ca"),
    };
    if (num_i64(json_member_text(root, "expires_us"), &kept->expires_us) != CODE_OK)
        kept->expires_us = 0;
    return CODE_OK;
}

enum code login_keep(const struct login_kept *kept, struct why *why)
{
    const struct {
        const char *key;
        struct span text;
    } texts[] = {
        {"socket", kept->socket}, {"key", kept->key}, {"token", kept->token}, {"refresh", kept->refresh},
        {"issuer", kept->issuer}, {"client", kept->client}, {"endpoint", kept->endpoint}, {"ca", kept->ca},
    };
    char path[PATH_MAX], expires[24];
    struct doc *doc = doc_object();
    struct buf out;
    enum code code;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].text.at != NULL)
            doc_text(doc, texts[i].key, texts[i].text);
    (void)snprintf(expires, sizeof expires, "%" PRId64, kept->expires_us);
    doc_text(doc, "expires_us", span_text(expires));
    buf_init(&out, LOGIN_BYTES); /* as much as is read again */
    buf_wipes(&out);
    code = doc_print(doc, &out);
    if (code == CODE_LIMIT)
        (void)why_set(why, code, "what the provider gave is longer than %zu bytes, and is not kept; ask for fewer claims or "
                      "scopes", LOGIN_BYTES);
    if (code == CODE_OK && (!find_path(path) || !make_folders(path)))
        code = why_set(why, CODE_IO, "there is no place for the login: neither XDG_STATE_HOME nor HOME names a folder of "
                       "yours");
    if (code == CODE_OK)
        code = file_replace(path, 0600, buf_peek(&out), why);
    buf_fini(&out);
    doc_free(&doc);
    return code;
}

enum code login_forget(struct why *why)
{
    char path[PATH_MAX];

    if (!find_path(path) || (unlink(path) != 0 && errno == ENOENT))
        return CODE_NOT_FOUND;
    return access(path, F_OK) != 0 ? CODE_OK : why_set(why, CODE_IO, "%s: %s", path, strerror(errno));
}

/* ---- what is shown ---- */

static const char *key_of_environment(void)
{
    const char *key = getenv(LOGIN_KEY);

    return key != NULL && key[0] != '\0' ? key : NULL;
}

bool login_is_there(const char *socket)
{
    struct json_text reading;
    struct login_kept kept;
    struct why why = {""};
    bool is_there = key_of_environment() != NULL;

    if (!is_there) {
        enum code code = read_kept(&reading, &kept, &why);

        is_there = code != CODE_NOT_FOUND && (code != CODE_OK || span_is(kept.socket, socket));
        json_text_fini(&reading);
    }
    return is_there;
}

/* A refresh token that is shown twice may end all that came of it: one command renews, others wait and read what it got.
 * Returns: what ends it when it is closed, or -1. */
static int lock_folder(void)
{
    char path[PATH_MAX], *slash;
    int fd;

    if (!find_path(path))
        return -1;
    slash = strrchr(path, '/');
    *slash = '\0';
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        (void)flock(fd, LOCK_EX);
    return fd;
}

static enum code renew(struct login_kept *kept, struct arena *texts, struct why *why)
{
    bool still_holds = kept->expires_us > clock_wall_us();
    enum code code;

    if (kept->refresh.at == NULL)
        return still_holds ? CODE_OK : why_set(why, CODE_DENIED, "your login has ended; give `callgate login` again");
    code = device_renew(kept, texts, why);
    if (code == CODE_OK)
        return login_keep(kept, why);
    return still_holds ? CODE_OK : code; /* it is good for a little while yet */
}

static bool is_due(const struct login_kept *kept)
{
    return kept->token.at != NULL && kept->expires_us - clock_wall_us() < RENEW_US;
}

enum code login_find(const char *socket, struct buf *login, struct why *why)
{
    struct json_text reading;
    struct login_kept kept;
    struct arena texts;
    int lock = -1;
    enum code code;

    if (key_of_environment() != NULL)
        return buf_add_text(login, key_of_environment());
    arena_init(&texts, 4 * LOGIN_BYTES);
    code = read_kept(&reading, &kept, why);
    if (code == CODE_OK && !span_is(kept.socket, socket))
        code = CODE_NOT_FOUND;
    if (code == CODE_OK && is_due(&kept)) {
        lock = lock_folder();
        json_text_fini(&reading);
        code = read_kept(&reading, &kept, why);
        if (code == CODE_OK && is_due(&kept))
            code = renew(&kept, &texts, why);
    }
    if (lock >= 0)
        (void)close(lock);
    if (code == CODE_OK)
        code = buf_put(login, kept.key.at != NULL ? kept.key : kept.token);
    json_text_fini(&reading);
    arena_fini(&texts);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}
