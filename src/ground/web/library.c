/* SPDX-License-Identifier: Apache-2.0 */
#include "web/web.h"

#include <curl/curl.h>

const char *web_library(void)
{
    return curl_version();
}
