/* SPDX-License-Identifier: Apache-2.0 */
/* 4.16: any bytes as a key, as a bearer token, as a certificate's subject and as the tenant that is claimed: nobody is let in but
 * with the one key as it stands, or by a subject that says just these names; the tenant is the own one or one that may be claimed.
 * The first byte chooses what the others are. */
#include "base/bug.h"
#include "base/glob.h"
#include "identity/identity.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define KEY "cg_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"

static const char *const may_claim[] = {"lab-*", NULL};

struct shown {
    const char *header;
    struct span value;
};

static struct span find(const void *context, const char *name)
{
    const struct shown *shown = context;

    return strcmp(shown->header, name) == 0 ? shown->value : SPAN_NONE;
}

static struct identity_keys *make_keys(void)
{
    struct identity_key key = {.principal = "bot", .tenant = "acme", .may_claim = may_claim, .id = 7};
    struct identity_keys *keys;

    digest_of(SPAN_LIT(KEY), key.digest);
    BUG_ON(identity_keys_new(&key, 1, &keys) != CODE_OK);
    return keys;
}

/* Whether `text` holds `name=value` in this order, in any case of the name. */
static bool says(struct span text, const char *name, struct span value)
{
    for (size_t at = 0; at + strlen(name) + value.len <= text.len; at++)
        if (span_equals_nocase(span_part(text, at, strlen(name)), span_text(name)) &&
            span_find(span_part(text, at, SIZE_MAX), '=') < text.len - at)
            for (size_t from = at + strlen(name); from + value.len <= text.len; from++)
                if (span_equals(span_part(text, from, value.len), value))
                    return true;
    return false;
}

static void check_tenant(const struct identity *identity, struct span own, struct span claimed, bool by_key)
{
    BUG_ON(identity->tenant.len == 0);
    if (claimed.at == NULL)
        BUG_ON(!span_equals(identity->tenant, own));
    else
        BUG_ON(!span_equals(identity->tenant, claimed) ||
               (!span_equals(claimed, own) && !(by_key && glob_matches(SPAN_LIT("lab-*"), claimed))));
}

static void check_key(const struct identity *identity, struct span value, struct span claimed, bool bearer)
{
    struct span key = SPAN_LIT(KEY);

    BUG_ON(identity->key_id != 7 || !span_equals(identity->principal, SPAN_LIT("bot")));
    if (bearer) {
        BUG_ON(value.len <= key.len || !span_equals_nocase(span_part(value, 0, 7), SPAN_LIT("bearer ")));
        for (size_t i = 7; i < value.len - key.len; i++)
            BUG_ON(value.at[i] != ' ');
        value = span_part(value, value.len - key.len, SIZE_MAX);
    }
    BUG_ON(!span_equals(value, key));
    check_tenant(identity, SPAN_LIT("acme"), claimed, true);
}

static void check_subject(const struct identity *identity, struct span subject, struct span claimed)
{
    BUG_ON(identity->key_id != 0 || identity->principal.len == 0 || identity->principal.len > 128);
    BUG_ON(!says(subject, "CN", identity->principal) || !says(subject, "O", identity->tenant));
    for (size_t i = 0; i < identity->principal.len; i++)
        BUG_ON(identity->principal.at[i] < ' ' || identity->principal.at[i] > '~' || identity->principal.at[i] == '\\');
    check_tenant(identity, identity->tenant, claimed, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const struct identity_source sources[] = {
        {.kind = IDENTITY_API_KEY, .header = "X-API-Key"}, {.kind = IDENTITY_BEARER}, {.kind = IDENTITY_CERTIFICATE},
    };
    unsigned choice = len > 0 ? bytes[0] : 0;
    struct span rest = span_part(span_of(bytes, len), 1, SIZE_MAX), claimed = SPAN_NONE;
    struct span value = span_cut(rest, '\n', &rest); /* no header holds a line's end */
    struct shown shown = {choice % 3 == 0 ? "X-API-Key" : choice % 3 == 1 ? "Authorization" : "", value};
    struct identity_request request = {.header = find, .context = &shown, .now_us = 1};
    struct tls_names names = {0};
    struct identity_keys *keys = make_keys();
    struct identity identity;
    enum reason reason;

    if (choice & 128)
        request.claimed_tenant = claimed = rest;
    names.subject = value;
    if (choice % 3 == 2)
        request.certificate = &names;
    reason = identity_decide(sources, 3, keys, &request, &identity);
    if (reason == REASON_PERMITTED && choice % 3 == 2)
        check_subject(&identity, value, claimed);
    else if (reason == REASON_PERMITTED)
        check_key(&identity, value, claimed, choice % 3 == 1);
    identity_keys_unref(&keys);
    return 0;
}
