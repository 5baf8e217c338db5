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

int cmd_version(const struct asked *asked)
{
    const char *libraries[LIBRARIES];

    libraries_say(libraries);
    if (asked->json)
        return print_json(asked->verbose, libraries);
    print_safely(stdout, "callgate %s\n", CALLGATE_VERSION);
    for (size_t i = 0; asked->verbose && i < LIBRARIES; i++)
        print_safely(stdout, "%s%s\n", libraries[i], library_is_tried(libraries[i]) ? "" : " (nobody has tried this version)");
    return STATUS_DONE;
}
