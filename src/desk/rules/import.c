/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/import.h"

#include "base/ascii.h"

#include <stdio.h>
#include <string.h>

#define ARENA_BYTES ((size_t)64 << 20)
#define ENTRIES_MOST 4096
#define NAME_BYTES 128

void import_init(struct import *import)
{
    *import = (struct import){.doc = doc_object()};
    import->left_out = doc_add_array(import->doc, "left_out");
    arena_init(&import->arena, ARENA_BYTES);
}

void import_fini(struct import *import)
{
    doc_free(&import->doc);
    arena_fini(&import->arena);
}

void import_leave(struct import *import, struct span from, const char *why)
{
    struct doc *one = doc_add_object(import->left_out, NULL);

    doc_text(one, "from", from);
    doc_text(one, "why", span_text(why));
    import->left_out_count++;
}

bool import_is_name(struct span name)
{
    return name.len > 0 && name.len <= NAME_BYTES && ascii_is_all(name, "a-zA-Z0-9_.*@/:-");
}

static bool is_there(const struct import *import, const struct import_entry *entry)
{
    for (size_t i = 0; i < import->count; i++)
        if (import->entries[i].effect == entry->effect && span_equals(import->entries[i].server, entry->server) &&
            span_equals(import->entries[i].tool, entry->tool))
            return true;
    return false;
}

void import_add(struct import *import, enum import_effect effect, struct span server, struct span tool, struct span from)
{
    struct import_entry entry = {effect, server, tool, from};

    if (!import_is_name(server) || (tool.len > 0 && !import_is_name(tool))) {
        /* Leaving out a denial would allow more: so it is as wide as can be said. */
        if (effect == IMPORT_ALLOW) {
            import_leave(import, from, "its names hold what has another meaning in a policy, or are too long");
            return;
        }
        import_leave(import, from, "its names hold what has another meaning in a policy: more is denied or asked for");
        entry.server = import_is_name(server) ? server : SPAN_LIT("*");
        entry.tool = SPAN_LIT("");
    }
    if (import->code != CODE_OK || is_there(import, &entry))
        return;
    if (import->entries == NULL)
        import->entries = arena_zalloc(&import->arena, ENTRIES_MOST * sizeof *import->entries);
    if (import->entries == NULL || import->count == ENTRIES_MOST) {
        import->code = import->entries == NULL ? CODE_NOMEM : CODE_LIMIT;
        return;
    }
    import->code = arena_keep(&import->arena, entry.server, &entry.server);
    if (import->code == CODE_OK && entry.tool.len > 0)
        import->code = arena_keep(&import->arena, entry.tool, &entry.tool);
    if (import->code == CODE_OK)
        import->code = arena_keep(&import->arena, entry.from, &entry.from);
    import->entries[import->count++] = entry;
}

/* ---- the draft ---- */

/* A comment ends with its line, whatever stands in the file. */
static void add_comment(struct buf *out, struct span text)
{
    for (size_t i = 0; i < text.len && i < 100; i++)
        (void)buf_add_byte(out, text.at[i] >= ' ' && text.at[i] <= '~' ? text.at[i] : '?');
    (void)buf_add_byte(out, '\n');
}

static bool is_whole(const struct import_entry *entry)
{
    return entry->tool.len == 0 || span_is(entry->tool, "*");
}

/* What is denied of a whole server is a rule: `deny` names tools, and a server does more than call them. */
static bool stands_in(const struct import_entry *entry, enum import_effect effect)
{
    return entry->effect == effect && !(effect == IMPORT_DENY && is_whole(entry));
}

static bool is_first(const struct import *import, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (stands_in(&import->entries[i], import->entries[at].effect) &&
            span_equals(import->entries[i].server, import->entries[at].server))
            return false;
    return true;
}

static void write_map(const struct import *import, enum import_effect effect, const char *word, struct buf *out)
{
    bool any = false;

    for (size_t i = 0; i < import->count; i++) {
        if (!stands_in(&import->entries[i], effect) || !is_first(import, i))
            continue;
        buf_addf(out, "%s%s  '%.*s':\n    everyone:\n", any ? "" : word, any ? "" : ":\n", SPAN_ARG(import->entries[i].server));
        any = true;
        for (size_t j = i; j < import->count; j++) {
            const struct import_entry *entry = &import->entries[j];

            if (!stands_in(entry, effect) || !span_equals(entry->server, import->entries[i].server))
                continue;
            buf_addf(out, "      - '%.*s' # ", SPAN_ARG(is_whole(entry) ? SPAN_LIT("*") : entry->tool));
            add_comment(out, entry->from);
        }
    }
}

static void write_rules(const struct import *import, const char *name, struct buf *out)
{
    unsigned number = 0;

    for (size_t i = 0; i < import->count; i++) {
        const struct import_entry *entry = &import->entries[i];

        if (entry->effect != IMPORT_DENY || !is_whole(entry))
            continue;
        buf_addf(out, "%s  - {id: %s.whole.%u, effect: forbid, match: {upstreams: ['%.*s']}} # ", number == 0 ? "rules:\n" : "",
                 name, number + 1, SPAN_ARG(entry->server));
        number++;
        add_comment(out, entry->from);
    }
}

enum code import_write(const struct import *import, const char *name, const char *file, struct buf *out)
{
    buf_add_text(out, "# A draft by `callgate policy import` from ");
    add_comment(out, span_text(file));
    buf_add_text(out, "# Servers are called as that file calls them: call them as your routes are called.\n"
                      "# What no line allows is denied.\n");
    buf_addf(out, "policy: %s\n", name);
    write_map(import, IMPORT_ALLOW, "allow", out);
    write_map(import, IMPORT_ASK, "ask", out);
    write_map(import, IMPORT_DENY, "deny", out);
    write_rules(import, name, out);
    return buf_code(out);
}
