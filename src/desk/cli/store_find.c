/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "conf/conf.h"
#include "args/print.h"
#include "store/store.h"
#include "base/mem.h"

enum code store_find(const struct store_place *place, enum db_mode mode, struct db **db, struct why *why)
{
    const char *config = conf_find(place->config);
    struct faults faults;
    char *path = NULL;
    enum code code;

    *db = NULL;
    print_hold();
    if (place->store != NULL)
        return store_open(place->store, mode, db, why);
    faults_init(&faults);
    code = conf_store_path(config, &path, &faults);
    if (code == CODE_OK)
        code = store_open(path, mode, db, why);
    else
        why_of_faults(why, code, &faults);
    mem_free(path);
    return code;
}
