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

#define FS_REMOVE_FILE (UINT64_C(1) << 5)
#define FS_MAKE_REG (UINT64_C(1) << 8)
#define FS_MAKE_SYM (UINT64_C(1) << 12)
#define NET_BIND_TCP (UINT64_C(1) << 0)
#define NET_CONNECT_TCP (UINT64_C(1) << 1)
#define SCOPE_SIGNAL (UINT64_C(1) << 1)

#define FS_READ (LANDLOCK_READ_FILE | LANDLOCK_READ_DIR)
#define FS_CHANGE (FS_READ | LANDLOCK_WRITE_FILE | FS_REMOVE_FILE | FS_MAKE_REG | FS_MAKE_SYM | LANDLOCK_TRUNCATE)

struct ruleset_attr {
    uint64_t handled_fs, handled_net, scoped;
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

/* All that this version can refuse; it is refused where no rule permits it. */
static struct ruleset_attr handled(int version)
{
    static const unsigned rights[] = {0, 13, 14, 15, 15, 16}; /* how many bits each version knows */
    unsigned bits = version < 5 ? rights[version] : rights[5];

    return (struct ruleset_attr){(UINT64_C(1) << bits) - 1, version >= 4 ? NET_BIND_TCP | NET_CONNECT_TCP : 0, 0};
}

static int open_ruleset(const struct ruleset_attr *attr, int version)
{
    size_t size = version >= 6 ? sizeof *attr : version >= 4 ? offsetof(struct ruleset_attr, scoped) : sizeof attr->handled_fs;
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, attr, size, 0);

    if (ruleset >= 0)
        (void)fcntl(ruleset, F_SETFD, FD_CLOEXEC);
    return ruleset;
}

bool sandbox__allow(int ruleset, int at, const char *path, uint64_t rights)
{
    struct path_attr rule = {.allowed = rights, .parent = openat(at, path, O_PATH | O_CLOEXEC)};
    struct stat stat;
    bool done;

    if (rule.parent < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES;
    done = fstat(rule.parent, &stat) == 0;
    if (done && !S_ISDIR(stat.st_mode))
        rule.allowed &= LANDLOCK_FILE;
    done = done && (rule.allowed == 0 || syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) == 0);
    (void)close(rule.parent);
    return done;
}

int sandbox__ruleset_of_files(uint64_t *rights)
{
    int version = sandbox__landlock_version();
    struct ruleset_attr attr = {handled(version).handled_fs, 0, version >= 6 ? SCOPE_SIGNAL : 0};

    *rights = attr.handled_fs;
    return open_ruleset(&attr, version);
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
    int ruleset = open_ruleset(&attr, version);
    bool good = true;

    if (ruleset < 0)
        return -1;
    for (size_t i = 0; i < count && good; i++)
        if ((rules[i].parts & parts) != 0)
            good = rules[i].path != NULL ? sandbox__allow(ruleset, AT_FDCWD, rules[i].path,
                                                          (rules[i].changes ? FS_CHANGE : FS_READ) & attr.handled_fs)
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
