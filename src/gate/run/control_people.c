/* SPDX-License-Identifier: Apache-2.0 */
#include "run/control_people.h"

#include "os/person.h"

#include <grp.h>
#include <pwd.h>

/* Takes: name: the reader's copy, which ends with a NUL. */
static enum code add_account(struct control_people *people, const char *name, size_t member, struct why *why)
{
    const struct passwd *user = getpwnam(name);

    if (user == NULL || user->pw_uid == PERSON_NOBODY)
        return why_set(why, CODE_INVALID, "`people: {members: [{accounts: [%s]}]}`: there is no such account of a person "
                       "on this machine; leave it out, or make it", name);
    for (size_t i = 0; i < people->account_count; i++)
        if (people->accounts[i].account == user->pw_uid)
            return why_set(why, CODE_INVALID, "`people: {members: [{accounts: [%s]}]}`: this account is another member's "
                           "already; an account is one person's", name);
    if (people->account_count == sizeof people->accounts / sizeof people->accounts[0])
        return why_set(why, CODE_LIMIT, "`people: {members}` name more accounts than are taken (%zu)", people->account_count);
    people->accounts[people->account_count].account = user->pw_uid;
    people->accounts[people->account_count++].member = member;
    return CODE_OK;
}

enum code control_people_find(const struct conf_people *conf, struct control_people *people, struct why *why)
{
    static const char *const keys[PEOPLE_ROLES] = {"approvers", "authors", "auditors", "admins", "viewers", "responders"};

    people->count = people->account_count = 0;
    for (unsigned role = 0; role < PEOPLE_ROLES; role++)
        for (size_t i = 0; i < conf->groups[role].count; i++) {
            const char *name = conf->groups[role].names[i].at; /* the reader's copy ends with a NUL */
            const struct group *group = getgrnam(name);

            if (group == NULL)
                return why_set(why, CODE_INVALID, "`people: {%s: [%s]}`: there is no such group; `groupadd --system %s` makes "
                               "it", keys[role], name, name);
            if (group->gr_gid == PERSON_NOBODY)
                return why_set(why, CODE_INVALID, "`people: {%s: [%s]}`: this group stands for all that have no number here; "
                               "name another one", keys[role], name);
            people->all[people->count].group = group->gr_gid;
            people->all[people->count].name = conf->groups[role].names[i];
            people->all[people->count++].roles = PEOPLE_BIT(role);
        }
    for (size_t i = 0; i < conf->member_count; i++)
        for (size_t j = 0; j < conf->members[i].account_count; j++) {
            enum code code = add_account(people, conf->members[i].accounts[j].at, i, why);

            if (code != CODE_OK)
                return code;
        }
    return CODE_OK;
}
