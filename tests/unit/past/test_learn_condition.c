/* SPDX-License-Identifier: Apache-2.0 */
/* Drafts out of recorded calls (2.6): each call of a generated set is permitted by the draft of its set, each neighbour of one
 * (another argument, another type, a value outside, a member more or less, another tool, tenant, principal, upstream) is not. */
#include "learn_check.h"

#define TEXT_BYTES 16384

/* What the values of one place are drawn from. Every kind has neighbours that are outside whatever was drawn. */
enum draw { DRAW_INTEGER, DRAW_DECIMAL, DRAW_HUGE, DRAW_WORD, DRAW_PREFIXED, DRAW_FILE, DRAW_FREE, DRAW_TRUTH, DRAW_ALWAYS,
            DRAW_NULLABLE, DRAW_UNION, DRAW_NUMBERS, DRAW_OBJECT, DRAW_OBJECTS, DRAW_COUNT };

#define FIELDS_MAX 5

struct field {
    char name[24];
    enum draw draw;
    bool always;
    int low;
    struct field *inner; /* of OBJECT and OBJECTS */
    int inner_count;
};

struct text {
    char at[TEXT_BYTES];
    size_t len;
};

static unsigned draw_state = 1;

static unsigned draw(unsigned below)
{
    draw_state = draw_state * 1664525 + 1013904223;
    return (draw_state >> 8) % below;
}

static void say(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    text->len += (size_t)vsnprintf(text->at + text->len, sizeof text->at - text->len, format, arguments);
    va_end(arguments);
    assert_true(text->len < sizeof text->at);
}

/* The neighbour that is written in the place of one value, or of one object's end. */
struct odd {
    const struct field *at; /* NULL: none; else this field */
    int which;              /* which of its neighbours */
    bool gone;              /* set where there are no more */
    bool used;
};

#define ODD_DROP 100 /* the member is left out */
#define ODD_MORE 101 /* a member more behind it */

static void say_object(struct text *text, const struct field *fields, int count, struct odd *odd);

static void say_usual(struct text *text, const struct field *field, struct odd *odd)
{
    static const char *const words[] = {"red", "green", "dark {{tenant}}{principal}", "no"};
    static const char *const odd_names[] = {"x", "\\u00e4\\u00f6", "a\\\"b", "c\\\\d", "tab\\t", "\\u202ee", "\xf0\x9f\x98\x80"};
    unsigned items = 1 + draw(3);

    switch (field->draw) {
    case DRAW_INTEGER: say(text, "%d", field->low + (int)draw(50)); break;
    case DRAW_DECIMAL: say(text, "%d.%02u", field->low + (int)draw(50), draw(100)); break;
    case DRAW_HUGE: say(text, "900719925474099%u", 2 + draw(3)); break;
    case DRAW_WORD: say(text, "\"%s\"", words[draw(4)]); break;
    case DRAW_PREFIXED: say(text, "\"order-%u%s\"", draw(100000), draw(2) ? "-b" : ""); break;
    case DRAW_FILE: say(text, "\"/srv/data/%s/%u.txt\"", words[draw(2)], draw(1000)); break;
    case DRAW_FREE: say(text, "\"%s%u\"", odd_names[draw(7)], draw(1000)); break;
    case DRAW_TRUTH: say(text, draw(2) ? "true" : "false"); break;
    case DRAW_ALWAYS: say(text, "true"); break;
    case DRAW_NULLABLE: say(text, draw(2) ? "null" : "\"id-%u\"", draw(100000)); break;
    case DRAW_UNION:
        say(text, draw(3) == 0 ? "%u" : draw(2) ? "\"u-%u\"" : "{\"k\":%u}", draw(100));
        break;
    case DRAW_NUMBERS:
        say(text, "[");
        for (unsigned i = draw(4); i > 0; i--)
            say(text, "%d%s", field->low + (int)draw(20), i > 1 ? "," : "");
        say(text, "]");
        break;
    case DRAW_OBJECT: say_object(text, field->inner, field->inner_count, odd); break;
    case DRAW_OBJECTS:
        say(text, "[");
        for (unsigned i = 0; i < items; i++) {
            say(text, "%s", i > 0 ? "," : "");
            say_object(text, field->inner, field->inner_count, odd);
        }
        say(text, "]");
        break;
    case DRAW_COUNT: break;
    }
}

/* All values outside of what say_usual can draw. */
static const char *const odds[DRAW_COUNT][6] = {
    [DRAW_INTEGER] = {"\"5\"", "-100000", "100000", "null", "true", "10.5"},
    [DRAW_DECIMAL] = {"\"5\"", "-100000", "100000.25", "null", "[1.5]", NULL},
    [DRAW_HUGE] = {"9007199254740999", "\"9007199254740993\"", "1", "null", NULL, NULL},
    [DRAW_WORD] = {"\"Red\"", "\"\"", "1", "null", "[\"red\"]", "\"redd\""},
    [DRAW_PREFIXED] = {"\"x-order-1\"", "\"order-1234567890\"", "1", "{}", "\"order-\"", "\"Order-12345\""},
    [DRAW_FILE] = {"\"/etc/passwd\"", "\"/srv/data/../../etc/shadow\"", "\"/srv/data/%2e%2e/%2e%2e/etc/sh\"", "1",
                   "\"srv/data/red/1.txt\"", "null"},
    [DRAW_FREE] = {"\"this is much longer than all that was drawn\"", "\"\"", "1", "null", "[\"x1\"]", NULL},
    [DRAW_TRUTH] = {"\"true\"", "1", "0", "null", NULL, NULL},
    [DRAW_ALWAYS] = {"false", "\"true\"", "1", "null", NULL, NULL},
    [DRAW_NULLABLE] = {"1", "\"xx-1\"", "\"\"", "false", "\"id-1234567890\"", "[null]"},
    [DRAW_UNION] = {"true", "\"v-1\"", "100000", "{\"k\":\"x\"}", "{\"j\":1}", "[]"},
    [DRAW_NUMBERS] = {"[1,1,1,1,1,1]", "[\"1\"]", "[100000]", "[null]", "{}", "1"},
    [DRAW_OBJECT] = {"{}", "[]", "\"x\"", "null", "{\"another\":1}", NULL},
    [DRAW_OBJECTS] = {"[{}]", "{}", "[[]]", "[null]", "[{\"another\":1}]", "\"x\""},
};

static void say_member(struct text *text, const struct field *field, struct odd *odd, bool *first)
{
    bool is_odd = odd->at == field && !odd->used;

    if (is_odd && odd->which == ODD_DROP) {
        odd->used = true;
        return;
    }
    if (!is_odd && odd->at != field && !field->always && draw(2) == 0 && odd->at == NULL)
        return;
    say(text, "%s\"%s\":", *first ? "" : ",", field->name);
    *first = false;
    if (is_odd && odd->which < ODD_DROP) {
        say(text, "%s", odds[field->draw][odd->which]);
        odd->used = true;
        return;
    }
    say_usual(text, field, odd);
    if (is_odd && odd->which == ODD_MORE) {
        say(text, ",\"%s_\":1", field->name);
        odd->used = true;
    }
}

static void say_object(struct text *text, const struct field *fields, int count, struct odd *odd)
{
    bool first = true;

    say(text, "{");
    for (int i = 0; i < count; i++)
        say_member(text, &fields[i], odd, &first);
    say(text, "}");
}

static struct field *make_fields(int *count, int depth)
{
    struct field *fields = test_calloc(FIELDS_MAX, sizeof *fields);

    *count = 1 + (int)draw(FIELDS_MAX);
    for (int i = 0; i < *count; i++) {
        static const char *const names[] = {"limit", "a b", "it's", "null", "x.y"};

        fields[i] = (struct field){.draw = (enum draw)draw(depth > 1 ? DRAW_OBJECT : DRAW_COUNT), .low = (int)draw(40) - 20};
        fields[i].always = i == 0 || draw(2); /* of each object one is always there */
        (void)snprintf(fields[i].name, sizeof fields[i].name, "%s%d", names[draw(5)], i);
        if (fields[i].draw == DRAW_OBJECT || fields[i].draw == DRAW_OBJECTS)
            fields[i].inner = make_fields(&fields[i].inner_count, depth + 1);
    }
    return fields;
}

static void free_fields(struct field *fields, int count)
{
    for (int i = 0; i < count; i++)
        if (fields[i].inner != NULL)
            free_fields(fields[i].inner, fields[i].inner_count);
    test_free(fields);
}

struct neighbours {
    struct house *house;
    const struct field *fields;
    int count;
    unsigned asked;
};

static void ask_odd(struct neighbours *n, const struct field *field, int which)
{
    const struct question call = call_of("tool");
    struct odd odd = {.at = field, .which = which};
    struct text text = {.len = 0};

    say_object(&text, n->fields, n->count, &odd);
    assert_true(odd.used);
    if (permits(n->house, &call, text.at))
        fail_msg("a neighbour (%s, %d) is permitted: %s\n%.*s", field->name, which, text.at,
                 SPAN_ARG(buf_peek(&n->house->draft)));
    n->asked++;
}

/* Every field gets each of its neighbours. Takes: loose: in an element, below a member that only some of them have: there the
 * language cannot say that something is always in it, only how much. */
static void ask_neighbours(struct neighbours *n, const struct field *fields, int count, bool in_element, bool loose)
{
    for (int i = 0; i < count; i++) {
        const struct field *field = &fields[i];

        /* Of elements that are objects at one time and scalars at another nothing can be said. */
        for (int which = 0; which < 6 && odds[field->draw][which] != NULL && !(in_element && field->draw == DRAW_UNION); which++)
            ask_odd(n, field, which);
        if (field->always && !loose)
            ask_odd(n, field, ODD_DROP);
        ask_odd(n, field, ODD_MORE);
        if (field->inner != NULL)
            ask_neighbours(n, field->inner, field->inner_count, in_element || field->draw == DRAW_OBJECTS,
                           loose || (in_element && !field->always));
    }
}

static void ask_elsewhere(struct house *house, const char *arguments)
{
    struct question call = call_of("tool2");

    assert_permits(house, &call, arguments, false);
    call = call_of("tool");
    assert_permits(house, &call, arguments, true);
    call.tenant = SPAN_LIT("other");
    assert_permits(house, &call, arguments, false);
    call = call_of("tool");
    call.principal = SPAN_LIT("other");
    assert_permits(house, &call, arguments, false);
    call = call_of("tool");
    call.upstream = SPAN_LIT("other");
    assert_permits(house, &call, arguments, false);
    call = call_of("");
    call.method = SPAN_LIT("tools/list");
    assert_permits(house, &call, arguments, false);
}

TEST_CASE(test_generated_sets)
{
    for (unsigned set = 0; set < 30; set++) {
        struct text text = {.len = 0};
        struct house *house;
        struct neighbours n;
        struct field *fields;
        int count;

        assert_int_equal(open_house(state), 0);
        house = *state;
        draw_state = set * 7919 + 1;
        fields = make_fields(&count, 0);
        for (int i = 0; i < 150; i++) {
            struct odd none = {.at = NULL};

            text.len = 0;
            say_object(&text, fields, count, &none);
            put_call(house, "tool", text.at);
        }
        learn(house, 1);
        assert_int_equal(house->proof.permitted, 150);
        assert_int_equal(house->proof.unknown + house->proof.left_out, 0);
        ask_elsewhere(house, text.at);
        n = (struct neighbours){.house = house, .fields = fields, .count = count};
        ask_neighbours(&n, fields, count, false, false);
        assert_true(n.asked >= 3);
        free_fields(fields, count);
        assert_int_equal(close_house(state), 0);
    }
}

TEST_MAIN(NULL, NULL)
