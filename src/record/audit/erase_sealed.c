/* SPDX-License-Identifier: Apache-2.0 */
/* Sealed files: nobody else writes them, but somebody may read them. A file is in WAL mode while it is changed, so that no
 * journal with the old values is left on the disk. */
#include "audit/erase_priv.h"

#include <stdio.h>
#include <string.h>

#define SLICE_ROWS 4096

void erase__sealed_fini(struct erase_sealed *sealed)
{
    db_close(&sealed->db);
    if (sealed->has_trail)
        trail_fini(&sealed->trail);
    sealed->has_trail = false;
}

static enum code find_files(struct erase_sealed *sealed)
{
    struct why why = {0};
    enum code code = trail_find(sealed->live, true, &sealed->trail, &why);

    if (code != CODE_OK) {
        (void)snprintf(sealed->text, sizeof sealed->text, "%.*s", (int)sizeof sealed->text - 1, why.text);
        return code;
    }
    sealed->has_trail = true;
    sealed->file = 0;
    sealed->rows = 0;
    sealed->missing_to = sealed->trail.missing_to;
    return CODE_OK;
}

static enum code open_file(struct erase_sealed *sealed)
{
    const struct trail_file *file = &sealed->trail.files[sealed->file];
    enum code code = files__may_write(file->path, true); /* until it is finished once more */

    if (code == CODE_OK)
        code = db_open(file->path, DB_WRITE, &sealed->db, NULL);
    if (code == CODE_OK) {
        db_busy_wait(sealed->db, 0);
        db_take_tables_alone(sealed->db);
        sealed->at = file->before_seq;
        code = db_exec(sealed->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON");
    }
    if (code == CODE_OK)
        code = erase__note(sealed->db, &sealed->what);
    return code;
}

static enum code close_file(struct erase_sealed *sealed)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(sealed->db, "PRAGMA journal_mode = DELETE", &stmt);

    if (code != CODE_OK)
        return code;
    code = db_step(stmt);
    if (code == CODE_OK && !span_is(db_text(stmt, 0), "delete"))
        code = CODE_BUSY;
    db_finalize(&stmt);
    if (code != CODE_OK)
        return code;
    db_close(&sealed->db);
    sealed->file++;
    return CODE_OK;
}

static enum code slice(struct erase_sealed *sealed)
{
    enum code code = db_begin(sealed->db);

    if (code == CODE_OK)
        code = erase__slice(sealed->db, &sealed->what, sealed->at, SLICE_ROWS, &sealed->rows);
    if (code == CODE_OK)
        code = db_commit(sealed->db);
    if (code == CODE_OK)
        sealed->at += SLICE_ROWS;
    else
        db_rollback(sealed->db);
    return code;
}

/* One that is locked for the moment is tried again from where it is. */
void erase__sealed_step(struct erase_sealed *sealed, bool *wait)
{
    enum code code = sealed->has_trail ? CODE_OK : find_files(sealed);

    *wait = false;
    if (code == CODE_OK && sealed->file + 1 < sealed->trail.count) {
        if (sealed->db == NULL)
            code = open_file(sealed);
        else if (sealed->at < sealed->trail.files[sealed->file].last_seq)
            code = slice(sealed);
        else
            code = close_file(sealed);
        *wait = code == CODE_BUSY;
        if (code == CODE_BUSY && sealed->db != NULL && sealed->at == sealed->trail.files[sealed->file].before_seq)
            db_close(&sealed->db);
        if (code == CODE_OK || code == CODE_BUSY)
            return;
        (void)snprintf(sealed->text, sizeof sealed->text, "%s: %s", sealed->trail.files[sealed->file].path,
                       sealed->db != NULL ? db_error(sealed->db) : code_text(code));
    }
    sealed->code = code;
    erase__sealed_fini(sealed);
    atomic_store(&sealed->state, ERASE_OVER);
}
