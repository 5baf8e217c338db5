/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one document in a test: buffers, arena and tree in one struct.
 *
 * Threads: one.
 * Owns: its buffer and its arena.
 * Lifetime: read_doc to free_doc.
 * Errors: in `code` and `fault`. */
#ifndef TESTS_JSON_HELP_H
#define TESTS_JSON_HELP_H

#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "fakes/cm.h"

#define CANON_CAP (64u << 20)

struct document {
    struct buf canon;
    struct arena arena;
    const struct json_node *root;
    struct json_fault fault;
    enum code code;
};

static inline void read_doc(struct document *d, struct span in, const struct json_rules *rules)
{
    buf_init(&d->canon, CANON_CAP);
    arena_init(&d->arena, CANON_CAP);
    d->code = json_read(in, rules, &d->canon, &d->arena, &d->root, &d->fault);
}

static inline void free_doc(struct document *d)
{
    buf_fini(&d->canon);
    arena_fini(&d->arena);
}

/* 6.8: where the text is what the result takes the place of, all is the same. */
static inline void same_in_place(struct span in, const struct json_rules *rules, const struct document *wanted)
{
    struct json_fault fault;
    struct buf text;

    buf_init(&text, CANON_CAP);
    assert_int_equal(buf_add_span(&text, in), CODE_OK);
    assert_int_equal(json_read(buf_peek(&text), rules, &text, NULL, NULL, &fault), wanted->code);
    assert_int_equal(fault.kind, wanted->fault.kind);
    assert_int_equal(fault.offset, wanted->fault.offset);
    assert_true(span_equals(buf_peek(&text), buf_peek(&wanted->canon)));
    buf_fini(&text);
}

/* A refusal must be of this kind, leave nothing behind, and be the same without a tree and as a walk. */
static inline void refuse(struct span in, const struct json_rules *rules, enum json_fault_kind kind)
{
    struct document d;
    struct json_fault fault;

    read_doc(&d, in, rules);
    if (d.code == CODE_OK || d.fault.kind != kind)
        print_error("input %.*s: kind %d instead of %d, %s\n", (int)(in.len > 200 ? 200 : in.len), in.at, d.fault.kind,
                    kind, d.fault.text);
    assert_int_not_equal(d.code, CODE_OK);
    assert_int_equal(d.fault.kind, kind);
    assert_true(d.fault.offset <= in.len);
    assert_true(d.fault.text[0] != '\0');
    assert_null(d.root);
    assert_int_equal(buf_len(&d.canon), 0);
    assert_int_equal(json_read(in, rules, &d.canon, NULL, NULL, &fault), d.code);
    assert_int_equal(fault.offset, d.fault.offset);
    same_in_place(in, rules, &d);
    free_doc(&d);
}

static inline void accept_as(struct span in, const struct json_rules *rules, struct span canonical)
{
    struct document d, again;

    read_doc(&d, in, rules);
    if (d.code != CODE_OK)
        print_error("input %.*s: %s at %zu\n", (int)(in.len > 200 ? 200 : in.len), in.at, d.fault.text, d.fault.offset);
    assert_int_equal(d.code, CODE_OK);
    if (!span_equals(buf_peek(&d.canon), canonical))
        print_error("got %.*s\n", SPAN_ARG(buf_peek(&d.canon)));
    assert_true(span_equals(buf_peek(&d.canon), canonical));
    read_doc(&again, canonical, rules);
    assert_int_equal(again.code, CODE_OK);
    assert_true(span_equals(buf_peek(&again.canon), canonical));
    same_in_place(in, rules, &d);
    free_doc(&again);
    free_doc(&d);
}

static inline void refuse_text(const char *text, enum json_fault_kind kind)
{
    refuse(span_text(text), &json_file_rules, kind);
}

static inline void accept_text(const char *text, const char *canonical)
{
    accept_as(span_text(text), &json_file_rules, span_text(canonical));
}

/* `count` times `piece`, between `begin` and `end`. */
static inline void repeat(struct buf *out, const char *begin, const char *piece, size_t count, const char *end)
{
    buf_init(out, CANON_CAP);
    assert_int_equal(buf_add_text(out, begin), CODE_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(buf_add_text(out, piece), CODE_OK);
    assert_int_equal(buf_add_text(out, end), CODE_OK);
}

#endif
