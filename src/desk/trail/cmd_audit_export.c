/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/audit_centre.h"
#include "trail/audit_cursor.h"
#include "trail/audit_filter.h"
#include "query/audit_form.h"
#include "trail/audit_out.h"
#include "trail/cmd_audit_priv.h"
#include "args/print.h"
#include "cli/csv.h"
#include "unicode/terminal.h"

#include "base/mem.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_BYTES ((size_t)64 << 20)
#define FOLLOW_MS 1000

enum form { FORM_JSON = 0, FORM_CSV, FORM_OCSF, FORM_CEF, FORM_SQLITE };

struct exporting {
    const struct asked *asked;
    int missing;   /* STATUS_NEGATIVE: rows that are not here were passed over */
    enum form form;
    struct query query;
    struct audit_cursor cursor;
    struct centre *centre; /* NULL: the files of a gate are asked */
    struct buf nodes;      /* of the fleet, their names, each behind its length in one byte */
    FILE *output;
    bool titled; /* CSV: the line of names is there */
    struct buf line, safe;
};

/* ---- one row ---- */

static const char *const *columns_of(const struct exporting *e)
{
    return e->centre != NULL ? centre_entry_columns() : entry_columns();
}

static void csv_titles(struct exporting *e)
{
    for (const char *const *name = columns_of(e); *name != NULL; name++)
        buf_addf(&e->safe, "%s%s", name == columns_of(e) ? "" : ",", *name);
    buf_add_text(&e->safe, "\r\n");
}

static bool is_number(const struct query_row *row, const char *name)
{
    for (int i = 0; i < row->count; i++)
        if (strcmp(row->names[i], name) == 0)
            return row->values[i].is_number;
    return false;
}

static void csv(struct exporting *e, const struct query_row *row)
{
    if (!e->titled)
        csv_titles(e);
    e->titled = true;
    for (const char *const *name = columns_of(e); *name != NULL; name++) {
        if (name != columns_of(e))
            buf_add_byte(&e->safe, ',');
        csv_add(&e->safe, query_value(row, *name), is_number(row, *name));
    }
    buf_add_text(&e->safe, "\r\n");
}

static void write_form(struct exporting *e, enum entry_kind kind, const struct query_row *row)
{
    static const struct audit_out every_column = {.as_json = true};

    buf_clear(&e->line);
    switch (e->form) {
    case FORM_CSV: csv(e, row); return;
    case FORM_JSON: audit_out_json(&e->line, &every_column, row); break;
    case FORM_OCSF: buf_fail(&e->line, audit_form_ocsf(&e->line, kind, row)); break;
    case FORM_SQLITE: break;
    case FORM_CEF: audit_form_cef(&e->line, kind, row); break;
    }
    if (buf_fail(&e->safe, buf_code(&e->line)) == CODE_OK)
        terminal_add(&e->safe, buf_peek(&e->line));
    buf_add_byte(&e->safe, '\n');
}

static enum code take(void *context, enum entry_kind kind, int64_t seq, const struct query_row *row)
{
    struct exporting *e = context;
    enum code code;

    (void)seq;
    if (e->form == FORM_OCSF && kind == ENTRY_DECISION && span_is(query_value(row, "expects_outcome"), "1"))
        return CODE_OK; /* one event a call: its outcome tells all of it */
    write_form(e, kind, row);
    code = buf_code(&e->safe);
    if (code == CODE_OK)
        code = print_block(e->output, buf_peek(&e->safe));
    buf_clear(&e->safe);
    return code;
}

/* ---- the output ---- */

/* What a killed export had written behind its last cursor is cut off, so that nothing is there twice. */
static enum code open_output(struct exporting *e, struct why *why)
{
    struct stat there;
    int fd;

    if (e->asked->output == NULL) {
        e->output = stdout;
        return CODE_OK;
    }
    fd = file_make(e->asked->output, O_WRONLY | O_APPEND, 0666);
    e->output = fd >= 0 ? fdopen(fd, "a") : NULL;
    if (e->output == NULL || fstat(fileno(e->output), &there) != 0)
        return why_set(why, CODE_IO, "%s: %s", e->asked->output, strerror(errno));
    if (S_ISREG(there.st_mode) && e->cursor.output_inode == (int64_t)there.st_ino && there.st_size > e->cursor.output_bytes &&
        ftruncate(fileno(e->output), e->cursor.output_bytes) != 0)
        return why_set(why, CODE_IO, "%s: %s", e->asked->output, strerror(errno));
    if (e->cursor.output_inode == (int64_t)there.st_ino && there.st_size > e->cursor.output_bytes)
        there.st_size = e->cursor.output_bytes;
    e->titled = there.st_size > 0;
    return CODE_OK;
}

/* The output first, and to the disk; then the cursor. */
static enum code save(struct exporting *e, struct why *why)
{
    struct stat there;

    if (fflush(e->output) != 0)
        return why_set(why, CODE_IO, "the output cannot be written: %s", strerror(errno));
    e->cursor.output_inode = e->cursor.output_bytes = 0;
    if (e->asked->output != NULL && e->asked->cursor != NULL) {
        if (fstat(fileno(e->output), &there) != 0 || (S_ISREG(there.st_mode) && fsync(fileno(e->output)) != 0))
            return why_set(why, CODE_IO, "%s: %s", e->asked->output, strerror(errno));
        e->cursor.output_inode = S_ISREG(there.st_mode) ? (int64_t)there.st_ino : 0;
        e->cursor.output_bytes = S_ISREG(there.st_mode) ? there.st_size : 0;
    }
    return audit_cursor_save(&e->cursor, why);
}

/* From here on the next run knows what of the output is not covered. */
static enum code begin(struct exporting *e, struct why *why)
{
    enum code code = open_output(e, why);

    return code == CODE_OK ? save(e, why) : code;
}

/* ---- the command ---- */

/* Goes on behind rows that are in no file here, where they were given away, or nobody relies on what a cursor says. */
static void pass_gap(struct exporting *e, const struct trail *trail)
{
    struct entry_place *place = &e->cursor.place;

    for (size_t i = 0; i < trail->count; i++) {
        int64_t first, last;

        if (!trail_gap(trail, i, &first, &last) || place->seq + 1 < first || place->seq >= last ||
            (last >= (int64_t)e->asked->from && e->asked->cursor != NULL))
            continue;
        if (last >= (int64_t)e->asked->from && e->missing == STATUS_DONE)
            e->missing = trail_place_tell_missing(trail, e->asked->from);
        *place = (struct entry_place){.seq = last};
    }
}

static unsigned wanted_of(const struct exporting *e)
{
    return (e->asked->no_events ? 0 : ENTRIES_EVENTS) | (e->form == FORM_OCSF ? ENTRIES_WHOLE : 0);
}

/* How a turn that came to `code` ends. Takes: is_behind: there are rows behind those that the cursor knew. */
static enum code end_turn(struct exporting *e, enum code code, bool is_behind, bool *moved, struct why *why)
{
    if (code == CODE_IO && why->text[0] == '\0')
        (void)why_set(why, code, "the output cannot be written");
    *moved = *moved || (code == CODE_OK && is_behind);
    return code == CODE_OK && is_behind ? save(e, why) : code;
}

static enum code take_node(void *context, struct span node)
{
    struct exporting *e = context;

    if (e->query.node.at != NULL && !span_equals(e->query.node, node))
        return CODE_OK;
    buf_add_byte(&e->nodes, (char)node.len);
    return buf_add_span(&e->nodes, node);
}

static enum code export_node(struct exporting *e, struct span node, bool *moved, struct why *why)
{
    struct entry_place *place = audit_cursor_of(&e->cursor, node);
    int64_t before = place != NULL ? place->seq : 0;
    enum code code = CODE_OK;

    if (place == NULL)
        code = why_set(why, CODE_LIMIT, "%.*s: the fleet has too many nodes for an export", SPAN_ARG(node));
    if (code == CODE_OK)
        code = centre_entries(e->centre, node, &e->query, wanted_of(e), place, take, e, why);
    return end_turn(e, code, place != NULL && place->seq != before, moved, why);
}

/* A turn over all nodes, each as far as its rows have come. */
static enum code export_fleet_turn(struct exporting *e, bool *moved, struct why *why)
{
    struct span rest;
    enum code code;

    buf_clear(&e->nodes);
    code = centre_nodes(e->centre, take_node, e, why);
    rest = code == CODE_OK ? buf_peek(&e->nodes) : SPAN_NONE;
    while (code == CODE_OK && rest.len > 0) {
        size_t len = (unsigned char)rest.at[0];

        code = export_node(e, span_part(rest, 1, len), moved, why);
        rest = span_part(rest, 1 + len, SIZE_MAX);
    }
    return code;
}

/* A turn over the trail as it is now, sealed files where the cursor is still in one. */
static enum code export_files_turn(struct exporting *e, const char *path, bool *moved, struct why *why)
{
    struct trail trail;
    int64_t before = e->cursor.place.seq;
    enum code code = trail_find(path, true, &trail, why);

    if (code == CODE_OK) {
        pass_gap(e, &trail);
        code = audit_entries(&trail, &e->query, wanted_of(e), &e->cursor.place, take, e, why);
    }
    trail_fini(&trail);
    return end_turn(e, code, e->cursor.place.seq != before, moved, why);
}

static int run(const char *path, struct exporting *e)
{
    struct why why = {""};
    enum code code = audit_cursor_open(&e->cursor, e->asked->cursor, e->centre != NULL, &why);
    struct pollfd watch = {.fd = STDOUT_FILENO};

    if (code == CODE_OK)
        code = begin(e, &why);
    while (code == CODE_OK) {
        bool moved = false;

        code = e->centre != NULL ? export_fleet_turn(e, &moved, &why) : export_files_turn(e, path, &moved, &why);
        if (moved)
            continue;
        if (code != CODE_OK || !e->asked->follow)
            break;
        if (poll(&watch, e->asked->output == NULL ? 1 : 0, FOLLOW_MS) > 0 && (watch.revents & (POLLERR | POLLHUP)) != 0)
            break;
    }
    if (e->output != NULL && e->output != stdout && fclose(e->output) != 0 && code == CODE_OK)
        code = why_set(&why, CODE_IO, "%s: %s", e->asked->output, strerror(errno));
    audit_cursor_close(&e->cursor);
    return code == CODE_OK ? e->missing : trail_place_complain(code, &why);
}

static enum form form_of(const char *word)
{
    static const char *const names[] = {"json", "csv", "ocsf", "cef", "sqlite"};
    int form = FORM_JSON;

    while (word != NULL && form < FORM_SQLITE && strcmp(word, names[form]) != 0)
        form++;
    return (enum form)form;
}

/* All of a time, as one database. */
static int merge(const char *path, const struct exporting *e)
{
    static const struct query none;
    struct query other = e->query;

    other.since_us = other.until_us = 0;
    if (e->asked->output == NULL || e->asked->cursor != NULL || e->asked->follow || e->asked->no_events ||
        memcmp(&other, &none, offsetof(struct query, order)) != 0)
        return complain(STATUS_USAGE, "--format sqlite takes --output FILE, --since and --until, and nothing else; ask what it "
                        "wrote with SQL");
    return cmd_audit__merge(path, e->asked);
}

int cmd_audit_export(const struct asked *asked)
{
    unsigned char session[DIGEST_BYTES];
    struct exporting e = {.asked = asked, .form = form_of(asked->format)};
    char *path = NULL;
    int status = audit_filter_read(asked, session, &e.query);

    buf_init(&e.line, LINE_BYTES);
    buf_init(&e.safe, 2 * LINE_BYTES);
    buf_init(&e.nodes, (size_t)64 * AUDIT_CURSOR_NODES);
    if (status == OPTIONS_GO && asked->fleet && e.form == FORM_SQLITE)
        status = complain(STATUS_USAGE, "--format sqlite is of a gate's own files; the centre is asked with SQL where it is");
    if (status == OPTIONS_GO)
        status = audit_centre_open(asked, 0, &e.centre);
    if (status == OPTIONS_GO && e.centre == NULL)
        status = asked_trail(asked, asked_operand(asked, 0), &path);
    if (status == OPTIONS_GO)
        status = e.form == FORM_SQLITE ? merge(path, &e) : run(path, &e);
    buf_fini(&e.line);
    buf_fini(&e.safe);
    buf_fini(&e.nodes);
    centre_close(&e.centre);
    mem_free(path);
    return status;
}
