/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock by its system calls (landlock(7)); its headers may be older than the kernel that the gate runs on. */
#include "os/sandbox_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset /* the same numbers on all architectures */
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

#define CREATE_RULESET_VERSION 1u
#define RULE_PATH_BENEATH 1
#define RULE_NET_PORT 2

#define FS_WRITE_FILE (UINT64_C(1) << 1)
#define FS_READ_FILE (UINT64_C(1) << 2)
#define FS_READ_DIR (UINT64_C(1) << 3)
#define FS_REMOVE_FILE (UINT64_C(1) << 5)
#define FS_MAKE_REG (UINT64_C(1) << 8)
#define FS_MAKE_SYM (UINT64_C(1) << 12)
#define FS_TRUNCATE (UINT64_C(1) << 14)
#define NET_BIND_TCP (UINT64_C(1) << 0)
#define NET_CONNECT_TCP (UINT64_C(1) << 1)

#define FS_FILE (FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE) /* what can be said of a file that is no folder */
#define FS_READ (FS_READ_FILE | FS_READ_DIR)
#define FS_CHANGE (FS_READ | FS_WRITE_FILE | FS_REMOVE_FILE | FS_MAKE_REG | FS_MAKE_SYM | FS_TRUNCATE)

struct ruleset_attr {
    uint64_t handled_fs, handled_net;
};

struct path_attr {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

struct port_attr {
    uint64_t allowed, port;
};

int sandbox__landlock_version(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

    return version > 0 ? (int)version : 0;
}

/* All that this version can refuse is refused where no rule permits it. */
static struct ruleset_attr handled(int version)
{
    static const unsigned rights[] = {0, 13, 14, 15, 15, 16}; /* how many bits each version knows */
    unsigned bits = version < 5 ? rights[version] : rights[5];

    return (struct ruleset_attr){(UINT64_C(1) << bits) - 1, version >= 4 ? NET_BIND_TCP | NET_CONNECT_TCP : 0};
}

static bool add_path(int ruleset, uint64_t known, const struct sandbox_rule *rule)
{
    struct path_attr path = {.allowed = (rule->changes ? FS_CHANGE : FS_READ) & known};
    struct stat stat;
    bool done;

    path.parent = open(rule->path, O_PATH | O_CLOEXEC);
    if (path.parent < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES;
    done = fstat(path.parent, &stat) == 0;
    if (done && !S_ISDIR(stat.st_mode))
        path.allowed &= FS_FILE;
    done = done && syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &path, 0) == 0;
    (void)close(path.parent);
    return done;
}

static bool add_port(int ruleset, const struct sandbox_rule *rule)
{
    struct port_attr port = {NET_CONNECT_TCP, rule->port};

    return syscall(SYS_landlock_add_rule, ruleset, RULE_NET_PORT, &port, 0) == 0;
}

int sandbox__ruleset(const struct sandbox_rule *rules, size_t count, unsigned parts)
{
    int version = sandbox__landlock_version();
    struct ruleset_attr attr = handled(version);
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, version >= 4 ? sizeof attr : sizeof attr.handled_fs, 0);
    bool good = true;

    if (ruleset < 0)
        return -1;
    (void)fcntl(ruleset, F_SETFD, FD_CLOEXEC);
    for (size_t i = 0; i < count && good; i++)
        if ((rules[i].parts & parts) != 0)
            good = rules[i].path != NULL ? add_path(ruleset, attr.handled_fs, &rules[i])
                                         : version < 4 || add_port(ruleset, &rules[i]);
    if (good)
        return ruleset;
    (void)close(ruleset);
    return -1;
}

bool sandbox__restrict_files(int ruleset)
{
    return syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
}
