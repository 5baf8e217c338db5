/* SPDX-License-Identifier: Apache-2.0 */
/* 4.16: any bytes as callgate.yaml: a whole configuration, or faults of which each has a place and a sentence; never both. */
#include "conf/conf.h"
#include "base/bug.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static struct faults faults, warnings;

static void load(const char *path)
{
    struct conf *conf;
    enum code code;

    faults_init(&faults);
    faults_init(&warnings);
    code = conf_load(path, &conf, &faults, &warnings);
    BUG_ON((code == CODE_OK) != (conf != NULL) || (code == CODE_INVALID) != (faults.count > 0));
    for (size_t i = 0; i < faults.count && i < FAULTS_MAX; i++)
        BUG_ON(faults.fault[i].text[0] == '\0' || faults.fault[i].file[0] == '\0');
    if (conf != NULL) {
        BUG_ON(conf->store == NULL || conf->audit.database == NULL || conf->workers == 0 || conf->proxy == NULL);
        conf_free(&conf);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static int fd = -1;
    char path[64];

    /* A file without a place on any disk; what it names is looked for beside it, where nothing is. */
    if (fd < 0) {
        fd = memfd_create("callgate.yaml", MFD_CLOEXEC);
        BUG_ON(fd < 0 || fchmod(fd, 0600) != 0);
    }
    if (len > 1 << 16 || ftruncate(fd, 0) != 0 || pwrite(fd, bytes, len, 0) != (ssize_t)len)
        return 0;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    load(path);
    return 0;
}
