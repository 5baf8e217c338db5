/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/cmd_audit_priv.h"
#include "args/print.h"

#include "files/trail.h"
#include "base/mem.h"
#include "base/num.h"
#include "evidence/prove.h"
#include "query/entries.h"
#include "os/file.h"

#include <stdio.h>
#include <string.h>

/* What is proved: of the options, but where operands say so. */
struct proving {
    const char *row, *earlier, *tenant;
    uint64_t size; /* of the checkpoint; 0: the last */
};

static enum code put(void *context, struct span text)
{
    (void)context;
    return print_block(stdout, text);
}

static bool is_number(const char *text, uint64_t *number)
{
    return num_u64(span_text(text), number) == CODE_OK;
}

/* A checkpoint of the database by its rows, or one that somebody kept, in a file. */
static enum code find_earlier(const char *path, const char *named, struct buf *note, struct why *why)
{
    struct span rest, one, last = SPAN_NONE;
    struct buf text;
    uint64_t size;
    enum code code;

    if (num_u64(span_text(named), &size) == CODE_OK)
        return audit_find_checkpoint(path, size, note, why);
    buf_init(&text, (size_t)1 << 30);
    code = file_read(named, FILE_ANY, (size_t)1 << 30, &text, why);
    for (rest = buf_peek(&text); code == CODE_OK && note_next(&rest, &one);)
        last = one;
    if (code == CODE_NOT_FOUND || (code == CODE_OK && last.at == NULL))
        code = CODE_IO; /* no answer about the rows */
    if (code == CODE_IO && why->text[0] == '\0')
        (void)why_set(why, code, "%s holds no checkpoint", named);
    if (code == CODE_OK)
        code = buf_add_span(note, last);
    buf_fini(&text);
    return code;
}

static enum code prove_consistency(const char *path, const struct proving *proving, struct buf *out, struct why *why)
{
    struct buf earlier;
    enum code code;

    buf_init(&earlier, NOTE_BYTES);
    code = find_earlier(path, proving->earlier, &earlier, why);
    if (code == CODE_OK)
        code = audit_prove_consistency(path, buf_peek(&earlier), proving->size, out, why);
    buf_fini(&earlier);
    return code;
}

static enum code is_it(void *context, enum entry_kind kind, int64_t seq, const struct query_row *row)
{
    (void)kind;
    (void)row;
    return seq == *(const int64_t *)context ? CODE_EXISTS : CODE_NOT_FOUND;
}

/* What a proof holds is a tenant's row, or what tenants have together. Takes: seq: of a row; 0: the proof is of no row. */
static enum code may_prove(const struct trail *trail, const struct proving *proving, uint64_t seq, struct why *why)
{
    struct query query = {.limit = 1, .order = QUERY_OLDEST_FIRST};
    struct entry_place place = {.seq = (int64_t)seq - 1};
    int64_t number = (int64_t)seq;
    struct why passed = {""};

    if (!audit_is_restricted() || (proving->tenant != NULL && audit_may_see(span_text(proving->tenant))) ||
        (seq != 0 && audit_entries(trail, &query, ENTRIES_EVENTS, &place, is_it, &number, &passed) == CODE_EXISTS))
        return CODE_OK;
    return why_set(why, CODE_NOT_FOUND, "there is nothing of the kind of these tenants");
}

/* Out of the file that holds it and with a checkpoint of that one, unless --checkpoint says which. Where none is found, whoever
 * opens the named one says why. */
static enum code prove_row(const char *path, const struct proving *proving, struct buf *out, struct why *why)
{
    struct why passed_over = {""};
    struct trail trail = {0};
    uint64_t seq = 0;
    enum code code = num_u64(span_text(proving->row), &seq);
    bool is_found = code == CODE_OK && trail_find(path, true, &trail, &passed_over) == CODE_OK;

    for (size_t i = 0; proving->size == 0 && is_found && i < trail.count; i++)
        if ((int64_t)seq > trail.files[i].before_seq && (int64_t)seq <= trail.files[i].last_seq)
            path = trail.files[i].path;
    if (code == CODE_OK)
        code = may_prove(&trail, proving, seq, why);
    if (code == CODE_OK)
        code = audit_prove_row(path, seq, proving->size, out, why);
    trail_fini(&trail);
    return code;
}

static int prove(const char *path, const struct proving *proving)
{
    struct why why = {0};
    struct buf out;
    enum code code;

    buf_init(&out, SIZE_MAX / 4);
    if (proving->tenant == NULL && proving->earlier == NULL) {
        code = prove_row(path, proving, &out, &why);
    } else if ((code = may_prove(NULL, proving, 0, &why)) != CODE_OK) {
        /* said below */
    } else if (proving->tenant != NULL) {
        code = audit_prove_tenant(path, span_text(proving->tenant), proving->size, put, NULL, &why);
    } else {
        code = prove_consistency(path, proving, &out, &why);
    }
    if (code == CODE_OK && put(NULL, buf_peek(&out)) != CODE_OK)
        code = why_set(&why, CODE_IO, "the proof cannot be written");
    buf_fini(&out);
    return code == CODE_OK ? STATUS_DONE
                           : complain(code == CODE_NOT_FOUND || code == CODE_INVALID ? STATUS_NEGATIVE : STATUS_CANNOT, "%s",
                                      why.text[0] != '\0' ? why.text : code_text(code));
}

/* Operands in any order: numbers are a row, or two checkpoints; anything else is the database. */
static int sort_operands(const struct given *given, struct proving *proving, const char **database)
{
    for (int i = 0; i < given->count; i++) {
        uint64_t number;
        bool is_one = is_number(given->operands[i], &number);

        if (!is_one && *database == NULL)
            *database = given->operands[i];
        else if (is_one && proving->row == NULL)
            proving->row = given->operands[i];
        else if (is_one && proving->earlier == NULL && proving->size == 0) {
            proving->earlier = proving->row;
            proving->size = number;
        } else
            return complain(STATUS_USAGE, "%s is one operand too many; see `callgate audit prove --help`", given->operands[i]);
    }
    if (proving->row == NULL && proving->earlier == NULL && proving->tenant == NULL)
        return complain(STATUS_USAGE, "say what to prove: a row's number, two checkpoints' numbers, or --tenant NAME");
    return OPTIONS_GO;
}

int cmd_audit_prove(const struct asked *asked)
{
    struct proving proving = {.earlier = asked->earlier, .tenant = asked->tenant, .size = asked->checkpoint};
    const char *database = NULL;
    char *path = NULL;
    int status = sort_operands(&asked->given, &proving, &database);

    if (status == OPTIONS_GO)
        status = asked_trail(asked, database, &path);
    if (status == OPTIONS_GO)
        status = prove(path, &proving);
    mem_free(path);
    return status;
}
