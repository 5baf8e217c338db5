/* SPDX-License-Identifier: Apache-2.0 */
/* The trail as a bar: rows that a checkpoint covers, rows that none covers yet, and rows that are missing. */
#include "console/shape.h"

#include "base/num.h"
#include "cli/told.h"


#define WIDE 1000 /* the drawing's own units */

static int64_t number_in(const struct json_node *object, const char *key)
{
    int64_t number = 0;

    return num_i64(told_text(object, key), &number) == CODE_OK ? number : 0;
}

/* Rows from one to another, of all up to the last. */
static void add_piece(struct doc *list, const char *what, int64_t first, int64_t last, int64_t all)
{
    struct doc *piece = first <= last && all > 0 ? doc_add_object(list, NULL) : NULL;
    int64_t x = all > 0 ? (first - 1) * WIDE / all : 0, end = all > 0 ? last * WIDE / all : 0;

    doc_text(piece, "what", span_text(what));
    doc_int(piece, "first", first);
    doc_int(piece, "last", last);
    doc_int(piece, "x", x);
    doc_int(piece, "wide", end > x ? end - x : 1); /* what is little is seen all the same */
}

void page_evidence_draw(struct visit *visit, const struct json_node *view)
{
    const struct json_node *files = json_member(view, SPAN_LIT("files"));
    struct doc *trail, *pieces;
    int64_t all = 0, covered = 0;

    if (files == NULL || files->type != JSON_ARRAY || files->child == NULL)
        return;
    for (const struct json_node *file = files->child; file != NULL; file = file->next) {
        all = number_in(file, "last_seq") > all ? number_in(file, "last_seq") : all;
        covered = number_in(file, "checkpoint") > covered ? number_in(file, "checkpoint") : covered;
    }
    trail = doc_add_object(visit->view, "trail");
    doc_int(trail, "rows", all);
    doc_int(trail, "covered", covered);
    doc_int(trail, "not_yet", all > covered ? all - covered : 0);
    pieces = doc_add_array(trail, "pieces");
    for (const struct json_node *file = files->child; file != NULL; file = file->next) {
        int64_t first = number_in(file, "first_seq"), last = number_in(file, "last_seq");

        if (number_in(file, "missing_first") > 0)
            add_piece(pieces, "missing", number_in(file, "missing_first"), number_in(file, "missing_last"), all);
        add_piece(pieces, "covered", first, last < covered ? last : covered, all);
        add_piece(pieces, "open", first > covered ? first : covered + 1, last, all);
    }
}
