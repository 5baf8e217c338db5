/* SPDX-License-Identifier: Apache-2.0 */
/* 14.1, P192. */
#include "fleet/member.h"

#include "base/mem.h"
#include "crypto/digest.h"
#include "crypto/secret.h"
#include "os/file.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLEET "00112233445566778899aabbccddeeff"

static char folder[64], path[96];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/callgate-member-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(path, sizeof path, "%s/gate-a.member", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

static struct member *made(bool is_reader)
{
    struct member *member = secret_new(sizeof *member);
    struct sign_key *root;
    unsigned char key[SIGN_PUBLIC_BYTES];

    memcpy(member->fleet, FLEET, sizeof FLEET);
    memcpy(member->name, "gate-a", 7);
    member->database = mem_dup("postgresql://db/callgate?sslmode=verify-full&sslrootcert=ca.pem", 63);
    member->role = mem_dup("gate-a", 6);
    member->password = mem_dup("hunter2", 7);
    member->is_reader = is_reader;
    buf_init(&member->roster_text, ROSTER_TEXT_BYTES);
    if (is_reader)
        return member;
    random_bytes(member->seed, sizeof member->seed);
    member->secrets = secret_new(sizeof *member->secrets);
    random_bytes(member->secrets, sizeof *member->secrets);
    assert_int_equal(sign_key_of_seed(member->seed, &member->key), CODE_OK);
    assert_int_equal(sign_key_public(member->key, key), CODE_OK);
    assert_int_equal(sign_key_of_seed((const unsigned char *)FLEET, &root), CODE_OK);
    assert_int_equal(sign_key_public(root, member->root), CODE_OK);
    assert_int_equal(roster_new(FLEET, &member->roster), CODE_OK);
    assert_int_equal(roster_add(member->roster, SPAN_LIT("gate-a"), key), CODE_OK);
    member->roster->number = 1;
    assert_int_equal(roster_write(member->roster, &member->roster_text), CODE_OK);
    assert_int_equal(roster_sign(buf_peek(&member->roster_text), root, member->roster_signature), CODE_OK);
    sign_key_free(&root);
    return member;
}

static void write_file(const struct buf *text, unsigned mode)
{
    (void)unlink(path);
    assert_int_equal(file_create(path, mode, buf_peek(text), NULL), CODE_OK);
}

TEST_CASE(test_it_comes_back)
{
    for (int is_reader = 0; is_reader < 2; is_reader++) {
        struct member *member = made(is_reader == 1), *read;
        struct buf text;
        struct why why = {0};

        buf_init(&text, MEMBER_FILE_BYTES);
        assert_int_equal(member_write(member, &text), CODE_OK);
        write_file(&text, 0600);
        if (member_read(path, &read, &why) != CODE_OK)
            fail_msg("%s", why.text);
        assert_string_equal(read->folder, folder);
        assert_string_equal(read->name, "gate-a");
        assert_string_equal(read->database, member->database);
        assert_string_equal(read->role, "gate-a");
        assert_string_equal(read->password, "hunter2");
        assert_int_equal(read->is_reader, is_reader);
        assert_memory_equal(read->root, member->root, sizeof read->root);
        if (is_reader == 0) {
            assert_memory_equal(read->secrets, member->secrets, sizeof *read->secrets);
            assert_memory_equal(read->seed, member->seed, sizeof read->seed);
            assert_int_equal(read->roster->number, 1);
        }
        member_free(&read);
        write_file(&text, 0640); /* others may read it */
        assert_int_equal(member_read(path, &read, &why), CODE_DENIED);
        assert_null(read);
        buf_fini(&text);
        member_free(&member);
    }
}

/* The file with a piece of it replaced. */
static void refused(const char *was, const char *is, enum code wanted, const char *words)
{
    struct member *member = made(false), *read;
    struct buf text, other;
    struct why why = {0};
    const char *at;

    buf_init(&text, MEMBER_FILE_BYTES);
    buf_init(&other, MEMBER_FILE_BYTES);
    assert_int_equal(member_write(member, &text), CODE_OK);
    (void)buf_add_byte(&text, '\0');
    at = strstr(buf_peek(&text).at, was);
    assert_non_null(at);
    (void)buf_addf(&other, "%.*s%s%s", (int)(at - buf_peek(&text).at), buf_peek(&text).at, is, at + strlen(was));
    write_file(&other, 0600);
    assert_int_equal(member_read(path, &read, &why), wanted);
    assert_null(read);
    assert_non_null(strstr(why.text, words));
    assert_null(strstr(why.text, "hunter2"));
    buf_fini(&text);
    buf_fini(&other);
    member_free(&member);
}

TEST_CASE(test_what_is_none)
{
    struct member *read;

    refused("\"format\": 1", "\"format\": 2", CODE_INVALID, "is no membership");
    refused("\"name\": \"gate-a\"", "\"name\": \"gate-b\"", CODE_DENIED, "does not have the node gate-b");
    refused("\"name\": \"gate-a\"", "\"name\": \"Gate\"", CODE_INVALID, "is no membership");
    refused("\"number\\\":1", "\"number\\\":2", CODE_DENIED, "not signed");
    refused("\"fleet\": \"00", "\"fleet\": \"01", CODE_INVALID, "another fleet's");
    refused("\"password\"", "\"passwords\"", CODE_INVALID, "is no membership");
    refused("\"seal\"", "\"sealed\"", CODE_INVALID, "is no membership");
    refused("\"node_key\": \"", "\"node_key\": \"zz", CODE_INVALID, "is no membership");
    (void)unlink(path);
    assert_int_equal(member_read(path, &read, NULL), CODE_NOT_FOUND);
}

TEST_CASE(test_the_fleets_key)
{
    struct fleet_key *key = secret_new(sizeof *key), *read;
    struct buf text;
    struct why why = {0};

    memcpy(key->fleet, FLEET, sizeof FLEET);
    key->database = mem_dup("postgresql://db/callgate", 24);
    random_bytes(key->seed, sizeof key->seed);
    key->secrets = secret_new(sizeof *key->secrets);
    random_bytes(key->secrets, sizeof *key->secrets);
    buf_init(&text, MEMBER_FILE_BYTES);
    assert_int_equal(fleet_key_write(key, &text), CODE_OK);
    write_file(&text, 0600);
    if (fleet_key_read(path, &read, &why) != CODE_OK)
        fail_msg("%s", why.text);
    assert_string_equal(read->fleet, FLEET);
    assert_memory_equal(read->seed, key->seed, sizeof key->seed);
    assert_memory_equal(read->secrets, key->secrets, sizeof *key->secrets);
    assert_non_null(read->root);
    fleet_key_free(&read);
    buf_clear(&text);
    (void)buf_add_text(&text, "{}");
    write_file(&text, 0600);
    assert_int_equal(fleet_key_read(path, &read, &why), CODE_INVALID);
    assert_non_null(strstr(why.text, "no key of a fleet"));
    buf_fini(&text);
    fleet_key_free(&key);
}

TEST_MAIN(make_folder, remove_folder)
