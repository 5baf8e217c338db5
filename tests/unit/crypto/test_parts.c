/* SPDX-License-Identifier: Apache-2.0 */
/* 11.4: a digest of parts is of these parts in this order, and of no other list. */
#include "fakes/cm.h"

#include "crypto/parts.h"

#define LISTS 12

static void digest_maybe(const struct span *parts, size_t count, unsigned char out[DIGEST_BYTES])
{
    struct digest digest;

    digest_init(&digest);
    for (size_t i = 0; i < count; i++)
        parts_add_maybe(&digest, parts[i]);
    digest_final(&digest, out);
}
#define PARTS_MAX 3

/* Each is another list, however its bytes are cut. */
static const struct {
    size_t count;
    struct span parts[PARTS_MAX];
} lists[LISTS] = {
    {0, {{NULL, 0}}},
    {1, {{NULL, 0}}},
    {1, {{"", 0}}},
    {2, {{"", 0}, {"", 0}}},
    {2, {{NULL, 0}, {"", 0}}},
    {2, {{"", 0}, {NULL, 0}}},
    {1, {{"abc", 3}}},
    {2, {{"a", 1}, {"bc", 2}}},
    {2, {{"ab", 2}, {"c", 1}}},
    {2, {{"bc", 2}, {"a", 1}}},
    {3, {{"a", 1}, {"b", 1}, {"c", 1}}},
    /* What stands before a part could be a part. */
    {1, {{"\0\0\0\0\0\0\0\1a", 9}}},
};

TEST_CASE(no_two_lists_have_one_digest)
{
    unsigned char digests[LISTS][DIGEST_BYTES];

    for (size_t i = 0; i < LISTS; i++) {
        digest_maybe(lists[i].parts, lists[i].count, digests[i]);
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(digests[i], digests[j], DIGEST_BYTES);
    }
}

TEST_CASE(what_is_absent_may_be_an_empty_part)
{
    unsigned char absent[DIGEST_BYTES], empty[DIGEST_BYTES];

    parts_digest(lists[4].parts, 2, absent);
    parts_digest(lists[5].parts, 2, empty);
    assert_memory_equal(absent, empty, DIGEST_BYTES);
    digest_maybe(lists[3].parts, 2, empty);
    assert_memory_equal(absent, empty, DIGEST_BYTES);
}

/* As schema/audit-format.md has it: a length is eight bytes, the big end first. */
TEST_CASE(a_part_stands_behind_its_length)
{
    static const char bytes[] = "\0\0\0\0\0\0\0\2ab" "\0\0\0\0\0\0\0\0" "\377\377\377\377\377\377\377\377" "\0\0\0\0\0\0\1\2";
    unsigned char wanted[DIGEST_BYTES], made[DIGEST_BYTES];
    struct digest digest;

    digest_of(span_of(bytes, sizeof bytes - 1), wanted);
    digest_init(&digest);
    parts_add(&digest, SPAN_LIT("ab"));
    parts_add(&digest, SPAN_NONE);
    parts_add_maybe(&digest, SPAN_NONE);
    parts_add_number(&digest, 258);
    digest_final(&digest, made);
    assert_memory_equal(made, wanted, DIGEST_BYTES);
}

TEST_MAIN(NULL, NULL)
