/* SPDX-License-Identifier: Apache-2.0 */
/* Who may decide a held call, and which held calls somebody sees who may not decide all of them. */
#include "store/store_approvals.h"

#include "base/utf8.h"

#define NAMES_BYTES ((size_t)16384)
#define OF_A_TENANT SPAN_LIT("role:approver:")

static bool says(struct span names, struct span name)
{
    while (names.len > 0)
        if (span_equals(span_cut(names, '\n', &names), name))
            return true;
    return false;
}

/* Whether somebody has the role `approver:TENANT` for the call's tenant. */
static bool is_of_his_tenant(struct span names, struct span tenant)
{
    while (names.len > 0) {
        struct span name = span_cut(names, '\n', &names);

        if (span_starts_with(name, OF_A_TENANT) && span_equals(span_part(name, OF_A_TENANT.len, SIZE_MAX), tenant))
            return true;
    }
    return false;
}

static bool is_for_self(const struct store_approval *approval)
{
    return span_is(approval->approvers, "self");
}

/* A token's principal is its issuer's: another may call somebody else by that name (OpenID Connect Core, 2). */
static bool is_called_by_another(const struct store_person *person, const struct store_approval *approval)
{
    bool is_of_token = span_find(approval->authentication, ':') < approval->authentication.len; /* an URL */

    return is_of_token && !span_equals(approval->authentication, person->issuer);
}

/* Whether a login shows that this person is the very principal of the call. Neither a key nor an account shows that: names of
 * theirs are compared only to keep somebody from approving. */
static bool is_asker(const struct store_person *person, const struct store_approval *approval)
{
    return person->principal.len > 0 && person->tenant.len > 0 && span_equals(person->principal, approval->principal) &&
           span_equals(person->tenant, approval->tenant) && !is_called_by_another(person, approval);
}

/* ---- seeing ---- */

static const struct store_person *viewer; /* whose held calls alone are seen; NULL: all are */

static bool is_his(const struct store_approval *approval)
{
    return is_of_his_tenant(viewer->names, approval->tenant) || (is_for_self(approval) && is_asker(viewer, approval));
}

void store_approvals_restrict(const struct store_person *person)
{
    viewer = person;
    store_approvals_show_only(person != NULL ? is_his : NULL);
}

/* ---- deciding ---- */

/* Whether this may be the one who asks, by any of his names, in any case of letters and any tenant. Under `none` the
 * configuration names everybody, so that the name alone speaks against nobody, unless several people have to approve. */
static bool asks_himself(const struct store_approval *approval, const struct store_answer *answer)
{
    const struct store_person *person = &answer->person;
    bool is_own = span_equals_nocase(answer->by, approval->principal);

    for (size_t i = 0; i < person->alias_count; i++)
        is_own = is_own || span_equals_nocase(person->aliases[i], approval->principal);
    return is_own && (approval->needed > 1 || !span_is(approval->authentication, "none"));
}

static enum code check_names(const struct store_answer *answer, const struct store_approval *approval, struct why *why)
{
    struct buf all;

    for (struct span rest = approval->approvers; rest.len > 0;)
        if (says(answer->person.names, span_cut(rest, '\n', &rest)))
            return CODE_OK;
    buf_init(&all, NAMES_BYTES);
    approvers_text(approval->approvers, &all);
    (void)why_set(why, CODE_DENIED, "approval %lld is decided by %.*s, as rule %.*s says, and you are none of these (`callgate "
                  "login --who` says what you are); let somebody of them look at it", (long long)answer->ask,
                  SPAN_ARG(utf8_cut(buf_peek(&all), 300)), SPAN_ARG(approval->rule));
    buf_fini(&all);
    return CODE_DENIED;
}

enum code store_approval_decides(const struct store_answer *answer, const struct store_approval *approval, struct why *why)
{
    long long number = (long long)answer->ask;

    if (is_for_self(approval))
        return is_asker(&answer->person, approval) ? CODE_OK
               : why_set(why, CODE_DENIED, "approval %lld is decided by who asks for it, %.*s of tenant %.*s, as `approvers: "
                         "self` of rule %.*s says: by a login of a provider that shows just this principal and tenant, of the "
                         "one that issued the agent's token, and by no key, account or group", number,
                         SPAN_ARG(approval->principal), SPAN_ARG(approval->tenant), SPAN_ARG(approval->rule));
    if (answer->is_granted && asks_himself(approval, answer))
        return why_set(why, CODE_DENIED, "approval %lld is asked for in your own name, or in that of --by: whoever asks "
                       "approves nothing; let somebody else look at it", number);
    return approval->approvers.at == NULL ? CODE_OK : check_names(answer, approval, why);
}
