/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/cmd_audit_priv.h"
#include "args/command.h"
#include "args/print.h"

#include "files/trail.h"
#include "base/mem.h"
#include "base/num.h"
#include "evidence/prove.h"
#include "os/file.h"

#include <stdio.h>
#include <string.h>

struct asked {
    const char *row, *from, *to, *tenant, *checkpoint;
};

static enum code put(void *context, struct span text)
{
    (void)context;
    return print_block(stdout, text);
}

static bool is_number(const char *text)
{
    uint64_t number;

    return num_u64(span_text(text), &number) == CODE_OK;
}

static int read_size(const char *text, const char *option, uint64_t *size)
{
    *size = 0;
    if (text == NULL || (num_u64(span_text(text), size) == CODE_OK && *size > 0))
        return OPTIONS_GO;
    return complain(STATUS_USAGE, "%s %s is no number of rows; `sqlite3 DATABASE 'SELECT size FROM checkpoint'` lists them",
                    option, text);
}

/* A checkpoint of the database by its rows, or one that somebody kept, in a file. */
static enum code find_old(const char *path, const char *from, struct buf *note, struct why *why)
{
    struct span rest, one, last = SPAN_NONE;
    struct buf text;
    uint64_t size;
    enum code code;

    if (num_u64(span_text(from), &size) == CODE_OK)
        return audit_find_checkpoint(path, size, note, why);
    buf_init(&text, (size_t)1 << 30);
    code = file_read(from, FILE_ANY, (size_t)1 << 30, &text, why);
    for (rest = buf_peek(&text); code == CODE_OK && note_next(&rest, &one);)
        last = one;
    if (code == CODE_NOT_FOUND || (code == CODE_OK && last.at == NULL))
        code = CODE_IO; /* no answer about the rows */
    if (code == CODE_IO && why->text[0] == '\0')
        (void)why_set(why, code, "%s holds no checkpoint", from);
    if (code == CODE_OK)
        code = buf_add_span(note, last);
    buf_fini(&text);
    return code;
}

static enum code prove_consistency(const char *path, const struct asked *asked, uint64_t size, struct buf *out, struct why *why)
{
    struct buf old;
    enum code code;

    buf_init(&old, NOTE_BYTES);
    code = find_old(path, asked->from, &old, why);
    if (code == CODE_OK)
        code = audit_prove_consistency(path, buf_peek(&old), size, out, why);
    buf_fini(&old);
    return code;
}

/* Out of the file that holds it and with a checkpoint of that one, unless --checkpoint says which. Where none is found, whoever
 * opens the named one says why. */
static enum code prove_row(const char *path, uint64_t seq, uint64_t size, struct buf *out, struct why *why)
{
    struct why passed_over = {""};
    struct trail trail = {0};
    enum code code = size == 0 ? trail_find(path, true, &trail, &passed_over) : CODE_OK;

    for (size_t i = 0; code == CODE_OK && i < trail.count; i++)
        if ((int64_t)seq > trail.files[i].before_seq && (int64_t)seq <= trail.files[i].last_seq)
            path = trail.files[i].path;
    code = audit_prove_row(path, seq, size, out, why);
    trail_fini(&trail);
    return code;
}

static int prove(const char *path, const struct asked *asked)
{
    uint64_t size, to, seq = 0;
    struct why why = {0};
    struct buf out;
    enum code code;
    int status = read_size(asked->checkpoint, "--checkpoint", &size);

    if (status == OPTIONS_GO)
        status = read_size(asked->to, "--to", &to);
    if (status != OPTIONS_GO)
        return status;
    buf_init(&out, SIZE_MAX / 4);
    if (asked->tenant != NULL) {
        code = audit_prove_tenant(path, span_text(asked->tenant), size, put, NULL, &why);
    } else if (asked->from != NULL) {
        code = prove_consistency(path, asked, to != 0 ? to : size, &out, &why);
    } else {
        code = num_u64(span_text(asked->row), &seq);
        if (code == CODE_OK)
            code = prove_row(path, seq, size, &out, &why);
    }
    if (code == CODE_OK && put(NULL, buf_peek(&out)) != CODE_OK)
        code = why_set(&why, CODE_IO, "the proof cannot be written");
    buf_fini(&out);
    return code == CODE_OK ? STATUS_DONE
                           : complain(code == CODE_NOT_FOUND || code == CODE_INVALID ? STATUS_NEGATIVE : STATUS_CANNOT, "%s",
                                      why.text[0] != '\0' ? why.text : code_text(code));
}

/* Operands in any order: numbers are a row, or two checkpoints; anything else is the database. */
static int sort_operands(int operands, char **argv, struct asked *asked, const char **database)
{
    for (int i = 0; i < operands; i++) {
        if (!is_number(argv[i]) && *database == NULL)
            *database = argv[i];
        else if (is_number(argv[i]) && asked->row == NULL)
            asked->row = argv[i];
        else if (is_number(argv[i]) && asked->from == NULL && asked->to == NULL) {
            asked->from = asked->row;
            asked->to = argv[i];
        } else
            return complain(STATUS_USAGE, "%s is one operand too many; see `callgate audit prove --help`", argv[i]);
    }
    if (asked->row == NULL && asked->from == NULL && asked->tenant == NULL)
        return complain(STATUS_USAGE, "say what to prove: a row's number, two checkpoints' numbers, or --tenant NAME");
    return OPTIONS_GO;
}

int cmd_audit__prove(int argc, char **argv)
{
    const char *config = NULL, *database = NULL;
    struct asked asked = {NULL};
    char *path = NULL;
    const struct option options[] = {
        {.name = "checkpoint", .takes = "ROWS", .help = "the checkpoint over so many rows; the last one by default",
         .value = &asked.checkpoint},
        {.name = "from", .takes = "ROWS|FILE", .help = "the earlier checkpoint: of the database, or one kept in a file",
         .value = &asked.from},
        {.name = "to", .takes = "ROWS", .help = "the later one; the last by default", .value = &asked.to},
        {.name = "tenant", .takes = "NAME", .help = "all rows of one tenant, and that these are all", .value = &asked.tenant},
        {.name = "config", .takes = "FILE", .help = "names the database where no operand does", .value = &config},
        {0},
    };
    const struct usage usage = {"callgate audit prove ROW [DATABASE] | ROWS ROWS [DATABASE] | --tenant NAME [DATABASE]",
                                "Writes a proof for somebody who does not get the database: that a row is in a signed\n"
                                "checkpoint, that a later checkpoint holds all that an earlier one held, or what rows a\n"
                                "tenant has and that none is left out. A row is looked\n"
                                "for in the sealed files, too. `callgate audit verify PROOF --key PUB` checks proofs, and\n"
                                "so does tools/verify-audit. Exit status: 1: there is no such row or checkpoint.",
                                options, 0, 3};
    int operands, status = options_read(&usage, argc, argv, &operands);

    if (status == OPTIONS_GO)
        status = sort_operands(operands, argv, &asked, &database);
    if (status == OPTIONS_GO)
        status = trail_place_find(database, config, &path);
    if (status == OPTIONS_GO)
        status = prove(path, &asked);
    mem_free(path);
    return status;
}
