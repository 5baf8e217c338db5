/* SPDX-License-Identifier: Apache-2.0 */
/* 14.7: a tally beside a fleet's: what the fleet has no room for is not asked for again and again, and what this node has used of what
 * all count is told, and nothing else. */
#include "state/state.h"

#include "base/mem.h"
#include "language/language.h"
#include "fakes/cm.h"

#include <string.h>

#define SECOND INT64_C(1000000)
#define HOUR (3600 * SECOND)
#define NOW (1000 * SECOND)

static struct tally *make(void)
{
    struct tally *tally;

    assert_int_equal(tally_new((size_t)1 << 20, &tally), CODE_OK);
    return tally;
}

static struct tally_take amount_of(unsigned char name, uint64_t amount)
{
    struct tally_take take = {.key = {.share = {1, 0}, .tenant = 1}, .most = 10, .amount = amount, .per_us = HOUR, .of_fleet = true};

    memset(take.key.bytes, name, sizeof take.key.bytes);
    return take;
}

static struct tally_take value_of(unsigned char name, unsigned char value)
{
    struct tally_take take = amount_of(name, 1);

    take.of_values = true;
    take.most = 3;
    memset(&take.value, value, sizeof take.value);
    return take;
}

static void expect(struct tally *tally, struct tally_take take, int64_t now_us, enum policy_known wanted, int64_t wait_us)
{
    struct policy_room room = {0};

    assert_int_equal(tally_has_room(tally, &take, now_us, &room), wanted);
    if (wanted == POLICY_NO)
        assert_int_equal(room.wait_us, wait_us);
}

static void take(struct tally *tally, struct tally_take take, int64_t now_us)
{
    assert_int_equal(tally_take(tally, &take, 1, now_us), CODE_OK);
}

TEST_CASE(test_what_is_refused_elsewhere_has_no_room_here)
{
    struct tally *tally = make();
    struct tally_take three = amount_of(1, 3), unknown = amount_of(2, 1);
    struct policy_room room = {0};

    take(tally, amount_of(1, 1), NOW);
    tally_refuse(tally, &three, NOW, 60 * SECOND, 8);
    expect(tally, three, NOW, POLICY_NO, 60 * SECOND);
    expect(tally, amount_of(1, 4), NOW + SECOND, POLICY_NO, 59 * SECOND);
    assert_int_equal(tally_has_room(tally, &three, NOW, &room), POLICY_NO);
    assert_int_equal(room.taken, 8); /* what all have taken, not this node alone */
    expect(tally, amount_of(1, 2), NOW, POLICY_YES, 0); /* less may have room: the fleet is asked */
    three.beyond = true;
    expect(tally, three, NOW, POLICY_YES, 0); /* a person let it by */
    three.beyond = false;
    expect(tally, three, NOW + 60 * SECOND, POLICY_YES, 0);
    tally_refuse(tally, &unknown, NOW, 60 * SECOND, 10); /* of what nobody has taken here, nothing is remembered */
    expect(tally, unknown, NOW, POLICY_YES, 0);
    tally_free(&tally);
}

TEST_CASE(test_a_value_is_refused_alone)
{
    struct tally *tally = make();
    struct tally_take other = value_of(1, 'b');

    take(tally, value_of(1, 'a'), NOW);
    tally_refuse(tally, &other, NOW, 60 * SECOND, 3);
    expect(tally, other, NOW, POLICY_NO, 60 * SECOND);
    expect(tally, value_of(1, 'c'), NOW, POLICY_YES, 0);
    expect(tally, value_of(1, 'a'), NOW, POLICY_YES, 0);
    tally_refuse(tally, &(struct tally_take){.key = other.key, .value = value_of(1, 'a').value, .of_values = true}, NOW, 60 * SECOND, 3);
    expect(tally, value_of(1, 'a'), NOW, POLICY_YES, 0); /* it has its place here already */
    tally_free(&tally);
}

/* What is settled of a window, and counts for the fleet as well: not what may not have been given yet, nor what its time may have
 * passed already, by a 32nd and two seconds. */
TEST_CASE(test_what_is_settled_must_be_known_elsewhere)
{
    const int64_t first = HOUR / 32 + 2 * SECOND;
    struct tally_take now = amount_of(1, 1);
    struct tally *tally = make();

    now.taken_us = NOW;
    assert_int_equal(tally_settled(tally, &now), 0); /* nothing was taken */
    take(tally, amount_of(1, 2), NOW);
    take(tally, amount_of(1, 3), NOW + SECOND);
    take(tally, amount_of(2, 5), NOW);
    assert_int_equal(tally_settled(tally, &now), 0);
    now.taken_us = NOW + 2 * SECOND - 1;
    assert_int_equal(tally_settled(tally, &now), 0);
    now.taken_us = NOW + 2 * SECOND;
    assert_int_equal(tally_settled(tally, &now), 2);
    now.taken_us = NOW + 3 * SECOND;
    assert_int_equal(tally_settled(tally, &now), 5);
    now.taken_us = NOW + HOUR - first - 1;
    assert_int_equal(tally_settled(tally, &now), 5);
    now.taken_us = NOW + HOUR - first;
    assert_int_equal(tally_settled(tally, &now), 3);
    now.taken_us = NOW + HOUR - first + SECOND;
    assert_int_equal(tally_settled(tally, &now), 0);
    now.per_us = 4 * SECOND; /* of so short a window nothing is ever both */
    now.taken_us = NOW + 3 * SECOND;
    assert_int_equal(tally_settled(tally, &now), 0);
    tally_free(&tally);
}

/* All parts. Returns: how many; the first 16 are handed over. */
static size_t told(struct tally *tally, int64_t now_us, struct wish_told out[16])
{
    struct buf bytes;
    size_t count;

    buf_init(&bytes, (size_t)1 << 20);
    for (uint32_t part = 0; part < TALLY_PARTS; part++)
        tally_write_uses(tally, part, now_us, &bytes);
    assert_int_equal(buf_code(&bytes), CODE_OK);
    count = buf_len(&bytes) / sizeof(struct wish_told);
    for (size_t i = 0; i < count && i < 16; i++)
        memcpy(&out[i], buf_peek(&bytes).at + i * sizeof(struct wish_told), sizeof(struct wish_told));
    buf_fini(&bytes);
    return count;
}

TEST_CASE(test_what_this_node_has_used_is_told)
{
    struct tally_take here = amount_of(3, 1), noted = amount_of(4, 1);
    struct tally *tally = make();
    struct wish_told all[16];
    uint64_t sum = 0;
    bool seen = false;

    here.of_fleet = false;
    take(tally, amount_of(1, 2), NOW);
    take(tally, amount_of(1, 5), NOW + 10 * SECOND);
    take(tally, value_of(2, 'v'), NOW + 20 * SECOND);
    take(tally, here, NOW);
    tally_note(tally, &noted.key, NOW, HOUR);
    assert_int_equal(told(tally, NOW + 30 * SECOND, all), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(all[i].take.per_us, HOUR);
        if (all[i].take.kind == WISH_AMOUNT) {
            assert_int_equal(all[i].take.key[0], 1);
            sum += all[i].take.amount;
            /* as late as it may have been given: the fleet was asked after it was judged */
            assert_int_equal(all[i].age_us, (all[i].take.amount == 2 ? 30 : 20) * SECOND - WISH_WAIT_US - WISH_SEEN_US);
        } else {
            assert_int_equal(all[i].take.kind, WISH_VALUE);
            assert_int_equal(all[i].take.key[0], 2);
            assert_int_equal(all[i].take.key[TALLY_KEY_BYTES], 'v');
            assert_int_equal(all[i].take.amount, 1);
            seen = true;
        }
    }
    assert_int_equal(sum, 7);
    assert_true(seen);
    assert_int_equal(told(tally, NOW + HOUR + 12 * SECOND, all), 1); /* what has left its window counts nowhere */
    assert_int_equal(all[0].take.kind, WISH_VALUE);
    tally_free(&tally);
}

/* What was kept beside the store is told as what was counted. */
TEST_CASE(test_what_was_kept_is_told_too)
{
    struct tally *tally = make(), *again = make();
    struct wish_told before[16], after[16];
    struct span kept;
    struct buf bytes;

    buf_init(&bytes, (size_t)1 << 20);
    take(tally, amount_of(1, 2), NOW);
    take(tally, value_of(2, 'v'), NOW);
    tally_keep(tally, &bytes);
    kept = buf_peek(&bytes);
    assert_int_equal(tally_read(again, &kept, 0, NOW), CODE_OK);
    assert_int_equal(told(tally, NOW, before), 2);
    assert_int_equal(told(again, NOW, after), 2);
    for (size_t i = 0; i < 2; i++) {
        const struct wish_told *other = after[0].take.kind == before[i].take.kind ? &after[0] : &after[1];

        assert_memory_equal(other->take.key, before[i].take.key, DIGEST_BYTES);
        assert_int_equal(other->take.amount, before[i].take.amount);
        assert_int_equal(other->age_us, before[i].age_us);
    }
    buf_fini(&bytes);
    tally_free(&tally);
    tally_free(&again);
}

/* ---- the state, by what the fleet says ---- */

TEST_CASE(test_a_state_goes_by_what_it_hears)
{
    struct wish_answer full = {.fate = WISH_FULL, .at = 1, .wait_us = 50 * SECOND, .taken = 10};
    struct tally_take first = amount_of(1, 1), second = amount_of(2, 4);
    struct gate_token token = {.count = 3}, shared;
    struct gate_state *room;
    struct wish *wish = NULL;
    struct buf bytes;

    assert_int_equal(gate_state_new(GATE_STATE_BYTES, NULL, &room), CODE_OK);
    token.state = room;
    token.takes = mem_array(3, sizeof *token.takes);
    assert_non_null(token.takes);
    token.takes[0] = first;
    token.takes[1] = second;
    token.takes[2] = amount_of(3, 1);
    token.takes[2].of_fleet = false; /* as of a monitored permit */
    token.takes[1].of_fleet = false;
    assert_int_equal(gate_token_wish(&token, &wish), CODE_OK);
    assert_int_equal(wish->count, 1); /* neither what each node counts by itself, nor what is monitored */
    token.takes[1].of_fleet = true;
    token.step = 2;
    token.times = 3;
    token.ends_us = NOW;
    memset(token.plan, 9, sizeof token.plan);
    assert_int_equal(gate_token_wish(&token, &wish), CODE_OK);
    assert_int_equal(wish->count, 4);
    assert_int_equal(wish->takes[3].kind, WISH_STEP);
    assert_int_equal(wish->takes[3].amount, 2);
    assert_int_equal(wish->takes[3].most, 3);
    wish->answer = full;
    assert_int_equal(gate_state_hear(room, wish, SPAN_LIT("acme"), NOW), CODE_OK);
    wish->answer = (struct wish_answer){.fate = WISH_FULL, .at = 3, .count = 1, .used = {{2, 3}}};
    assert_int_equal(gate_state_hear(room, wish, SPAN_LIT("acme"), NOW), CODE_OK);
    wish->answer = (struct wish_answer){.fate = WISH_FULL, .at = 77}; /* no such take: of the first one nothing is taken here */
    assert_int_equal(gate_state_hear(room, wish, SPAN_LIT("acme"), NOW), CODE_OK);
    buf_init(&bytes, (size_t)1 << 16);
    for (uint32_t part = 0; part < TALLY_PARTS; part++)
        gate_state_write_uses(room, part, NOW, &bytes);
    assert_int_equal(buf_len(&bytes), sizeof(struct wish_told)); /* of a plan's step this node tells what it heard, too */
    buf_fini(&bytes);
    mem_free(token.takes);
    shared = (struct gate_token){.state = NULL};
    assert_int_equal(gate_token_wish(&shared, &wish), CODE_OK);
    assert_int_equal(wish->count, 4);
    mem_free(wish->takes);
    mem_free(wish);
    gate_state_free(&room);
}

/* A call that is judged again, since the fleet or a person is asked meanwhile, has given back what it took before. */
TEST_CASE(test_a_monitored_limit_counts_a_call_that_is_judged_anew_once)
{
    static const char text[] = "policy: t\nrules:\n"
        "  - {id: b, effect: permit, match: {tools: [read]}, limit: {calls: 9, per: hour}}\n"
        "  - {id: a, effect: permit, mode: monitor, match: {tools: [read]}, limit: {calls: 3, per: minute}}\n";
    struct policy_file file = {SPAN_LIT("t.yaml"), span_text(text)};
    struct question question = {.tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("bot"), .upstream = SPAN_LIT("shop"),
                                .method = SPAN_LIT("tools/call"), .tool = SPAN_LIT("read")};
    struct gate_moment moment = {.now_us = NOW};
    static struct verdict verdict;
    struct policy_scratch *scratch;
    struct gate_token token;
    struct policy *policy;
    struct faults faults;

    faults_init(&faults);
    assert_int_equal(policy_compile(&file, 1, 0, &policy, &faults, NULL), CODE_OK);
    assert_int_equal(policy_scratch_new(&scratch), CODE_OK);
    assert_int_equal(gate_state_new(GATE_STATE_BYTES, NULL, &moment.state), CODE_OK);
    for (unsigned round = 0; round < 12; round++) {
        gate_state_judge(&moment, policy, &question, false, scratch, &verdict, &token);
        assert_int_equal(token.count, 1 + (round < 9)); /* the fourth call would be over the monitored one */
        if (round % 3 == 2)
            gate_token_spend(&token);
        else
            gate_token_give_back(&token);
    }
    gate_state_free(&moment.state);
    policy_scratch_free(&scratch);
    policy_unref(&policy);
}

TEST_MAIN(NULL, NULL)
