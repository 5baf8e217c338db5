/* SPDX-License-Identifier: Apache-2.0 */
/* 6.14: every key of callgate.yaml is one line of a table, and the lines agree with themselves and with the reader. */
#include "fakes/cm.h"

#include "conf/conf_priv.h"
#include "base/num.h"

#include <string.h>

static bool has(const char *const *words, const char *word)
{
    for (; *words != NULL; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

static size_t count(const char *const *words)
{
    size_t n = 0;

    while (words != NULL && words[n] != NULL)
        n++;
    return n;
}

static void check(const struct conf_key *key)
{
    bool in_words = key->usual == NULL || key->usual[0] == '(', is_read = key->at != BY_HAND;
    uint64_t value = 0;

    switch (key->type) {
    case CONF_FLAG:
        assert_int_equal(count(key->words), 2);
        assert_string_equal(key->usual, key->words[0]); /* zero is what is usual */
        break;
    case CONF_WORD:
        assert_true(count(key->words) > 0 && (!is_read || has(key->words, key->usual)));
        break;
    case CONF_SIZE:
        assert_true(in_words || num_size(span_text(key->usual), &value) == CODE_OK);
        break;
    case CONF_TIME:
        assert_true(in_words || num_duration(span_text(key->usual), &value) == CODE_OK);
        break;
    case CONF_COUNT:
        assert_true(in_words || num_u64(span_text(key->usual), &value) == CODE_OK);
        break;
    case CONF_MAP:
    case CONF_MAPS:
    case CONF_LIST:
        assert_true(key->keys != NULL && key->called != NULL);
        break;
    case CONF_ANY:
    case CONF_TEXT:
    case CONF_RATE:
    case CONF_TEXTS:
    case CONF_WORDS:
        assert_false(is_read);
        break;
    case CONF_NAME:
    case CONF_HEADER:
    case CONF_FILE:
    case CONF_FILES:
    case CONF_BOOL:
        break;
    }
    assert_true(value == 0 || (value >= key->min && value <= key->max));
    if (key->type == CONF_SIZE || key->type == CONF_TIME || key->type == CONF_COUNT)
        assert_true(key->min > 0 && key->min < key->max && (key->type == CONF_SIZE || key->max <= UINT32_MAX));
    assert_true(key->what != NULL && key->what[strlen(key->what) - 1] == '.');
}

static void walk(const struct conf_key *keys)
{
    for (const struct conf_key *key = keys; key->name != NULL; key++) {
        check(key);
        for (const struct conf_key *other = keys; other < key; other++)
            assert_string_not_equal(other->name, key->name);
        if (key->keys != NULL)
            walk(key->keys);
    }
}

/* 6.14 */
TEST_CASE(lines_agree_with_themselves)
{
    walk(conf__top);
    walk(conf__program);
}

/* 6.14: what the table says of dialects is what there is. */
TEST_CASE(dialects_are_known)
{
    const struct conf_key *key = conf__route;

    while (strcmp(key->name, "dialect") != 0)
        key++;
    for (size_t i = 0; dialects[i] != NULL; i++)
        assert_string_equal(key->words[i], dialects[i]->name);
    assert_null(key->words[count(key->words)]);
}

TEST_MAIN(NULL, NULL)
