/* SPDX-License-Identifier: Apache-2.0 */
/* Whom the notary tells of a checkpoint: a file, and who publishes it. */
#include "audit/notary_priv.h"

#include "base/log.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
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

/* Empty lines before each, so that one torn by a crash spoils none behind it. One that a full disk tore is taken back. */
static void append_to_file(struct notary *notary, struct span note)
{
    int fd = notary->file == NULL ? -1 : file_make(notary->file, O_WRONLY | O_APPEND, 0640);
    struct buf text;
    enum code code = CODE_IO;

    if (notary->file == NULL)
        return;
    buf_init(&text, 2 * NOTE_BYTES);
    if (fd >= 0) {
        off_t end = lseek(fd, 0, SEEK_END);

        code = buf_add_text(&text, end != 0 ? "\n\n" : "");
        if (code == CODE_OK)
            code = buf_add_span(&text, note);
        if (code == CODE_OK)
            code = write_all(fd, buf_peek(&text));
        if (code != CODE_OK && end >= 0 && ftruncate(fd, end) != 0)
            code = CODE_IO;
        if (code == CODE_OK && fdatasync(fd) != 0 && errno != EINVAL) /* EINVAL: a pipe */
            code = CODE_IO;
        (void)close(fd);
    }
    buf_fini(&text);
    if (code != CODE_OK) {
        atomic_fetch_add(&notary->failures, 1);
        if (!notary->complained)
            log_warn("audit", "%s: checkpoints cannot be appended: %s; they are in the database alone", notary->file,
                     code == CODE_IO ? strerror(errno) : code_text(code));
    }
    notary->complained = code != CODE_OK;
}

void notary__tell_others(struct notary *notary, const struct checkpoint *checkpoint)
{
    struct span note = span_of(checkpoint->note, checkpoint->note_len);

    append_to_file(notary, note);
    if (notary->conf.publish != NULL)
        notary->conf.publish(notary->conf.context, note);
    atomic_store(&notary->signed_size, checkpoint->size);
}
