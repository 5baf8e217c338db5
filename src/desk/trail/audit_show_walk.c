/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/cmd_audit_show_priv.h"
#include "judgement/judgement.h"
#include "trail/explain_call.h"

#include "store/store.h"
#include "author/explain.h"
#include "past/recall.h"

#include <inttypes.h>
#include <stdio.h>

enum code show__keep(struct show *show, struct show_row *to, const struct query_row *row)
{
    to->names = arena_alloc(&show->arena, (size_t)row->count * sizeof to->names[0]);
    to->values = arena_alloc(&show->arena, (size_t)row->count * sizeof to->values[0]);
    if (to->names == NULL || to->values == NULL)
        return CODE_NOMEM;
    for (int i = 0; i < row->count; i++) {
        struct span text = row->values[i].text;

        to->names[i] = arena_dup(&show->arena, row->names[i], strlen(row->names[i]));
        to->values[i] = row->values[i];
        if (text.at != NULL)
            to->values[i].text.at = arena_dup(&show->arena, text.at, text.len);
        if (to->names[i] == NULL || (text.at != NULL && to->values[i].text.at == NULL))
            return CODE_NOMEM;
    }
    to->count = row->count;
    return CODE_OK;
}

struct span show__value(const struct show_row *row, const char *name)
{
    return query_value(&(struct query_row){row->count, row->names, row->values}, name);
}

/* ---- the walk ---- */

static enum code read_record(struct show *show, struct recorded *recorded, struct why *why)
{
    const struct trail *trail = &show->trail;
    size_t file = trail->count - 1;
    struct db *db;
    enum code code;

    while (file > 0 && trail->files[file].before_seq >= show->seq)
        file--;
    code = trail_open(trail->files[file].path, &db, why);
    if (code == CODE_OK)
        code = recorded_find(recorded, db, (uint64_t)show->seq, why);
    db_close(&db);
    return code;
}

static enum code walk(struct show *show, struct recorded *recorded, const struct policy *policy,
                      const struct definition_set *definitions, struct why *why)
{
    struct policy_scratch *scratch = NULL;
    struct verdict *verdict = mem_zalloc(sizeof *verdict);
    enum verdict_kind otherwise = VERDICT_DENY;
    struct recall recall = {.state = NULL};
    enum code code = policy_scratch_new(&scratch);

    if (verdict == NULL)
        code = CODE_NOMEM;
    if (code == CODE_OK)
        code = recall_make(&recall, policy, definitions, show->path, recorded, &recorded->question, why);
    if (code == CODE_OK && recorded->question.hidden != NULL)
        show->is_guessed = recorded_guess(recorded, &recorded->question, policy, scratch, verdict, &otherwise);
    if (code == CODE_OK)
        code = explain_text(policy, &recorded->question, scratch, verdict, &show->words);
    if (code == CODE_OK)
        show->walked = verdict_text(verdict->kind);
    show->otherwise = verdict_text(otherwise);
    mem_free(verdict);
    policy_scratch_free(&scratch);
    recall_fini(&recall);
    return code;
}

static enum code walk_record(struct show *show, struct recorded *recorded, struct why *why)
{
    struct definition_set *definitions = NULL;
    struct policy *policy = NULL;
    struct why hindrance = {""};
    enum code code = read_record(show, recorded, why);

    if (code != CODE_OK)
        return code;
    if (recorded->kind != RECORDED_JUDGED || recorded->policy_version == 0) {
        (void)snprintf(show->no_walk, sizeof show->no_walk, "%s", recorded->kind == RECORDED_UNJUDGED
                       ? "the configuration lets it pass: no policy was asked" : recorded->kind == RECORDED_REFUSED
                       ? "it was refused before a policy was asked" : "no policy was active");
        return CODE_OK;
    }
    code = explain_call_policy(show->asked, recorded, &policy, &definitions, &hindrance);
    if (code == CODE_OK)
        code = walk(show, recorded, policy, definitions, why);
    else if (code != CODE_NOMEM) {
        (void)snprintf(show->no_walk, sizeof show->no_walk, "policy version %" PRIu64 " cannot be asked: %s",
                       recorded->policy_version, hindrance.text);
        code = CODE_OK;
    }
    policy_unref(&policy);
    definition_set_unref(&definitions);
    return code;
}

enum code show__walk(struct show *show, struct why *why)
{
    struct recorded *recorded = mem_zalloc(sizeof *recorded);
    enum code code;

    if (recorded == NULL)
        return CODE_NOMEM;
    if (audit_is_restricted()) { /* a policy is all tenants' */
        mem_free(recorded);
        (void)snprintf(show->no_walk, sizeof show->no_walk, "the policy is not shown to who audits single tenants");
        return CODE_OK;
    }
    recorded_init(recorded);
    code = walk_record(show, recorded, why);
    recorded_fini(recorded);
    mem_free(recorded);
    return code;
}
