/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl is loaded where the first request may come, and by nobody else: with it come 27 others, which a gate that asks
 * nobody would hold in its memory for nothing. */
#include "web/web_priv.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#define LIBRARY "libcurl.so.4"

struct web_curl web__curl;
static bool is_loaded;

static void load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL), *found;

    is_loaded = library != NULL;
#define FIND(name)                                            \
    found = is_loaded ? dlsym(library, "curl_" #name) : NULL; \
    memcpy(&web__curl.name, &found, sizeof found);            \
    is_loaded = found != NULL;
    WEB_CURL_TABLE(FIND)
#undef FIND
    if (is_loaded)
        web__memory_init();
}

enum code web__load(struct why *why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, load);
    return is_loaded ? CODE_OK : why_set(why, CODE_NOT_FOUND, LIBRARY " is missing, or is older than 7.85: install libcurl");
}

const char *web_library(void)
{
    return web__load(NULL) == CODE_OK ? web__curl.version() : LIBRARY ", which is missing";
}
