/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/change.h"

#include "fleet/signed.h"

#include "base/num.h"
#include "json/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CONTEXT "callgate fleet change 1\n"
#define BY_BYTES 256
#define KIND_BYTES 32

/* ---- names ---- */

static bool is_of(struct span text, const char *letters, size_t most)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] == '\0' || strchr(letters, text.at[i]) == NULL)
            return false;
    return text.len > 0 && text.len <= most;
}

static bool has_names(const struct change *change)
{
    return is_of(change->fleet, "0123456789abcdef", CHANGE_FLEET_DIGITS) && change->fleet.len == CHANGE_FLEET_DIGITS &&
           is_of(change->node, "abcdefghijklmnopqrstuvwxyz0123456789-", CHANGE_NODE_BYTES) && change->node.at[0] != '-' &&
           is_of(change->kind, "abcdefghijklmnopqrstuvwxyz_", KIND_BYTES) && change->by.len > 0 && change->by.len <= BY_BYTES;
}

/* ---- written ---- */

static enum code write_draft(const struct change *change, struct span rows, struct buf *out)
{
    char hex[2 * DIGEST_BYTES];

    num_hex(change->previous, DIGEST_BYTES, hex);
    (void)buf_add_text(out, "{\"by\":");
    (void)json_write_string(out, change->by);
    (void)buf_addf(out, ",\"fleet\":\"%.*s\",\"kind\":\"%.*s\",\"node\":\"%.*s\",\"number\":%" PRId64 ",\"outbox\":%" PRId64
                   ",\"previous\":\"%.*s\",\"rows\":", SPAN_ARG(change->fleet), SPAN_ARG(change->kind), SPAN_ARG(change->node),
                   change->number, change->outbox, (int)sizeof hex, hex);
    (void)buf_add_span(out, rows);
    return buf_addf(out, ",\"time_us\":%" PRId64 "}", change->time_us);
}

enum code change_write(const struct change *change, struct span rows, struct buf *out, struct why *why)
{
    struct json_text text = {.root = NULL};
    struct buf draft;
    enum code code;

    if (!has_names(change))
        return why_set(why, CODE_INVALID, "a change names its fleet, its node, its kind and who decided; one of them is no "
                       "such name");
    buf_init(&draft, 2 * CHANGE_TEXT_BYTES);
    code = write_draft(change, rows, &draft);
    if (code == CODE_OK)
        code = json_text_read(&text, buf_peek(&draft), &json_file_rules, CHANGE_TEXT_BYTES);
    if (code == CODE_OK)
        code = json_canonical(text.root, out);
    if (code == CODE_OK && buf_len(out) > CHANGE_TEXT_BYTES)
        code = CODE_LIMIT;
    json_text_fini(&text);
    buf_fini(&draft);
    return code == CODE_OK ? code : why_set(why, code, "the change cannot be written: %s; a change has %zu MiB at most",
                                            code_text(code), CHANGE_TEXT_BYTES >> 20);
}

/* ---- read ---- */

static bool has_rows(const struct json_node *rows)
{
    if (rows == NULL || rows->type != JSON_OBJECT || rows->count == 0)
        return false;
    for (const struct json_node *table = rows->child; table != NULL; table = table->next) {
        if (table->type != JSON_ARRAY || table->count == 0)
            return false;
        for (const struct json_node *row = table->child; row != NULL; row = row->next)
            if (row->type != JSON_OBJECT)
                return false;
    }
    return true;
}

#define MEMBERS 9

static bool read_members(const struct json_node *root, struct change *change)
{
    struct span previous = json_member_text(root, "previous");

    change->by = json_member_text(root, "by");
    change->fleet = json_member_text(root, "fleet");
    change->kind = json_member_text(root, "kind");
    change->node = json_member_text(root, "node");
    change->rows = json_member(root, SPAN_LIT("rows"));
    return root->type == JSON_OBJECT && root->count == MEMBERS && has_names(change) && has_rows(change->rows) &&
           json_member_number(root, "number", 1, CHANGE_NUMBER_MAX, &change->number) &&
           json_member_number(root, "outbox", 0, CHANGE_NUMBER_MAX, &change->outbox) &&
           json_member_number(root, "time_us", 0, CHANGE_NUMBER_MAX, &change->time_us) &&
           is_of(previous, "0123456789abcdef", 2 * DIGEST_BYTES) &&
           num_unhex(previous, change->previous, DIGEST_BYTES) == CODE_OK;
}

/* Whether it is the one text that this document has. */
static bool is_canonical(const struct json_node *root, struct span text)
{
    struct buf canonical;
    bool is;

    buf_init(&canonical, CHANGE_TEXT_BYTES);
    is = json_canonical(root, &canonical) == CODE_OK && span_equals(buf_peek(&canonical), text);
    buf_fini(&canonical);
    return is;
}

enum code change_read(struct span text, struct arena *arena, struct buf *bytes, struct change *change, struct why *why)
{
    const struct json_node *root;
    struct json_fault fault;
    enum code code = json_read(text, &json_file_rules, bytes, arena, &root, &fault);

    *change = (struct change){.text = text};
    if (code != CODE_OK)
        return why_set(why, code == CODE_NOMEM ? code : CODE_INVALID, "the change is no JSON that can be read, at byte %zu: %s",
                       fault.offset, fault.text);
    if (!is_canonical(root, text))
        return why_set(why, CODE_INVALID, "the change is not in its canonical form (RFC 8785), so it was written by no node");
    if (!read_members(root, change))
        return why_set(why, CODE_INVALID, "the change lacks a member, has another one, or one that is not what it should be");
    digest_of(text, change->hash);
    return CODE_OK;
}

/* ---- signed ---- */

enum code change_sign(struct span text, const struct sign_key *key, unsigned char signature[SIGN_BYTES])
{
    return signed_make(CONTEXT, text, key, signature);
}

bool change_is_signed(struct span text, struct span signature, const unsigned char key[SIGN_PUBLIC_BYTES])
{
    return signed_is_good(CONTEXT, text, signature, key);
}

/* ---- in its place ---- */

enum code change_goes_on(const struct change *change, struct span fleet, int64_t number, const unsigned char hash[DIGEST_BYTES],
                         struct why *why)
{
    if (!span_equals(change->fleet, fleet))
        return why_set(why, CODE_INVALID, "change %" PRId64 " is of fleet %.*s, and this node is of %.*s", change->number,
                       SPAN_ARG(change->fleet), SPAN_ARG(fleet));
    if (change->number != number + 1)
        return why_set(why, CODE_INVALID, "change %" PRId64 " came where %" PRId64 " is next", change->number, number + 1);
    if (memcmp(change->previous, hash, DIGEST_BYTES) != 0)
        return why_set(why, CODE_INVALID, "change %" PRId64 " does not go on from change %" PRId64 " as this node has it",
                       change->number, number);
    return CODE_OK;
}
