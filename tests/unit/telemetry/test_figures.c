/* SPDX-License-Identifier: Apache-2.0 */
/* 13.6: /metrics as metrics of OpenTelemetry: sums and gauges with their labels, histograms with buckets that are no longer
 * added up; batches and their bodies. */
#include "json/text.h"
#include "telemetry/figures.h"
#include "fakes/cm.h"

#define MOST ((size_t)1 << 20)
#define NOW_US INT64_C(1795862452371665)

static struct otlp_batch batch;
static struct json_text said;

/* The metrics of the body, or NULL where the text is none of the gate's. */
static const struct json_node *read(const char *text)
{
    struct buf body;
    const struct json_node *scope;

    json_text_fini(&said);
    otlp_batch_clear(&batch);
    if (figures_add(&batch, span_text(text), 0, NOW_US) != CODE_OK)
        return NULL;
    buf_init(&body, MOST);
    assert_int_equal(otlp_batch_body(&batch, OTLP_METRICS, "a\"node", 0, batch.count, &body), CODE_OK);
    assert_int_equal(json_text_read(&said, buf_peek(&body), &json_file_rules, MOST), CODE_OK);
    buf_fini(&body);
    scope = json_member(json_member(said.root, SPAN_LIT("resourceMetrics"))->child, SPAN_LIT("scopeMetrics"))->child;
    return json_member(scope, SPAN_LIT("metrics"))->child;
}

static void is(struct span got, const char *wanted)
{
    if (!span_is(got, wanted))
        fail_msg("%.*s is not %s", SPAN_ARG(got), wanted);
}

static const struct json_node *points(const struct json_node *metric, const char *kind)
{
    return json_member(json_member(metric, span_text(kind)), SPAN_LIT("dataPoints"))->child;
}

TEST_CASE(reads_counters_and_gauges)
{
    const struct json_node *metric = read("# HELP a_total Calls \"judged\".\n# TYPE a_total counter\n"
                                          "a_total{tool=\"x\\\"y\\\\z\\n\",verdict=\"deny\"} 3\na_total{tool=\"}\",verdict=\"a,b\"} 4\n"
                                          "# HELP empty Nothing.\n# TYPE empty gauge\n"
                                          "# HELP g_bytes Room.\n# TYPE g_bytes gauge\ng_bytes 0.5\n"
                                          "# HELP process_start_time_seconds When.\n# TYPE process_start_time_seconds gauge\n"
                                          "process_start_time_seconds 1795862400\n");
    const struct json_node *point = points(metric, "sum"), *label = json_member(point, SPAN_LIT("attributes"))->child;

    is(json_member_text(metric, "name"), "a_total");
    is(json_member_text(metric, "description"), "Calls \"judged\".");
    is(json_member(json_member(metric, SPAN_LIT("sum")), SPAN_LIT("isMonotonic"))->raw, "true");
    is(json_member(json_member(metric, SPAN_LIT("sum")), SPAN_LIT("aggregationTemporality"))->raw, "2");
    is(json_member_text(point, "startTimeUnixNano"), "1795862400000000000");
    is(json_member_text(point, "timeUnixNano"), "1795862452371665000");
    is(json_member_text(point, "asInt"), "3");
    is(json_member_text(json_member(label, SPAN_LIT("value")), "stringValue"), "x\"y\\z\n");
    is(json_member_text(point->next, "asInt"), "4");
    metric = metric->next;
    is(json_member_text(metric, "name"), "g_bytes");
    is(json_member_text(metric, "unit"), "By");
    is(json_member(points(metric, "gauge"), SPAN_LIT("asDouble"))->raw, "0.5");
    assert_null(json_member(points(metric, "gauge"), SPAN_LIT("startTimeUnixNano")));
    assert_int_equal(batch.count, 3);
}

TEST_CASE(reads_histograms)
{
    const struct json_node *metric = read("# HELP h_seconds How long.\n# TYPE h_seconds histogram\nh_seconds_bucket{le=\"1e-05\"} 2\n"
                                          "h_seconds_bucket{le=\"0.5\"} 2\nh_seconds_bucket{le=\"+Inf\"} 7\nh_seconds_sum 1.25\n"
                                          "h_seconds_count 7\n");
    const struct json_node *point = points(metric, "histogram");

    is(json_member_text(metric, "unit"), "s");
    is(json_member_text(point, "count"), "7");
    is(json_member(point, SPAN_LIT("sum"))->raw, "1.25");
    is(json_member(point, SPAN_LIT("bucketCounts"))->raw, "[\"2\",\"0\",\"5\"]");
    is(json_member(point, SPAN_LIT("explicitBounds"))->raw, "[1e-05,0.5]");
}

TEST_CASE(takes_no_other_text)
{
    static const char *const other[] = {
        "<html>\n", "a 1\n", "# HELP a b\n# TYPE a summary\n", "# HELP a b\n# TYPE a gauge\na NaN\n", "# HELP a b\n# TYPE a gauge\na \n",
        "# HELP a b\n# TYPE a gauge\nb 1\n", "# HELP a b\n# TYPE a gauge\na{x=\"1\" 1\n", "# HELP a b\n# TYPE a gauge\na{x} 1\n",
        "# HELP a b\n# TYPE a gauge\na 1,\"x\":2\n", "# HELP a b\n# TYPE a gauge\na 0x1\n", "# HELP a b\na 1\n",
        "# HELP a b\n# TYPE a gauge\na 01\n", "# HELP a b\n# TYPE a gauge\na -inf\n", "# HELP a b\n# TYPE a gauge\na 1.\n",
        "# HELP a b\n# TYPE a gauge\na -.5\n", "# HELP a b\n# TYPE a gauge\na{x=\"1\"y,z=\"1\"} 1\n",
        "# HELP a b\n# TYPE a gauge\na{\xde=\"1\"} 1\n", "# HELP a b\n# TYPE a gauge\na{x=\"1} 1\n",
        "# HELP h b\n# TYPE h histogram\nh_bucket{le=\"1\"} 3\nh_bucket{le=\"+Inf\"} 2\nh_sum 1\nh_count 2\n",
        "# HELP h b\n# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\nh_bucket{le=\"2\"} 2\nh_sum 1\nh_count 2\n",
        "# HELP h b\n# TYPE h histogram\nh_count 2\n", "# HELP a b\n# TYPE b gauge\n", "# EOF\n",
    };

    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        if (read(other[i]) != NULL)
            fail_msg("taken: %s", other[i]);
}

TEST_CASE(parts_batches)
{
    struct buf body;

    otlp_batch_clear(&batch);
    for (int i = 0; i < 10; i++) {
        buf_addf(&batch.text, "{\"n\":%d}", i);
        assert_int_equal(otlp_batch_end_item(&batch), CODE_OK);
        assert_int_equal(otlp_batch_end_item(&batch), CODE_OK); /* nothing since: no item */
    }
    assert_int_equal(batch.count, 10);
    assert_int_equal(otlp_batch_fit(&batch, 0, 512, 1 << 20), 10);
    assert_int_equal(otlp_batch_fit(&batch, 8, 512, 1 << 20), 2);
    assert_int_equal(otlp_batch_fit(&batch, 0, 3, 1 << 20), 3);
    assert_int_equal(otlp_batch_fit(&batch, 0, 512, 15), 2);
    assert_int_equal(otlp_batch_fit(&batch, 0, 512, 1), 1); /* one that is too large goes alone */
    buf_init(&body, MOST);
    assert_int_equal(otlp_batch_body(&batch, OTLP_LOGS, "n", 4, 2, &body), CODE_OK);
    assert_int_equal(json_text_read(&said, buf_peek(&body), &json_file_rules, MOST), CODE_OK);
    buf_fini(&body);
}

int main(void)
{
    int failed;

    otlp_batch_init(&batch);
    failed = tests_run(NULL, NULL);
    json_text_fini(&said);
    otlp_batch_fini(&batch);
    return failed;
}
