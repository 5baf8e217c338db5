/* SPDX-License-Identifier: Apache-2.0 */
/* callgate policy import: a draft out of what people have beside their clients. */
#include "args/print.h"
#include "cli/commands.h"
#include "cli/told.h"
#include "language/language.h"
#include "rules/import.h"

#include <stdio.h>
#include <string.h>

#define NAME_BYTES 60
#define FILE_BYTES ((size_t)4 << 20)
#define DRAFT_BYTES ((size_t)16 << 20)

static const char words[] = "{*left_out}left out: {from}: {why}\n{/}{taken} taken, {left} left out\n";

static const char *const forms[] = {IMPORT_FORMS, NULL};

/* Returns: OPTIONS_GO with *form, or the exit status. */
static int read_form(const char *word, enum import_form *form)
{
    char known[100];

    for (size_t i = 0; forms[i] != NULL; i++)
        if (strcmp(forms[i], word) == 0) {
            *form = (enum import_form)i;
            return OPTIONS_GO;
        }
    why_list(forms, "or", known, sizeof known);
    return complain(STATUS_USAGE, "\"%s\" is no form of file that is known; write %s", word, known);
}

/* The draft alone goes to stdout, so that it can go into a file. */
static int say(struct import *import, struct span draft, const struct asked *asked)
{
    int status = import->left_out_count > 0 ? STATUS_NEGATIVE : STATUS_DONE;
    struct told told;
    enum code code;

    doc_int(import->doc, "taken", (int64_t)import->count);
    doc_int(import->doc, "left", (int64_t)import->left_out_count);
    if (asked->json) {
        int printed;

        doc_text(import->doc, "draft", draft);
        printed = print_doc(&import->doc);
        return printed != STATUS_DONE ? printed : status;
    }
    code = told_read(&told, import->doc);
    if (code != CODE_OK || print_source(draft) != CODE_OK || fflush(stdout) != 0)
        status = complain(STATUS_CANNOT, "the output cannot be written");
    else
        told_print(stderr, told.root, words);
    told_end(&told);
    return status;
}

/* A draft that does not compile would be a fault of this program. */
static int check(struct span draft)
{
    const struct policy_file file = {SPAN_LIT("draft"), draft};
    struct policy *policy = NULL;
    static struct faults faults;
    enum code code;

    faults_init(&faults);
    code = policy_compile(&file, 1, 0, &policy, &faults, NULL);
    policy_unref(&policy);
    if (code == CODE_OK)
        return OPTIONS_GO;
    print_faults(&faults, "");
    return complain(STATUS_CANNOT, "the draft does not compile, which is a fault of this program; nothing is printed");
}

static int draft(struct import *import, enum import_form form, struct span text, const struct asked *asked)
{
    const char *name = asked->name != NULL ? asked->name : "imported", *file = asked->given.operands[1];
    struct faults faults;
    struct buf out;
    enum code code;
    int status = OPTIONS_GO;

    faults_init(&faults);
    buf_init(&out, DRAFT_BYTES);
    code = import_read(import, form, text, file, span_text(asked->upstream), &faults);
    if (code == CODE_OK)
        code = import_write(import, name, file, &out);
    if (code == CODE_INVALID)
        status = complain_faults(&faults);
    else if (code != CODE_OK)
        status = complain(STATUS_CANNOT, "%s: %s", file,
                          code == CODE_LIMIT ? "it names more than 4,096 tools" : code_text(code));
    else if (import->count > 0)
        status = check(buf_peek(&out));
    if (status == OPTIONS_GO)
        status = say(import, import->count > 0 ? buf_peek(&out) : SPAN_NONE, asked);
    buf_fini(&out);
    return status;
}

int cmd_policy_import(const struct asked *asked)
{
    const char *name = asked->name != NULL ? asked->name : "imported";
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    enum import_form form = IMPORT_CLAUDE;
    struct import import;
    struct why why = {""};
    struct buf text;
    int status = read_form(asked->given.operands[0], &form);

    if (status != OPTIONS_GO)
        return status;
    if (len == 0 || len > NAME_BYTES || name[len] != '\0')
        return complain(STATUS_USAGE, "--name \"%s\" is no name; write up to %d letters, digits, `_` and `-`", name,
                        NAME_BYTES);
    import_init(&import);
    buf_init(&text, FILE_BYTES);
    if (command_file(asked->given.operands[1], FILE_BYTES, &text, &why) != CODE_OK)
        status = complain(STATUS_CANNOT, "%s", why.text[0] != '\0' ? why.text : "the file cannot be read");
    else
        status = draft(&import, form, buf_peek(&text), asked);
    buf_fini(&text);
    import_fini(&import);
    return status;
}
