/* SPDX-License-Identifier: Apache-2.0 */
/* 11.12: a start goes on from what was counted and kept, and forgets nothing and counts nothing twice, whatever became of what was
 * kept. */
#include "remember_bench.h"

#include "files/trail.h"

#include <fcntl.h>
#include <sys/stat.h>

static const unsigned char key[DIGEST_BYTES] = "the store's", other_key[DIGEST_BYTES] = "somebody's";

static int open_kept(void **state)
{
    static char path[128];
    int code = open_house(state);
    struct house *house = *state;

    if (code == 0) {
        (void)snprintf(path, sizeof path, "%s/callgate.db.past-1", house->folder);
        house->kept = (struct past_place){.path = path, .key = key};
    }
    return code;
}

static struct remembering asked_of(const struct house *house)
{
    return (struct remembering){.path = house->path, .now_us = clock_wall_us(), .kept = house->kept, .with_plans = true};
}

static uint64_t last_row(const struct house *house)
{
    struct trail_candidate candidate;
    struct why why = {""};

    if (trail_look_at(house->path, &candidate, &why) != CODE_OK)
        fail_msg("%s", why.text);
    return (uint64_t)candidate.file.last_seq;
}

static void keep(struct house *house)
{
    struct remembering asked = asked_of(house);
    struct why why = {""};
    uint64_t kept = 0;

    if (gate_remember_keep(house->shared, &asked, last_row(house), &kept, &why) != CODE_OK)
        fail_msg("%s", why.text);
    assert_int_equal(kept, last_row(house));
}

/* Another process, at whatever time. Returns: the row from which it went on; 0: it has counted all. */
static uint64_t restart(struct house *house, int64_t ahead_us)
{
    struct remembering asked;
    struct remembered remembered;
    struct why why = {""};

    close_gate(house);
    start(house);
    asked = asked_of(house);
    asked.now_us += ahead_us;
    if (gate_remember(house->shared, &asked, &remembered, &why) != CODE_OK)
        fail_msg("%s", why.text);
    assert_int_equal(remembered.gap_us, 0);
    return remembered.from;
}

/* Where which of the two is; what becomes of it. */
static const char *file_of(const struct house *house, unsigned which)
{
    static char path[2][160];

    (void)snprintf(path[which], sizeof path[which], "%s.%u", house->kept.path, which);
    return path[which];
}

static void change(const char *path, off_t at)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat there;
    char byte;

    assert_true(fd >= 0 && fstat(fd, &there) == 0);
    at = at < 0 ? there.st_size + at : at;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void copy(const char *from, const char *to)
{
    struct buf bytes;
    struct why why = {""};

    buf_init(&bytes, 1 << 24);
    assert_int_equal(file_read(from, FILE_SECRET, 1 << 24, &bytes, &why), CODE_OK);
    (void)unlink(to);
    assert_int_equal(file_create(to, 0600, buf_peek(&bytes), &why), CODE_OK);
    buf_fini(&bytes);
}

/* Two of three are used, one before and one behind what is kept; 400 of 500, too. */
static uint64_t use_some(struct house *house)
{
    uint64_t row;

    call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    pay(house, "{\"amount\":300,\"fee\":[1]}", 0, REASON_PERMITTED);
    keep(house);
    row = last_row(house);
    call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    pay(house, "{\"amount\":100,\"fee\":[2.5]}", 0, REASON_PERMITTED);
    return row;
}

static void knows_it_all(struct house *house)
{
    call(house, "send_mail", "s1", 0, REASON_FORBIDDEN);
    pay(house, "{\"amount\":100.01,\"fee\":[0]}", 0, REASON_RATE_LIMITED);
    pay(house, "{\"amount\":0,\"fee\":[6.51]}", 0, REASON_RATE_LIMITED);
    call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    call(house, "read_secret", "s1", 0, REASON_RATE_LIMITED);
    pay(house, "{\"amount\":100,\"fee\":[6.5]}", 0, REASON_PERMITTED);
}

TEST_CASE_WITH(test_goes_on_from_what_was_kept, open_kept, close_house)
{
    struct house *house = *state;
    uint64_t row = use_some(house);
    struct stat there;

    assert_int_equal(stat(file_of(house, 0), &there), 0);
    assert_int_equal(there.st_mode & 0777, 0600);
    assert_int_equal(restart(house, 0), row);
    knows_it_all(house);
}

/* Each is made from the one before. */
TEST_CASE_WITH(test_many_times_one_after_the_other, open_kept, close_house)
{
    struct house *house = *state;
    uint64_t row = 0;

    call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    for (int i = 0; i < 5; i++) {
        keep(house);
        row = last_row(house);
        call(house, "plain", "s1", 0, REASON_PERMITTED);
    }
    call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    assert_int_equal(restart(house, 0), row);
    keep(house);
    row = last_row(house);
    assert_int_equal(restart(house, 0), row);
    call(house, "send_mail", "s1", 0, REASON_FORBIDDEN);
    call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    call(house, "read_secret", "s1", 0, REASON_RATE_LIMITED);
}

/* Whoever can write the folder, and a kill or a full disk at any time. */
TEST_CASE_WITH(test_whatever_became_of_it, open_kept, close_house)
{
    static const off_t places[] = {0, 24, 32, 40, 60, 80, 120, 200, -200, -33, -32, -1};
    struct house *house = *state;
    uint64_t first = use_some(house), second;
    char aside[160], newest[160];

    keep(house);
    second = last_row(house);
    (void)snprintf(aside, sizeof aside, "%s/aside", house->folder);
    (void)snprintf(newest, sizeof newest, "%s", file_of(house, 1));
    copy(newest, aside);
    assert_int_equal(restart(house, 0), second);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        copy(aside, newest);
        change(newest, places[i]);
        assert_int_equal(restart(house, 0), first); /* the older only means more to read */
    }
    copy(aside, newest);
    for (off_t size = 0; size < 400; size += 13) {
        assert_int_equal(truncate(newest, size), 0);
        assert_int_equal(restart(house, 0), first);
    }
    copy(file_of(house, 0), newest); /* an old one that is played again */
    assert_int_equal(restart(house, 0), first);
    assert_int_equal(unlink(newest), 0);
    assert_int_equal(restart(house, 0), first);
    change(file_of(house, 0), 100);
    assert_int_equal(restart(house, 0), 0);
    assert_int_equal(chmod(aside, 0644), 0);
    assert_int_equal(rename(aside, newest), 0); /* somebody else could have read and written it */
    assert_int_equal(restart(house, 0), 0);
    knows_it_all(house);
}

TEST_CASE_WITH(test_another_key, open_kept, close_house)
{
    struct house *house = *state;
    uint64_t row = use_some(house);

    house->kept.key = other_key;
    assert_int_equal(restart(house, 0), 0);
    house->kept.key = key;
    assert_int_equal(restart(house, 0), row);
    knows_it_all(house);
}

/* With the right key, and its row's number is there: but not its row. */
TEST_CASE_WITH(test_another_log, open_kept, close_house)
{
    struct house *house = *state, other = {.audit = NULL};
    uint64_t row;

    for (int i = 0; i < 3; i++)
        call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    keep(house);
    snprintf(other.folder, sizeof other.folder, "/tmp/callgate-remember-XXXXXX");
    assert_non_null(mkdtemp(other.folder));
    snprintf(other.path, sizeof other.path, "%s/audit.db", other.folder);
    other.kept = house->kept;
    start(&other);
    for (int i = 0; i < 6; i++)
        call(&other, "plain", "s1", 0, REASON_PERMITTED);
    assert_true(last_row(&other) >= last_row(house));
    assert_int_equal(restart(&other, 0), 0);
    call(&other, "read_secret", "s1", 0, REASON_PERMITTED);
    keep(&other); /* in the place of what was of no use */
    row = last_row(&other);
    assert_int_equal(restart(&other, 0), row);
    close_gate(&other);
    empty(other.folder);
    assert_int_equal(restart(house, 0) > 0, true); /* the other of the two files is still this one's */
    call(house, "read_secret", "s1", 0, REASON_RATE_LIMITED);
}

static void publish(struct house *house, const char *limit, const char *more)
{
    char yaml[1024];

    (void)snprintf(yaml, sizeof yaml, "policy: test\nrules:\n"
                   "  - {id: read, effect: permit, match: {tools: [read_secret, send_mail]}, limit: %s}\n%s", limit, more);
    gate_publish_policy(house->shared, compile(yaml));
}

static uint64_t start_under(struct house *house, const char *limit, const char *more)
{
    struct remembering asked = asked_of(house);
    struct remembered remembered;
    struct why why = {""};

    publish(house, limit, more);
    if (gate_remember(house->shared, &asked, &remembered, &why) != CODE_OK)
        fail_msg("%s", why.text);
    return remembered.from;
}

/* What a version asks for that was not counted is counted from the trail; what it asks for no more does no harm. */
TEST_CASE_WITH(test_another_version, open_kept, close_house)
{
    static const char leak[] = "  - {id: leak, effect: forbid, match: {tools: [send_mail]}, when: [{session: {called: ['read_*'], "
                               "within: 2h}}]}\n";
    static const char longer[] = "  - {id: leak, effect: forbid, match: {tools: [send_mail]}, when: [{session: {called: ['read_*'], "
                                 "within: 3h}}]}\n";
    struct house *house = *state;
    uint64_t row = use_some(house);

    assert_int_equal(start_under(house, "{calls: 3, per: hour, by: [session, tool]}", leak), row);
    call(house, "send_mail", "s1", 0, REASON_FORBIDDEN);
    assert_int_equal(start_under(house, "{calls: 3, per: hour, by: [session, tool]}", longer), 0);
    call(house, "send_mail", "s1", 0, REASON_FORBIDDEN);
    assert_int_equal(start_under(house, "{calls: 2, per: hour, by: [session, tool]}", ""), 0);
    call(house, "read_secret", "s1", 0, REASON_RATE_LIMITED);
    assert_int_equal(start_under(house, "{calls: 3, per: day, by: [session, tool]}", ""), 0);
    assert_int_equal(start_under(house, "{calls: 3, per: hour, by: [session]}", ""), 0);
    call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    call(house, "read_secret", "s1", 0, REASON_RATE_LIMITED);
    keep(house); /* under the last version, and with the plans as before */
    assert_int_equal(start_under(house, "{calls: 3, per: hour, by: [session]}", ""), last_row(house));
    assert_int_equal(restart(house, 0), row); /* the first one's older file goes for the first version still */
    call(house, "read_secret", "s1", 0, REASON_RATE_LIMITED);
}

/* Nor does a restart give tokens back of a limit that is as short as clocks are apart. */
TEST_CASE_WITH(test_a_short_limit, open_kept, close_house)
{
    static const char limit[] = "{calls: 2, per: minute, by: [session, tool]}";
    struct house *house = *state;

    publish(house, limit, "");
    call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    call(house, "read_secret", "s1", 0, REASON_PERMITTED);
    keep(house);
    assert_int_equal(start_under(house, limit, ""), last_row(house));
    call(house, "read_secret", "s1", 0, REASON_RATE_LIMITED);
}

/* What was left out since it was over when the clock was ahead is not over. */
TEST_CASE_WITH(test_the_clock_is_set_back, open_kept, close_house)
{
    const int64_t day = 24 * 60 * MINUTE;
    struct house *house = *state;
    struct remembering asked;
    struct why why = {""};
    uint64_t row = use_some(house), kept;

    house->shared->clock_us += 2 * day; /* as if it had been ahead when the gate began */
    asked = asked_of(house);
    asked.now_us += 2 * day;
    assert_int_equal(gate_remember_keep(house->shared, &asked, last_row(house), &kept, &why), CODE_OK);
    assert_int_equal(restart(house, 0), row); /* the later one was made in the future */
    knows_it_all(house);
    assert_int_equal(restart(house, -MINUTE), row); /* set back by little, nothing was left out that counts */
    call(house, "read_secret", "s1", 0, REASON_RATE_LIMITED);
    assert_int_equal(restart(house, -day), 0);
    assert_int_equal(unlink(file_of(house, 1)), 0);
    assert_int_equal(restart(house, 0), row);
}

static struct plan_step step = {.times = 2};

static uint32_t next_step(struct house *house, const struct plan *plan)
{
    const struct plan_fit fit = {{1}};
    enum reason reason;

    return plan_uses_find(gate_state_plans(gate_state_of(house->shared)), plan, &fit, &reason);
}

static void use_step(struct house *house, const struct plan *plan)
{
    char hex[2 * DIGEST_BYTES];
    struct audit_decision record = {
        .time_us = clock_wall_us(), .tenant = plan->tenant, .upstream = SPAN_LIT("shop"), .direction = SPAN_LIT("agent"),
        .method = SPAN_LIT("tools/call"), .verdict = AUDIT_PERMIT, .reason = REASON_PERMITTED, .plan_step = SPAN_LIT("1"),
    };
    uint64_t ticket, seq = 0;

    num_hex(plan->digest, DIGEST_BYTES, hex);
    record.plan = span_of(hex, sizeof hex);
    assert_int_equal(audit_put_decision(audit_ring(house->audit, 0), &record, &ticket), CODE_OK);
    for (int i = 0; i < 60000 && audit_fate(audit_ring(house->audit, 0), ticket, &seq) == AUDIT_WAITING; i++)
        usleep(1000);
    assert_int_not_equal(seq, 0);
}

TEST_CASE_WITH(test_steps_of_plans, open_kept, close_house)
{
    struct plan plan = {.tenant = SPAN_LIT("acme"), .digest = {1}, .step = &step, .step_count = 1};
    struct house *house = *state;

    use_step(house, &plan);
    keep(house);
    assert_true(restart(house, 0) > 0);
    assert_int_equal(next_step(house, &plan), 1);
    use_step(house, &plan);
    assert_true(restart(house, 0) > 0);
    assert_int_equal(next_step(house, &plan), 0);
    keep(house);
    assert_true(restart(house, 0) > 0);
    assert_int_equal(next_step(house, &plan), 0);
}

/* A route's keys of plans may go and come back: what was used in between is used once. */
TEST_CASE_WITH(test_plans_that_are_looked_at_again, open_kept, close_house)
{
    struct plan plan = {.tenant = SPAN_LIT("acme"), .digest = {1}, .step = &step, .step_count = 1};
    struct house *house = *state;
    struct remembering asked = asked_of(house);
    struct remembered remembered;
    struct why why = {""};
    uint64_t kept;

    use_step(house, &plan);
    keep(house);
    close_gate(house);
    start(house);
    asked.with_plans = false;
    assert_int_equal(gate_remember(house->shared, &asked, &remembered, &why), CODE_OK);
    assert_true(remembered.from > 0);
    assert_int_equal(gate_remember_plans(house->shared, &asked, &remembered, &why), CODE_OK); /* a reload has some again */
    assert_int_equal(next_step(house, &plan), 1);
    for (int i = 0; i < 2; i++) {
        call(house, "plain", "s1", 0, REASON_PERMITTED);
        assert_int_equal(gate_remember_keep(house->shared, &asked, last_row(house), &kept, &why), CODE_OK); /* without them */
    }
    assert_true(restart(house, 0) > 0);
    assert_int_equal(next_step(house, &plan), 1);
    use_step(house, &plan);
    assert_int_equal(next_step(house, &plan), 1); /* the trail says so, and this gate has not looked */
    assert_true(restart(house, 0) > 0);
    assert_int_equal(next_step(house, &plan), 0);
}

/* Behind a rotation the row that it stands at is in a file that was left, or the last one of it. */
TEST_CASE_WITH(test_behind_a_rotation, open_kept, close_house)
{
    struct house *house = *state;
    uint64_t row = use_some(house);
    struct audit_done done;

    assert_int_equal(audit_archive(house->audit, SPAN_LIT("test")), CODE_OK);
    while (!audit_job_over(house->audit, &done))
        usleep(1000);
    assert_int_equal(restart(house, 0), row);
    keep(house);
    row = last_row(house);
    assert_int_equal(restart(house, 0), row);
    knows_it_all(house);
}

TEST_MAIN(NULL, NULL)
