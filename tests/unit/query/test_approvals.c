/* SPDX-License-Identifier: Apache-2.0 */
/* 3.4: what is told of the approvals of one call is what happened to these, in their order, and nothing of anybody else's. */
#include "query/entries.h"

#include "fakes/audit_file.h"
#include "files/trail.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>

static struct audit_file file;

static void happened(struct audit_ring *ring, const char *kind, const char *detail)
{
    const struct audit_event event = {.time_us = 1700000000000000, .kind = span_text(kind), .tenant = SPAN_LIT("acme"),
                                      .actor = SPAN_LIT("gate"), .detail = span_text(detail)};

    assert_int_equal(audit_put_event(ring, &event), CODE_OK);
}

/* Row `held` asks twice, another call in between, and a third uses what was granted. */
static int setup(void **state)
{
    struct audit *audit;
    struct audit_ring *ring;

    (void)state;
    audit_file_init(&file);
    audit = audit_file_open(&file, 1);
    ring = audit_ring(audit, 0);
    for (int i = 0; i < 3; i++)
        (void)audit_file_call(ring, "acme", "c");
    happened(ring, "approval_asked", "{\"approval\":11,\"decision\":101}");
    happened(ring, "approval_asked", "{\"approval\":12,\"decision\":102}");
    happened(ring, "approval_asked", "{\"approval\":13,\"decision\":101}");
    happened(ring, "approval_granted", "{\"approval\":12}");
    happened(ring, "approval_granted", "{\"approval\":13}");
    happened(ring, "key_made", "{\"approval\":13}");
    happened(ring, "approval_granted", "no JSON");
    happened(ring, "approval_denied", "{\"approval\":11}");
    happened(ring, "approval_used", "{\"approval\":13,\"decision\":103}");
    (void)audit_file_call(ring, "acme", "c");
    audit_close(&audit);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    audit_file_fini(&file);
    return 0;
}

static enum code note(void *context, const struct query_row *row)
{
    char *told = context;
    size_t len = strlen(told);

    for (int i = 0; i < row->count; i++)
        if (strcmp(row->names[i], "approval") == 0 || strcmp(row->names[i], "kind") == 0)
            len += (size_t)snprintf(told + len, 1024 - len, "%.*s ", SPAN_ARG(row->values[i].text));
    return CODE_OK;
}

static void expect(int64_t decision, const char *wanted)
{
    char told[1024] = "";
    struct trail trail;
    struct why why = {""};

    assert_int_equal(trail_find(file.path, false, &trail, &why), CODE_OK);
    if (audit_approvals_of(&trail, decision, note, told, &why) != CODE_OK)
        fail_msg("%s", why.text);
    trail_fini(&trail);
    assert_string_equal(told, wanted);
}

TEST_CASE(test_approvals)
{
    expect(102, "12 approval_asked 12 approval_granted ");
    expect(101, "11 approval_asked 13 approval_asked 13 approval_granted 11 approval_denied 13 approval_used ");
    expect(103, "13 approval_asked 13 approval_granted 13 approval_used "); /* who used it was not who asked */
    expect(104, "");
}

TEST_MAIN(setup, teardown)
