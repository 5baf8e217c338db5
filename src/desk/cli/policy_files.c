/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/policy_files.h"
#include "args/print.h"

#include "judgement/judgement.h"
#include "language/language.h"

#include <stdio.h>

#define PATHS_MAX_BYTES ((size_t)1 << 24)

void policy_files_fini(struct policy_files *files)
{
    for (size_t i = 0; files->texts != NULL && i < files->count; i++)
        buf_fini(&files->texts[i]);
    mem_free(files->texts);
    mem_free(files->files);
    arena_fini(&files->arena);
    *files = (struct policy_files){.count = 0};
}

int policy_files_read(struct policy_files *files, const char *const *paths, size_t count, const struct asked *asked,
                      bool tries)
{
    int status;

    *files = (struct policy_files){.files = mem_array(count, sizeof(struct policy_file)),
                                   .texts = mem_array(count, sizeof(struct buf)), .count = count};
    arena_init(&files->arena, PATHS_MAX_BYTES);
    if (files->files == NULL || files->texts == NULL) {
        files->count = 0;
        policy_files_fini(files);
        return complain(STATUS_CANNOT, "not enough memory");
    }
    for (size_t i = 0; i < count; i++)
        buf_init(&files->texts[i], POLICY_FILE_MAX_BYTES);
    for (size_t i = 0; i < count; i++) {
        struct why why = {""};
        enum code code = command_file(paths[i], POLICY_FILE_MAX_BYTES, &files->texts[i], &why);

        if (code != CODE_OK) {
            policy_files_fini(files);
            return complain(STATUS_CANNOT, "%s", why.text[0] ? why.text : code_text(code));
        }
        files->files[i] = (struct policy_file){.path = span_text(paths[i]), .text = buf_peek(&files->texts[i])};
    }
    status = policy_given_put(files, asked, tries);
    if (status != OPTIONS_GO)
        policy_files_fini(files);
    return status;
}

int policy_files_of(struct policy_files *files, const struct asked *asked)
{
    return policy_files_read(files, (const char *const *)asked->given.operands, (size_t)asked->given.count, asked, false);
}

int policy_files_try(struct policy_files *files, const struct asked *asked)
{
    return policy_files_read(files, (const char *const *)asked->given.operands, (size_t)asked->given.count, asked, true);
}

void policy_faults_doc(const struct faults *faults, struct doc *list)
{
    for (size_t i = 0; i < faults->count && i < FAULTS_MAX; i++) {
        struct doc *fault = doc_add_object(list, NULL);

        doc_text(fault, "file", span_text(faults->fault[i].file));
        doc_int(fault, "line", faults->fault[i].line);
        doc_int(fault, "column", faults->fault[i].column);
        doc_text(fault, "text", span_text(faults->fault[i].text));
    }
}

void policy_test_doc(const struct policy_test_result *result, struct doc *list)
{
    struct doc *one = doc_add_object(list, NULL);

    doc_text(one, "file", result->file);
    doc_int(one, "line", result->line);
    doc_text(one, "name", result->name);
    doc_bool(one, "passed", result->passed);
    doc_text(one, "expected", result->expected);
    doc_text(one, "got", result->got);
}

int policy_files_compile(const struct policy_files *files, struct policy **policy)
{
    struct faults faults;
    enum code code;

    faults_init(&faults);
    code = policy_compile(files->files, files->count, 0, policy, &faults, NULL);
    if (code == CODE_INVALID) {
        print_faults(&faults, "");
        return STATUS_USAGE;
    }
    return code == CODE_OK ? OPTIONS_GO : complain(STATUS_CANNOT, "%s", code_text(code));
}
