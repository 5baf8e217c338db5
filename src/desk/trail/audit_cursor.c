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

#define CURSOR_MAX_BYTES ((size_t)1 << 20)

static bool read_place(struct entry_place *place, const struct json_node *of)
{
    const struct json_node *hash = json_member(of, SPAN_LIT("hash"));

    if (!json_member_number(of, "seq", 0, INT64_MAX, &place->seq) || hash == NULL || hash->type != JSON_STRING)
        return false;
    place->is_known = place->seq > 0;
    return num_unhex(hash->text, place->hash, DIGEST_BYTES) == CODE_OK;
}

struct entry_place *audit_cursor_of(struct audit_cursor *cursor, struct span node)
{
    struct audit_cursor_node *made;

    for (size_t i = 0; i < cursor->node_count; i++)
        if (span_is(node, cursor->nodes[i].name))
            return &cursor->nodes[i].place;
    if (cursor->nodes == NULL)
        cursor->nodes = mem_zalloc(AUDIT_CURSOR_NODES * sizeof *made);
    if (cursor->nodes == NULL || cursor->node_count == AUDIT_CURSOR_NODES || node.len >= sizeof made->name)
        return NULL;
    made = &cursor->nodes[cursor->node_count++];
    memcpy(made->name, node.at, node.len);
    return &made->place;
}

static bool read_nodes(struct audit_cursor *cursor, const struct json_node *root)
{
    const struct json_node *nodes = json_member(root, SPAN_LIT("nodes"));

    if (nodes == NULL || nodes->type != JSON_OBJECT)
        return false;
    for (const struct json_node *node = nodes->child; node != NULL; node = node->next) {
        struct entry_place *place = audit_cursor_of(cursor, node->key);

        if (place == NULL || !read_place(place, node))
            return false;
    }
    return true;
}

static bool read_members(struct audit_cursor *cursor, const struct json_node *root)
{
    return json_member_number(root, "output_inode", 0, INT64_MAX, &cursor->output_inode) &&
           json_member_number(root, "output_bytes", 0, INT64_MAX, &cursor->output_bytes) &&
           (cursor->of_fleet ? read_nodes(cursor, root) : read_place(&cursor->place, root));
}

static enum code parse(struct audit_cursor *cursor, struct span text, struct why *why)
{
    struct json_text read;
    enum code code = json_text_read(&read, text, &json_file_rules, CURSOR_MAX_BYTES);

    if (code == CODE_INVALID || code == CODE_LIMIT || (code == CODE_OK && !read_members(cursor, read.root)))
        code = why_set(why, CODE_INVALID, "%s: is no cursor of an export of %s; name another file", cursor->path,
                       cursor->of_fleet ? "a fleet" : "a gate's files");
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

enum code audit_cursor_open(struct audit_cursor *cursor, const char *path, bool of_fleet, struct why *why)
{
    struct buf text;
    struct why missing = {""};
    enum code code;

    *cursor = (struct audit_cursor){.path = path, .lock_fd = -1, .of_fleet = of_fleet};
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

static void write_place(struct buf *text, const struct entry_place *place)
{
    char hash[2 * DIGEST_BYTES];

    num_hex(place->hash, DIGEST_BYTES, hash);
    buf_addf(text, "\"seq\":%" PRId64 ",\"hash\":\"%.*s\"", place->seq, (int)sizeof hash, hash);
}

enum code audit_cursor_save(const struct audit_cursor *cursor, struct why *why)
{
    struct buf text;
    enum code code;

    if (cursor->path == NULL)
        return CODE_OK;
    buf_init(&text, CURSOR_MAX_BYTES);
    buf_add_byte(&text, '{');
    if (!cursor->of_fleet)
        write_place(&text, &cursor->place);
    else
        buf_add_text(&text, "\"nodes\":{");
    for (size_t i = 0; i < cursor->node_count; i++) {
        buf_addf(&text, "%s\"%s\":{", i == 0 ? "" : ",", cursor->nodes[i].name); /* whose names need no escapes */
        write_place(&text, &cursor->nodes[i].place);
        buf_add_byte(&text, '}');
    }
    buf_addf(&text, "%s,\"output_inode\":%" PRId64 ",\"output_bytes\":%" PRId64 "}\n", cursor->of_fleet ? "}" : "",
             cursor->output_inode, cursor->output_bytes);
    code = buf_code(&text);
    code = code == CODE_OK ? file_replace(cursor->path, 0640, buf_peek(&text), why) : why_set(why, code, "%s", code_text(code));
    buf_fini(&text);
    return code;
}

void audit_cursor_close(struct audit_cursor *cursor)
{
    if (cursor->lock_fd >= 0)
        (void)close(cursor->lock_fd);
    cursor->lock_fd = -1;
    mem_free(cursor->nodes);
    cursor->nodes = NULL;
    cursor->node_count = 0;
}
