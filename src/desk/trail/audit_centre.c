/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/audit_centre.h"

#include "args/print.h"
#include "cli/trail_place.h"
#include "fleet/member.h"

static int check(const struct asked *asked, int database)
{
    if (!asked->fleet && asked->membership != NULL)
        return complain(STATUS_USAGE, "--membership goes with --fleet");
    if (!asked->fleet)
        return OPTIONS_GO;
    if (asked->membership == NULL)
        return complain(STATUS_USAGE, "--fleet asks the centre as a reader: say as whom, --membership FILE, which "
                        "`callgate fleet join --reader` made");
    if (asked_operand(asked, database) != NULL || asked->from != 0 || asked->config != NULL || asked->store != NULL)
        return complain(STATUS_USAGE, "--fleet asks the centre alone; leave the database, --from, --config and --store out");
    return OPTIONS_GO;
}

static enum code connect_as(const struct member *member, struct centre **centre, struct why *why)
{
    const struct pg_place place = {.database = member->database, .folder = member->folder, .user = span_text(member->role),
                                   .password = span_text(member->password)};
    enum code code = centre_open(&place, centre, why);

    if (code == CODE_DENIED && !member->is_reader)
        return why_set(why, code, "%s is a gate, and gates read nothing at the centre: `callgate fleet join --reader NAME` "
                       "makes a membership for readers", member->name);
    return code;
}

int audit_centre_open(const struct asked *asked, int database, struct centre **centre)
{
    struct member *member = NULL;
    struct why why = {""};
    enum code code;
    int status = check(asked, database);

    *centre = NULL;
    if (status != OPTIONS_GO || !asked->fleet)
        return status;
    code = member_read(asked->membership, &member, &why);
    if (code == CODE_OK)
        code = connect_as(member, centre, &why);
    member_free(&member);
    return code == CODE_OK ? OPTIONS_GO : trail_place_complain(code, &why);
}
