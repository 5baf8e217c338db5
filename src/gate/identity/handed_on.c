/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/certificate_priv.h"

#include "http/writer.h"

#define HANDED_MAX_BYTES 32768

/* RFC 9440, 2.1: one Byte Sequence (RFC 8941, 3.3.5) of DER, and nothing behind it. */
static bool read_client_cert(struct span value, struct arena *arena, struct tls_names *names)
{
    struct buf der;
    bool done;

    value = span_trim(value);
    if (value.len < 3 || value.at[0] != ':' || value.at[value.len - 1] != ':')
        return false;
    buf_init(&der, HANDED_MAX_BYTES);
    done = base64_decode(span_part(value, 1, value.len - 2), &der) == CODE_OK && tls_names_read(buf_peek(&der), arena, names);
    buf_fini(&der);
    return done;
}

/* Takes `Key=value` off an element of Envoy's header; in quotes `\` keeps the next byte from ending the value. Both stay in it:
 * a subject has escapes of its own (RFC 2253), and without them the one name `a\,O=acme` would be two.
 * Returns: false: it is no pair, or a second element follows. */
static bool next_pair(struct span *text, struct span *key, struct span *value)
{
    struct span rest;
    size_t len = 0;

    *key = span_cut(*text, '=', &rest);
    if (key->len == 0 || key->len == text->len)
        return false;
    if (rest.len == 0 || rest.at[0] != '"') {
        *value = span_part(rest, 0, span_find(rest, ';'));
        *text = span_part(rest, value->len + 1, SIZE_MAX);
        return span_find(*value, ',') == value->len && span_find(*value, '"') == value->len;
    }
    rest = span_part(rest, 1, SIZE_MAX);
    while (len < rest.len && rest.at[len] != '"')
        len += rest.at[len] == '\\' ? 2 : 1;
    *value = span_part(rest, 0, len);
    *text = span_part(rest, len + 2, SIZE_MAX);
    return len < rest.len && (len + 1 == rest.len || rest.at[len + 1] == ';');
}

static void note(struct tls_name *name, struct span value)
{
    if (name->count++ == 0)
        name->text = value;
}

/* Envoy, HTTP headers, x-forwarded-client-cert. Whoever could put an element before the proxy's own would choose who he is, so
 * that there may be one alone (`forward_client_cert_details: SANITIZE_SET`). Beside the certificate itself nothing counts. */
static bool read_forwarded(struct span text, struct arena *arena, struct tls_names *names)
{
    struct span certificate = SPAN_NONE, subject = SPAN_NONE, key, value;

    *names = (struct tls_names){0};
    if (text.len > HANDED_MAX_BYTES)
        return false;
    while (!span_is_empty(text)) {
        if (!next_pair(&text, &key, &value))
            return false;
        if (span_equals_nocase(key, SPAN_LIT("URI")))
            note(&names->uri, value);
        else if (span_equals_nocase(key, SPAN_LIT("DNS")))
            note(&names->dns, value);
        else if (span_equals_nocase(key, SPAN_LIT("Cert")) || span_equals_nocase(key, SPAN_LIT("Subject"))) {
            struct span *into = (key.at[0] | 0x20) == 'c' ? &certificate : &subject;

            if (into->at != NULL)
                return false;
            *into = value;
        }
    }
    names->subject = subject;
    if (certificate.at == NULL)
        return subject.at != NULL || names->uri.count > 0 || names->dns.count > 0;
    value = http_read_encoded(certificate, false, arena);
    return value.at != NULL && tls_names_read_pem(value, arena, names);
}

bool identity__handed_on(const char *header, struct span value, struct arena *arena, struct tls_names *names)
{
    return span_equals_nocase(span_text(header), SPAN_LIT("Client-Cert")) ? read_client_cert(value, arena, names)
                                                                         : read_forwarded(value, arena, names);
}
