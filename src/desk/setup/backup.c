/* SPDX-License-Identifier: Apache-2.0 */
#include "setup/backup.h"

#include "args/command.h"
#include "args/print.h"
#include "base/num.h"
#include "json/doc.h"
#include "json/text.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT 1
#define MANIFEST "manifest.json"
#define MANIFEST_BYTES ((size_t)4 << 20)
#define CHUNK_BYTES 65536

static const char *const parts[BACKUP_PARTS] = {"named", "configuration", "store", "audit", "trail", "checkpoints",
                                                "public_key"};

/* ---- names ------------------------------------------------------------------------------------------------------- */

static const char *join(struct backup *backup, const char *first, const char *second)
{
    size_t size = strlen(first) + strlen(second) + 1;
    char *out = arena_alloc(&backup->arena, size);

    if (out != NULL)
        (void)snprintf(out, size, "%s%s", first, second);
    return out;
}

/* A path without links in its folder. Where it is a link itself it stays one. */
static enum code settle_path(const char *path, char out[PATH_MAX], struct why *why)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    char folder[PATH_MAX], real[PATH_MAX];
    int len = slash == NULL ? snprintf(folder, sizeof folder, ".")
                            : snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);

    if (len >= (int)sizeof folder || realpath(folder, real) == NULL)
        return why_set(why, CODE_IO, "%s: its folder cannot be found: %s", path, strerror(errno));
    len = snprintf(out, PATH_MAX, "%s%s%s", real, strcmp(real, "/") == 0 ? "" : "/", base);
    return len < PATH_MAX ? CODE_OK : why_set(why, CODE_LIMIT, "%s: the path is too long", path);
}

enum code backup_init(struct backup *backup, const char *folder, const char *config, struct why *why)
{
    char path[PATH_MAX];
    enum code code = settle_path(config, path, why);

    backup->folder = folder;
    backup->count = 0;
    backup->made = backup->by = "";
    arena_init(&backup->arena, SIZE_MAX);
    if (code != CODE_OK)
        return code;
    *strrchr(path, '/') = '\0';
    backup->here = arena_dup(&backup->arena, path, strlen(path));
    return backup->here != NULL ? CODE_OK : why_set(why, CODE_NOMEM, "%s", code_text(CODE_NOMEM));
}

void backup_fini(struct backup *backup)
{
    arena_fini(&backup->arena);
}

const char *backup_inside(struct backup *backup, const char *name)
{
    const char *folder = join(backup, backup->folder, "/");

    return folder != NULL ? join(backup, folder, name) : NULL;
}

const char *backup_outside(struct backup *backup, const char *name)
{
    return strncmp(name, "here", 4) == 0 ? join(backup, backup->here, name + 4) : join(backup, "", name + 4);
}

static const char *name_of(struct backup *backup, const char *path)
{
    size_t len = strlen(backup->here);
    bool is_here = strncmp(path, backup->here, len) == 0 && path[len] == '/';

    return join(backup, is_here ? "here" : "root", path + (is_here ? len : 0));
}

/* One that leads to where it says: no step up, no empty one. */
static bool is_name(struct span name)
{
    struct span rest = name;
    bool is_first = true;

    if (name.len >= BACKUP_NAME_BYTES || memchr(name.at, '\0', name.len) != NULL)
        return false;
    do {
        struct span step = span_cut(rest, '/', &rest);

        if (step.len == 0 || span_is(step, ".") || span_is(step, "..") ||
            (is_first && ((!span_is(step, "here") && !span_is(step, "root")) || rest.len == 0)))
            return false;
        is_first = false;
    } while (rest.len > 0);
    return name.at[name.len - 1] != '/';
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static const char *user_name(uid_t uid)
{
    const struct passwd *user = getpwuid(uid);

    return user != NULL ? user->pw_name : "";
}

static const char *group_name(gid_t gid)
{
    const struct group *group = getgrgid(gid);

    return group != NULL ? group->gr_name : "";
}

enum code backup_add(struct backup *backup, enum backup_part part, const char *path, struct backup_file **file, struct why *why)
{
    struct backup_file made = {.part = part};
    char settled[PATH_MAX];
    struct stat there;
    enum code code = settle_path(path, settled, why);

    *file = NULL;
    if (code != CODE_OK)
        return code;
    if ((part == BACKUP_AUDIT ? lstat(settled, &there) : stat(settled, &there)) != 0)
        return why_set(why, errno == ENOENT ? CODE_NOT_FOUND : CODE_IO, "%s: %s", settled, strerror(errno));
    made.name = name_of(backup, settled);
    for (size_t i = 0; made.name != NULL && i < backup->count; i++)
        if (strcmp(backup->files[i].name, made.name) == 0)
            return CODE_OK;
    if (backup->count == BACKUP_FILES_MAX)
        return why_set(why, CODE_LIMIT, "more than %d files belong to the gate; take sealed files of its trail elsewhere first",
                       BACKUP_FILES_MAX);
    made.mode = there.st_mode & 0777;
    made.owner = arena_dup(&backup->arena, user_name(there.st_uid), strlen(user_name(there.st_uid)));
    made.group = arena_dup(&backup->arena, group_name(there.st_gid), strlen(group_name(there.st_gid)));
    if (made.name == NULL || made.owner == NULL || made.group == NULL)
        return why_set(why, CODE_NOMEM, "%s", code_text(CODE_NOMEM));
    *file = &backup->files[backup->count++];
    **file = made;
    return CODE_OK;
}

const struct backup_file *backup_find(const struct backup *backup, enum backup_part part)
{
    for (size_t i = 0; i < backup->count; i++)
        if (backup->files[i].part == part)
            return &backup->files[i];
    return NULL;
}

/* Reads a regular file to its end; into `to` too, where that is a descriptor. Returns: false, with errno. */
static bool pass_on(int from, int to, struct digest *digest, uint64_t *bytes)
{
    char chunk[CHUNK_BYTES];
    ssize_t len;

    for (*bytes = 0; (len = read(from, chunk, sizeof chunk)) != 0;) {
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0)
            break;
        for (ssize_t at = 0, sent; to >= 0 && at < len; at += sent)
            if ((sent = write(to, chunk + at, (size_t)(len - at))) < 0)
                return false;
        digest_add(digest, chunk, (size_t)len);
        *bytes += (uint64_t)len;
    }
    mem_wipe(chunk, sizeof chunk); /* keys are among what is copied */
    return len == 0;
}

static int open_regular(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat there;

    if (fd >= 0 && (fstat(fd, &there) != 0 || !S_ISREG(there.st_mode))) {
        (void)close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

int backup_begin_folder(const char *folder, char part[PATH_MAX])
{
    if (folder[0] == '\0')
        return complain(STATUS_USAGE, "name a new folder; this is an empty name");
    if (snprintf(part, PATH_MAX, "%s.part", folder) >= PATH_MAX)
        return complain(STATUS_USAGE, "%s: the path is too long", folder);
    if (access(folder, F_OK) == 0)
        return complain(STATUS_CANNOT, "%s exists already; name a new folder", folder);
    if (mkdir(part, 0700) != 0)
        return complain(STATUS_CANNOT, "%s cannot be made: %s%s", part, strerror(errno),
                        errno == EEXIST ? "; it is being made there, or was left when that was stopped: then remove it" : "");
    return OPTIONS_GO;
}

enum code backup_end_folder(const char *part, const char *folder, struct why *why)
{
    return rename(part, folder) == 0 && file_sync_folder(folder)
               ? CODE_OK
               : why_set(why, CODE_IO, "%s: %s", folder, strerror(errno));
}

enum code backup_digest(const char *path, uint64_t *bytes, unsigned char sha256[DIGEST_BYTES], struct why *why)
{
    struct digest digest;
    int fd = open_regular(path);
    bool done;

    digest_init(&digest);
    done = fd >= 0 && pass_on(fd, -1, &digest, bytes);
    digest_final(&digest, sha256);
    if (!done)
        (void)why_set(why, CODE_IO, "%s cannot be read: %s", path, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return done ? CODE_OK : CODE_IO;
}

enum code backup_copy(const char *from, const char *to, unsigned mode, struct why *why)
{
    struct digest digest;
    uint64_t bytes;
    int in = open_regular(from), out = -1;
    bool is_read = in >= 0, done;

    digest_init(&digest);
    if (is_read)
        out = file_make(to, O_WRONLY | O_EXCL, 0600);
    done = out >= 0 && pass_on(in, out, &digest, &bytes) && fchmod(out, (mode_t)mode) == 0 && fsync(out) == 0 &&
           file_sync_folder(to);
    if (!done)
        (void)why_set(why, CODE_IO, "%s cannot be copied%s%s: %s", from, is_read ? " to " : "", is_read ? to : "",
                      strerror(errno));
    if (in >= 0)
        (void)close(in);
    if (out >= 0)
        (void)close(out);
    if (out >= 0 && !done)
        (void)unlink(to);
    return done ? CODE_OK : CODE_IO;
}

enum code backup_lead(const char *path, struct why *why)
{
    char folder[PATH_MAX];

    if ((size_t)snprintf(folder, sizeof folder, "%s", path) >= sizeof folder)
        return why_set(why, CODE_LIMIT, "%s: the path is too long", path);
    for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0700) != 0 && errno != EEXIST)
            return why_set(why, CODE_IO, "%s: cannot be made: %s", folder, strerror(errno));
        *slash = '/';
    }
    return CODE_OK;
}

/* ---- the manifest ------------------------------------------------------------------------------------------------ */

static void write_file(struct doc *files, const struct backup_file *file)
{
    struct doc *one = doc_add_object(files, NULL);
    char hex[2 * DIGEST_BYTES];

    doc_text(one, "name", span_text(file->name));
    doc_text(one, "part", span_text(parts[file->part]));
    doc_text(one, "owner", span_text(file->owner));
    doc_text(one, "group", span_text(file->group));
    if (file->link != NULL) {
        doc_text(one, "link", span_text(file->link));
        return;
    }
    num_hex(file->sha256, DIGEST_BYTES, hex);
    doc_int(one, "mode", file->mode);
    doc_int(one, "bytes", (int64_t)file->bytes);
    doc_text(one, "sha256", span_of(hex, sizeof hex));
}

enum code backup_write_manifest(struct backup *backup, struct why *why)
{
    const char *path = backup_inside(backup, MANIFEST);
    struct doc *doc = doc_object(), *files;
    struct buf text;
    enum code code;

    doc_int(doc, "callgate_backup", FORMAT);
    doc_text(doc, "version", span_text(CALLGATE_VERSION));
    doc_text(doc, "made", span_text(backup->made));
    doc_text(doc, "by", span_text(backup->by));
    doc_text(doc, "folder", span_text(backup->here));
    files = doc_add_array(doc, "files");
    for (size_t i = 0; i < backup->count; i++)
        write_file(files, &backup->files[i]);
    buf_init(&text, MANIFEST_BYTES);
    code = doc_print(doc, &text);
    doc_free(&doc);
    if (code != CODE_OK || path == NULL)
        (void)why_set(why, CODE_NOMEM, "%s", code_text(CODE_NOMEM));
    else
        code = file_create(path, 0600, buf_peek(&text), why);
    buf_fini(&text);
    return code;
}

static const char *read_text(struct backup *backup, const struct json_node *one, const char *key)
{
    struct span text = json_member_text(one, key);

    return text.at != NULL ? arena_dup(&backup->arena, text.at, text.len) : NULL;
}

static bool read_file(struct backup *backup, const struct json_node *one)
{
    struct backup_file file = {.part = BACKUP_PARTS};
    struct span name = json_member_text(one, "name"), part = json_member_text(one, "part");
    int64_t mode = 0, bytes = 0;

    for (size_t i = 0; i < BACKUP_PARTS; i++)
        if (span_is(part, parts[i]))
            file.part = (enum backup_part)i;
    file.name = read_text(backup, one, "name");
    file.link = read_text(backup, one, "link");
    file.owner = read_text(backup, one, "owner");
    file.group = read_text(backup, one, "group");
    if (backup->count == BACKUP_FILES_MAX || file.part == BACKUP_PARTS || file.name == NULL || !is_name(name) ||
        file.owner == NULL || file.group == NULL)
        return false;
    if (file.link == NULL &&
        (!json_member_number(one, "mode", 0, 0777, &mode) || !json_member_number(one, "bytes", 0, INT64_MAX, &bytes) ||
         num_unhex(json_member_text(one, "sha256"), file.sha256, DIGEST_BYTES) != CODE_OK))
        return false;
    if (file.link != NULL && (file.part != BACKUP_AUDIT || *file.link == '\0' || strchr(file.link, '/') != NULL))
        return false; /* beside itself, as the gate makes it */
    file.mode = (unsigned)mode & ~022u; /* who else might write it has opened its mode: db_check_modes */
    file.bytes = (uint64_t)bytes;
    backup->files[backup->count++] = file;
    return true;
}

static bool read_all(struct backup *backup, const struct json_node *root)
{
    const struct json_node *files = json_member(root, SPAN_LIT("files"));
    int64_t format;
    bool done = json_member_number(root, "callgate_backup", FORMAT, FORMAT, &format) && files != NULL &&
                files->type == JSON_ARRAY;

    for (const struct json_node *one = done ? files->child : NULL; one != NULL && done; one = one->next)
        done = one->type == JSON_OBJECT && read_file(backup, one);
    backup->made = done ? read_text(backup, root, "made") : NULL;
    backup->by = done ? read_text(backup, root, "by") : NULL;
    return backup->made != NULL && backup->by != NULL && backup_find(backup, BACKUP_CONFIGURATION) != NULL &&
           backup_find(backup, BACKUP_STORE) != NULL;
}

enum code backup_read_manifest(struct backup *backup, struct why *why)
{
    const char *path = backup_inside(backup, MANIFEST);
    struct json_text read = {.root = NULL};
    struct buf text;
    enum code code;

    buf_init(&text, MANIFEST_BYTES);
    code = path != NULL ? file_read(path, FILE_ANY, MANIFEST_BYTES, &text, why) : CODE_NOMEM;
    if (code == CODE_OK)
        code = json_text_read(&read, buf_peek(&text), &json_file_rules, MANIFEST_BYTES);
    else
        (void)why_before(why, code, "%s is no backup: ", backup->folder);
    if (code == CODE_OK ? !read_all(backup, read.root) : code == CODE_INVALID)
        code = why_set(why, CODE_INVALID, "%s is not as `callgate backup` of this version writes it; take an undamaged "
                       "backup", path);
    json_text_fini(&read);
    buf_fini(&text);
    return code;
}
