/* SPDX-License-Identifier: Apache-2.0 */
/* What the courier can do: change files beside the store and the audit, read the certificate of the database's authority, ask
 * for names, and connect to the database. Whoever takes it over by what a server answers has that, and this node's key; he has
 * no agent's connection, and nobody's arguments but those that the audit has. */
#include "courier/courier.h"

#include "os/file.h"
#include "os/sandbox.h"
#include "web/web.h"

#define COURIER SANDBOX_BIT(SANDBOX_COURIER)

static enum code may(enum code (*rule)(const char *path, unsigned parts), const char *file)
{
    char *folder = file_beside(file, SPAN_LIT("."));
    enum code code = folder != NULL ? rule(folder, COURIER) : CODE_NOMEM;

    mem_free(folder);
    return code;
}

/* The file by its folder, since what replaces it has its name and not its inode. */
static enum code may_connect(const struct courier *courier, struct why *why)
{
    const struct pg_place place = courier_place(courier);
    struct pg_needs needs;
    enum code code = pg_needs(&place, &needs, why);

    if (code == CODE_OK && needs.root[0] != '\0')
        code = may(sandbox_may_read, needs.root);
    for (size_t i = 0; i < needs.port_count && code == CODE_OK; i++)
        code = sandbox_may_connect(needs.ports[i], COURIER);
    return code;
}

enum code courier_confine(const struct courier *courier, struct why *why)
{
    static const char *const system_files[] = {"/dev/null", "/dev/urandom", "/etc/localtime", "/usr/share/zoneinfo",
                                               "/proc/sys/vm/overcommit_memory"};
    const struct conf *conf = courier->conf;
    enum code code = may(sandbox_may_change, conf->store);

    if (code == CODE_OK) /* who reads a database in WAL mode writes beside it */
        code = may(sandbox_may_change, conf->audit.database);
    if (code == CODE_OK)
        code = may(sandbox_may_read, conf->fleet.membership);
    for (size_t i = 0; i < sizeof system_files / sizeof system_files[0] && code == CODE_OK; i++)
        code = sandbox_may_read(system_files[i], COURIER);
    if (code == CODE_OK)
        code = web_permit_names(COURIER);
    if (code == CODE_OK)
        code = may_connect(courier, why);
    if (code == CODE_OK)
        code = sandbox_enter(why);
    if (code == CODE_OK)
        sandbox_narrow(SANDBOX_COURIER);
    if (code == CODE_OK || why->text[0] != '\0')
        return code;
    return why_set(why, code, "the courier cannot be confined: %s", code_text(code));
}
