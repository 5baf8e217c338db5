/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates for the tests of tls/, made on the spot: authorities, and leaves with names, as PEM files in a folder. */
#ifndef UNIT_TLS_PKI_H
#define UNIT_TLS_PKI_H

#include "fakes/folder.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct pki {
    char folder[64];
    EVP_PKEY *key;
    X509 *authority;
};

static inline const char *pki_path(const struct pki *pki, const char *name)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];

    (void)snprintf(path, 128, "%s/%s", pki->folder, name);
    return path;
}

static inline void pki_write(const char *path, X509 *certificate, EVP_PKEY *key)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    if (certificate)
        assert_int_equal(PEM_write_X509(file, certificate), 1);
    else
        assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, key ? 0600 : 0644), 0);
}

static inline void pki_extend(X509 *certificate, int nid, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

static inline X509 *pki_certificate(const char *organisation, const char *name, EVP_PKEY *key, X509 *issuer,
                                    EVP_PKEY *issuer_key, const char *alt_names)
{
    static long serial = 1;
    X509 *certificate = X509_new();
    X509_NAME *subject = X509_get_subject_name(certificate);

    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
    X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_UTF8, (const unsigned char *)organisation, -1, -1, 0);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(certificate, issuer ? X509_get_subject_name(issuer) : subject);
    X509_set_pubkey(certificate, key);
    pki_extend(certificate, NID_basic_constraints, issuer ? "CA:FALSE" : "critical,CA:TRUE");
    if (alt_names)
        pki_extend(certificate, NID_subject_alt_name, alt_names);
    assert_true(X509_sign(certificate, issuer_key, EVP_sha256()) > 0);
    return certificate;
}

/* The authority's certificate is in "NAME.pem". */
static inline void pki_begin(struct pki *pki, const char *name)
{
    char file[64];

    (void)snprintf(pki->folder, sizeof pki->folder, "/tmp/callgate-tls-XXXXXX");
    assert_non_null(mkdtemp(pki->folder));
    pki->key = EVP_EC_gen("P-256");
    pki->authority = pki_certificate("tests", name, pki->key, NULL, pki->key, NULL);
    (void)snprintf(file, sizeof file, "%s.pem", name);
    pki_write(pki_path(pki, file), pki->authority, NULL);
}

/* Makes "NAME.pem" and "NAME.key". */
static inline void pki_issue(struct pki *pki, const char *name, const char *organisation, const char *common_name,
                             const char *alt_names)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = pki_certificate(organisation, common_name, key, pki->authority, pki->key, alt_names);
    char file[64];

    (void)snprintf(file, sizeof file, "%s.pem", name);
    pki_write(pki_path(pki, file), certificate, NULL);
    (void)snprintf(file, sizeof file, "%s.key", name);
    pki_write(pki_path(pki, file), NULL, key);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

static inline void pki_end(struct pki *pki)
{
    folder_remove(pki->folder);
    X509_free(pki->authority);
    EVP_PKEY_free(pki->key);
}

#endif
