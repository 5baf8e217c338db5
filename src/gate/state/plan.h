/* SPDX-License-Identifier: Apache-2.0 */
/* Intent plans: signed lists of steps that somebody has delegated to a principal; schema/plan.md is their format. This file
 * reads and verifies them, and finds a call among their steps; state/plan_uses.h knows which steps were used.
 *
 * Threads: any; a struct plan belongs to one thread.
 * Owns: nothing; a plan lives in the arena and the buffer that were handed in.
 * Lifetime: theirs.
 * Errors: enum code with a sentence. */
#ifndef STATE_PLAN_H
#define STATE_PLAN_H

#include "base/why.h"
#include "crypto/digest.h"
#include "crypto/sign.h"
#include "json/json.h"

#define PLAN_TEXT_BYTES 12288 /* of a plan's JSON; the head of a request holds less */
#define PLAN_SHOWN_BYTES (PLAN_TEXT_BYTES * 4 / 3 + 96)
#define PLAN_STEPS_MAX 256
#define PLAN_TIMES_MAX 10000
#define PLAN_LIFE_MIN_US (INT64_C(60) * 1000000)
#define PLAN_LIFE_MAX_US (INT64_C(86400) * 1000000)
#define PLAN_LEEWAY_US (INT64_C(60) * 1000000) /* of not_before; a plan ends to the microsecond */
#define PLAN_KEY_ID_BYTES 17
#define PLAN_HEADER "X-Callgate-Plan"

/* A key whose signatures count. */
struct plan_key {
    struct span id;
    unsigned char key[SIGN_PUBLIC_BYTES];
};
struct plan_keys {
    const struct plan_key *key;
    size_t count;
};
#define PLAN_KEYS_MAX 64

/* From a file with public keys: PEM, one or more, or a JWK or a set of them (RFC 8037). Takes: arena: owns the result. */
enum code plan_keys_read(struct span text, struct arena *arena, struct plan_keys *keys, struct why *why) MUST_USE;

/* The id of a key that has no other: 16 hexadecimal digits of its SHA-256. */
void plan_key_id(const unsigned char key[SIGN_PUBLIC_BYTES], char id[PLAN_KEY_ID_BYTES]);

struct plan_step {
    struct span upstream, tool;
    const struct json_node *arguments; /* an object of what each must be; or the text "any" */
    uint32_t times;
};

struct plan {
    struct span text; /* canonical */
    const struct json_node *root;
    unsigned char digest[DIGEST_BYTES]; /* of the text: by this it is recorded */
    unsigned char signature[SIGN_BYTES];
    struct span id, issuer, principal, tenant, key;
    int64_t not_before_us, expires_us;
    bool is_strict; /* its steps are used in their order */
    struct plan_step *step;
    uint32_t step_count;
};

/* As the header carries it: base64url of the text, `.`, base64url of the signature, each without padding. Everything is checked
 * but the signature, the time and whose it is. Takes: text: empty. */
enum code plan_read(struct span shown, struct buf *text, struct arena *arena, struct plan *plan, struct why *why) MUST_USE;
/* The same of a text that nobody has signed yet. */
enum code plan_read_text(struct buf *text, struct arena *arena, struct plan *plan, struct why *why) MUST_USE;

/* CODE_NOT_FOUND: no key has this id; CODE_DENIED: the signature is not the key's. */
enum code plan_verify(const struct plan *plan, const struct plan_keys *keys) MUST_USE;
const struct plan_key *plan_key_of(const struct plan *plan, const struct plan_keys *keys);
enum code plan_sign(struct span text, const struct sign_key *key, unsigned char signature[SIGN_BYTES]) MUST_USE;
enum code plan_write(struct span text, const unsigned char signature[SIGN_BYTES], struct buf *out);

/* The digest by which a plan names an argument's value. CODE_INVALID: the value has no canonical form. */
enum code plan_argument_digest(struct span plan_id, const struct json_node *value, unsigned char out[DIGEST_BYTES]) MUST_USE;

/* Which steps a call of a tool is, each a bit. */
struct plan_fit {
    uint64_t bits[PLAN_STEPS_MAX / 64];
};

static inline bool plan_fits(const struct plan_fit *fit, uint32_t step) /* from 0 */
{
    return (fit->bits[step / 64] >> step % 64 & 1) != 0;
}

/* Takes: arguments: NULL: none. */
enum code plan_find(const struct plan *plan, struct span upstream, struct span tool, const struct json_node *arguments,
                    struct plan_fit *fit) MUST_USE;

/* Why a call is not this step, for people; NULL: it is. */
const char *plan_step_differs(const struct plan *plan, const struct plan_step *step, struct span upstream, struct span tool,
                              const struct json_node *arguments);

#endif
