/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/path.h"
#include "unit/policy/judge.h"

struct selection {
    char text[4096];
    size_t len, count;
};

static bool note(struct path_walk *walk, const struct json_node *value)
{
    struct selection *selection = walk->context;
    int more;

    if (selection->len > sizeof selection->text / 2)
        return true;
    more = snprintf(selection->text + selection->len, sizeof selection->text - selection->len, "%s%.*s",
                    selection->count++ > 0 ? " " : "", SPAN_ARG(value->raw));

    selection->len += more > 0 ? (size_t)more : 0;
    return true;
}

struct fixture {
    struct arena paths;
    struct court court;
    struct path path;
    struct path_walk walk;
    struct selection found;
    uint64_t visits;
};

static void fixture_open(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    arena_init(&f->paths, 1 << 20);
    arena_init(&f->court.arena, 1 << 20);
    buf_init(&f->court.text, 1 << 20);
}

static void fixture_close(struct fixture *f)
{
    arena_fini(&f->paths);
    arena_fini(&f->court.arena);
    buf_fini(&f->court.text);
}

static const char *run(struct fixture *f, const char *path, const char *json, uint64_t visits)
{
    struct why why = {""};
    size_t offset;

    if (path_compile(span_text(path), &f->paths, &f->path, &offset, &why) != CODE_OK)
        fail_msg("%s at %zu: %s", path, offset, why.text);
    f->found.len = f->found.count = 0;
    f->found.text[0] = '\0';
    f->visits = visits;
    f->walk = (struct path_walk){.path = &f->path, .visit = note, .context = &f->found, .visits_left = &f->visits};
    path_run(&f->walk, court_tree(&f->court, span_text(json)));
    return f->found.text;
}

#define STORE                                                                                                         \
    "{\"a b\":1,\"o\":{\"j\":1,\"k\":2},\"l\":[5,3,[{\"j\":4},{\"k\":6}]],\"to\":[{\"n\":1},{},{\"n\":null}],"          \
    "\"x.y\":9,\"\":0,\"\\u00e4\":8,\"'\":7,\"\\ud83d\\ude00\":6}"

/* 1.20: paths. The examples of RFC 9535 among them. */
TEST_CASE(test_selections)
{
    static const struct {
        const char *path, *found;
    } rows[] = {
        {"$.o", "{\"j\":1,\"k\":2}"},
        {"o", "{\"j\":1,\"k\":2}"},
        {"$.o.j", "1"},
        {"$['o']['j']", "1"},
        {"$[\"o\"].k", "2"},
        {"$['a b']", "1"},
        {"$['x.y']", "9"},
        {"$.x.y", ""},
        {"$['']", "0"},
        {"$['\\u00e4']", "8"},
        {"$['\\ud83d\\ude00']", "6"},
        {"$['\xf0\x9f\x98\x80']", "6"},
        {"$.\xc3\xa4", "8"},
        {"\xc3\xa4", "8"},
        {"$['\\'']", "7"},
        {"$[\"'\"]", "7"},
        {"$.missing", ""},
        {"$.o.j.k", ""},
        {"$.o[0]", ""},
        {"$.l[0]", "5"},
        {"$.l[-1]", "[{\"j\":4},{\"k\":6}]"},
        {"$.l[-3]", "5"},
        {"$.l[-4]", ""},
        {"$.l[3]", ""},
        {"$.l['0']", ""},
        {"$.o.*", "1 2"},
        {"$.o[*]", "1 2"},
        {"$.l[*]", "5 3 [{\"j\":4},{\"k\":6}]"},
        {"$.l[0,1]", "5 3"},
        {"$.l[0, 0]", "5 5"},
        {"$.o['k','j']", "2 1"},
        {"$[ 'o' , \"l\" ] [ 0 ]", "5"},
        {"$..j", "1 4"},
        {"$..[0]", "5 {\"j\":4} {\"n\":1}"},
        {"$.o..*", "1 2"},
        {"$.l..*", "5 3 [{\"j\":4},{\"k\":6}] {\"j\":4} {\"k\":6} 4 6"},
        {"$.l..[*]", "5 3 [{\"j\":4},{\"k\":6}] {\"j\":4} {\"k\":6} 4 6"},
        {"$.to[*].n", "1 null"},
    };
    struct fixture f;

    fixture_open(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *found = run(&f, rows[i].path, STORE, 1000);

        if (strcmp(found, rows[i].found) != 0)
            fail_msg("%s selects %s, wanted %s", rows[i].path, found, rows[i].found);
    }
    assert_string_equal(run(&f, "$", "[1]", 10), "[1]");
    fixture_close(&f);
}

/* 1.20: slices, as in RFC 9535, 2.3.4; in document order. */
TEST_CASE(test_slices)
{
    static const struct {
        const char *path, *found;
    } rows[] = {
        {"$[1:3]", "1 2"},     {"$[5:]", "5 6"},       {"$[1:5:2]", "1 3"},   {"$[5:1:-2]", "3 5"}, {"$[::-1]",
         "0 1 2 3 4 5 6"},
        {"$[:2]", "0 1"},      {"$[-2:]", "5 6"},      {"$[:-5]", "0 1"},     {"$[::3]", "0 3 6"},  {"$[0:0]", ""},
        {"$[1:3:0]", ""},      {"$[10:]", ""},         {"$[-100:2]", "0 1"},  {"$[::-3]", "0 3 6"}, {"$[5::-2]",
         "1 3 5"},
        {"$[:2:-1]", "3 4 5 6"}, {"$[ 1 : 3 : 1 ]", "1 2"}, {"$[3:1]", ""},
    };
    struct fixture f;

    fixture_open(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *found = run(&f, rows[i].path, "[0,1,2,3,4,5,6]", 1000);

        if (strcmp(found, rows[i].found) != 0)
            fail_msg("%s selects %s, wanted %s", rows[i].path, found, rows[i].found);
    }
    assert_string_equal(run(&f, "$[1:2]", "{\"1\":1}", 100), "");
    fixture_close(&f);
}

TEST_CASE(test_refusals)
{
    static const char *const paths[] = {
        "",       "a.b",     "a-b",      "2a",       "$.",         "$a",       "$.2a",      "$.a-b",    "$[",
                  "$['a'",
        "$['a",   "$[]",     "$[01]",    "$[-0]",    "$[-]",       "$[1.5]",   "$[a]",      "$..",      "$...a",
               "$[?@.a]",
        "$[?(1)]", "$['\\x']", "$['\\ud800']", "$['\\u12']", "$.a ", " $.a",  "$[9007199254740992]", "$[1:2:3:4]",
            "$[\"\\'\"]", "@.a",
    };
    struct fixture f;

    fixture_open(&f);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct why why = {""};
        size_t offset;

        if (path_compile(span_text(paths[i]), &f.paths, &f.path, &offset, &why) != CODE_INVALID)
            fail_msg("%s is accepted", paths[i]);
        assert_true(offset <= strlen(paths[i]));
        assert_true(strchr(why.text, ';') != NULL); /* what is wrong; what to write instead */
    }
    fixture_close(&f);
}

/* 1.20 (Meaning 6): an element of `[*]` before further steps in which the rest selects nothing. */
TEST_CASE(test_lacking_elements)
{
    static const struct {
        const char *path, *json;
        bool lacks;
    } rows[] = {
        {"$.to[*].n", "{\"to\":[{\"n\":1},{\"n\":2}]}", false},
        {"$.to[*].n", "{\"to\":[{\"n\":1},{}]}", true},
        {"$.to[*].n", "{\"to\":[{\"n\":1},7]}", true},
        {"$.to[*].n", "{\"to\":[]}", false},
        {"$.to[*].n", "{}", false},
        {"$.to.*.n", "{\"to\":{\"a\":{\"n\":1},\"b\":{}}}", true},
        {"$.to[*]", "{\"to\":[{}]}", false},
        {"$.to[*][*].n", "{\"to\":[[{\"n\":1}],[]]}", true},
        {"$.to[*][*].n", "{\"to\":[[{\"n\":1},{}]]}", true},
        {"$.to[0:].n", "{\"to\":[{}]}", false},
        {"$..[*].n", "{\"to\":[{\"n\":1},{}]}", false},
        {"$.to[*]..n", "{\"to\":[{\"x\":{\"n\":1}},{\"x\":2}]}", true},
    };
    struct fixture f;

    fixture_open(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        run(&f, rows[i].path, rows[i].json, 1000);
        if (f.walk.element_lacks != rows[i].lacks)
            fail_msg("%s on %s", rows[i].path, rows[i].json);
    }
    fixture_close(&f);
}

/* Nested descents multiply: the walk counts, and ends. */
TEST_CASE(test_visits_are_bounded)
{
    struct fixture f;
    char json[102];

    fixture_open(&f);
    memset(json, '[', 50);
    json[50] = '1';
    memset(json + 51, ']', 50);
    json[101] = '\0';
    run(&f, "$..*..*..*..*..*..*", json, 100000);
    assert_true(f.walk.spent);
    assert_int_equal(f.visits, 0);
    run(&f, "$..*", json, 100000);
    assert_false(f.walk.spent);
    assert_true(f.visits > 99000);
    fixture_close(&f);
}

TEST_MAIN(NULL, NULL)
