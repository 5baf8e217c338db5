/* SPDX-License-Identifier: Apache-2.0 */
/* 13.6: whatever a row of the trail holds, what is told of it is JSON, with spans that begin and end within their parent; whatever
 * /metrics says is read as metrics or refused. Lines `column value` until an empty one; behind it the text of metrics. */
#include "base/bug.h"
#include "base/num.h"
#include "json/text.h"
#include "telemetry/call_spans.h"
#include "telemetry/figures.h"

#include <string.h>

#define MOST ((size_t)8 << 20)
#define COLUMNS_MAX 128

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct made {
    const char *names[COLUMNS_MAX];
    struct query_value values[COLUMNS_MAX];
    struct query_row row;
};

/* Columns that nobody named are there, too, and empty. */
static struct span make_row(struct made *made, struct span text)
{
    const char *const *names = entry_columns();

    *made = (struct made){.row = {.names = made->names, .values = made->values}};
    for (; names[made->row.count] != NULL && made->row.count < COLUMNS_MAX; made->row.count++)
        made->names[made->row.count] = names[made->row.count];
    while (text.len > 0 && text.at[0] != '\n') {
        struct span value, name = span_cut(span_cut(text, '\n', &text), ' ', &value);

        for (int i = 0; i < made->row.count; i++)
            if (span_is(name, made->names[i]))
                made->values[i].text = value.at != NULL ? value : SPAN_LIT("");
    }
    /* the trail keeps these as whole numbers */
    for (int i = 0; i < made->row.count; i++) {
        size_t name_len = strlen(made->names[i]);
        int64_t number;

        if (name_len > 3 && (strcmp(made->names[i] + name_len - 3, "_us") == 0 || strcmp(made->names[i], "decision") == 0) &&
            num_i64(made->values[i].text, &number) != CODE_OK)
            made->values[i].text = SPAN_NONE;
    }
    return span_part(text, 1, SIZE_MAX);
}

static uint64_t moment_of(const struct json_node *span, const char *name)
{
    uint64_t moment = 0;

    BUG_ON(num_u64(json_member_text(span, name), &moment) != CODE_OK);
    return moment;
}

static void check_spans(struct span text)
{
    struct json_text read;
    struct buf list;
    const struct json_node *call;

    buf_init(&list, MOST);
    BUG_ON(buf_addf(&list, "[%.*s]", SPAN_ARG(text)) != CODE_OK);
    BUG_ON(json_text_read(&read, buf_peek(&list), &json_file_rules, MOST) != CODE_OK);
    call = read.root->child;
    for (const struct json_node *span = call; span != NULL; span = span->next) {
        uint64_t begin = moment_of(span, "startTimeUnixNano"), end = moment_of(span, "endTimeUnixNano");

        BUG_ON(begin > end || begin < moment_of(call, "startTimeUnixNano") || end > moment_of(call, "endTimeUnixNano"));
        BUG_ON(!span_equals(json_member_text(span, "traceId"), json_member_text(call, "traceId")));
    }
    json_text_fini(&read);
    buf_fini(&list);
}

static void tell(const struct query_row *row, bool is_much)
{
    const struct call_spans spans = {.principals = is_much, .arguments = is_much, .details = is_much, .links = is_much,
                                     .one_in = is_much ? 1 : 3};
    struct buf out;

    buf_init(&out, MOST);
    for (int kind = ENTRY_DECISION; kind <= ENTRY_OUTCOME; kind++) {
        buf_clear(&out);
        BUG_ON(call_spans_add(&out, &spans, (enum entry_kind)kind, row) != CODE_OK);
        if (!buf_is_empty(&out))
            check_spans(buf_peek(&out));
    }
    buf_clear(&out);
    BUG_ON(call_spans_log(&out, &spans, row) != CODE_OK || !json_text_is(buf_peek(&out), MOST));
    buf_fini(&out);
}

static void read_figures(struct span text)
{
    struct otlp_batch batch;
    struct buf body;

    otlp_batch_init(&batch);
    buf_init(&body, MOST);
    if (figures_add(&batch, text, 0, 1) == CODE_OK && batch.count > 0) {
        BUG_ON(otlp_batch_body(&batch, OTLP_METRICS, "n", 0, batch.count, &body) != CODE_OK);
        BUG_ON(!json_text_is(buf_peek(&body), MOST));
    }
    buf_fini(&body);
    otlp_batch_fini(&batch);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static struct made made;
    struct span rest;

    if (len > (1 << 16))
        return 0;
    rest = make_row(&made, span_of(bytes, len));
    tell(&made.row, false);
    tell(&made.row, true);
    read_figures(rest);
    return 0;
}
