/* SPDX-License-Identifier: Apache-2.0 */
/* 8.2: Wycheproof's vectors of JSON Web Signatures, RFC 7520's among them, from the file that WYCHEPROOF_JWS names
 * (tests/interop/17-wycheproof fetches it): what is invalid there is so here, and what is valid and not symmetric is signed. */
#include "fakes/cm.h"
#include "identity/jws_priv.h"
#include "os/file.h"

#include <stdio.h>
#include <stdlib.h>

/* RFC 7520's keys have no `alg`; the file gives them one, of another algorithm or of none. */
static void write_key(const struct json_node *jwk, struct buf *out)
{
    bool plain = span_is(json_at(jwk, "kid", NULL)->text, "bilbo.baggins@hobbiton.example");

    for (const struct json_node *member = jwk->child; member != NULL; member = member->next)
        if (!plain || !span_is(member->key, "alg"))
            buf_addf(out, "%s\"%.*s\":%.*s", buf_is_empty(out) ? "{" : ",", SPAN_ARG(member->key), SPAN_ARG(member->raw));
    buf_add_byte(out, '}');
}

static enum code read_key(const struct json_node *jwk, struct arena *arena, struct identity__key *key)
{
    const struct json_node *root;
    struct json_fault fault;
    struct buf text, canonical;
    enum code code;

    buf_init(&text, 1 << 16);
    buf_init(&canonical, 1 << 16);
    write_key(jwk, &text);
    assert_ok(json_read(buf_peek(&text), &json_file_rules, &canonical, arena, &root, &fault));
    code = identity__key_read(root, arena, key);
    buf_fini(&text);
    buf_fini(&canonical);
    return code;
}

static bool is_signed(struct span text, const struct identity__key *key)
{
    struct identity__jws jws;
    struct arena arena;
    enum identity_fault fault;
    bool good;

    arena_init(&arena, 1 << 20);
    fault = identity__jws_open(&jws, text, &arena);
    /* Their payloads are any bytes. */
    good = (fault == IDENTITY_FAULT_NONE || fault == IDENTITY_FAULT_CLAIMS) && identity__jws_is_signed(&jws, key);
    identity__jws_fini(&jws);
    arena_fini(&arena);
    return good;
}

static void run_group(const struct json_node *group, size_t counts[3])
{
    const struct json_node *jwk = json_at(group, "public", NULL);
    struct identity__key key = {.fits = 0};
    struct arena arena;
    bool has_key;

    arena_init(&arena, 1 << 20);
    has_key = jwk != NULL && read_key(jwk, &arena, &key) == CODE_OK;
    for (const struct json_node *test = json_at(group, "tests", NULL)->child; test != NULL; test = test->next) {
        const struct json_node *jws = json_at(test, "jws", NULL);
        bool valid = span_is(json_at(test, "result", NULL)->text, "valid");
        bool taken = has_key && jws->type == JSON_STRING && is_signed(jws->text, &key);

        if (taken && !valid)
            fail_msg("vector %.*s (%.*s) is taken", SPAN_ARG(json_at(test, "tcId", NULL)->raw),
                     SPAN_ARG(json_at(test, "comment", NULL)->text));
        if (valid && !taken && jwk != NULL)
            fail_msg("vector %.*s (%.*s) is refused", SPAN_ARG(json_at(test, "tcId", NULL)->raw),
                     SPAN_ARG(json_at(test, "comment", NULL)->text));
        counts[valid ? taken ? 0 : 1 : 2]++;
    }
    identity__key_fini(&key);
    arena_fini(&arena);
}

TEST_CASE(test_wycheproof)
{
    const char *path = getenv("WYCHEPROOF_JWS");
    size_t counts[3] = {0};
    const struct json_node *root;
    struct json_fault fault;
    struct arena arena;
    struct buf text, canonical;
    struct why why;

    if (path == NULL)
        skip();
    buf_init(&text, 8 << 20);
    buf_init(&canonical, 8 << 20);
    arena_init(&arena, 64 << 20);
    assert_ok(file_read(path, FILE_ANY, 4 << 20, &text, &why));
    assert_ok(json_read(buf_peek(&text), &json_file_rules, &canonical, &arena, &root, &fault));
    for (const struct json_node *group = json_at(root, "testGroups", NULL)->child; group != NULL; group = group->next)
        run_group(group, counts);
    printf("wycheproof: %zu taken, %zu symmetric and refused, %zu invalid and refused\n", counts[0], counts[1], counts[2]);
    assert_true(counts[0] >= 30 && counts[2] >= 300);
    arena_fini(&arena);
    buf_fini(&text);
    buf_fini(&canonical);
}

TEST_MAIN(NULL, NULL)
