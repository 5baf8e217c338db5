/* SPDX-License-Identifier: Apache-2.0 */
#include "app/cmd_audit_priv.h"
#include "app/command.h"
#include "app/print.h"

#include "audit/verify.h"
#include "base/mem.h"
#include "base/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static void show_progress(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    fprintf(stderr, "\r%3u %%  row %" PRIu64 " of %" PRIu64, total > 0 ? (unsigned)(done * 100 / total) : 100, done, total);
}

static int print_json(const struct verify_report *report)
{
    size_t shown = report->fault_count < VERIFY_FAULTS_MAX ? report->fault_count : VERIFY_FAULTS_MAX;
    struct doc *doc = doc_object(), *faults;
    char head[2 * DIGEST_BYTES];
    int status;

    num_hex(report->head, DIGEST_BYTES, head);
    doc_text(doc, "verdict", report->fault_count == 0 ? SPAN_LIT("consistent") : SPAN_LIT("broken"));
    doc_bool(doc, "proven", false);
    doc_int(doc, "rows", (int64_t)report->rows);
    doc_int(doc, "decisions", (int64_t)report->decisions);
    doc_int(doc, "outcomes", (int64_t)report->outcomes);
    doc_int(doc, "events", (int64_t)report->events);
    doc_int(doc, "tenants", (int64_t)report->tenants);
    doc_int(doc, "first_seq", report->first_seq);
    doc_int(doc, "last_seq", report->last_seq);
    doc_int(doc, "under_way", (int64_t)report->under_way);
    doc_int(doc, "erased", (int64_t)report->erased);
    doc_text(doc, "head", span_of(head, sizeof head));
    doc_int(doc, "fault_count", (int64_t)report->fault_count);
    faults = doc_add_array(doc, "faults");
    for (size_t i = 0; i < shown; i++) {
        const struct verify_fault *fault = &report->fault[i];
        struct doc *one = doc_add_object(faults, NULL);

        if (fault->seq != 0)
            doc_int(one, "seq", fault->seq);
        doc_text(one, "table", span_text(fault->table));
        doc_text(one, "field", span_text(fault->field));
        doc_text(one, "text", span_text(fault->text));
    }
    status = print_doc(&doc);
    return status != STATUS_DONE ? status : report->fault_count == 0 ? STATUS_DONE : STATUS_NEGATIVE;
}

static int print_text(const char *path, const struct verify_report *report)
{
    size_t shown = report->fault_count < VERIFY_FAULTS_MAX ? report->fault_count : VERIFY_FAULTS_MAX;
    char head[2 * DIGEST_BYTES + 1] = {0};

    num_hex(report->head, DIGEST_BYTES, head);
    printf("%s: %" PRIu64 " rows (%" PRIu64 " decisions, %" PRIu64 " outcomes, %" PRIu64 " events) of %" PRIu64 " tenants, "
           "numbers %" PRId64 " to %" PRId64 "\n", path, report->rows, report->decisions, report->outcomes, report->events,
           report->tenants, report->first_seq, report->last_seq);
    if (report->under_way > 0)
        printf("calls under way: %" PRIu64 "\n", report->under_way);
    if (report->erased > 0)
        printf("decisions whose values were erased, as recorded: %" PRIu64 "\n", report->erased);
    for (size_t i = 0; i < shown; i++) {
        const struct verify_fault *fault = &report->fault[i];

        if (fault->seq != 0)
            printf("row %" PRId64 ", %s.%s: %s\n", fault->seq, fault->table, fault->field, fault->text);
        else
            printf("%s.%s: %s\n", fault->table, fault->field, fault->text);
    }
    if (report->fault_count > shown)
        printf("and %zu faults more\n", report->fault_count - shown);
    printf("head %s\n", head);
    if (report->fault_count > 0) {
        printf("BROKEN: this is not what the gate wrote\n");
        return STATUS_NEGATIVE;
    }
    printf("consistent, not proven: whoever can write the file could have cut off its end or written it anew\n");
    return STATUS_DONE;
}

int cmd_audit__verify(int argc, char **argv)
{
    static struct verify_report report;
    const char *config = NULL;
    char *path = NULL;
    bool as_json = false;
    const struct option options[] = {
        {.name = "config", .takes = "FILE", .help = "names the database where no operand does", .value = &config},
        {.name = "json", .help = "the answer as JSON", .flag = &as_json},
        {0},
    };
    const struct usage usage = {"callgate audit verify [DATABASE] [--json]",
                                "Checks the chain of all rows and of each tenant, that no number is missing, that each permit\n"
                                "has its one outcome, and that values match their digests. The gate may go on writing.\n"
                                "Exit status: 0 consistent, 1 broken, 3 not readable.",
                                options, 0, 1};
    struct why why = {0};
    enum code code;
    bool watched;
    int operands, status = options_read(&usage, argc, argv, &operands);

    if (status == OPTIONS_GO)
        status = cmd_audit__find(operands > 0 ? argv[0] : NULL, config, &path);
    if (status != OPTIONS_GO)
        return status;
    watched = isatty(STDERR_FILENO) && !as_json;
    code = audit_verify(path, watched ? show_progress : NULL, NULL, &report, &why);
    if (watched && report.rows > 65536)
        fprintf(stderr, "\r%40s\r", "");
    if (code != CODE_OK)
        status = complain(STATUS_CANNOT, "%s", why.text);
    else
        status = as_json ? print_json(&report) : print_text(path, &report);
    mem_free(path);
    return status;
}
