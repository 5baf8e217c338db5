/* SPDX-License-Identifier: Apache-2.0 */
/* What people decided here becomes changes: at once, but for what is to be active, which all nodes compile before.
 *
 * How far a command has come stands in the chain: what it led to bears its number. So a courier that died goes on, and nothing
 * is put twice, also where the answer to a commit was lost. */
#include "courier/down_priv.h"

#include "base/log.h"
#include "json/text.h"
#include "language/store.h"
#include "os/clock.h"
#include "store/store.h"
#include "store/store_erasures.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COMPILE_US (INT64_C(30) * 1000000) /* so long others have to compile what is to be active */
#define TELL_US (INT64_C(3) * 1000000)     /* so long a command waits to hear that all have it */
#define ERASE_US (INT64_C(60) * 1000000)   /* and that all have erased, here and at the centre */
#define ACTIVATION "activation"
#define CHANGES_MAX 4 /* of one command: two, and it is one of them that is looked for */

/* A command on its way, copied out of the store, since the store is written meanwhile. */
struct command {
    struct arena arena;
    struct store_fleet_command asked;
    struct json_text rows;
    struct down_pending *pending;
    int64_t now_us;
};

static enum code copy_command(void *context, const struct store_fleet_command *asked)
{
    struct command *command = context;
    enum code code = arena_keep(&command->arena, asked->kind, &command->asked.kind);

    command->asked.id = asked->id;
    command->asked.onto = asked->onto;
    command->asked.asked_us = asked->asked_us;
    if (code == CODE_OK)
        code = arena_keep(&command->arena, asked->rows, &command->asked.rows);
    if (code == CODE_OK)
        code = arena_keep(&command->arena, asked->without, &command->asked.without);
    return code == CODE_OK ? arena_keep(&command->arena, asked->asked_by, &command->asked.asked_by) : code;
}

/* ---- how it ends ---- */

static enum code end_command(struct down *down, struct command *command, const struct store_fleet_answer *answer,
                             struct why *why)
{
    enum code code = store_fleet_answer(down->self.store, command->asked.id, answer, clock_wall_us(), why);

    if (answer->change == 0)
        log_warn("app", "what %.*s asked for the fleet was refused: %.*s", SPAN_ARG(command->asked.asked_by),
                 SPAN_ARG(answer->problem));
    if (command->pending != NULL)
        command->pending->command = 0;
    return code;
}

static enum code refuse(struct down *down, struct command *command, const char *problem, struct why *why)
{
    const struct store_fleet_answer answer = {.problem = span_text(problem)};

    return end_command(down, command, &answer, why);
}

/* "a, b have it; c does not yet (last heard of 40 s ago)" */
struct telling {
    char have[200], lack[200];
    size_t lacking;
};

/* Takes: age_s: since when nothing was heard of it; -1: that is not said. */
static void add_name(char *out, size_t size, struct span name, int64_t age_s)
{
    size_t at = strlen(out);
    char age[48] = "";

    if (age_s >= 0)
        (void)snprintf(age, sizeof age, " (heard of %" PRId64 " s ago)", age_s);
    if (at + name.len + sizeof age + 2 < size)
        (void)snprintf(out + at, size - at, "%s%.*s%s", at > 0 ? ", " : "", SPAN_ARG(name), age);
}

/* NULL: the command erases nothing. */
static const struct json_node *erasure_of(const struct command *command)
{
    const struct json_node *list = json_member(command->rows.root, SPAN_LIT(STORE_ERASURES));

    return list != NULL ? list->child : NULL;
}

/* Who has taken the change; of one that erases, who has done so, with the centre's rows of it. */
static enum code ask_holders(struct pg *pg, const struct command *command, int64_t number, struct pg_rows **rows,
                             struct why *why)
{
    const struct json_node *erasure = erasure_of(command);
    int64_t before_us = 0;

    if (erasure == NULL)
        return pg_ask(pg, "SELECT node, has, seen_s FROM callgate.change_holders($1)", PG_VALUES(pg_of_int(number)), rows, why);
    if (!json_member_number(erasure, "before_us", INT64_MIN, INT64_MAX, &before_us))
        return why_set(why, CODE_INVALID, "an erasure in the store's outbox says no time");
    return pg_ask(pg, "SELECT node, has, seen_s FROM callgate.erasure_holders($1, $2)",
                  PG_VALUES(pg_of_bytes(json_member(erasure, SPAN_LIT("tenant"))->text), pg_of_int(before_us)), rows, why);
}

static enum code ask_who_has(struct down *down, struct pg *pg, const struct command *command, int64_t number,
                             struct telling *telling, struct why *why)
{
    struct pg_rows *rows = NULL;
    enum code code = ask_holders(pg, command, number, &rows, why);
    bool is_heard = false; /* this node; else it waits for its own first beat */

    *telling = (struct telling){.lacking = 0};
    for (size_t i = 0; code == CODE_OK && i < pg_rows_count(rows); i++) {
        const int64_t seen_s = pg_rows_int(rows, i, 2);
        const struct span node = pg_rows_bytes(rows, i, 0);

        is_heard = is_heard || span_equals(node, down->self.node);
        if (pg_rows_int(rows, i, 1) != 0) {
            add_name(telling->have, sizeof telling->have, node, -1);
            continue;
        }
        telling->lacking += seen_s < 10;
        add_name(telling->lack, sizeof telling->lack, node, seen_s);
    }
    telling->lacking += !is_heard;
    pg_rows_free(&rows);
    return code;
}

/* The chain has it. The command waits some seconds for the others, and says which have it. */
static enum code tell(struct down *down, struct pg *pg, struct command *command, int64_t number, int64_t first,
                      struct why *why)
{
    struct store_fleet_answer answer = {.change = number, .id = first};
    struct telling telling;
    char text[512];
    const bool erases = erasure_of(command) != NULL;
    enum code code = ask_who_has(down, pg, command, number, &telling, why);

    if (code != CODE_OK)
        return code;
    if (command->pending->done_us == 0)
        command->pending->done_us = command->now_us;
    if (telling.lacking > 0 && command->now_us - command->pending->done_us < (erases ? ERASE_US : TELL_US))
        return CODE_OK;
    (void)snprintf(text, sizeof text, "%s %s %sit%s%s", telling.have[0] != '\0' ? telling.have : "no node",
                   strchr(telling.have, ',') != NULL ? "have" : "has", erases ? "erased " : "",
                   telling.lack[0] != '\0' ? STORE_FLEET_NOT_YET : "", telling.lack);
    answer.problem = span_text(text);
    return end_command(down, command, &answer, why);
}

/* ---- what is there already ---- */

struct own {
    int64_t number;             /* 0: there is no such change */
    int64_t version, first;     /* that it brought */
    bool is_activation;         /* which one is looked for */
    struct why *why;
};

static enum code look_at(void *context, const struct store_fleet_change *change)
{
    struct own *own = context;
    struct chain_read read;
    enum code code = chain_read_own(&read, change->text, own->why);

    if (code == CODE_OK && span_is(read.change.kind, ACTIVATION) == own->is_activation) {
        own->number = change->number;
        own->version = store_fleet_version(read.change.rows, STORE_FLEET_BUT_ACTIVE);
        own->first = store_fleet_first(read.change.rows);
    }
    chain_done(&read);
    return code;
}

static enum code find_own(struct down *down, const struct command *command, bool is_activation, struct own *own,
                          struct why *why)
{
    int64_t numbers[CHANGES_MAX];
    size_t count = 0;
    enum code code = store_fleet_changes_of(down->self.store, down->self.node, command->asked.id, numbers, CHANGES_MAX, &count,
                                            why);

    *own = (struct own){.is_activation = is_activation, .why = why};
    for (size_t i = 0; i < count && code == CODE_OK; i++)
        code = store_fleet_change(down->self.store, numbers[i], look_at, own, why);
    return code;
}

/* ---- put ---- */

/* Returns: CODE_OK, with number->rows 0: there is no such part; making->number 0: somebody else was quicker. */
static enum code make(struct down *down, struct pg *pg, const struct command *command, struct store_fleet_number *number,
                      int64_t *made, struct why *why)
{
    struct down_making making = {.kind = number->part == STORE_FLEET_ACTIVE ? SPAN_LIT(ACTIVATION) : command->asked.kind,
                                 .by = command->asked.asked_by, .outbox = command->asked.id,
                                 .time_us = command->asked.asked_us};
    struct buf rows;
    enum code code;

    *made = 0;
    buf_init(&rows, STORE_FLEET_ROWS_BYTES);
    code = store_fleet_number(down->self.store, command->rows.root, number, &rows, why);
    if (code == CODE_OK && number->rows > 0) {
        making.rows = buf_peek(&rows);
        code = down__make(down, pg, &making, why);
        *made = making.number;
    }
    buf_fini(&rows);
    return code;
}

/* A version was made out of the one that was active: where that is another one now, it would take back what others did. */
static enum code is_of_old(struct down *down, const struct command *command, bool *is, struct why *why)
{
    uint64_t active = 0;
    enum code code = policy_store_active(down->self.store, &active, why);

    *is = code == CODE_OK && store_fleet_version(command->rows.root, STORE_FLEET_BUT_ACTIVE) != 0 &&
          (int64_t)active != command->asked.onto;
    return code;
}

static enum code put_first(struct down *down, struct pg *pg, struct command *command, struct own *own, struct why *why)
{
    struct store_fleet_number number = {.part = STORE_FLEET_BUT_ACTIVE};
    bool is_old = false;
    enum code code = is_of_old(down, command, &is_old, why);

    if (code == CODE_OK && is_old)
        return refuse(down, command, "another version became active in the fleet meanwhile; look at it, and give the command "
                                     "again",
                      why);
    if (code == CODE_OK)
        code = make(down, pg, command, &number, &own->number, why);
    own->first = number.first;
    own->version = number.first;
    return code;
}

/* ---- active on all nodes or on none ---- */

static bool is_without(const struct command *command, struct span node)
{
    struct span rest = command->asked.without;

    while (rest.len > 0)
        if (span_equals(span_cut(rest, '\n', &rest), node))
            return true;
    return false;
}

/* What keeps a version from being active. */
struct hindered {
    char lacking[200]; /* nodes that say nothing */
    char problem[300]; /* what one said that cannot */
};

static void hear_answer(struct down *down, const struct command *command, const struct pg_rows *rows, size_t i, int64_t version,
                        struct hindered *hindered)
{
    const struct down_answer answer = {.node = pg_rows_bytes(rows, i, 0), .asked_by = down->self.node,
                                       .ask = command->pending->ask, .version = version,
                                       .problem = pg_rows_bytes(rows, i, 1)};

    if (is_without(command, answer.node))
        return;
    if (!down__is_answer(down, &answer, pg_rows_bytes(rows, i, 2))) { /* none, or one that somebody else put there */
        if (pg_rows_int(rows, i, 3) != 0)
            add_name(hindered->lacking, sizeof hindered->lacking, answer.node, -1);
    } else if (answer.problem.len > 0) {
        (void)snprintf(hindered->problem, sizeof hindered->problem, "node %.*s cannot compile it: %.*s", SPAN_ARG(answer.node),
                       SPAN_ARG(span_part(answer.problem, 0, 200)));
    }
}

/* Of this node itself first, which needs to ask nobody. */
static enum code ask_compiled(struct down *down, struct pg *pg, const struct command *command, int64_t version,
                              struct hindered *hindered, struct why *why)
{
    struct pg_rows *rows = NULL;
    struct why fault;
    struct buf names;
    enum code code = down__compile(down, version, &fault, why);

    *hindered = (struct hindered){.lacking = ""};
    if (code == CODE_NOT_FOUND)
        code = why_set(why, CODE_INVALID, "there is no version %" PRId64, version);
    if (code == CODE_OK && fault.text[0] != '\0' && !is_without(command, down->self.node))
        (void)snprintf(hindered->problem, sizeof hindered->problem, "node %.*s cannot compile it: %.200s",
                       SPAN_ARG(down->self.node), fault.text);
    buf_init(&names, ROSTER_TEXT_BYTES);
    if (code == CODE_OK)
        code = roster_names(down->self.roster->now, down->self.node, &names);
    if (code == CODE_OK)
        code = pg_ask(pg, "SELECT node, problem, signature, lives FROM callgate.compile_state($1, $2)",
                      PG_VALUES(pg_of_int(command->pending->ask), pg_of_text(buf_peek(&names))), &rows, why);
    for (size_t i = 0; code == CODE_OK && i < pg_rows_count(rows); i++)
        hear_answer(down, command, rows, i, version, hindered);
    pg_rows_free(&rows);
    buf_fini(&names);
    return code;
}

/* One question at a time is a node's; the others wait. */
static bool is_another_asked(const struct down *down, const struct command *command)
{
    for (size_t i = 0; i < DOWN_COMMANDS; i++)
        if (&down->pending[i] != command->pending && down->pending[i].command != 0 && down->pending[i].ask != 0 &&
            down->pending[i].done_us == 0)
            return true;
    return false;
}

/* Each turn anew, so that what somebody puts in its place does not stay there. */
static enum code ask_to_compile(struct pg *pg, struct command *command, int64_t version, struct why *why)
{
    uint64_t number = 0;

    while (command->pending->ask == 0) {
        random_bytes(&number, sizeof number);
        command->pending->ask = (int64_t)(number >> 1);
        command->pending->asked_us = command->now_us;
    }
    return pg_ask(pg, "SELECT callgate.compile_ask($1, $2)", PG_VALUES(pg_of_int(command->pending->ask), pg_of_int(version)),
                  NULL, why);
}

static enum code activate(struct down *down, struct pg *pg, struct command *command, const struct own *first, struct why *why)
{
    struct store_fleet_number number = {.part = STORE_FLEET_ACTIVE, .is = first->version,
                                        .was = store_fleet_version(command->rows.root, STORE_FLEET_BUT_ACTIVE)};
    const int64_t version = number.was != 0 ? number.is : store_fleet_version(command->rows.root, STORE_FLEET_ACTIVE);
    struct hindered hindered;
    char text[768];
    int64_t made;
    enum code code;

    if (is_another_asked(down, command))
        return CODE_OK;
    code = ask_to_compile(pg, command, version, why);
    if (code == CODE_OK)
        code = ask_compiled(down, pg, command, version, &hindered, why);
    if (code != CODE_OK)
        return code;
    if (hindered.problem[0] == '\0' && hindered.lacking[0] == '\0')
        return make(down, pg, command, &number, &made, why);
    if (hindered.problem[0] == '\0' && command->now_us - command->pending->asked_us < COMPILE_US)
        return CODE_OK;
    if (hindered.problem[0] == '\0')
        (void)snprintf(hindered.problem, sizeof hindered.problem, "nothing was heard within 30 s of %s", hindered.lacking);
    (void)snprintf(text, sizeof text, "version %" PRId64 " is stored and active nowhere: %s; with --without NODE it is active "
                                                         "all the "
                   "same, and that node denies", version, hindered.problem);
    return refuse(down, command, text, why);
}

/* ---- a step ---- */

static enum code step(struct down *down, struct pg *pg, struct command *command, struct why *why)
{
    const bool activates = store_fleet_version(command->rows.root, STORE_FLEET_ACTIVE) != 0;
    const bool is_only_active = activates && store_fleet_first(command->rows.root) == 0;
    struct own first = {0}, active = {0};
    enum code code = is_only_active ? CODE_OK : find_own(down, command, false, &first, why);

    if (code == CODE_OK && activates)
        code = find_own(down, command, true, &active, why);
    if (code == CODE_OK && !is_only_active && first.number == 0)
        code = put_first(down, pg, command, &first, why);
    if (code != CODE_OK || command->pending->command == 0 || (!is_only_active && first.number == 0))
        return code;
    if (activates && active.number == 0) {
        code = activate(down, pg, command, &first, why);
        if (code == CODE_OK && command->pending->command != 0)
            code = find_own(down, command, true, &active, why);
        if (code != CODE_OK || active.number == 0)
            return code;
    }
    return command->pending->command == 0 ? CODE_OK
                                          : tell(down, pg, command, activates ? active.number : first.number, first.first, why);
}

static struct down_pending *place_of(struct down *down, int64_t command)
{
    struct down_pending *free_one = NULL;

    for (size_t i = 0; i < DOWN_COMMANDS; i++) {
        if (down->pending[i].command == command)
            return &down->pending[i];
        if (down->pending[i].command == 0)
            free_one = &down->pending[i];
    }
    if (free_one != NULL)
        *free_one = (struct down_pending){.command = command};
    return free_one;
}

static enum code carry(struct down *down, struct pg *pg, int64_t now_us, int64_t *above, struct why *why)
{
    struct command command = {.now_us = now_us};
    enum code code;

    arena_init(&command.arena, 2 * STORE_FLEET_ROWS_BYTES);
    code = store_fleet_next(down->self.store, *above, copy_command, &command, why);
    if (code == CODE_OK) {
        *above = command.asked.id;
        command.pending = place_of(down, command.asked.id);
        if (command.pending != NULL)
            command.pending->is_here = true;
    }
    if (code == CODE_OK && command.pending != NULL) {
        code = json_text_read(&command.rows, command.asked.rows, &json_file_rules, STORE_FLEET_ROWS_BYTES);
        code = code == CODE_OK ? step(down, pg, &command, why)
                               : refuse(down, &command, "what waits in the store's outbox is no JSON", why);
        if (code == CODE_INVALID && command.pending->command != 0)
            code = refuse(down, &command, why->text, why);
        json_text_fini(&command.rows);
    }
    arena_fini(&command.arena);
    return code;
}

enum code down__outbox(struct down *down, struct pg *pg, int64_t now_us, struct why *why)
{
    int64_t above = 0;
    enum code code = CODE_OK;

    for (size_t i = 0; i < DOWN_COMMANDS; i++)
        down->pending[i].is_here = false;
    while (code == CODE_OK)
        code = carry(down, pg, now_us, &above, why);
    if (code != CODE_NOT_FOUND)
        return code;
    for (size_t i = 0; i < DOWN_COMMANDS; i++)
        if (!down->pending[i].is_here) /* whoever gave it left it, and has ended it in the store */
            down->pending[i] = (struct down_pending){.command = 0};
    return CODE_OK;
}

bool down_waits(const struct down *down)
{
    for (size_t i = 0; i < DOWN_COMMANDS; i++)
        if (down->pending[i].command != 0 && down->pending[i].done_us != 0)
            return true;
    return false;
}
