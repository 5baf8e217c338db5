/* SPDX-License-Identifier: Apache-2.0 */
#include "os/user.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

bool user_is_root(void)
{
    return geteuid() == 0;
}

bool user_is(const char *name, uid_t uid)
{
    const struct passwd *user = getpwnam(name);

    return user != NULL && user->pw_uid == uid;
}

/* capset(2), which the C library has no name for; all rights are in the first 64. */
static bool keep_rights(uint64_t rights)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

    for (size_t i = 0; i < sizeof data / sizeof data[0]; i++)
        data[i].effective = data[i].permitted = (uint32_t)(rights >> (32 * i));
    return syscall(SYS_capset, &header, data) == 0;
}

static enum code cannot(const char *name, struct why *why)
{
    return why_set(why, errno == EPERM ? CODE_DENIED : CODE_IO, "the gate cannot go on as the user `%s`: %s", name,
                   strerror(errno));
}

enum code user_become(const char *name, struct why *why)
{
    const struct passwd *user = getpwnam(name);

    if (user == NULL)
        return why_set(why, CODE_NOT_FOUND, "`user: %s`: there is no such user; `useradd --system %s` makes it", name, name);
    if (user->pw_uid == 0)
        return why_set(why, CODE_DENIED, "`user: %s` is root; name another one", name);
    if (getuid() == user->pw_uid && geteuid() == user->pw_uid)
        return CODE_OK;
    if (!user_is_root())
        return why_set(why, CODE_DENIED, "`user: %s`: only root can become another user; start the gate as root or as %s",
                       name, name);
    if (initgroups(name, user->pw_gid) != 0 || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) != 0 ||
        prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || setresuid(user->pw_uid, user->pw_uid, user->pw_uid) != 0 ||
        !keep_rights(UINT64_C(1) << CAP_NET_BIND_SERVICE) || prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) != 0)
        return cannot(name, why);
    if (setuid(0) == 0 || geteuid() == 0)
        return why_set(why, CODE_DENIED, "the gate cannot go on as the user `%s`: it could become root again", name);
    return CODE_OK;
}

/* Asked first, since a service manager's filter may forbid the call that gives rights up. */
static bool has_rights(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

    return syscall(SYS_capget, &header, data) != 0 || data[0].permitted != 0 || data[1].permitted != 0;
}

enum code user_drop_rights(struct why *why)
{
    if (user_is_root() || !has_rights())
        return CODE_OK;
    if (!keep_rights(0) || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
        return why_set(why, CODE_IO, "the process cannot give its rights up: %s", strerror(errno));
    return CODE_OK;
}
