/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/audit_cursor.h"

#include "base/mem.h"
#include "base/num.h"
#include "json/text.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define CURSOR_MAX_BYTES 4096

static bool read_number(const struct json_node *root, const char *key, uint64_t *number)
{
    const struct json_node *node = json_member(root, span_text(key));

    return node != NULL && node->type == JSON_NUMBER && num_u64(node->raw, number) == CODE_OK && *number <= INT64_MAX;
}

static bool read_members(struct audit_cursor *cursor, const struct json_node *root)
{
    const struct json_node *hash = json_member(root, SPAN_LIT("hash"));
    uint64_t seq;

    if (root->type != JSON_OBJECT || !read_number(root, "seq", &seq) || hash == NULL || hash->type != JSON_STRING ||
        !read_number(root, "output_inode", &cursor->output_inode) || !read_number(root, "output_bytes", &cursor->output_bytes))
        return false;
    cursor->place.seq = (int64_t)seq;
    cursor->place.is_known = seq > 0;
    return num_unhex(hash->text, cursor->place.hash, DIGEST_BYTES) == CODE_OK;
}

static enum code parse(struct audit_cursor *cursor, struct span text, struct why *why)
{
    struct json_text read;
    enum code code = json_text_read(&read, text, &json_file_rules, CURSOR_MAX_BYTES);

    if (code == CODE_INVALID || code == CODE_LIMIT || (code == CODE_OK && !read_members(cursor, read.root)))
        code = why_set(why, CODE_INVALID, "%s: is no cursor of an export; name another file", cursor->path);
    json_text_fini(&read);
    return code;
}

static enum code take_lock(struct audit_cursor *cursor, struct why *why)
{
    char path[4096];

    if ((size_t)snprintf(path, sizeof path, "%s.lock", cursor->path) >= sizeof path)
        return why_set(why, CODE_INVALID, "%s: the name is too long", cursor->path);
    cursor->lock_fd = file_make(path, O_RDWR, 0640);
    if (cursor->lock_fd < 0)
        return why_set(why, CODE_IO, "%s: %s", path, strerror(errno));
    if (flock(cursor->lock_fd, LOCK_EX | LOCK_NB) != 0)
        return why_set(why, CODE_BUSY, "%s: another export uses this cursor at the moment", cursor->path);
    return CODE_OK;
}

enum code audit_cursor_open(struct audit_cursor *cursor, const char *path, struct why *why)
{
    struct buf text;
    struct why missing = {""};
    enum code code;

    *cursor = (struct audit_cursor){.path = path, .lock_fd = -1};
    if (path == NULL)
        return CODE_OK;
    code = take_lock(cursor, why);
    if (code != CODE_OK)
        return code;
    buf_init(&text, CURSOR_MAX_BYTES);
    code = file_read(path, FILE_ANY, CURSOR_MAX_BYTES, &text, &missing);
    if (code == CODE_NOT_FOUND)
        code = CODE_OK;
    else if (code != CODE_OK)
        (void)why_set(why, code, "%s", missing.text);
    else
        code = parse(cursor, buf_peek(&text), why);
    buf_fini(&text);
    return code;
}

enum code audit_cursor_save(const struct audit_cursor *cursor, struct why *why)
{
    char text[320], hash[2 * DIGEST_BYTES];
    int len;

    if (cursor->path == NULL)
        return CODE_OK;
    num_hex(cursor->place.hash, DIGEST_BYTES, hash);
    len = snprintf(text, sizeof text, "{\"seq\":%" PRId64 ",\"hash\":\"%.*s\",\"output_inode\":%" PRIu64 ","
                   "\"output_bytes\":%" PRIu64 "}\n", cursor->place.seq, (int)sizeof hash, hash, cursor->output_inode,
                   cursor->output_bytes);
    return file_replace(cursor->path, 0640, span_of(text, (size_t)len), why);
}

void audit_cursor_close(struct audit_cursor *cursor)
{
    if (cursor->lock_fd >= 0)
        (void)close(cursor->lock_fd);
    cursor->lock_fd = -1;
}
