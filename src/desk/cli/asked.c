/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/asked.h"

#include "args/print.h"
#include "store/store.h"
#include "base/mem.h"
#include "base/num.h"

#include <string.h>

void asked_end(struct asked *asked)
{
    conf_file_free(&asked->file);
}

static int complain_conf(enum code code, const struct faults *faults)
{
    return faults->count > 0 ? complain_faults(faults) : complain(STATUS_CANNOT, "%s", code_text(code));
}

int asked_conf(const struct asked *asked, struct conf **conf)
{
    struct faults faults;
    enum code code;

    faults_init(&faults);
    code = conf_load(conf_file_path(asked->file), conf, &faults, NULL);
    return code == CODE_OK ? OPTIONS_GO : complain_conf(code, &faults);
}

enum code asked_store(const struct asked *asked, enum db_mode mode, struct db **db, struct why *why)
{
    struct faults faults;
    char *path = NULL;
    enum code code;

    *db = NULL;
    print_hold();
    if (asked->store != NULL)
        return store_open(asked->store, mode, db, why);
    faults_init(&faults);
    code = conf_store_path(asked->file, &path, &faults);
    if (code == CODE_OK)
        code = store_open(path, mode, db, why);
    else
        why_of_faults(why, code, &faults);
    mem_free(path);
    return code;
}

int asked_trail(const struct asked *asked, const char *named, char **path)
{
    struct faults faults;
    enum code code;

    *path = NULL;
    if (named != NULL) {
        *path = mem_dup(named, strlen(named));
        return *path != NULL ? OPTIONS_GO : complain(STATUS_CANNOT, "not enough memory");
    }
    faults_init(&faults);
    code = conf_audit_path(asked->file, path, &faults);
    return code == CODE_OK ? OPTIONS_GO : complain_conf(code, &faults);
}

char *asked_operand(const struct asked *asked, int at)
{
    return at < asked->given.count ? asked->given.operands[at] : NULL;
}

uint64_t asked_number(const struct asked *asked, int at)
{
    uint64_t number = 0;

    return num_u64(span_text(asked_operand(asked, at)), &number) == CODE_OK ? number : 0;
}

void asked_session(const struct asked *asked, unsigned char bytes[DIGEST_BYTES])
{
    if (num_unhex(span_text(asked->session), bytes, DIGEST_BYTES) != CODE_OK)
        digest_of(span_text(asked->session), bytes);
}
