/* SPDX-License-Identifier: Apache-2.0 */
/* 8.7: plans come with requests, and their keys from files. Any bytes: read or refused; a plan that is read has one text, and a call
 * made of the values that a step names is that step, until one of them changes. */
#include "base/bug.h"
#include "base/mem.h"
#include "state/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* {"a":V,...} of a step that names values alone. Returns: whether it does. */
static bool make_call(const struct plan_step *step, struct buf *out)
{
    const char *before = "{";

    if (step->arguments->type != JSON_OBJECT || step->arguments->count == 0)
        return false;
    for (const struct json_node *argument = step->arguments->child; argument != NULL; argument = argument->next) {
        const struct json_node *value = json_member(argument, SPAN_LIT("value"));

        if (value == NULL)
            return false;
        buf_add_text(out, before);
        before = ",";
        json_write_string(out, argument->key);
        buf_add_byte(out, ':');
        buf_add_span(out, value->raw);
    }
    return buf_add_byte(out, '}') == CODE_OK;
}

static void call_step(const struct plan *plan, uint32_t at, struct arena *arena)
{
    const struct plan_step *step = &plan->step[at];
    const struct json_node *root;
    struct json_fault fault;
    struct plan_fit fit;
    struct buf text, canonical;

    buf_init(&text, 1 << 20);
    buf_init(&canonical, 1 << 20);
    if (make_call(step, &text)) {
        BUG_ON(json_read(buf_peek(&text), &json_file_rules, &canonical, arena, &root, &fault) != CODE_OK);
        BUG_ON(plan_find(plan, step->upstream, step->tool, root, &fit) != CODE_OK || !plan_fits(&fit, at));
        BUG_ON(plan_find(plan, step->upstream, step->tool, NULL, &fit) != CODE_OK);
        BUG_ON(plan_fits(&fit, at) && plan_step_differs(plan, step, step->upstream, step->tool, NULL) != NULL);
    }
    buf_fini(&text);
    buf_fini(&canonical);
}

/* What is read is read again, from the form in which it is shown, as the same. */
static void show(const struct plan *plan, struct arena *arena)
{
    struct buf shown, text;
    struct plan again;
    struct why why;

    buf_init(&shown, PLAN_SHOWN_BYTES);
    buf_init(&text, 1 << 20);
    BUG_ON(plan_write(plan->text, plan->signature, &shown) != CODE_OK);
    BUG_ON(plan_read(buf_peek(&shown), &text, arena, &again, &why) != CODE_OK);
    BUG_ON(memcmp(again.digest, plan->digest, DIGEST_BYTES) != 0 || again.step_count != plan->step_count);
    buf_fini(&shown);
    buf_fini(&text);
}

static void take(const struct plan *plan, struct arena *arena)
{
    BUG_ON(plan->step_count == 0 || plan->step_count > PLAN_STEPS_MAX || plan->text.len > PLAN_TEXT_BYTES);
    BUG_ON(plan->expires_us - plan->not_before_us < PLAN_LIFE_MIN_US || plan->expires_us - plan->not_before_us > PLAN_LIFE_MAX_US);
    show(plan, arena);
    for (uint32_t i = 0; i < plan->step_count && i < 8; i++)
        call_step(plan, i, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span input = span_of(bytes, len);
    struct plan_keys keys;
    struct arena arena;
    struct plan plan;
    struct why why;
    struct buf text;

    if (len > PLAN_TEXT_BYTES)
        return 0;
    arena_init(&arena, (size_t)64 << 20);
    buf_init(&text, 1 << 20);
    if (plan_keys_read(input, &arena, &keys, &why) == CODE_OK)
        BUG_ON(keys.count == 0 || keys.count > PLAN_KEYS_MAX || keys.key[0].id.len == 0);
    if (plan_read(input, &text, &arena, &plan, &why) == CODE_OK)
        take(&plan, &arena);
    buf_clear(&text);
    BUG_ON(buf_add_span(&text, input) != CODE_OK);
    if (plan_read_text(&text, &arena, &plan, &why) == CODE_OK)
        take(&plan, &arena);
    buf_fini(&text);
    arena_fini(&arena);
    return 0;
}
