/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/policy_trail.h"

#include "author/warn.h"
#include "cli/trail_place.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "db/db.h"
#include "os/clock.h"
#include "policy/snapshot.h"

#define FLEET_BYTES 65536

int policy_trail_find(struct trail *trail, const struct asked *asked, int *missing)
{
    struct why why = {""};
    char *path = NULL;
    enum code code;
    int status = asked_trail(asked, asked->audit, &path);

    *trail = (struct trail){.count = 0};
    *missing = STATUS_DONE;
    if (status != OPTIONS_GO)
        return status;
    code = trail_find(path, true, trail, &why);
    mem_free(path);
    if (code != CODE_OK)
        return complain(STATUS_CANNOT, "%s", why.text[0] != '\0' ? why.text : code_text(code));
    *missing = trail_place_tell_missing(trail, asked->from);
    return OPTIONS_GO;
}

/* When the first call was made behind the last gap; 0: there is no gap, or no call. */
static int64_t begins_us(const struct trail *trail)
{
    int64_t first_us = 0;

    for (size_t i = 0; i < trail->count && trail->missing_to > 0 && first_us == 0; i++) {
        struct db *db = NULL;
        struct why why = {""};

        if (trail->files[i].before_seq >= trail->missing_to && trail_open(trail->files[i].path, &db, &why) == CODE_OK &&
            db_number(db, "SELECT time_us FROM decision ORDER BY seq LIMIT 1", NULL, 0, &first_us) != CODE_OK)
            first_us = 0;
        db_close(&db);
    }
    return first_us;
}

static void warn_of_rule(const struct rule *rule, int64_t first_us, struct faults *warnings)
{
    char first[CLOCK_TEXT_BYTES];
    int64_t longest_us = 0;

    for (const struct policy_limit *limit = rule->limit; limit != NULL; limit = limit->next)
        longest_us = limit->per_us > longest_us ? limit->per_us : longest_us;
    if (longest_us <= clock_wall_us() - first_us)
        return;
    clock_text(first_us, first);
    faults_add(warnings, rule->source->path_text, rule->line, rule->column, "a limit of `%.*s` reaches back before %.19sZ, "
               "where the files of the audit that are here begin: a gate that starts counts no call of before; keep the files "
               "for as long as `per`", SPAN_ARG(rule->id), first);
}

void policy_trail_warn(const struct policy *policy, const struct asked *asked, struct faults *warnings)
{
    struct conf_fleet fleet = {.membership = NULL};
    struct trail trail = {.count = 0};
    struct faults unread;
    struct arena arena;
    struct why why = {""};
    char *path = NULL;
    int64_t first_us = 0;

    faults_init(&unread);
    if (policy_memory_us(policy) > 0 && conf_audit_path(asked->file, &path, &unread) == CODE_OK &&
        trail_find(path, true, &trail, &why) == CODE_OK)
        first_us = begins_us(&trail);
    for (uint32_t i = 0; i < policy->rule_count && first_us > 0; i++)
        warn_of_rule(&policy->rules[i], first_us, warnings);
    trail_fini(&trail);
    mem_free(path);
    arena_init(&arena, FLEET_BYTES);
    if (conf_fleet(asked->file, &arena, &fleet, &unread) == CODE_OK && fleet.membership != NULL)
        warn_fleet(policy, warnings);
    arena_fini(&arena);
}
