/* SPDX-License-Identifier: Apache-2.0 */
/* 9.3: the official JSON-Schema-Test-Suite, from the file that JSON_SCHEMA_SUITE names (tests/interop/19-schema-suite writes
 * it): a schema is taken or refused, and of what is taken each instance is judged as the suite says, or undecided. */
#include "fakes/cm.h"
#include "json/json.h"
#include "os/file.h"
#include "judgement/judgement.h"
#include "policy/schema.h"
#include "schema/schema_compile.h"

#include <stdio.h>
#include <stdlib.h>

enum { AS_SAID, UNDECIDED, NO_JSON, REFUSED, COUNTS };

static const struct json_node *read_json(struct span text, struct buf *canonical, struct arena *arena)
{
    const struct json_node *root = NULL;
    struct json_fault fault;

    return json_read(text, &json_file_rules, canonical, arena, &root, &fault) == CODE_OK ? root : NULL;
}

static void judge(const struct policy_schema *schema, const struct json_node *group, const struct json_node *test,
                  size_t counts[COUNTS])
{
    bool valid = json_at(test, "valid", NULL)->type == JSON_TRUE;
    const struct json_node *data;
    struct buf canonical;
    struct arena arena;
    enum truth truth = TRUTH_UNDECIDED;

    arena_init(&arena, 64 << 20);
    buf_init(&canonical, 8 << 20);
    data = read_json(json_member_text(test, "data"), &canonical, &arena);
    if (data != NULL)
        truth = policy_schema_holds(schema, data);
    if (truth == truth_of(!valid))
        fail_msg("%.*s: %.*s: %.*s is not %s", SPAN_ARG(json_member_text(group, "file")),
                 SPAN_ARG(json_member_text(group, "description")), SPAN_ARG(json_member_text(test, "description")),
                 valid ? "valid" : "invalid");
    counts[data == NULL ? NO_JSON : truth == TRUTH_UNDECIDED ? UNDECIDED : AS_SAID]++;
    arena_fini(&arena);
    buf_fini(&canonical);
}

static void run_group(struct span line, size_t groups[2], size_t counts[COUNTS])
{
    const struct json_node *group;
    struct policy_schema *schema;
    struct buf canonical;
    struct arena arena;
    struct why why = {""};

    arena_init(&arena, 64 << 20);
    buf_init(&canonical, 8 << 20);
    group = read_json(line, &canonical, &arena);
    assert_non_null(group);
    if (policy_schema_compile(json_member_text(group, "schema"), &schema, &why) == CODE_OK) {
        groups[0]++;
        for (const struct json_node *test = json_at(group, "tests", NULL)->child; test != NULL; test = test->next)
            judge(schema, group, test, counts);
        policy_schema_unref(&schema);
    } else {
        printf("refused: %.*s: %.*s: %s\n", SPAN_ARG(json_member_text(group, "file")),
               SPAN_ARG(json_member_text(group, "description")), why.text);
        groups[1]++;
        counts[REFUSED] += json_at(group, "tests", NULL)->count;
    }
    arena_fini(&arena);
    buf_fini(&canonical);
}

TEST_CASE(test_suite)
{
    const char *path = getenv("JSON_SCHEMA_SUITE");
    size_t groups[2] = {0}, counts[COUNTS] = {0};
    struct span line, rest;
    struct buf text;
    struct why why;

    if (path == NULL)
        skip();
    buf_init(&text, 16 << 20);
    assert_ok(file_read(path, FILE_ANY, 16 << 20, &text, &why));
    for (rest = buf_peek(&text); rest.len > 0;) {
        line = span_cut(rest, '\n', &rest);
        if (line.len > 0)
            run_group(line, groups, counts);
    }
    printf("suite: %zu schemas taken, %zu refused; tests: %zu as said, %zu undecided, %zu no JSON here, %zu of refused schemas\n",
           groups[0], groups[1], counts[AS_SAID], counts[UNDECIDED], counts[NO_JSON], counts[REFUSED]);
    assert_true(counts[AS_SAID] > 1000 && counts[UNDECIDED] < 40);
    buf_fini(&text);
}

TEST_MAIN(NULL, NULL)
