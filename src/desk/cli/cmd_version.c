/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "rows/schema.h"
#include "libraries/libraries.h"
#include "store/store.h"
#include "cli/told.h"

int cmd_version(const struct asked *asked)
{
    const char *libraries[LIBRARIES];
    size_t count = libraries_say(asked->all, libraries);
    struct doc *doc = doc_object(), *all, *untried;

    doc_text(doc, "callgate", span_text(CALLGATE_VERSION));
    doc_int(doc, "store", store_format());
    doc_int(doc, "audit", AUDIT_SCHEMA_VERSION);
    all = doc_add_array(doc, "libraries");
    untried = doc_add_array(doc, "untried");
    for (size_t i = 0; asked->all && i < count; i++) {
        doc_text(all, NULL, span_text(libraries[i]));
        if (!library_is_tried(libraries[i]))
            doc_text(untried, NULL, span_text(libraries[i]));
    }
    return told_answer(&doc, asked->json, "callgate {callgate}\n{*libraries}{.}\n{/}[nobody has tried: {*untried}{.}{/, }\n]");
}
