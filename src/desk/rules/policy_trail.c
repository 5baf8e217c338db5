/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/policy_trail.h"

#include "cli/trail_place.h"
#include "base/mem.h"

static int list_files(struct policy_trail *trail, uint64_t from)
{
    trail->files = mem_array(trail->trail.count, sizeof *trail->files);
    if (trail->files == NULL)
        return complain(STATUS_CANNOT, "not enough memory");
    for (size_t i = 0; i < trail->trail.count; i++)
        trail->files[i] = trail->trail.files[i].path;
    trail->count = trail->trail.count;
    trail->missing = trail_place_tell_missing(&trail->trail, from);
    return OPTIONS_GO;
}

int policy_trail_find(struct policy_trail *trail, const struct asked *asked)
{
    struct why why = {""};
    char *path = NULL;
    enum code code;
    int status = asked_trail(asked, asked->audit, &path);

    *trail = (struct policy_trail){.count = 0};
    if (status != OPTIONS_GO)
        return status;
    code = trail_find(path, true, &trail->trail, &why);
    mem_free(path);
    if (code != CODE_OK)
        return complain(STATUS_CANNOT, "%s", why.text[0] != '\0' ? why.text : code_text(code));
    return list_files(trail, asked->from);
}

void policy_trail_fini(struct policy_trail *trail)
{
    mem_free(trail->files);
    trail_fini(&trail->trail);
    *trail = (struct policy_trail){.count = 0};
}
