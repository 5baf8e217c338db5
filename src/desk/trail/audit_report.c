/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/audit_report.h"

#include "args/print.h"
#include "base/num.h"
#include "cli/told.h"

static const char words[] =
    "{file}: {rows} rows ({decisions} decisions, {outcomes} outcomes, {events} events) of {tenants} tenants, numbers "
    "{first_seq} to {last_seq}[{?sealed}, sealed]\n"
    "[{?under_way}calls [{?sealed}that ended in the next file][{!sealed}under way]: {under_way}\n]"
    "[decisions whose values were erased, as recorded: {erased}\n]"
    "[{?erasures_elsewhere}of these, some by erasures that files behind this one record; `audit verify --all` looks there\n]"
    "[rows whose values stayed at the node: {at_home}\n]"
    "[rows that went with their days, as recorded, and left their hashes: {kept}\n]"
    "{*faults}[row {seq}, ]{table}.{field}: {text}\n{/}[and {further_faults} faults more\n]"
    "[losses that somebody accepted to go on (events loss_accepted): {losses}\n]"
    "head {head}\n"
    "[{?verdict=broken}BROKEN: this is not what the gate wrote\n]"
    /* What the checkpoints say: how far the rows are proven, and against what. */
    "[{!verdict=broken}checkpoints that agree with the rows: {checkpoints} in the database"
    "[{?outside}, {outside_checkpoints} in {outside}]\n"
    "[checkpoints in {outside} about other files: {outside_elsewhere}\n]"
    "[{outside_behind} of these are about rows behind this file, up to row {outside_behind_seq}: `audit verify --all` looks "
    "for them\n]"
    "[{!key_given}consistent, not proven: whoever can write the file could have written it anew; --key says who signed it\n]"
    "[{?key_given}{?losses}not proven: rows were lost; those that are here are signed up to row {proven_seq}\n]"
    "[{?key_given}{!losses}{?all_signed}proven: every row up to {proven_seq} is signed\n]"
    "[{?key_given}{!losses}{!all_signed}proven up to row {proven_seq}; the {unsigned} behind it are consistent and not signed "
    "yet\n]"
    "{*unproven}NOT VOUCHED FOR: {.}\n{/}"
    "[{!outside}{!at_centre}rows cut off at the end are found with --checkpoints FILE, which somebody else has kept\n]]";

static void fill_faults(struct doc *list, const struct verify_report *report, size_t shown)
{
    for (size_t i = 0; i < shown; i++) {
        const struct verify_fault *fault = &report->fault[i];
        struct doc *one = doc_add_object(list, NULL);

        print_number(one, "seq", fault->seq);
        doc_text(one, "table", span_text(fault->table));
        doc_text(one, "field", span_text(fault->field));
        doc_text(one, "text", span_text(fault->text));
    }
}

static void fill_proof(struct doc *doc, const struct verify_conf *conf, const char *heads_path,
                       const struct verify_report *report)
{
    struct doc *doubts = doc_add_array(doc, "unproven");

    for (size_t i = 0; i < report->doubt_count; i++)
        doc_text(doubts, NULL, span_text(report->doubt[i]));
    doc_bool(doc, "key_given", conf->keys != NULL);
    doc_bool(doc, "proven", report->is_proven && report->doubt_count == 0);
    doc_int(doc, "proven_seq", (int64_t)report->proven_seq);
    doc_bool(doc, "all_signed", report->is_proven);
    doc_int(doc, "unsigned", report->last_seq - (int64_t)report->proven_seq);
    doc_int(doc, "checkpoints", (int64_t)report->checkpoints);
    doc_text_or_null(doc, "outside", conf->heads.at != NULL ? span_text(heads_path) : SPAN_NONE);
    doc_int(doc, "outside_checkpoints", (int64_t)report->heads);
    doc_int(doc, "outside_seq", (int64_t)report->heads_seq);
    doc_int(doc, "outside_elsewhere", (int64_t)report->heads_elsewhere);
    doc_int(doc, "outside_behind", (int64_t)report->heads_behind);
    doc_int(doc, "outside_behind_seq", (int64_t)report->heads_behind_seq);
}

int audit_report_tell(const struct verify_conf *conf, const char *heads_path, const struct verify_report *report, bool as_json)
{
    size_t shown = report->fault_count < VERIFY_FAULTS_MAX ? report->fault_count : VERIFY_FAULTS_MAX;
    struct doc *doc = doc_object();
    char head[2 * DIGEST_BYTES];

    num_hex(report->head, DIGEST_BYTES, head);
    doc_text(doc, "verdict", report->fault_count == 0 ? SPAN_LIT("consistent") : SPAN_LIT("broken"));
    doc_text(doc, "file", span_text(conf->path));
    doc_bool(doc, "sealed", report->is_sealed);
    doc_int(doc, "rows", (int64_t)report->rows);
    doc_int(doc, "decisions", (int64_t)report->decisions);
    doc_int(doc, "outcomes", (int64_t)report->outcomes);
    doc_int(doc, "events", (int64_t)report->events);
    doc_int(doc, "tenants", (int64_t)report->tenants);
    doc_int(doc, "first_seq", report->first_seq);
    doc_int(doc, "last_seq", report->last_seq);
    doc_text(doc, "head", span_of(head, sizeof head));
    doc_int(doc, "under_way", (int64_t)report->under_way);
    doc_int(doc, "erased", (int64_t)report->erased);
    doc_int(doc, "erasures_elsewhere", (int64_t)report->erasures_elsewhere);
    doc_int(doc, "losses", (int64_t)report->losses);
    doc_bool(doc, "at_centre", conf->source != NULL);
    doc_int(doc, "at_home", (int64_t)report->at_home);
    doc_int(doc, "kept", (int64_t)report->kept);
    doc_int(doc, "fault_count", (int64_t)report->fault_count);
    doc_int(doc, "further_faults", (int64_t)(report->fault_count - shown));
    fill_faults(doc_add_array(doc, "faults"), report, shown);
    fill_proof(doc, conf, heads_path, report);
    if (told_answer(&doc, as_json, words) != STATUS_DONE)
        return STATUS_CANNOT;
    return report->fault_count > 0 ? STATUS_NEGATIVE : report->doubt_count > 0 ? STATUS_UNPROVEN : STATUS_DONE;
}
