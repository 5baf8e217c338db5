/* SPDX-License-Identifier: Apache-2.0 */
/* 8.5: which of a certificate's names counts, and certificates that a proxy hands on. */
#include "identity/certificate_priv.h"

#include "fakes/cm.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

struct name_case {
    const char *text;
    bool fits;
};

struct asked {
    const char *name;
    const char *value;
};

static struct span find_header(const void *context, const char *name)
{
    const struct asked *asked = context;

    return asked->name != NULL && strcmp(name, asked->name) == 0 ? span_text(asked->value) : SPAN_NONE;
}

static enum reason decide(const struct identity_source *source, const struct tls_names *names, struct identity *identity)
{
    struct asked none = {0};
    struct identity_request request = {.header = find_header, .context = &none, .certificate = names};

    return identity_decide(source, 1, NULL, &request, identity);
}

static void try_names(enum identity_name name, size_t at, const struct name_case *cases, size_t count)
{
    const struct identity_source source = {.kind = IDENTITY_CERTIFICATE, .name = name, .tenant = "acme"};

    for (size_t i = 0; i < count; i++) {
        struct tls_names names = {0};
        struct tls_name *one = (struct tls_name *)(void *)((char *)&names + at);
        struct identity identity;

        *one = (struct tls_name){span_text(cases[i].text), 1};
        if ((decide(&source, &names, &identity) == REASON_PERMITTED) != cases[i].fits)
            fail_msg("name %s", cases[i].text);
        if (cases[i].fits) {
            assert_true(span_is(identity.principal, cases[i].text));
            assert_true(span_is(identity.tenant, "acme"));
            assert_true(span_is(identity.authentication, "certificate"));
        }
        one->count = 2; /* another stands beside it: nobody is chosen */
        assert_int_equal(decide(&source, &names, &identity), REASON_CREDENTIAL_WRONG);
        one->count = 0;
        one->text = SPAN_NONE;
        assert_int_equal(decide(&source, &names, &identity), REASON_CREDENTIAL_WRONG);
    }
}

TEST_CASE(test_uris) /* 8.5 */
{
    static const struct name_case cases[] = {
        {"spiffe://example.org/ns/prod/sa/Bot_1.x", true}, {"spiffe://example.org", true}, {"https://example.org/x?y=1#z", true},
        {"urn:uuid:f81d4fae", true},
        {"spiffe://example.org/", false}, {"spiffe://example.org/a/", false}, {"spiffe://example.org//a", false},
        {"spiffe://example.org/./a", false}, {"spiffe://example.org/a/..", false}, {"spiffe://Example.org/a", false},
        {"SPIFFE://example.org/a", false}, {"Spiffe:example", false}, {"spiffe:///a", false}, {"spiffe://", false},
        {"spiffe://u@example.org/a", false}, {"spiffe://example.org:80/a", false}, {"spiffe://example.org/a%2fb", false},
        {"spiffe://example.org/a?b", false}, {"spiffe://example.org/a#b", false}, {"spiffe://example.org/a b", false},
        {"no-scheme", false}, {":x", false}, {"x:a\tb", false}, {"x:a\x7f", false}, {"x:\xc3\xa4", false}, {"x:{a}", false}, {"", false},
    };
    const struct identity_source source = {.kind = IDENTITY_CERTIFICATE, .name = IDENTITY_URI, .tenant = "acme"};
    struct tls_names names = {.uri = {SPAN_LIT("x:a\0b"), 1}};
    struct identity identity;
    char longest[IDENTITY_URI_MAX + 2] = "spiffe://example.org/";

    try_names(IDENTITY_URI, offsetof(struct tls_names, uri), cases, sizeof cases / sizeof *cases);
    assert_int_equal(decide(&source, &names, &identity), REASON_CREDENTIAL_WRONG); /* a NUL cuts nothing off */
    memset(longest + 21, 'a', IDENTITY_URI_MAX - 21);
    names.uri.text = span_of(longest, IDENTITY_URI_MAX);
    assert_int_equal(decide(&source, &names, &identity), REASON_PERMITTED);
    longest[IDENTITY_URI_MAX] = 'a';
    names.uri.text.len++;
    assert_int_equal(decide(&source, &names, &identity), REASON_CREDENTIAL_WRONG);
}

TEST_CASE(test_dns_and_mail) /* 8.5 */
{
    static const struct name_case dns[] = {
        {"bot.example.org", true}, {"bot", true}, {"xn--bcher-kva.example", true},
        {"*.example.org", false}, {"Bot.example.org", false}, {".example.org", false}, {"bot.example.org.", false},
        {"bot_1", false}, {"a b", false}, {"", false},
    };
    static const struct name_case mail[] = {
        {"bot@example.org", true}, {"Bot.One+x@example.org", true},
        {"bot@Example.org", false}, {"bot", false}, {"@example.org", false}, {"bot@", false}, {"a@b@example.org", false},
        {"\"a b\"@example.org", false}, {"bot@[127.0.0.1]", false}, {"bot @example.org", false},
    };

    try_names(IDENTITY_DNS, offsetof(struct tls_names, dns), dns, sizeof dns / sizeof *dns);
    try_names(IDENTITY_EMAIL, offsetof(struct tls_names, email), mail, sizeof mail / sizeof *mail);
}

TEST_CASE(test_tenants) /* 8.5 */
{
    struct tls_names names = {.subject = SPAN_LIT("CN=bot,O=acme"), .uri = {SPAN_LIT("spiffe://umbrella.example.org/bot"), 1}};
    struct identity_source source = {.kind = IDENTITY_CERTIFICATE, .name = IDENTITY_URI};
    struct identity identity;
    struct why why;
    size_t offset;

    assert_int_equal(decide(&source, &names, &identity), REASON_PERMITTED);
    assert_true(span_is(identity.tenant, "acme"));
    assert_int_equal(regex_compile(SPAN_LIT("spiffe://(?<tenant>[a-z]+)\\.example\\.org/.*"), &source.tenant_regex, &offset, &why),
                     CODE_OK);
    assert_int_equal(decide(&source, &names, &identity), REASON_PERMITTED);
    assert_true(span_is(identity.tenant, "umbrella"));
    names.uri.text = SPAN_LIT("spiffe://umbrella.example.org.evil.test/bot");
    assert_int_equal(decide(&source, &names, &identity), REASON_CREDENTIAL_WRONG); /* the whole URI, or nothing */
    source.name = IDENTITY_CN; /* the URI names the tenant alone; then there must be one */
    names.uri = (struct tls_name){SPAN_NONE, 0};
    assert_int_equal(decide(&source, &names, &identity), REASON_CREDENTIAL_WRONG);
    regex_free(&source.tenant_regex);
    source.tenant = "constant";
    names.subject = SPAN_LIT("CN=bot");
    assert_int_equal(decide(&source, &names, &identity), REASON_PERMITTED);
    assert_true(span_is(identity.tenant, "constant"));
    source.tenant = NULL;
    assert_int_equal(decide(&source, &names, &identity), REASON_CREDENTIAL_WRONG);
}

/* ---- handed on ---- */

static struct span certificate_of(const char *alt_names, struct buf *der)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, alt_names);
    unsigned char *bytes = NULL;
    int len;

    X509_set_version(certificate, 2);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, (const unsigned char *)"bot", -1, -1, 0);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
    X509_set_pubkey(certificate, key);
    X509_add_ext(certificate, extension, -1);
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    len = i2d_X509(certificate, &bytes);
    assert_true(len > 0);
    buf_init(der, 65536);
    assert_int_equal(buf_add(der, bytes, (size_t)len), CODE_OK);
    OPENSSL_free(bytes);
    X509_EXTENSION_free(extension);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return buf_peek(der);
}

static enum reason decide_handed(const char *header, const char *value, bool is_trusted, struct arena *arena,
                                 struct identity *identity)
{
    const struct identity_source source = {.kind = IDENTITY_CERTIFICATE, .name = IDENTITY_URI, .tenant = "acme", .header = header};
    struct asked asked = {header, value};
    struct tls_names own = {.uri = {SPAN_LIT("spiffe://proxy"), 1}};
    struct identity_request request = {.header = find_header, .context = &asked, .certificate = &own, .is_from_proxy = is_trusted,
                                       .arena = arena};

    return identity_decide(&source, 1, NULL, &request, identity);
}

TEST_CASE(test_client_cert) /* 8.5; RFC 9440, 2.1 */
{
    struct buf der, text;
    struct arena arena;
    struct identity identity;
    size_t len;

    arena_init(&arena, 1 << 20);
    buf_init(&text, 65536);
    buf_add_text(&text, ":");
    assert_int_equal(base64_encode(certificate_of("URI:spiffe://example.org/a,DNS:b", &der), &text), CODE_OK);
    assert_int_equal(buf_add(&text, ":", 2), CODE_OK);
    assert_int_equal(decide_handed("Client-Cert", buf_peek(&text).at, true, &arena, &identity), REASON_PERMITTED);
    assert_true(span_is(identity.principal, "spiffe://example.org/a"));
    assert_string_equal(identity.consumed, "Client-Cert");
    assert_int_equal(decide_handed("Client-Cert", buf_peek(&text).at, false, &arena, &identity), REASON_CREDENTIAL_WRONG);
    assert_int_equal(decide_handed("Client-Cert", NULL, true, &arena, &identity), REASON_CREDENTIAL_MISSING); /* not the proxy's own */
    assert_int_equal(decide_handed("Client-Cert", "", true, &arena, &identity), REASON_CREDENTIAL_WRONG);
    assert_int_equal(decide_handed("Client-Cert", "::", true, &arena, &identity), REASON_CREDENTIAL_WRONG);
    len = buf_len(&text) - 1;
    for (size_t i = 0; i < len; i += 7) { /* cut short, or with something behind it */
        char *part = mem_dup(buf_peek(&text).at, i);

        assert_int_equal(decide_handed("Client-Cert", part, true, &arena, &identity), REASON_CREDENTIAL_WRONG);
        mem_free(part);
        arena_reset(&arena);
    }
    buf_truncate(&text, len);
    buf_add(&text, ";a=1", 5);
    assert_int_equal(decide_handed("Client-Cert", buf_peek(&text).at, true, &arena, &identity), REASON_CREDENTIAL_WRONG);
    buf_fini(&text);
    buf_fini(&der);
    arena_fini(&arena);
}

TEST_CASE(test_forwarded_client_cert) /* 8.5 */
{
    static const struct {
        const char *value, *principal; /* NULL: refused */
    } cases[] = {
        {"By=spiffe://gate;Hash=ab12;Subject=\"CN=bot,O=acme\";URI=spiffe://example.org/a", "spiffe://example.org/a"},
        {"URI=spiffe://example.org/a", "spiffe://example.org/a"},
        {"uri=\"https://example.org/\\\"a,b;c\"", NULL}, /* a quote in it is no URI's */
        {"URI=\"https://example.org/a,b;c\"", "https://example.org/a,b;c"},
        {"URI=spiffe://example.org/a;URI=spiffe://example.org/b", NULL},
        {"URI=spiffe://example.org/evil,By=spiffe://gate;URI=spiffe://example.org/a", NULL},
        {"URI=spiffe://example.org/a,URI=spiffe://example.org/b", NULL},
        {"URI=\"spiffe://example.org/a\",URI=\"spiffe://example.org/b\"", NULL},
        {"URI=\"spiffe://example.org/a", NULL},
        {"URI=\"spiffe://example.org/a\\", NULL},
        {"URI=spi\"ffe://example.org/a", NULL},
        {"Hash=ab12", NULL}, {"", NULL}, {"URI", NULL}, {"=x", NULL}, {";", NULL}, {"Subject=\"CN=bot\"", NULL},
        {"URI=spiffe://example.org/a;Cert=\"nonsense\"", NULL},
        {"URI=spiffe://example.org/a;Cert=\"%4\"", NULL},
        {"Subject=\"CN=a\";Subject=\"CN=b\";URI=spiffe://example.org/a", NULL},
    };
    struct arena arena;

    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct identity identity;
        enum reason reason = decide_handed("X-Forwarded-Client-Cert", cases[i].value, true, &arena, &identity);

        if ((reason == REASON_PERMITTED) != (cases[i].principal != NULL))
            fail_msg("%s", cases[i].value);
        if (cases[i].principal != NULL)
            assert_true(span_is(identity.principal, cases[i].principal));
        assert_int_equal(decide_handed("X-Forwarded-Client-Cert", cases[i].value, false, &arena, &identity),
                         REASON_CREDENTIAL_WRONG);
    }
    arena_fini(&arena);
}

/* Envoy writes a subject by RFC 2253, where a comma in a name is `\,`: it must not come apart into two names. */
TEST_CASE(test_forwarded_subject) /* 8.5 */
{
    static const struct {
        const char *value, *principal; /* NULL: refused */
    } cases[] = {
        {"Subject=\"CN=bot,OU=a\\,b,O=acme\";By=x", "bot"},
        {"Subject=\"CN=bot,OU=\\\"q\\\",O=acme\"", "bot"},
        {"Subject=\"CN=bot\\,O=acme\"", NULL},
        {"Subject=\"CN=bot\\,O=acme,OU=x\"", NULL},
        {"Subject=\"O=x\\,CN=admin\\,O=acme\"", NULL},
        {"Subject=\"CN=bot,O=acme\\\"", NULL},
    };
    const struct identity_source source = {.kind = IDENTITY_CERTIFICATE, .header = "X-Forwarded-Client-Cert"};
    struct arena arena;

    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct asked asked = {source.header, cases[i].value};
        struct identity_request request = {.header = find_header, .context = &asked, .is_from_proxy = true, .arena = &arena};
        struct identity identity;
        enum reason reason = identity_decide(&source, 1, NULL, &request, &identity);

        if ((reason == REASON_PERMITTED) != (cases[i].principal != NULL))
            fail_msg("%s", cases[i].value);
        if (cases[i].principal != NULL)
            assert_true(span_is(identity.principal, cases[i].principal) && span_is(identity.tenant, "acme"));
    }
    arena_fini(&arena);
}

/* The certificate itself outweighs what is said of it. */
TEST_CASE(test_whole_certificate_forwarded) /* 8.5 */
{
    struct buf der, text;
    struct span bytes = certificate_of("URI:spiffe://example.org/real", &der);
    const unsigned char *at = (const unsigned char *)bytes.at;
    X509 *certificate = d2i_X509(NULL, &at, (long)bytes.len);
    BIO *bio = BIO_new(BIO_s_mem());
    struct arena arena;
    struct identity identity;
    char *pem;
    long len;

    arena_init(&arena, 1 << 20);
    buf_init(&text, 65536);
    assert_int_equal(PEM_write_bio_X509(bio, certificate), 1);
    len = BIO_get_mem_data(bio, &pem);
    buf_add_text(&text, "URI=spiffe://example.org/said;Cert=\"");
    for (long i = 0; i < len; i++)
        buf_addf(&text, "%%%02X", (unsigned char)pem[i]);
    assert_int_equal(buf_add(&text, "\"", 2), CODE_OK);
    assert_int_equal(decide_handed("X-Forwarded-Client-Cert", buf_peek(&text).at, true, &arena, &identity), REASON_PERMITTED);
    assert_true(span_is(identity.principal, "spiffe://example.org/real"));
    BIO_free(bio);
    X509_free(certificate);
    buf_fini(&text);
    buf_fini(&der);
    arena_fini(&arena);
}

TEST_MAIN(NULL, NULL)
