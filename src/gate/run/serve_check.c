/* SPDX-License-Identifier: Apache-2.0 */
#include "run/serve_priv.h"

#include "files/trail.h"
#include "os/clock.h"
#include "store/store.h"
#include "store/store_behind.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/selftest.h"

#define SIX_MONTHS_US (INT64_C(184) * 86400 * 1000000)

/* Nothing is deleted by itself: whoever gives files away decides how long rows are kept. */
static void say_retention(const char *database)
{
    char first[CLOCK_TEXT_BYTES];
    int64_t first_us = trail_begins_us(database);

    if (first_us <= clock_wall_us() - SIX_MONTHS_US)
        return;
    clock_text(first_us, first);
    log_warn("audit", "the trail beside %s begins at %.19sZ, less than six months ago: what was before was given away; keep it "
             "elsewhere where a law asks for six months (EU AI Act, Articles 19 and 26)", database, first);
}

enum code serve_check(const struct conf *conf, struct why *why)
{
    unsigned char key[DIGEST_BYTES];
    struct sign_key *checkpoint_key = NULL;
    struct db *store = NULL;
    struct store_places places;
    struct policy *policy = NULL;
    uint64_t version = 0;
    enum code code = http_selftest(why);

    if (code == CODE_OK)
        code = serve__check_people(conf, why);
    if (code == CODE_OK)
        code = fleet_watch_check(conf, why);
    if (code == CODE_OK)
        code = serve_redact_key(conf->audit.redact_key, false, key, why);
    mem_wipe(key, sizeof key);
    if (code == CODE_OK || code == CODE_NOT_FOUND)
        code = serve_checkpoint_key(conf->audit.checkpoint_key, false, &checkpoint_key, why);
    sign_key_free(&checkpoint_key);
    if (code == CODE_NOT_FOUND)
        code = CODE_OK; /* the first start makes them */
    if (code == CODE_OK)
        say_retention(conf->audit.database);
    if (code == CODE_OK)
        code = db_check_modes(conf->audit.database, why);
    if (code == CODE_OK)
        code = db_check_modes(conf->store, why); /* which who only reads is not asked for */
    if (code == CODE_OK)
        code = store_open(conf->store, DB_READ, &store, why);
    if (code == CODE_NOT_FOUND) {
        log_info("app", "there is no store yet at %s; the first start or command makes it", conf->store);
        return CODE_OK;
    }
    if (code == CODE_OK)
        code = store_is_behind(store, conf->store, conf->audit.database, &places, why);
    if (code == CODE_OK)
        code = policy_store_active(store, &version, why);
    if (code == CODE_OK && version != 0)
        code = store_compile_policy(store, version, NULL, &policy, why);
    if (code == CODE_OK && version == 0)
        log_warn("app", "no policy is active: everything would be denied; `callgate policy load FILES` makes one so");
    policy_unref(&policy);
    db_close(&store);
    return code;
}
