/* SPDX-License-Identifier: Apache-2.0 */
/* 8.5: OCSP responses in the handshake: the gate shows its own, and takes no upstream without one. */
#include "unit/tls/ends.h"

#include <openssl/ocsp.h>

/* What the response in "staple.der" says. */
struct said {
    struct pki *by;        /* whose key signs, */
    const char *of;        /* of which certificate of `pki` */
    int status;
    long from_s, until_s;  /* from now */
    bool no_until;
    const char *delegate;  /* NULL: `by` itself signs; else the usages of a responder's certificate, which it issued */
    bool by_itself;        /* the certificate that it is about */
};

static X509 *read_certificate(const char *name)
{
    FILE *file = fopen(pki_path(&pki, name), "r");
    X509 *certificate;

    assert_non_null(file);
    certificate = PEM_read_X509(file, NULL, NULL, NULL);
    assert_int_equal(fclose(file), 0);
    assert_non_null(certificate);
    return certificate;
}

/* Whose word it is. */
static X509 *responder(const struct said *said, EVP_PKEY **key)
{
    X509 *certificate;
    FILE *file;

    if (said->by_itself) {
        file = fopen(pki_path(&pki, "gate.key"), "r");
        assert_non_null(file);
        *key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
        assert_int_equal(fclose(file), 0);
        return read_certificate(said->of);
    }
    if (said->delegate == NULL) {
        EVP_PKEY_up_ref(*key = said->by->key);
        X509_up_ref(said->by->authority);
        return said->by->authority;
    }
    *key = EVP_EC_gen("P-256");
    certificate = pki_certificate("tests", "responder", *key, said->by->authority, said->by->key, NULL);
    pki_extend(certificate, NID_ext_key_usage, said->delegate);
    assert_true(X509_sign(certificate, said->by->key, EVP_sha256()) > 0);
    return certificate;
}

static const char *staple(const struct said *said)
{
    const char *path = pki_path(&pki, "staple.der");
    X509 *certificate = read_certificate(said->of);
    OCSP_BASICRESP *basic = OCSP_BASICRESP_new();
    OCSP_CERTID *id = OCSP_cert_to_id(EVP_sha256(), certificate, pki.authority);
    ASN1_TIME *from = X509_gmtime_adj(NULL, said->from_s), *until = X509_gmtime_adj(NULL, said->until_s);
    OCSP_RESPONSE *response;
    EVP_PKEY *key = NULL;
    X509 *signer = responder(said, &key);
    BIO *out = BIO_new_file(path, "wb");

    assert_non_null(OCSP_basic_add1_status(basic, id, said->status, 0, said->status == V_OCSP_CERTSTATUS_REVOKED ? from : NULL, from,
                                           said->no_until ? NULL : until));
    assert_int_equal(OCSP_basic_sign(basic, signer, key, EVP_sha256(), NULL, 0), 1);
    response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic);
    assert_int_equal(i2d_OCSP_RESPONSE_bio(out, response), 1);
    BIO_free(out);
    OCSP_RESPONSE_free(response);
    OCSP_BASICRESP_free(basic);
    OCSP_CERTID_free(id);
    ASN1_TIME_free(from);
    ASN1_TIME_free(until);
    X509_free(certificate);
    X509_free(signer);
    EVP_PKEY_free(key);
    return path;
}

/* Takes: staple: NULL: the server has none. Returns: whether the client took the server; *why where there was no server. */
static bool meets(const char *shown, bool needs, struct why *why, char fault[200])
{
    struct tls_server_conf server = {.certificate = pki_path(&pki, "gate.pem"), .key = pki_path(&pki, "gate.key"), .ocsp = shown};
    struct tls_client_conf client = {.ca = pki_path(&pki, "ca.pem"), .needs_staple = needs};
    struct ends ends = {0};
    bool taken = false;

    *why = (struct why){""};
    fault[0] = '\0';
    if (tls_server_new(&server, &ends.server, why) != CODE_OK)
        return false;
    assert_int_equal(tls_client_new(&client, &ends.client, why), CODE_OK);
    for (int i = 0; i < 2; i++) { /* the second time there would be a session to resume */
        join(&ends, "gate.test");
        taken = ends.back_io == IO_OK;
        (void)snprintf(fault, 200, "%s", stream_fault(ends.back));
        assert_false(needs && tls_is_resumed(ends.back));
        if (i == 0)
            part(&ends);
    }
    end(&ends);
    return taken;
}

TEST_CASE(test_needed) /* 8.5 */
{
    const struct said good = {&pki, "gate.pem", V_OCSP_CERTSTATUS_GOOD, -60, 3600, false, NULL, false};
    struct said said = good;
    struct why why;
    char fault[200];

    assert_true(meets(NULL, false, &why, fault));
    assert_true(meets(staple(&good), false, &why, fault));
    assert_true(meets(staple(&good), true, &why, fault));
    assert_false(meets(NULL, true, &why, fault));
    assert_non_null(strstr(fault, "OCSP"));
    said.by = &other; /* who is not its authority */
    assert_false(meets(staple(&said), true, &why, fault));
    assert_non_null(strstr(fault, "OCSP"));
    said = good;
    said.from_s = 3600; /* of tomorrow */
    said.until_s = 7200;
    assert_false(meets(staple(&said), true, &why, fault));
}

TEST_CASE(test_own_is_checked) /* 8.5 */
{
    const struct said good = {&pki, "gate.pem", V_OCSP_CERTSTATUS_GOOD, -60, 3600, false, NULL, false};
    struct said said = good;
    struct why why;
    char fault[200];
    FILE *file;

    said.of = "bot.pem";
    assert_false(meets(staple(&said), false, &why, fault));
    assert_non_null(strstr(why.text, "says nothing of the gate's certificate"));
    said = good;
    said.status = V_OCSP_CERTSTATUS_REVOKED;
    assert_false(meets(staple(&said), false, &why, fault));
    assert_non_null(strstr(why.text, "not good"));
    said = good;
    said.no_until = true;
    assert_false(meets(staple(&said), false, &why, fault));
    assert_non_null(strstr(why.text, "nextUpdate"));
    said = good;
    said.from_s = -7200;
    said.until_s = -3600; /* run out: agents get none, and go on where they need none */
    assert_true(meets(staple(&said), false, &why, fault));
    assert_false(meets(pki_path(&pki, "staple.der"), true, &why, fault));
    file = fopen(pki_path(&pki, "staple.der"), "w");
    assert_non_null(file);
    assert_int_equal(fputs("no response", file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
    assert_false(meets(pki_path(&pki, "staple.der"), false, &why, fault));
    assert_non_null(strstr(why.text, "no successful OCSP response"));
    (void)unlink(pki_path(&pki, "staple.der"));
}

/* An upstream that was revoked, with a server of OpenSSL's own that shows whatever it was given. */
static int show_anything(SSL *ssl, void *at)
{
    const struct span *bytes = at;

    return SSL_set_tlsext_status_ocsp_resp(ssl, OPENSSL_memdup(bytes->at, bytes->len), (long)bytes->len) == 1 ? SSL_TLSEXT_ERR_OK
                                                                                                              : SSL_TLSEXT_ERR_NOACK;
}

TEST_CASE(test_others_words) /* 8.5 */
{
    const struct said cases[] = {
        {&pki, "gate.pem", V_OCSP_CERTSTATUS_GOOD, -60, 3600, false, NULL, false},
        {&pki, "gate.pem", V_OCSP_CERTSTATUS_GOOD, -60, 3600, false, "OCSPSigning", false},
        {&pki, "gate.pem", V_OCSP_CERTSTATUS_REVOKED, -60, 3600, false, NULL, false},
        {&pki, "gate.pem", V_OCSP_CERTSTATUS_UNKNOWN, -60, 3600, false, NULL, false},
        {&pki, "gate.pem", V_OCSP_CERTSTATUS_GOOD, -7200, -3600, false, NULL, false},
        {&pki, "gate.pem", V_OCSP_CERTSTATUS_GOOD, 3600, 7200, false, NULL, false},
        {&pki, "gate.pem", V_OCSP_CERTSTATUS_GOOD, -60, 3600, true, NULL, false},
        {&pki, "bot.pem", V_OCSP_CERTSTATUS_GOOD, -60, 3600, false, NULL, false},
        {&pki, "gate.pem", V_OCSP_CERTSTATUS_GOOD, -60, 3600, false, "serverAuth,clientAuth", false}, /* no responder */
        {&pki, "gate.pem", V_OCSP_CERTSTATUS_GOOD, -60, 3600, false, NULL, true},
        {&other, "gate.pem", V_OCSP_CERTSTATUS_GOOD, -60, 3600, false, NULL, false}, /* of the same name */
        {&other, "gate.pem", V_OCSP_CERTSTATUS_GOOD, -60, 3600, false, "OCSPSigning", false},
    };
    const size_t count = sizeof cases / sizeof *cases;

    for (size_t i = 0; i < 2 * count; i++) { /* the second time in TLS 1.2 */
        struct tls_server_conf server = {.certificate = pki_path(&pki, "gate.pem"), .key = pki_path(&pki, "gate.key")};
        struct tls_client_conf client = {.ca = pki_path(&pki, "ca.pem"), .needs_staple = true};
        struct ends ends = {0};
        struct why why = {""};
        struct buf der;
        struct span bytes;

        assert_int_equal(tls_server_new(&server, &ends.server, &why), CODE_OK);
        assert_int_equal(tls_client_new(&client, &ends.client, &why), CODE_OK);
        buf_init(&der, 65536);
        assert_int_equal(file_read(staple(&cases[i % count]), FILE_ANY, 65536, &der, &why), CODE_OK);
        bytes = buf_peek(&der);
        if (i >= count)
            assert_int_equal(SSL_CTX_set_max_proto_version(ends.server->ctx, TLS1_2_VERSION), 1);
        SSL_CTX_set_tlsext_status_cb(ends.server->ctx, show_anything);
        SSL_CTX_set_tlsext_status_arg(ends.server->ctx, &bytes);
        join(&ends, "gate.test");
        if ((ends.back_io == IO_OK) != (i % count < 2))
            fail_msg("case %zu: %s", i, stream_fault(ends.back));
        if (i % count == 2)
            assert_non_null(strstr(stream_fault(ends.back), "revoked"));
        end(&ends);
        buf_fini(&der);
        (void)unlink(pki_path(&pki, "staple.der"));
    }
}

TEST_MAIN(make_pki, drop_pki)
