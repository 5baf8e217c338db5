/* SPDX-License-Identifier: Apache-2.0 */
/* 3.5: the power is cut at every change of names, every sync and every write into a new file of a rotation under load. Of the
 * changes of names since the folder was synced any may be on the disk and any not; of what was written since a file was synced all
 * may be on the disk, every other page, or nothing. From each such disk the next start goes on: every call that was told is there,
 * no number is missing or there twice, no checkpoint that was out covers what is gone. */
#define TRAIL_BENCH_OWN_STEPS
#include "fakes/folder.h"
#include "fakes/sample.h"
#include "trail_bench.h"

#include <fcntl.h>

#define NAMES 32
#define PENDING 6
#define INODES 512
#define CUTS 4000
#define PAGE 4096

/* ---- what is on the disk ----------------------------------------------------------------------------------------- */

struct name {
    char text[64];
    ino_t inode;
};

struct names {
    struct name list[NAMES];
    int count;
};

/* A change of names that no sync of the folder made durable yet. */
struct change {
    char from[64], to[64]; /* "": none */
    ino_t inode;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char folder[64], store[48];     /* the audit's; beside it, copies of what was synced */
    struct names durable;
    struct change pending[PENDING];
    int pending_count, most_pending;
    atomic_bool on;
    int cuts;
    int told_at[CUTS];
} disk;
static atomic_int told;
static _Thread_local bool inside; /* what cutting itself does is no change */

static void copy(const char *from, const char *to)
{
    static char bytes[1 << 16];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    size_t n;

    if (out == NULL)
        abort();
    while (in != NULL && (n = fread(bytes, 1, sizeof bytes, in)) > 0)
        if (fwrite(bytes, 1, n, out) != n)
            abort();
    if (in != NULL)
        fclose(in);
    fclose(out);
}

/* Copies every other page over what is there; a page that is not copied and was never there is a hole. */
static void copy_half(const char *from, const char *to)
{
    static char page[PAGE];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "r+b");
    size_t n;

    if (in == NULL || out == NULL)
        abort();
    for (long at = 0; fseek(in, at, SEEK_SET) == 0 && (n = fread(page, 1, sizeof page, in)) > 0; at += 2L * PAGE)
        if (fseek(out, at, SEEK_SET) != 0 || fwrite(page, 1, n, out) != n)
            abort();
    fclose(in);
    fclose(out);
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* Asked while the lock is held: who waited for it may come when the test has ended, and what was synced is no longer copied. */
static bool is_ours(const char *path)
{
    return disk.on && !inside && strncmp(path, disk.folder, strlen(disk.folder)) == 0;
}

static ino_t inode_of(const char *path)
{
    struct stat there;

    return lstat(path, &there) == 0 ? there.st_ino : 0;
}

/* What a link names is kept beside the copies, by its inode: it never changes. */
static void keep_target(const char *path)
{
    char target[256], name[256];
    ssize_t len = readlink(path, target, sizeof target - 1);
    FILE *file;

    if (len <= 0)
        return;
    (void)snprintf(name, sizeof name, "%s/%llu.to", disk.store, (unsigned long long)inode_of(path));
    file = fopen(name, "wb");
    if (file == NULL || fwrite(target, 1, (size_t)len, file) != (size_t)len || fclose(file) != 0)
        abort();
}

static bool put_link(ino_t inode, const char *to)
{
    char target[256] = "", name[256];
    FILE *file;

    (void)snprintf(name, sizeof name, "%s/%llu.to", disk.store, (unsigned long long)inode);
    file = fopen(name, "rb");
    if (file == NULL)
        return false;
    if (fread(target, 1, sizeof target - 1, file) == 0 || symlinkat(target, AT_FDCWD, to) != 0)
        abort();
    fclose(file);
    return true;
}

static void set_name(struct names *names, const char *text, ino_t inode)
{
    int at = 0;

    while (at < names->count && strcmp(names->list[at].text, text) != 0)
        at++;
    if (inode == 0 && at < names->count)
        names->list[at] = names->list[--names->count];
    if (inode == 0)
        return;
    if (at == NAMES)
        abort();
    if (at == names->count)
        names->count++;
    (void)snprintf(names->list[at].text, sizeof names->list[at].text, "%s", text);
    names->list[at].inode = inode;
}

static void read_names(struct names *names)
{
    DIR *dir = opendir(disk.folder);
    const struct dirent *entry;

    names->count = 0;
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_type == DT_REG || entry->d_type == DT_LNK)
            set_name(names, entry->d_name, entry->d_ino);
    closedir(dir);
}

enum written { NOT = 0, ALL, HALF };

/* One disk that the power may leave: these of the changes, the files that were made or not, and of each file what was synced, with
 * what was written since. */
static void leave(unsigned changes, bool all_made, enum written written)
{
    struct names left = disk.durable, now;
    char folder[128], from[256], to[256], now_at[256];

    for (int i = 0; i < disk.pending_count; i++)
        if ((changes >> i & 1) != 0) {
            set_name(&left, disk.pending[i].from, 0);
            if (disk.pending[i].to[0] != '\0')
                set_name(&left, disk.pending[i].to, disk.pending[i].inode);
        }
    if (disk.cuts == CUTS)
        abort();
    disk.told_at[disk.cuts] = atomic_load(&told);
    (void)snprintf(folder, sizeof folder, "%s/cut-%d", disk.store, disk.cuts++);
    if (mkdir(folder, 0700) != 0)
        abort();
    read_names(&now);
    for (int i = 0; i < now.count && all_made; i++)
        if (strstr(now.list[i].text, "audit-") == now.list[i].text || strstr(now.list[i].text, ".next") != NULL)
            set_name(&left, now.list[i].text, now.list[i].inode);
    for (int i = 0; i < left.count; i++) {
        (void)snprintf(to, sizeof to, "%s/%s", folder, left.list[i].text);
        if (put_link(left.list[i].inode, to))
            continue;
        (void)snprintf(from, sizeof from, "%s/%llu", disk.store, (unsigned long long)left.list[i].inode);
        now_at[0] = '\0';
        for (int k = 0; written != NOT && k < now.count; k++)
            if (now.list[k].inode == left.list[i].inode)
                (void)snprintf(now_at, sizeof now_at, "%s/%s", disk.folder, now.list[k].text);
        for (int k = 0; k < i; k++) /* two names of one file */
            if (left.list[k].inode == left.list[i].inode) {
                (void)snprintf(from, sizeof from, "%s/%s", folder, left.list[k].text);
                if (link(from, to) != 0)
                    abort();
                from[0] = '\0';
                break;
            }
        if (from[0] == '\0')
            continue;
        copy(written == ALL && now_at[0] != '\0' ? now_at : from, to);
        if (written == HALF && now_at[0] != '\0')
            copy_half(now_at, to);
    }
    (void)snprintf(from, sizeof from, "%s/audit.db.heads", disk.folder); /* who reads it may have read all of it */
    (void)snprintf(to, sizeof to, "%s/seen", folder);
    copy(from, to);
}

static void cut_power(void)
{
    for (unsigned changes = 0; changes < 1U << disk.pending_count; changes++)
        for (int more = 0; more < 6; more++)
            leave(changes, more / 3 != 0, (enum written)(more % 3));
}

static void note_change(const char *from, const char *to, ino_t inode)
{
    struct change *change = &disk.pending[disk.pending_count];

    if (disk.pending_count++ == PENDING)
        abort();
    (void)snprintf(change->from, sizeof change->from, "%s", from);
    (void)snprintf(change->to, sizeof change->to, "%s", to);
    change->inode = inode;
}

/* Copies are known by their inode's number, which is no other file's as long as this one is open: until the test ends. */
static void keep_number(const char *path)
{
    (void)open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

static int changes_name(const char *what, const char *from, const char *to)
{
    union { void *symbol; int (*two)(const char *, const char *); int (*one)(const char *); } next = {dlsym(RTLD_NEXT, what)};
    bool counts;
    ino_t inode;
    int result;

    (void)pthread_mutex_lock(&lock);
    if (!is_ours(from)) {
        (void)pthread_mutex_unlock(&lock);
        return to != NULL ? next.two(from, to) : next.one(from);
    }
    inode = inode_of(from);
    counts = inode != 0 && strstr(from, "-shm") == NULL && strstr(from, "-journal") == NULL;
    inside = true;
    if (counts)
        cut_power();
    inside = false;
    keep_number(to != NULL ? to : from);
    result = to != NULL ? next.two(from, to) : next.one(from);
    if (counts && result == 0)
        note_change(base_of(from), to != NULL ? base_of(to) : "", inode);
    (void)pthread_mutex_unlock(&lock);
    return result;
}

/* by: its name while it is open, whatever becomes of the other. */
static bool name_of(int fd, char by[64], char path[256])
{
    ssize_t len;

    (void)snprintf(by, 64, "/proc/self/fd/%d", fd);
    len = readlink(by, path, 255);
    path[len > 0 ? len : 0] = '\0';
    return len > 0;
}

static int syncs(const char *what, int fd)
{
    union { void *symbol; int (*call)(int); } next = {dlsym(RTLD_NEXT, what)};
    char by[64], path[256], to[256];
    struct stat there;
    int result;

    (void)name_of(fd, by, path);
    (void)pthread_mutex_lock(&lock);
    if (!is_ours(path) || fstat(fd, &there) != 0 || strstr(path, "-journal") != NULL) {
        (void)pthread_mutex_unlock(&lock);
        return next.call(fd);
    }
    inside = true;
    cut_power();
    result = next.call(fd);
    if (S_ISDIR(there.st_mode)) {
        read_names(&disk.durable);
        disk.pending_count = 0;
    } else {
        (void)snprintf(to, sizeof to, "%s/%llu", disk.store, (unsigned long long)there.st_ino);
        copy(by, to);
    }
    inside = false;
    (void)pthread_mutex_unlock(&lock);
    return result;
}

/* Cuts behind each write into a file that was not synced yet. */
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at);
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at)
{
    union { void *symbol; ssize_t (*call)(int, const void *, size_t, off64_t); } next = {dlsym(RTLD_NEXT, "pwrite64")};
    char by[64], path[256], synced[256];
    struct stat there;
    ssize_t len;

    if (!disk.on || inside || !name_of(fd, by, path) || fstat(fd, &there) != 0)
        return next.call(fd, bytes, count, at);
    (void)pthread_mutex_lock(&lock);
    if (!is_ours(path)) {
        (void)pthread_mutex_unlock(&lock);
        return next.call(fd, bytes, count, at);
    }
    (void)snprintf(synced, sizeof synced, "%s/%llu", disk.store, (unsigned long long)there.st_ino);
    len = next.call(fd, bytes, count, at);
    inside = true;
    for (int written = ALL; access(synced, F_OK) != 0 && strstr(path, "-journal") == NULL && written <= HALF; written++)
        leave(0, true, (enum written)written);
    inside = false;
    (void)pthread_mutex_unlock(&lock);
    return len;
}

int symlink(const char *target, const char *path)
{
    int result;

    (void)pthread_mutex_lock(&lock);
    result = symlinkat(target, AT_FDCWD, path);
    if (result == 0 && is_ours(path)) {
        keep_target(path);
        note_change("", base_of(path), inode_of(path));
    }
    (void)pthread_mutex_unlock(&lock);
    return result;
}

int rename(const char *from, const char *to) { return changes_name("rename", from, to); }
int unlink(const char *path) { return changes_name("unlink", path, NULL); }
int fsync(int fd) { return syncs("fsync", fd); }
int fdatasync(int fd) { return syncs("fdatasync", fd); }

/* Everything that is there counts as on the disk. */
static void watch(const struct bench *bench)
{
    char from[256], to[256];

    (void)pthread_mutex_lock(&lock);
    (void)snprintf(disk.folder, sizeof disk.folder, "%s", bench->file.folder);
    (void)snprintf(disk.store, sizeof disk.store, "%.*sXXXXXX", (int)(base_of(disk.folder) - disk.folder), disk.folder);
    assert_non_null(mkdtemp(disk.store)); /* with `/cut-4000` no longer than the folder */
    read_names(&disk.durable);
    for (int i = 0; i < disk.durable.count; i++) {
        (void)snprintf(from, sizeof from, "%s/%s", disk.folder, disk.durable.list[i].text);
        (void)snprintf(to, sizeof to, "%s/%llu", disk.store, (unsigned long long)disk.durable.list[i].inode);
        keep_target(from);
        copy(from, to);
    }
    disk.on = true;
    (void)pthread_mutex_unlock(&lock);
}

/* ---- the test ---------------------------------------------------------------------------------------------------- */

struct load {
    struct bench *bench;
    atomic_bool stops;
};

static void *load(void *argument)
{
    struct load *load = argument;

    while (!atomic_load(&load->stops)) {
        (void)audit_file_call(audit_ring(load->bench->audit, 1), "acme", "told");
        atomic_fetch_add(&told, 1);
        nap();
    }
    return NULL;
}

/* The largest checkpoint of a file of them: its second line is the size. */
static long long largest(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[512], before[512] = "";
    long long size = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(before, "callgate/", 9) == 0 && strtoll(line, NULL, 10) > size)
            size = strtoll(line, NULL, 10);
        (void)snprintf(before, sizeof before, "%s", line);
    }
    if (file != NULL)
        fclose(file);
    return size;
}

static void goes_on(struct bench *bench, int cut)
{
    char seen[160];
    long long found;

    (void)snprintf(bench->file.folder, sizeof bench->file.folder, "%s/cut-%d", disk.store, cut);
    (void)snprintf(bench->file.path, sizeof bench->file.path, "%s/audit.db", bench->file.folder);
    (void)snprintf(bench->heads, sizeof bench->heads, "%s.heads", bench->file.path);
    (void)snprintf(seen, sizeof seen, "%s/seen", bench->file.folder);
    copy(seen, bench->heads);
    bench->conf.file = bench->heads;
    start(bench); /* 4.5: whatever the power left, no honest database is behind its checkpoints */
    audit_file_call(audit_ring(bench->audit, 0), "acme", "after");
    audit_close(&bench->audit);
    (void)verify_all(bench);
    found = audit_whole_sum(&bench->file, "SELECT count(*) FROM decision WHERE correlation = 'told'");
    if (found < disk.told_at[cut])
        fail_msg("cut %d: %lld calls of %d that were told", cut, found, disk.told_at[cut]);
    found = audit_file_number(&bench->file, "SELECT json_extract(detail, '$.last_seq') FROM event WHERE kind = 'crash'");
    if (audit_whole_sum(&bench->file, "SELECT count(*) FROM event WHERE kind IN ('loss_accepted', 'heads_damaged')") != 0)
        fail_msg("cut %d: a power cut passes for damage", cut);
    if (largest(seen) > found)
        fail_msg("cut %d: a checkpoint over %lld was out, row %lld was the last", cut, largest(seen), found);
    if (files_like(bench, ".link") + files_like(bench, ".next") != 0)
        fail_msg("cut %d: something half done is left", cut);
}

TEST_CASE_WITH(test_every_disk, setup, teardown)
{
    struct bench *bench = *state;
    struct bench after = *bench;
    struct load loading = {.bench = bench};
    pthread_t thread;

    start(bench);
    hold(bench, "umbra");
    audit_file_call(audit_ring(bench->audit, 0), "acme", "first");
    watch(bench);
    assert_int_equal(pthread_create(&thread, NULL, load, &loading), 0);
    archive(bench);
    for (int calls = atomic_load(&told); atomic_load(&told) < calls + 3;)
        nap();
    atomic_store(&loading.stops, true);
    (void)pthread_join(thread, NULL);
    (void)pthread_mutex_lock(&lock);
    disk.on = false;
    (void)pthread_mutex_unlock(&lock);
    audit_close(&bench->audit);
    assert_true(disk.cuts > 40);
    for (int cut = 0; cut < disk.cuts; cut += (int)sample_step())
        goes_on(&after, cut);
    folder_remove(disk.store);
}

int main(void)
{
    if (access("/dev/shm", W_OK) == 0)
        (void)setenv("CALLGATE_TEST_FOLDER", "/dev/shm", 0);
    return tests_run(NULL, NULL);
}
