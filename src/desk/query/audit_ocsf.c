/* SPDX-License-Identifier: Apache-2.0 */
#include "query/audit_form.h"

#include "base/num.h"
#include "json/doc.h"
#include "json/text.h"
#include "os/sock.h"

#include <stdio.h>

#define OCSF_VERSION "1.8.0"
#define READ 2
#define OTHER 99
#define DETAIL_BYTES ((size_t)1 << 20)

enum { STATUS_UNKNOWN = 0, STATUS_SUCCESS = 1, STATUS_FAILURE = 2 };
enum { SEVERITY_INFORMATIONAL = 1, SEVERITY_LOW = 2, SEVERITY_MEDIUM = 3 };
enum { ALLOWED = 1, DENIED = 2, BLOCKED = 2 }; /* action 1 and 2; disposition 1 and 2 */

static const char *const status_names[] = {"Unknown", "Success", "Failure"};
static const char *const severity_names[] = {"Unknown", "Informational", "Low", "Medium"};

static int64_t number_of(const struct query_row *row, const char *name)
{
    int64_t number = 0;

    return num_i64(query_value(row, name), &number) == CODE_OK ? number : 0;
}

/* Nothing where the row has nothing. */
static void add_text(struct doc *to, const char *key, const struct query_row *row, const char *name)
{
    struct span text = query_value(row, name);

    if (text.at != NULL)
        doc_text(to, key, text);
}

static void add_number(struct doc *to, const char *key, const struct query_row *row, const char *name)
{
    if (query_value(row, name).at != NULL)
        doc_int(to, key, number_of(row, name));
}

/* A class of OCSF. Calls are API Activity; what happens to the gate itself has other ones. */
struct ocsf_class {
    int uid;
    const char *name;
    int category;
    const char *category_name;
};
static const struct ocsf_class api_activity = {6003, "API Activity", 6, "Application Activity"};
static const struct ocsf_class lifecycle = {6002, "Application Lifecycle", 6, "Application Activity"};
static const struct ocsf_class entity_management = {3004, "Entity Management", 3, "Identity & Access Management"};

/* What an event does to what. All others are of the gate's life. */
static const struct ocsf_event {
    const char *kind;
    int activity;
    const char *activity_name;
    const char *entity, *uid; /* the kind of thing; the member of `detail` that names it. NULL: the gate itself */
} ocsf_events[] = {
    {"start", 3, "Start", NULL, NULL}, {"stop", 4, "Stop", NULL, NULL},
    {"key_made", 1, "Create", "agent key", "key"}, {"key_revoked", 4, "Delete", "agent key", "key"},
    {"policy_activated", 3, "Update", "policy", "version"}, {"approval_asked", 1, "Create", "approval", "approval"},
    {"approval_given", 3, "Update", "approval", "approval"}, {"approval_refused", 3, "Update", "approval", "approval"},
    {"approval_used", 3, "Update", "approval", "approval"}, {NULL, OTHER, "Other", NULL, NULL},
};

static const struct ocsf_event *event_of(const struct query_row *row)
{
    const struct ocsf_event *event = ocsf_events;

    while (event->kind != NULL && !span_is(query_value(row, "event"), event->kind))
        event++;
    return event;
}

/* A permit that nobody waits for has no result; a detached call never tells one, and a client tells
 * only that its own is over. What nobody knows has failed. */
static int status_of(enum entry_kind kind, const struct query_row *row)
{
    static const char *const good[] = {"result", "accepted", "stream_ended", NULL};
    static const char *const untold[] = {"detached", "reported", NULL};
    struct span outcome = query_value(row, "outcome");

    switch (kind) {
    case ENTRY_DECISION:
        return span_is(query_value(row, "verdict"), "permit") ? STATUS_UNKNOWN : STATUS_FAILURE;
    case ENTRY_OUTCOME:
        return span_is_one_of(outcome, good)     ? STATUS_SUCCESS
               : span_is_one_of(outcome, untold) ? STATUS_UNKNOWN
                                                 : STATUS_FAILURE;
    case ENTRY_EVENT:
    case ENTRY_KINDS:
        break;
    }
    return STATUS_SUCCESS;
}

static int severity_of(enum entry_kind kind, const struct query_row *row)
{
    static const char *const alarming[] = {"crash", "audit_down", NULL};
    struct span verdict = query_value(row, "verdict");

    if (span_is(verdict, "deny") || (kind == ENTRY_EVENT && span_is_one_of(query_value(row, "event"), alarming)))
        return SEVERITY_MEDIUM;
    return span_is(verdict, "hold") || (kind == ENTRY_OUTCOME && status_of(kind, row) == STATUS_FAILURE) ? SEVERITY_LOW
                                                                                                       : SEVERITY_INFORMATIONAL;
}

static void put_class(struct doc *doc, const struct ocsf_class *class, int activity, struct span name, const char *type)
{
    char text[64];

    doc_int(doc, "category_uid", class->category);
    doc_text(doc, "category_name", span_text(class->category_name));
    doc_int(doc, "class_uid", class->uid);
    doc_text(doc, "class_name", span_text(class->name));
    doc_int(doc, "activity_id", activity);
    doc_text(doc, "activity_name", name);
    doc_int(doc, "type_uid", class->uid * 100 + activity);
    (void)snprintf(text, sizeof text, "%s: %s", class->name, type);
    doc_text(doc, "type_name", span_text(text));
}

static void add_class(struct doc *doc, enum entry_kind kind, const struct query_row *row)
{
    static const char *const reads[] = {"tools/list", "resources/list", "resources/templates/list", "resources/read",
                                        "prompts/list", "prompts/get", "skills/list", "skills/get",
                                        "resources/directory/read", NULL};
    struct span operation = query_value(row, kind == ENTRY_EVENT ? "event" : "method");
    const struct ocsf_event *event;

    if (kind != ENTRY_EVENT && span_is_one_of(operation, reads)) {
        put_class(doc, &api_activity, READ, SPAN_LIT("Read"), "Read");
        return;
    }
    if (kind != ENTRY_EVENT) {
        put_class(doc, &api_activity, OTHER, operation.at != NULL ? operation : SPAN_LIT("Other"), "Other");
        return;
    }
    event = event_of(row);
    put_class(doc, event->entity != NULL ? &entity_management : &lifecycle, event->activity,
              event->activity == OTHER ? operation : span_text(event->activity_name), event->activity_name);
}

static void add_metadata(struct doc *doc, enum entry_kind kind, const struct query_row *row)
{
    static const char *const names[] = {"decision", "outcome", "event"};
    struct doc *metadata = doc_add_object(doc, "metadata"), *product = doc_add_object(metadata, "product");

    doc_text(product, "name", SPAN_LIT("Callgate"));
    doc_text(product, "vendor_name", SPAN_LIT("Callgate"));
    doc_text(product, "version", SPAN_LIT(CALLGATE_VERSION));
    doc_text(metadata, "version", SPAN_LIT(OCSF_VERSION));
    if (kind != ENTRY_EVENT)
        doc_text(doc_add_array(metadata, "profiles"), NULL, SPAN_LIT("security_control"));
    add_text(metadata, "uid", row, "hash");
    add_text(metadata, "original_event_uid", row, "seq");
    add_number(metadata, "sequence", row, "seq");
    add_text(metadata, "original_time", row, "time");
    add_text(metadata, "tenant_uid", row, "tenant");
    add_text(metadata, "correlation_uid", row, "correlation");
    doc_text(metadata, "event_code", span_text(names[kind]));
    doc_text(metadata, "log_name", SPAN_LIT("audit.db"));
}

static void add_status(struct doc *doc, enum entry_kind kind, const struct query_row *row)
{
    int status = status_of(kind, row), severity = severity_of(kind, row);

    doc_int(doc, "severity_id", severity);
    doc_text(doc, "severity", span_text(severity_names[severity]));
    doc_int(doc, "status_id", status);
    doc_text(doc, "status", span_text(status_names[status]));
    add_text(doc, "status_code", row, kind == ENTRY_OUTCOME ? "outcome" : "reason");
    add_text(doc, "status_detail", row, kind == ENTRY_OUTCOME ? "reason" : "rule_reason");
}

static void add_control(struct doc *doc, const struct query_row *row)
{
    bool permitted = span_is(query_value(row, "verdict"), "permit");
    struct doc *policy;

    doc_int(doc, "action_id", permitted ? ALLOWED : DENIED);
    doc_text(doc, "action", permitted ? SPAN_LIT("Allowed") : SPAN_LIT("Denied"));
    doc_int(doc, "disposition_id", permitted ? ALLOWED : BLOCKED);
    doc_text(doc, "disposition", permitted ? SPAN_LIT("Allowed") : SPAN_LIT("Blocked"));
    if (query_value(row, "policy_version").at == NULL)
        return;
    policy = doc_add_object(doc, "policy");
    add_text(policy, "name", row, "rule");
    add_text(policy, "uid", row, "policy_hash");
    add_text(policy, "version", row, "policy_version");
    doc_bool(policy, "is_applied", true);
}

/* What an event is about: a key, a policy version, an approval, by its number; or the gate as an application. */
static void add_subject(struct doc *doc, const struct query_row *row)
{
    const struct ocsf_event *event = event_of(row);
    const struct json_node *uid;
    struct doc *subject = doc_add_object(doc, event->entity != NULL ? "entity" : "app");
    struct json_text detail;

    if (event->entity == NULL) {
        doc_text(subject, "name", SPAN_LIT("Callgate"));
        doc_text(subject, "vendor_name", SPAN_LIT("Callgate"));
        doc_text(subject, "version", SPAN_LIT(CALLGATE_VERSION));
        return;
    }
    doc_text(subject, "type", span_text(event->entity));
    if (json_text_read(&detail, query_value(row, "detail"), &json_file_rules, DETAIL_BYTES) == CODE_OK) {
        uid = json_member(detail.root, span_text(event->uid));
        doc_text(subject, "uid", uid != NULL ? uid->raw : SPAN_LIT("unknown"));
    } else {
        doc_text(subject, "name", span_text(event->entity));
    }
    json_text_fini(&detail);
}

static void add_people(struct doc *doc, const struct query_row *row)
{
    struct doc *actor = doc_add_object(doc, "actor"), *user = doc_add_object(actor, "user"), *source;
    struct span name = query_value(row, "principal"), client = query_value(row, "client");
    struct sock_address address;
    bool is_address;

    doc_text(user, "name", name.at != NULL ? name : SPAN_LIT("unknown"));
    if (query_value(row, "session").at != NULL)
        add_text(doc_add_object(actor, "session"), "uid", row, "session");
    source = doc_add_object(doc, "src_endpoint");
    is_address = client.at != NULL && sock_parse_ip(client, 0, &address) == CODE_OK;
    doc_text(source, is_address ? "ip" : "name", client.at != NULL ? client : SPAN_LIT("unknown"));
    if (query_value(row, "upstream").at != NULL)
        add_text(doc_add_object(doc, "dst_endpoint"), "svc_name", row, "upstream");
}

static void add_api(struct doc *doc, const struct query_row *row)
{
    struct doc *api = doc_add_object(doc, "api"), *part;
    struct span operation = query_value(row, "method");

    doc_text(api, "operation", operation.at != NULL ? operation : SPAN_LIT("unknown"));
    add_text(api, "version", row, "protocol_version");
    if (query_value(row, "upstream").at != NULL)
        add_text(doc_add_object(api, "service"), "name", row, "upstream");
    if (query_value(row, "correlation").at != NULL)
        add_text(doc_add_object(api, "request"), "uid", row, "correlation");
    if (query_value(row, "status").at != NULL || query_value(row, "error_code").at != NULL) {
        part = doc_add_object(api, "response");
        add_number(part, "code", row, "status");
        add_text(part, "error", row, "error_code");
    }
    if (query_value(row, "status").at != NULL)
        add_number(doc_add_object(doc, "http_response"), "code", row, "status");
    if (query_value(row, "tool").at != NULL) {
        part = doc_add_object(doc_add_array(doc, "resources"), NULL);
        add_text(part, "name", row, "tool");
        doc_text(part, "type", span_is(operation, "tools/call") ? SPAN_LIT("tool") : operation);
    }
}

/* What the class has no place for, under our own names. */
static void add_unmapped(struct doc *doc, const struct query_row *row)
{
    static const char *const placed[] = {"seq", "time", "tenant", "principal", "client", "session", "correlation", "upstream",
                                         "method", "tool", "protocol_version", "policy_hash", "hash", NULL};
    struct doc *unmapped = doc_add_object(doc, "unmapped");

    for (int i = 0; i < row->count; i++) {
        if (row->values[i].text.at == NULL || span_is_one_of(span_text(row->names[i]), placed))
            continue;
        if (row->values[i].is_number)
            doc_int(unmapped, row->names[i], number_of(row, row->names[i]));
        else
            doc_text(unmapped, row->names[i], row->values[i].text);
    }
}

enum code audit_form_ocsf(struct buf *out, enum entry_kind kind, const struct query_row *row)
{
    struct doc *doc = doc_object();
    enum code code;

    add_metadata(doc, kind, row);
    add_class(doc, kind, row);
    doc_int(doc, "time", number_of(row, "time_us") / 1000);
    add_status(doc, kind, row);
    if (kind == ENTRY_EVENT) {
        add_subject(doc, row);
        if (event_of(row)->entity != NULL)
            add_text(doc_add_object(doc_add_object(doc, "actor"), "user"), "name", row, "actor");
    } else {
        add_control(doc, row);
        add_people(doc, row);
        add_api(doc, row);
    }
    add_unmapped(doc, row);
    code = doc_print(doc, out);
    doc_free(&doc);
    return code;
}
