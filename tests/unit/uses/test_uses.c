/* SPDX-License-Identifier: Apache-2.0 */
/* 14.7: what a gate wishes goes to a real PostgreSQL and back; the same wish again is the same use; a centre that lacks uses is told; one
 * that is away is said to be, soon; no key and no value goes there as it is. What the centre answers is read whatever it holds. */
#include "uses/uses.h"

#include "crypto/digest.h"
#include "fakes/pg_server.h"
#include "os/clock.h"
#include "fakes/cm.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOUR (INT64_C(3600) * 1000000)
#define WAIT_MS 20000

static const unsigned char secret[DIGEST_BYTES] = {1, 2, 3};
static struct pg *owner;
static struct uses *uses;
static struct pg_place place;
static struct uses_in_force in_force;
static int gate; /* its end */

static void run(const char *sql)
{
    struct why why = {""};

    if (pg_run(owner, sql, &why) != CODE_OK)
        fail_msg("%s: %s", sql, why.text);
}

/* The server's process that this node is connected with. */
static int64_t connection(void)
{
    struct why why = {""};
    struct pg_rows *rows = NULL;
    int64_t pid;

    if (pg_ask(owner, "SELECT pid FROM pg_stat_activity WHERE usename = 'gate-1' ORDER BY backend_start DESC LIMIT 1", NULL, 0,
               &rows, &why) != CODE_OK)
        fail_msg("%s", why.text);
    pid = pg_rows_int(rows, 0, 0);
    assert_true(pid > 0);
    pg_rows_free(&rows);
    return pid;
}

static int begin(void **state)
{
    static char schema[1 << 18];
    FILE *file = fopen("schema/fleet.sql", "rb");

    if (pg_server_start(state) != 0 || file == NULL)
        return -1;
    schema[fread(schema, 1, sizeof schema - 1, file)] = '\0';
    (void)fclose(file);
    owner = pg_server_open((struct pg_place){.database = pg_server.local});
    run(schema);
    run("CREATE ROLE \"gate-1\" LOGIN PASSWORD 'a node''s words' IN ROLE callgate_node");
    return 0;
}

static int end(void **state)
{
    pg_close(&owner);
    return pg_server_finish(state);
}

static int arrive(void **state)
{
    struct uses_conf conf = {.name = "gate-1", .secret = secret, .in_force = &in_force};
    struct why why = {""};
    int ends[2];

    (void)state;
    place = (struct pg_place){.database = pg_server.url, .user = SPAN_LIT("gate-1"), .password = SPAN_LIT("a node's words")};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    gate = ends[0];
    conf.place = place;
    conf.gate = ends[1];
    if (uses_start(&conf, &uses, &why) != CODE_OK)
        fail_msg("%s", why.text);
    *state = (void *)(intptr_t)ends[1];
    return 0;
}

static int leave(void **state)
{
    while (!uses_stop(&uses))
        ;
    assert_null(uses);
    (void)close(gate);
    return close((int)(intptr_t)*state);
}

/* ---- as the gate ---- */

static struct wish_take amount_of(unsigned char name, uint64_t most)
{
    struct wish_take take = {.kind = WISH_AMOUNT, .most = most, .amount = 1, .per_us = HOUR};

    memset(take.key, name, 16);
    return take;
}

static void wish(uint64_t ticket, const struct wish_take *takes, uint32_t count)
{
    struct fleet_wish message = {.kind = FLEET_WISH, .ticket = ticket, .count = count};
    size_t bytes = offsetof(struct fleet_wish, takes) + count * sizeof *takes;

    memcpy(message.takes, takes, count * sizeof *takes);
    assert_int_equal(send(gate, &message, bytes, MSG_NOSIGNAL), bytes);
}

static enum fleet_kind hear(struct wish_answer *answer)
{
    struct pollfd end = {.fd = gate, .events = POLLIN};
    union {
        enum fleet_kind kind;
        struct fleet_message message;
        struct fleet_answer answer;
    } said;
    ssize_t got;

    assert_int_equal(poll(&end, 1, WAIT_MS), 1);
    got = recv(gate, &said, sizeof said, 0);
    if (said.kind == FLEET_ANSWER) {
        assert_int_equal(got, sizeof said.answer);
        *answer = said.answer.answer;
    } else {
        assert_int_equal(got, sizeof said.message);
    }
    return said.kind;
}

/* Asks until the centre is there: it may be on its way back, or slow for once on a busy machine. */
static struct wish_answer ask_all(uint64_t ticket, const struct wish_take *takes, uint32_t count)
{
    struct wish_answer answer = {.fate = WISH_AWAY};

    for (int round = 0; round < 200 && answer.fate == WISH_AWAY; round++) {
        wish(ticket, takes, count);
        while (hear(&answer) != FLEET_ANSWER)
            ;
        assert_int_equal(answer.ticket, ticket);
        if (answer.fate == WISH_AWAY)
            (void)poll(NULL, 0, 100);
    }
    return answer;
}

static struct wish_answer ask(uint64_t ticket, struct wish_take take)
{
    return ask_all(ticket, &take, 1);
}

TEST_CASE_WITH(test_wishes_come_back, arrive, leave)
{
    struct wish_take take = amount_of(1, 2), two[2] = {amount_of(2, 9), amount_of(1, 2)};
    struct wish_answer answer;

    assert_int_equal(ask(11, take).fate, WISH_GIVEN);
    assert_int_equal(ask(11, take).fate, WISH_GIVEN); /* its answer was lost: the same use */
    assert_int_equal(ask(12, take).fate, WISH_GIVEN);
    answer = ask(13, take);
    assert_int_equal(answer.fate, WISH_FULL);
    assert_int_equal(answer.at, 0);
    assert_int_equal(answer.taken, 2);
    assert_true(answer.wait_us > HOUR / 2 && answer.wait_us <= HOUR + HOUR / 32);
    answer = ask_all(14, two, 2); /* all or nothing */
    assert_int_equal(answer.fate, WISH_FULL);
    assert_int_equal(answer.at, 1);
    assert_int_equal(pg_server_number(owner, "SELECT sum(used)::bigint FROM callgate.limit_slot"), 2);
}

TEST_CASE_WITH(test_steps_and_values, arrive, leave)
{
    struct wish_take step = {.kind = WISH_STEP, .most = 1, .amount = 2, .per_us = INT64_C(4000000000000000)};
    struct wish_take value = amount_of(3, 1), other;
    struct wish_answer answer;

    value.kind = WISH_VALUE;
    memset(value.key + 16, 'a', 16);
    other = value;
    memset(other.key + 16, 'b', 16);
    assert_int_equal(ask(21, value).fate, WISH_GIVEN);
    assert_int_equal(ask(22, value).fate, WISH_GIVEN);
    assert_int_equal(ask(23, other).fate, WISH_FULL);
    memset(step.key, 7, sizeof step.key);
    answer = ask(24, step);
    assert_int_equal(answer.fate, WISH_GIVEN);
    assert_int_equal(answer.count, 1);
    assert_true(answer.used[0].step == 2 && answer.used[0].times == 1);
    assert_int_equal(ask(25, step).fate, WISH_FULL);
    /* under a secret of the fleet's: neither a key nor a value lies there as it is */
    assert_int_equal(pg_server_number(owner, "SELECT count(*) FROM callgate.limit_value WHERE value = decode(repeat('61', 16), 'hex') "
                                             "OR key = decode(repeat('03', 16), 'hex')"), 0);
    assert_int_equal(pg_server_number(owner, "SELECT count(*) FROM callgate.limit_value"), 1);
}

TEST_CASE_WITH(test_many_at_once, arrive, leave)
{
    struct wish_take take = amount_of(4, 100);
    bool is_given[60] = {false};
    struct wish_answer answer;

    assert_int_equal(ask(31, take).fate, WISH_GIVEN);
    for (uint64_t i = 0; i < 60; i++)
        wish(100 + i, &take, 1);
    for (uint64_t i = 0; i < 60; i++) {
        while (hear(&answer) != FLEET_ANSWER)
            ;
        assert_int_equal(answer.ticket, 100 + i);
        is_given[i] = answer.fate == WISH_GIVEN;
    }
    for (uint64_t i = 0; i < 60; i++) /* those that a busy machine kept waiting for too long once more */
        assert_true(is_given[i] || ask(100 + i, take).fate == WISH_GIVEN);
}

/* What is no message of the gate's is passed over, without a word to the centre, and what is one behind it is heard. */
TEST_CASE_WITH(test_what_is_no_message, arrive, leave)
{
    struct wish_take take = amount_of(5, 9);
    struct fleet_wish message = {.kind = FLEET_WISH, .ticket = 1, .count = WISH_TAKES_MAX + 1};
    int64_t before;

    assert_int_equal(ask(40, take).fate, WISH_GIVEN);
    before = connection();
    assert_int_equal(send(gate, &message, sizeof message, 0), sizeof message);
    message.count = 0;
    assert_int_equal(send(gate, &message, offsetof(struct fleet_wish, takes), 0), offsetof(struct fleet_wish, takes));
    message.count = 2;
    assert_int_equal(send(gate, &message, offsetof(struct fleet_wish, takes) + 3, 0), offsetof(struct fleet_wish, takes) + 3);
    message.kind = FLEET_TOLD;
    assert_int_equal(send(gate, &message, 2, 0), 2);
    assert_int_equal(send(gate, &message, sizeof message, 0), sizeof message);
    (void)poll(NULL, 0, 100); /* they are heard without a wish behind them */
    assert_int_equal(ask(41, take).fate, WISH_GIVEN);
    assert_int_equal(connection(), before);
}

/* A server that lacks what was seen gives nothing until it was told what this node has used. */
TEST_CASE_WITH(test_what_the_centre_lacks_is_told, arrive, leave)
{
    struct fleet_told told = {.kind = FLEET_TOLD, .count = 1, .begins = true};
    struct wish_take take = amount_of(6, 2);
    struct wish_answer answer;

    assert_int_equal(ask(51, take).fate, WISH_GIVEN);
    run("DELETE FROM callgate.limit_slot; UPDATE callgate.limit_clock SET time_us = time_us - 5000000");
    while (hear(&answer) != FLEET_TELL) /* by the next beat */
        ;
    wish(52, &take, 1);
    while (hear(&answer) != FLEET_ANSWER)
        ;
    assert_int_equal(answer.fate, WISH_AWAY);
    told.uses[0].take = take;
    assert_true(send(gate, &told, offsetof(struct fleet_told, uses) + sizeof told.uses[0], 0) > 0);
    told = (struct fleet_told){.kind = FLEET_TOLD, .ends = true};
    assert_true(send(gate, &told, offsetof(struct fleet_told, uses), 0) > 0);
    assert_int_equal(ask(53, take).fate, WISH_GIVEN);
    assert_int_equal(ask(54, take).fate, WISH_FULL);
}

TEST_CASE_WITH(test_away_is_said_soon, arrive, leave)
{
    struct wish_take take = amount_of(8, 99);
    struct wish_answer answer;
    int64_t begun_us;

    assert_int_equal(ask(61, take).fate, WISH_GIVEN);
    pg_close(&owner);
    pg_server_tell("pause");
    begun_us = clock_monotonic_us();
    wish(62, &take, 1);
    while (hear(&answer) != FLEET_ANSWER)
        ;
    assert_int_equal(answer.fate, WISH_AWAY);
    (void)printf("a centre that says nothing: %lld ms\n", (long long)((clock_monotonic_us() - begun_us) / 1000));
    pg_server_tell("resume");
    assert_int_equal(ask(63, take).fate, WISH_GIVEN);
    pg_server_tell("kill");
    wish(64, &take, 1);
    while (hear(&answer) != FLEET_ANSWER)
        ;
    assert_int_equal(answer.fate, WISH_AWAY);
    pg_server_tell("start");
    assert_int_equal(ask(65, take).fate, WISH_GIVEN);
    owner = pg_server_open((struct pg_place){.database = pg_server.local});
}

TEST_CASE_WITH(test_it_ends_with_the_gate, arrive, leave)
{
    const struct fleet_message last = {.kind = FLEET_LAST};

    assert_false(uses_are_over(uses));
    assert_int_equal(send(gate, &last, sizeof last, 0), sizeof last);
    while (!uses_are_over(uses))
        (void)poll(NULL, 0, 1);
}

/* ---- what the centre says ---- */

static struct wish_answer answer_of(int64_t status, int64_t at, int64_t wait_us, int64_t taken, const char *used)
{
    const int64_t numbers[USES_NUMBERS] = {9, status, at, wait_us, taken};
    struct wish_answer answer;

    uses_read_answer(numbers, span_text(used), &answer);
    assert_int_equal(answer.ticket, 9);
    return answer;
}

TEST_CASE(test_whatever_the_centre_says)
{
    char many[3601] = "";
    struct wish_answer answer = answer_of(1, 2, 3, 4, "1:2,256:70000,3:1");

    assert_true(answer.fate == WISH_FULL && answer.at == 2 && answer.wait_us == 3 && answer.taken == 4 && answer.count == 3);
    assert_true(answer.used[1].step == 256 && answer.used[1].times == UINT16_MAX);
    assert_int_equal(answer_of(0, 0, 0, 0, "").fate, WISH_GIVEN);
    assert_int_equal(answer_of(2, 0, 0, 0, "").fate, WISH_AWAY);
    assert_int_equal(answer_of(-1, 0, 0, 0, "").fate, WISH_AWAY);
    answer = answer_of(1, -5, INT64_MAX, INT64_MIN, "0:1");
    assert_true(answer.at == 0 && answer.wait_us == WISH_FULL_US && answer.taken == 0 && answer.count == 0);
    assert_int_equal(answer_of(1, 0, INT64_MIN, 0, "257:1").count, 0);
    assert_int_equal(answer_of(1, 0, 0, 0, "1:1,x,2:1").count, 1);
    for (size_t i = 0; i < 900; i++)
        memcpy(many + 4 * i, "1:1,", 4);
    assert_int_equal(answer_of(1, 0, 0, 0, many).count, WISH_STEPS_MAX);
}

/* What the gate judges by is kept; what is no such message changes nothing. */
TEST_CASE_WITH(test_what_is_in_force, arrive, leave)
{
    struct fleet_in_force said = {.kind = FLEET_IN_FORCE, .change = 7, .version = 3};

    assert_int_equal(send(gate, &said, sizeof said, MSG_NOSIGNAL), sizeof said);
    for (int i = 0; i < WAIT_MS && atomic_load(&in_force.version) != 3; i++)
        (void)poll(NULL, 0, 1);
    assert_int_equal(atomic_load(&in_force.change), 7);
    assert_int_equal(atomic_load(&in_force.version), 3);
    said.change = 8;
    assert_false(uses_hear_in_force(&in_force, &said, sizeof said - 1));
    said.kind = FLEET_WISH;
    assert_false(uses_hear_in_force(&in_force, &said, sizeof said));
    assert_int_equal(atomic_load(&in_force.change), 7);
}

int main(void)
{
    return pg_server_is_there() ? tests_run(begin, end) : 0;
}
