/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "run/libraries.h"
#include "args/print.h"
#include "json/doc.h"

#include <stdio.h>

static int print_json(bool verbose, const char *libraries[LIBRARIES])
{
    struct doc *doc = doc_object();

    doc_text(doc, "callgate", span_text(CALLGATE_VERSION));
    if (verbose) {
        struct doc *array = doc_add_array(doc, "libraries");

        for (size_t i = 0; i < LIBRARIES; i++)
            doc_text(array, NULL, span_text(libraries[i]));
        array = doc_add_array(doc, "untried");
        for (size_t i = 0; i < LIBRARIES; i++)
            if (!library_is_tried(libraries[i]))
                doc_text(array, NULL, span_text(libraries[i]));
    }
    return print_doc(&doc);
}

static int run_version(int argc, char **argv)
{
    bool verbose = false, as_json = false;
    const struct option options[] = {
        {.name = "verbose", .help = "also of everything linked", .flag = &verbose},
        {.name = "json", .help = "the answer as JSON", .flag = &as_json},
        {0},
    };
    const struct usage usage = {"callgate version [--verbose] [--json]", "Says which build this is.", options, 0, 0};
    const char *libraries[LIBRARIES];
    int operands, status = options_read(&usage, argc, argv, &operands);

    if (status != OPTIONS_GO)
        return status;
    libraries_say(libraries);
    if (as_json)
        return print_json(verbose, libraries);
    print_safely(stdout, "callgate %s\n", CALLGATE_VERSION);
    for (size_t i = 0; verbose && i < LIBRARIES; i++)
        print_safely(stdout, "%s%s\n", libraries[i], library_is_tried(libraries[i]) ? "" : " (nobody has tried this version)");
    return STATUS_DONE;
}

const struct command cmd_version = {"version", "which build this is", run_version, NULL};
