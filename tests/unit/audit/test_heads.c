/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/ledger.h"
#include "proof/tenants.h"

#include "base/mem.h"
#include "fakes/audit_file.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char salt[ROW_SALT_BYTES] = {7};

/* Against a plain array: adds, finds and removes in an order that makes chains wrap and move up. */
TEST_CASE(test_permits_against_a_model)
{
    static bool model[20000];
    struct permits permits;
    unsigned chance = 1;
    size_t count = 0;

    assert_int_equal(permits_init(&permits), CODE_OK);
    for (int step = 0; step < 200000; step++) {
        uint64_t seq;

        chance = chance * 1103515245u + 12345u;
        seq = 1 + (chance >> 8) % (step % 1000 < 500 ? 300 : 19999);
        if (!model[seq]) {
            assert_null(permits_find(&permits, seq));
            assert_int_equal(permits_add(&permits, seq, NULL, salt), CODE_OK);
            count++;
        } else {
            assert_int_equal(permits_find(&permits, seq)->salt[0], 7);
            permits_remove(&permits, seq);
            permits_remove(&permits, seq);
            count--;
        }
        model[seq] = !model[seq];
        assert_int_equal(permits.count, count);
    }
    for (uint64_t seq = 1; seq < 20000; seq++)
        assert_int_equal(permits_find(&permits, seq) != NULL, model[seq]);
    for (uint64_t seq = 1; seq < 20000; seq += 2)
        if (model[seq])
            permits_find(&permits, seq)->closing = true;
    permits_drop_closed(&permits);
    for (uint64_t seq = 1; seq < 20000; seq++)
        assert_int_equal(permits_find(&permits, seq) != NULL, model[seq] && seq % 2 == 0);
    permits_fini(&permits);
}

TEST_CASE(test_heads_are_trimmed)
{
    struct heads heads;
    struct permits permits;
    struct head *head;
    char name[16];

    assert_int_equal(heads_init(&heads), CODE_OK);
    assert_int_equal(permits_init(&permits), CODE_OK);
    for (int i = 1; i <= HEADS_MAX + 10; i++) {
        (void)snprintf(name, sizeof name, "t%d", i);
        assert_int_equal(heads_find(&heads, span_text(name), &head), CODE_OK);
        assert_false(head->known);
        head->known = i > HEADS_MAX || i == 5;
        head->seq = (uint64_t)i;
        if (i == 5)
            assert_int_equal(permits_add(&permits, 5, head, salt), CODE_OK);
    }
    heads_trim(&heads);
    assert_int_equal(heads.count, 11); /* ten that have rows in this file, one with an open permit */
    assert_int_equal(heads_find(&heads, SPAN_LIT("t5"), &head), CODE_OK);
    assert_true(head->known && head->seq == 5 && head->permits == 1);
    assert_int_equal(heads_find(&heads, SPAN_LIT("t6"), &head), CODE_OK);
    assert_false(head->known);
    heads_forget(&heads);
    assert_int_equal(heads_find(&heads, SPAN_LIT("t5"), &head), CODE_OK);
    assert_false(head->known);
    permits_fini(&permits);
    heads_fini(&heads);
}

TEST_CASE(test_out_of_memory)
{
    struct heads heads;
    struct permits permits;
    struct head *head;

    mem_fail_at(1, 0);
    assert_int_equal(heads_init(&heads), CODE_NOMEM);
    mem_fail_at(1, 0);
    assert_int_equal(permits_init(&permits), CODE_NOMEM);
    mem_fail_at(0, 0);
    assert_int_equal(heads_init(&heads), CODE_OK);
    assert_int_equal(permits_init(&permits), CODE_OK);
    mem_fail_at(1, 0);
    assert_int_equal(heads_find(&heads, SPAN_LIT("a"), &head), CODE_NOMEM);
    mem_fail_at(0, 0);
    for (uint64_t seq = 1; permits.count < permits.size / 2; seq++)
        assert_int_equal(permits_add(&permits, seq, NULL, salt), CODE_OK);
    mem_fail_at(1, 0);
    assert_int_equal(permits_add(&permits, 99999, NULL, salt), CODE_NOMEM);
    mem_fail_at(0, 0);
    assert_non_null(permits_find(&permits, 1)); /* a failed growth changed nothing */
    permits_fini(&permits);
    heads_fini(&heads);
}

static void append(struct ledger *ledger, const char *tenant)
{
    const struct audit_event event = {.time_us = 1, .kind = SPAN_LIT("test"), .tenant = span_text(tenant)};

    assert_int_equal(ledger_event(ledger, &event), CODE_OK);
}

static struct head *head_of(struct ledger *ledger, const char *tenant)
{
    struct head *head;

    assert_int_equal(heads_find(&ledger->heads, span_text(tenant), &head), CODE_OK);
    return head;
}

/* 10.29: a gate that opens its file anew reads the rows behind those that it knows, and no others: what it knows of the rest, here
 * what nobody could read in the file, stands; what was never committed is as it was. */
TEST_CASE(test_opened_anew)
{
    struct audit_file file;
    struct ledger ledger;
    struct why why = {0};
    unsigned char quiet[DIGEST_BYTES], busy[DIGEST_BYTES];

    audit_file_init(&file);
    assert_int_equal(ledger_init(&ledger, file.path, "node-1"), CODE_OK);
    assert_int_equal(ledger_open(&ledger, DB_CREATE, 1, &why), CODE_OK);
    assert_int_equal(ledger_begin(&ledger), CODE_OK);
    append(&ledger, "quiet");
    for (int i = 0; i < 200; i++)
        append(&ledger, "busy");
    assert_int_equal(ledger_commit(&ledger), CODE_OK);
    head_of(&ledger, "quiet")->hash[0] ^= 1;
    memcpy(quiet, head_of(&ledger, "quiet")->hash, DIGEST_BYTES);
    memcpy(busy, head_of(&ledger, "busy")->hash, DIGEST_BYTES);
    assert_int_equal(ledger_begin(&ledger), CODE_OK);
    for (int i = 0; i < 3; i++)
        append(&ledger, "busy");
    append(&ledger, "fresh");
    for (int round = 0; round < 2; round++) {
        ledger_close(&ledger); /* rolls back */
        if (ledger_open(&ledger, DB_WRITE, 1, &why) != CODE_OK)
            fail_msg("%s", why.text);
        assert_int_equal(ledger.tip.seq, 201);
        assert_int_equal(head_of(&ledger, "quiet")->seq, 1);
        assert_memory_equal(head_of(&ledger, "quiet")->hash, quiet, DIGEST_BYTES);
        assert_int_equal(head_of(&ledger, "busy")->seq, 201);
        assert_memory_equal(head_of(&ledger, "busy")->hash, busy, DIGEST_BYTES);
        assert_int_equal(head_of(&ledger, "fresh")->seq, 0);
    }
    ledger.committed.hash[0] ^= 1; /* another file: nothing of before counts */
    ledger_close(&ledger);
    assert_int_equal(ledger_open(&ledger, DB_WRITE, 1, &why), CODE_OK);
    assert_memory_not_equal(head_of(&ledger, "quiet")->hash, quiet, DIGEST_BYTES);
    ledger_fini(&ledger);
    audit_file_fini(&file);
}

/* 10.29: the 65,537th tenant is bound, and every one before. */
TEST_CASE(test_many_tenants_are_bound)
{
    unsigned char hash[DIGEST_BYTES] = "h", before[DIGEST_BYTES], root[DIGEST_BYTES];
    struct tenants tenants;
    char name[16];

    assert_int_equal(tenants_init(&tenants), CODE_OK);
    for (uint64_t i = 1; i <= 70000; i++) {
        int len = snprintf(name, sizeof name, "t%llu", (unsigned long long)i);

        assert_int_equal(tenants_set(&tenants, span_of(name, (size_t)len), i, hash), CODE_OK);
    }
    assert_int_equal(tenants_root(&tenants, before), CODE_OK);
    assert_int_equal(tenants.listed, 70000);
    for (int i = 0; i < 2; i++) { /* the last one's next row, and the first one's, change what a checkpoint says */
        assert_int_equal(tenants_set(&tenants, i == 0 ? SPAN_LIT("t70000") : SPAN_LIT("t1"), 70001, hash), CODE_OK);
        assert_int_equal(tenants_root(&tenants, root), CODE_OK);
        assert_memory_not_equal(root, before, DIGEST_BYTES);
        memcpy(before, root, DIGEST_BYTES);
    }
    tenants_fini(&tenants);
}

TEST_MAIN(NULL, NULL)
