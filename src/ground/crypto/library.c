/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/digest.h"

#include <openssl/crypto.h>

const char *crypto_library(void)
{
    return OpenSSL_version(OPENSSL_VERSION);
}
