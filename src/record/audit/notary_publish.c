/* SPDX-License-Identifier: Apache-2.0 */
/* The notary appends a checkpoint to a file, and hands it to whoever publishes it. Nobody else writes the file, so that
 * anything done to it between two appends shows against what the last append left. */
#include "audit/notary_priv.h"

#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum code write_all(int fd, struct span text)
{
    while (text.len > 0) {
        ssize_t n = write(fd, text.at, text.len);

        if (n < 0 && errno != EINTR)
            return CODE_IO;
        if (n > 0)
            text = span_part(text, (size_t)n, SIZE_MAX);
    }
    return CODE_OK;
}

/* Returns: what was done to the file; NULL: it is as it was left. Takes: there: NULL where there is no file. */
static const char *find_fault(const struct notary_file *left, const struct stat *there)
{
    if (there == NULL)
        return left->is_known ? "was removed" : NULL;
    if (!S_ISREG(there->st_mode))
        return NOTARY_NO_FILE;
    if (!left->is_known)
        return NULL;
    if (there->st_dev != left->device || there->st_ino != left->inode)
        return "was replaced";
    if (there->st_size < left->size)
        return "was cut short";
    if (there->st_size > left->size)
        return "was written to by somebody else";
    return there->st_mtim.tv_sec != left->changed.tv_sec || there->st_mtim.tv_nsec != left->changed.tv_nsec ?
           "was replaced or written over" : NULL;
}

static void remember(struct notary_file *left, const struct stat *there)
{
    left->is_known = true;
    left->device = there->st_dev;
    left->inode = there->st_ino;
    left->size = there->st_size;
    left->changed = there->st_mtim;
}

/* Tells a fault once, until a checkpoint is appended again. */
static void note_fault(struct notary *notary, const char *fault)
{
    struct why *damage = fault == NULL || notary->left.is_told ? NULL : mem_zalloc(sizeof *damage);

    if (damage == NULL)
        return;
    (void)why_set(damage, CODE_INVALID, "%s: %s while the gate ran", notary->file, fault);
    log_warn("audit", "%s", damage->text);
    notary->left.is_told = true;
    mem_free(atomic_exchange(&notary->damage, damage)); /* an earlier one that the writer has not taken is replaced */
    ring_wake_writer(notary->shared, RING_DOZES);
}

static void look(struct notary *notary)
{
    struct stat there;
    bool is_there = lstat(notary->file, &there) == 0;

    if (!is_there && errno != ENOENT)
        return; /* the append reports why */
    note_fault(notary, find_fault(&notary->left, is_there ? &there : NULL));
    if (is_there && !notary->left.is_known && S_ISREG(there.st_mode))
        remember(&notary->left, &there);
}

void notary__look(struct notary *notary)
{
    if (notary->file == NULL)
        return;
    lock_take(&notary->file_lock);
    look(notary);
    lock_give(&notary->file_lock);
}

/* Writes empty lines before each note, so that a note torn by a crash spoils none behind it. A note that a full disk tore
 * is cut off again. */
static enum code append(struct notary *notary, int fd, struct span note)
{
    off_t end = lseek(fd, 0, SEEK_END);
    struct stat there;
    struct buf text;
    enum code code;

    buf_init(&text, 2 * NOTE_BYTES);
    code = buf_add_text(&text, end != 0 ? "\n\n" : "");
    if (code == CODE_OK)
        code = buf_add_span(&text, note);
    if (code == CODE_OK)
        code = write_all(fd, buf_peek(&text));
    if (code != CODE_OK && end >= 0 && ftruncate(fd, end) != 0)
        code = CODE_IO;
    if (code == CODE_OK && fdatasync(fd) != 0)
        code = CODE_IO;
    buf_fini(&text);
    if (fstat(fd, &there) == 0)
        remember(&notary->left, &there);
    return code;
}

/* O_NONBLOCK: a FIFO in the file's place would hold up every checkpoint until somebody reads it. */
static bool append_to_file(struct notary *notary, struct span note)
{
    struct stat there;
    enum code code = CODE_IO;
    int fd;

    look(notary);
    fd = file_make(notary->file, O_WRONLY | O_APPEND | O_NONBLOCK, 0640);
    if (fd >= 0 && fstat(fd, &there) == 0) {
        note_fault(notary, find_fault(&notary->left, &there));
        code = S_ISREG(there.st_mode) ? append(notary, fd, note) : CODE_INVALID;
    }
    if (code == CODE_OK)
        notary->left.is_told = false;
    else {
        atomic_fetch_add(&notary->failures, 1);
        if (!notary->complained)
            log_warn("audit", "%s: checkpoints cannot be appended: %s; they are in the database alone", notary->file,
                     code == CODE_IO ? strerror(errno) : code == CODE_INVALID ? "it " NOTARY_NO_FILE : code_text(code));
    }
    notary->complained = code != CODE_OK;
    if (fd >= 0)
        (void)close(fd);
    return code == CODE_OK;
}

bool notary__publish(struct notary *notary, const struct checkpoint *checkpoint)
{
    struct span note = span_of(checkpoint->note, checkpoint->note_len);
    bool is_kept = true;

    if (notary->file != NULL) {
        lock_take(&notary->file_lock);
        is_kept = append_to_file(notary, note);
        lock_give(&notary->file_lock);
    }
    if (notary->conf.publish != NULL)
        notary->conf.publish(notary->conf.context, note);
    atomic_store(&notary->signed_size, checkpoint->size);
    atomic_store(&notary->signed_us, checkpoint->time_us);
    return is_kept;
}
