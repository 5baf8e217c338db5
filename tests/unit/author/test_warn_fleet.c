/* SPDX-License-Identifier: Apache-2.0 */
/* 14.7: what a policy means otherwise, or costs, where many gates have it. */
#include "language/language.h"
#include "unit/policy/judge.h"

#define HEAD "policy: p\nrules:\n"
#define PERMIT(more) "  - {id: r, effect: permit, match: {tools: [t]}, " more "}\n"
#define FORBID(more) "  - {id: r, effect: forbid, match: {tools: [t]}, when: [{session: {called: [u], within: 1h" more "}}]}\n"

/* Takes: said: NULL: nothing is warned of. */
static void expect(const char *rule, const char *said)
{
    static struct faults faults, found;
    struct policy *policy;
    char text[1024];

    (void)snprintf(text, sizeof text, HEAD "%s", rule);
    if (compile_text(text, &policy, &faults, &found) != CODE_OK) {
        print_faults(&faults);
        fail_msg("refused:\n%s", text);
    }
    faults_init(&found);
    warn_fleet(policy, &found);
    assert_int_equal(found.count, said != NULL);
    if (said != NULL && (strstr(found.fault[0].text, said) == NULL || strchr(found.fault[0].text, ';') == NULL))
        fail_msg("wanted %s, and a repair: %s", said, found.fault[0].text);
    policy_unref(&policy);
}

/* Each call under a limit over the fleet is asked at its centre. */
TEST_CASE(test_limits)
{
    expect(PERMIT("limit: {calls: 601, per: minute}"), "`r` permits more than 10 calls a second");
    expect(PERMIT("limit: {calls: 600, per: minute}"), NULL);
    expect(PERMIT("limit: {calls: 601, per: minute, scope: node}"), NULL);
    expect(PERMIT("limit: [{calls: 5, per: hour}, {calls: 90, per: 2s}]"), "scope: node");
    expect(PERMIT("limit: {sum: '$.a', at_most: 100000, per: minute}"), NULL);
}

/* What was called at another gate is not known. */
TEST_CASE(test_session)
{
    expect(FORBID(", by: [principal]"), "`session`");
    expect(FORBID(""), "`session`"); /* by correlation, too */
    expect(FORBID(", by: [session]"), NULL);
}

TEST_MAIN(NULL, NULL)
