/* SPDX-License-Identifier: Apache-2.0 */
#include "libraries/libraries.h"

#include "base/log.h"
#include "crypto/digest.h"
#include "db/db.h"
#include "http/selftest.h"
#include "jose/jose.h"
#include "json/doc.h"
#include "regex/regex.h"
#include "sql/sql.h"
#include "unicode/unicode.h"
#include "web/web.h"
#include "yaml/yaml.h"

#include <ctype.h>
#include <string.h>

/* Of Debian 12, Ubuntu 24.04, Debian 13 and Ubuntu 26.04. */
static const char *const tried[] = {
    "OpenSSL 3.0", "OpenSSL 3.5",
    "llhttp 8.1", "llhttp 9.1", "llhttp 9.2", "llhttp 9.3",
    "cJSON 1.7",
    "SQLite 3.40", "SQLite 3.45", "SQLite 3.46",
    "PCRE2 10.42", "PCRE2 10.46",
    "libyaml 0.2.5",
    "utf8proc 2.8", "utf8proc 2.9", "utf8proc 2.10",
    "libpg_query, PostgreSQL 15", "libpg_query, PostgreSQL 16", "libpg_query, PostgreSQL 17",
    "libcurl/7.88", "libcurl/8.5", "libcurl/8.14", "libcurl/8.18",
    "cjose 0.6.2",
};

size_t libraries_say(bool with_web, const char *texts[LIBRARIES])
{
    const char *const said[LIBRARIES] = {
        crypto_library(), http_library(), json_library(), db_library(), regex_library(), yaml_library(), unicode_library(),
        sql_library(), jose_library(), with_web ? web_library() : NULL,
    };

    memcpy(texts, said, sizeof said);
    return with_web ? LIBRARIES : LIBRARIES - 1;
}

bool library_is_tried(const char *text)
{
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++)
        if (strncmp(text, tried[i], strlen(tried[i])) == 0 && !isdigit((unsigned char)text[strlen(tried[i])]))
            return true;
    return false;
}

void libraries_warn(bool with_web)
{
    const char *texts[LIBRARIES];
    size_t count = libraries_say(with_web, texts);

    for (size_t i = 0; i < count; i++)
        if (!library_is_tried(texts[i]))
            log_warn("app", "nobody has tried this callgate with %s; `callgate version --all` has all libraries", texts[i]);
}
