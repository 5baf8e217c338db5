/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/policy_sarif.h"

#include "args/print.h"
#include "base/ascii.h"
#include "base/buf.h"
#include "json/doc.h"

#include <stdio.h>
#include <string.h>

#define URI_BYTES ((size_t)16384)

static const struct { const char *id, *level, *means; } kinds[] = {
    {"policy-error", "error", "The policy does not compile, or loses what it was to forbid; nothing of it would be stored."},
    {"policy-warning", "warning", "The policy compiles, and hardly means what it says."},
};

/* A path as the reference of a URI: in it a blank, % or a letter with an accent is %20. An absolute path names its file. */
static void add_uri(struct doc *location, const char *path)
{
    struct buf uri;

    buf_init(&uri, URI_BYTES);
    if (path[0] == '/')
        buf_add_text(&uri, "file://");
    for (; *path != '\0'; path++) {
        unsigned char c = (unsigned char)*path;

        if (ascii_is_of(*path, "a-zA-Z0-9/._~-"))
            buf_add_byte(&uri, (char)c);
        else
            buf_addf(&uri, "%%%02X", c);
    }
    if (buf_code(&uri) == CODE_OK)
        doc_text(location, "uri", buf_peek(&uri));
    buf_fini(&uri);
}

static void add_text(struct doc *doc, const char *key, const char *text)
{
    doc_text(doc_add_object(doc, key), "text", span_text(text));
}

static void add_result(struct doc *results, const struct fault *fault, size_t kind)
{
    struct doc *result = doc_add_object(results, NULL), *place;

    doc_text(result, "ruleId", span_text(kinds[kind].id));
    doc_int(result, "ruleIndex", (int64_t)kind);
    doc_text(result, "level", span_text(kinds[kind].level));
    add_text(result, "message", fault->text);
    place = doc_add_object(doc_add_object(doc_add_array(result, "locations"), NULL), "physicalLocation");
    add_uri(doc_add_object(place, "artifactLocation"), fault->file);
    if (fault->line > 0) /* our columns count bytes, and SARIF's do not: the line is enough */
        doc_int(doc_add_object(place, "region"), "startLine", fault->line);
}

static void add_results(struct doc *results, const struct faults *faults, size_t kind)
{
    for (size_t i = 0; i < faults->count && i < FAULTS_MAX; i++)
        add_result(results, &faults->fault[i], kind);
}

static void add_invocation(struct doc *run, size_t more, int status)
{
    struct doc *invocation = doc_add_object(doc_add_array(run, "invocations"), NULL), *note;
    char text[128];

    doc_bool(invocation, "executionSuccessful", true);
    doc_int(invocation, "exitCode", status);
    if (more == 0)
        return;
    (void)snprintf(text, sizeof text, "%zu more are not listed; mend these first", more);
    note = doc_add_object(doc_add_array(invocation, "toolExecutionNotifications"), NULL);
    doc_text(note, "level", SPAN_LIT("warning"));
    add_text(note, "message", text);
}

static size_t beyond(const struct faults *faults)
{
    return faults->count > FAULTS_MAX ? faults->count - FAULTS_MAX : 0;
}

int policy_sarif_print(const struct faults *errors, const struct faults *warnings, int status)
{
    struct doc *log = doc_object(), *run, *driver, *rules, *results;

    doc_text(log, "$schema", SPAN_LIT("https://json.schemastore.org/sarif-2.1.0.json"));
    doc_text(log, "version", SPAN_LIT("2.1.0"));
    run = doc_add_object(doc_add_array(log, "runs"), NULL);
    driver = doc_add_object(doc_add_object(run, "tool"), "driver");
    doc_text(driver, "name", SPAN_LIT("callgate"));
    doc_text(driver, "semanticVersion", SPAN_LIT(CALLGATE_VERSION));
    rules = doc_add_array(driver, "rules");
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        struct doc *rule = doc_add_object(rules, NULL);

        doc_text(rule, "id", span_text(kinds[kind].id));
        add_text(rule, "shortDescription", kinds[kind].means);
        doc_text(doc_add_object(rule, "defaultConfiguration"), "level", span_text(kinds[kind].level));
    }
    add_invocation(run, beyond(errors) + beyond(warnings), status);
    results = doc_add_array(run, "results");
    add_results(results, errors, 0);
    add_results(results, warnings, 1);
    return print_doc(&log);
}
