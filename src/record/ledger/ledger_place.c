/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/ledger_place_priv.h"

#include "ledger/ledger.h"
#include "rows/schema.h"
#include "base/log.h"
#include "os/clock.h"
#include "os/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_US INT64_C(500000) /* looks at least so often: the kernel tells nobody of a mount over the folder or another
                                 * host */

static const char *const suffix[PLACE_PARTS] = {"", "-wal", "-shm"};

static bool is_there(const struct place *place, enum place_part part, const struct stat *there)
{
    return there->st_dev == place->at[part].device && there->st_ino == place->at[part].inode;
}

/* ---- what the kernel tells --------------------------------------------------------------------------------------- */

/* Whether no link leads to the file. What is done to a link, the kernel tells only whoever watches the link's own folder. */
static bool is_straight(const char *file, const char *real)
{
    char here[PATH_MAX];
    size_t len = file[0] == '/' ? 0 : getcwd(here, sizeof here) != NULL ? strlen(here) + 1 : SIZE_MAX;

    if (len == 0)
        return strcmp(file, real) == 0;
    return len <= strlen(real) && strncmp(real, here, len - 1) == 0 && real[len - 1] == '/' && strcmp(file, real + len) == 0;
}

/* Watches the folder's names, the file's mode and size, and whether a folder above it moves. The -wal file is not watched,
 * since every commit writes it. */
static bool watch_all(int fd, const char *file)
{
    enum { NAMES = IN_CREATE | IN_DELETE | IN_MOVE, SELF = IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR };
    char name[PATH_MAX], *slash = realpath(file, name) != NULL ? strrchr(name, '/') : NULL;
    uint32_t mask = NAMES | SELF;

    if (slash == NULL || !is_straight(file, name) || inotify_add_watch(fd, name, IN_MODIFY | IN_ATTRIB) < 0)
        return false;
    for (; slash != NULL; slash = strrchr(name, '/'), mask = SELF) {
        slash[slash == name] = '\0';
        if (inotify_add_watch(fd, name, mask) < 0)
            return false;
        *slash = '\0';
    }
    return true;
}

void place__forget(struct place *place)
{
    if (place->is_watched)
        (void)close(place->watch_fd);
    place->is_watched = false;
}

/* Where watching fails, as where a folder above may not be read, all is looked at behind each commit. */
static void watch(struct place *place, const char *file)
{
    place__forget(place);
    place->is_sound = false;
    place->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    place->is_watched = place->watch_fd >= 0;
    if (place->is_watched && !watch_all(place->watch_fd, file))
        place__forget(place);
}

/* Whether something that was watched is gone. What took its place is not watched, so that each commit has to look from then
 * on. */
static bool has_lost_a_watch(const char *told, size_t len)
{
    struct inotify_event event;

    for (size_t at = 0; at + sizeof event <= len; at += sizeof event + event.len) {
        memcpy(&event, told + at, sizeof event);
        if ((event.mask & (IN_IGNORED | IN_UNMOUNT | IN_Q_OVERFLOW)) != 0)
            return true;
    }
    return false;
}

/* Whether the kernel tells of nothing since all was found as it should be. */
static bool is_quiet(struct place *place)
{
    char told[1024]; /* what finds no room makes us look another time */
    ssize_t len = place->is_watched ? read(place->watch_fd, told, sizeof told) : 0;

    if (len > 0 && has_lost_a_watch(told, (size_t)len))
        place__forget(place);
    return place->is_watched && len < 0 && errno == EAGAIN && place->is_sound &&
           clock_monotonic_us() - place->looked_us < LOOK_US;
}

/* ---- what is there ----------------------------------------------------------------------------------------------- */

/* Looks at the file, or at what lies beside it. */
static bool look(const struct ledger *ledger, enum place_part part, struct stat *there)
{
    char name[FILES_PATH_BYTES];

    return files_beside(ledger->file, suffix[part], name) == CODE_OK && lstat(name, there) == 0;
}

bool place__is_known(const struct ledger *ledger)
{
    return ledger->place.at[PLACE_FILE].inode != 0;
}

void place__remember(struct ledger *ledger)
{
    struct place *place = &ledger->place;
    struct stat there;

    watch(place, ledger->file); /* before the look, so that nothing comes between */
    for (enum place_part part = PLACE_FILE; part < PLACE_PARTS; part++)
        if (look(ledger, part, &there) && (part != PLACE_FILE || !place__is_known(ledger))) { /* it stays the same file */
            place->at[part].device = there.st_dev;
            place->at[part].inode = there.st_ino;
        }
    if (look(ledger, PLACE_FILE, &there))
        place->bytes = there.st_size;
    if (ledger->db == NULL || db_number(ledger->db, "PRAGMA schema_version", NULL, 0, &place->schema) != CODE_OK)
        place->schema = 0;
    if (ledger->db == NULL || db_number(ledger->db, "PRAGMA data_version", NULL, 0, &place->version) != CODE_OK)
        place->version = 0;
    place->log_is_lost = false;
    place->fault.text[0] = '\0';
}

/* Takes a difference. In a table that rows go into, or that is asked before they do, it is a fault, since nothing is written
 * into a table that somebody else made. */
static void take_difference(void *context, const char *field, struct span name, const char *fault)
{
    static const char *const tables[] = {"file", "decision", "outcome", "event", "checkpoint", "tenant_start", "tenant_head",
                                         "head_mark", "permit_start"};
    struct ledger *ledger = context;
    char text[96];

    ledger->place.is_changed = true;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (!span_is(name, tables[i]))
            continue;
        ledger->place.is_other = true;
        (void)why_set(&ledger->place.fault, CODE_INVALID, "%s: its table %s %s", ledger->file, tables[i], fault);
    }
    name = strcmp(field, "object") == 0 ? span_part(name, 0, 40) : span_text(field);
    (void)snprintf(text, sizeof text, "its %.*s %s", SPAN_ARG(name), fault);
    ledger_doubt(ledger, text);
}

enum code place__check_schema(struct ledger *ledger)
{
    struct place *place = &ledger->place;

    place->fault.text[0] = '\0';
    place->is_changed = place->is_other = false;
    return audit_differences(ledger->db, take_difference, ledger);
}

/* Asks for the number that SQLite changes where another connection has written. */
static enum code ask_version(const struct ledger *ledger, int64_t *version)
{
    enum code code = db_step(ledger->ask_version);

    *version = code == CODE_OK ? db_int(ledger->ask_version, 0) : 0;
    db_reset(ledger->ask_version);
    return code;
}

bool ledger_is_written_by_others(const struct ledger *ledger)
{
    int64_t version;

    return ask_version(ledger, &version) == CODE_OK && version != ledger->place.version;
}

/* Called inside a transaction, so that nobody writes after the look. */
enum code ledger_check_others(struct ledger *ledger)
{
    struct place *place = &ledger->place;
    int64_t last = 0, schema = 0, version;
    enum code code = ask_version(ledger, &version);

    if (code != CODE_OK || version == place->version)
        return code;
    place->version = version;
    code = db_number(ledger->db, "PRAGMA schema_version", NULL, 0, &schema);
    if (code == CODE_OK && schema != place->schema)
        ledger_doubt(ledger, "somebody else has changed its schema, or packed it");
    if (code == CODE_OK) /* also where SQLite counts no change, as of application_id and user_version */
        code = place__check_schema(ledger);
    place->schema = schema;
    ledger_doubt(ledger, "somebody else has written into it");
    if (code == CODE_OK && place->is_other)
        return CODE_INVALID;
    if (code == CODE_OK)
        code = db_number(ledger->db, ROW_MAX_SEQ, NULL, 0, &last);
    if (code == CODE_OK && last > (int64_t)ledger->tip.seq)
        code = why_set(&place->fault, CODE_INVALID, "%s: somebody else has written row %lld into it; keep the file as evidence",
                       ledger->file, (long long)last);
    return code;
}

void place__clear(struct ledger *ledger)
{
    char name[FILES_PATH_BYTES];
    struct stat there;

    for (enum place_part part = PLACE_WAL; ledger->place.log_is_lost && part < PLACE_PARTS; part++)
        if (look(ledger, part, &there) && files_beside(ledger->file, suffix[part], name) == CODE_OK)
            (void)unlink(name);
}

void ledger_doubt(struct ledger *ledger, const char *why)
{
    struct place *place = &ledger->place;

    if (place->doubt[0] != '\0')
        return;
    (void)snprintf(place->doubt, sizeof place->doubt, "%s", why);
    log_warn("audit", "%s: %s; the audit goes on in a new file", ledger->file, place->doubt);
}

enum code place__expect(const struct ledger *ledger, struct why *why)
{
    struct stat there;
    bool is_found = look(ledger, PLACE_FILE, &there);

    if (place__is_known(ledger) && (!is_found || !is_there(&ledger->place, PLACE_FILE, &there)))
        return why_set(why, CODE_NOT_FOUND, "%s " PLACE_GONE, ledger->file);
    if ((!is_found || there.st_size == 0) && look(ledger, PLACE_WAL, &there) && there.st_size > 0)
        return why_set(why, CODE_INVALID, "%s is missing, but the last rows of one are in its -wal file: put the file back, or "
                       "take both away", ledger->file);
    return CODE_OK;
}

/* Makes the link again, which somebody took away or set to something else. Where a file stands in its
 * place, it stays: it is somebody's own. */
static enum code link_again(struct ledger *ledger)
{
    struct stat there;

    if (!look(ledger, PLACE_FILE, &there) || !is_there(&ledger->place, PLACE_FILE, &there))
        return why_set(&ledger->place.fault, CODE_NOT_FOUND, "%s " PLACE_GONE, ledger->file);
    if (lstat(ledger->path, &there) == 0 && !S_ISLNK(there.st_mode))
        return why_set(&ledger->place.fault, CODE_NOT_FOUND, "%s " PLACE_GONE, ledger->path);
    log_warn("audit", "%s: was no link to %s any more, and is one again", ledger->path, ledger->file);
    if (files_link(ledger->path, ledger->file) == CODE_OK && file_sync_folder(ledger->path))
        return CODE_OK;
    return why_set(&ledger->place.fault, CODE_NOT_FOUND, "%s: cannot be made a link to %s: %s", ledger->path, ledger->file,
                   strerror(errno));
}

static enum code check_file(struct ledger *ledger, const struct stat *there)
{
    struct place *place = &ledger->place;

    if ((there->st_mode & 0600) != 0600 && files_may_write(ledger->file, true) == CODE_OK)
        log_warn("audit", "%s: its mode was changed to %03o; the gate can read and write it again", ledger->file,
                 (unsigned)there->st_mode & 0777);
    if (there->st_size < place->bytes) {
        ledger_doubt(ledger, "it got smaller: it was cut, overwritten or packed");
        return why_set(&place->fault, CODE_IO, "%s: %s", ledger->file, place->doubt);
    }
    place->bytes = there->st_size;
    return CODE_OK;
}

static enum code copy_once(struct ledger *ledger)
{
    struct db_stmt *stmt;
    enum code code = db_find(ledger->db, "PRAGMA wal_checkpoint(FULL)", NULL, 0, &stmt);

    /* one row: busy, pages in the WAL, pages copied */
    if (code == CODE_OK && (db_int(stmt, 0) != 0 || db_int(stmt, 1) != db_int(stmt, 2)))
        code = CODE_BUSY;
    db_finalize(&stmt);
    return code;
}

/* The connection still has open the -wal file that nobody else can find any more: what it holds is copied into the file, and
 * is durable there. What somebody put in its place is taken away at once, since whoever opens the file after a kill would
 * take that for its log. SQLite waits for reads by itself. For a checkpoint of another connection, as the keeper may have begun
 * one, it does not, so that copying is tried again. */
static enum code copy_lost_log(struct ledger *ledger)
{
    int64_t until_us = clock_monotonic_us() + LEDGER_BUSY_WAIT_MS * INT64_C(1000);
    enum code code = copy_once(ledger);

    while (code == CODE_BUSY && clock_monotonic_us() < until_us) {
        (void)usleep(1000);
        code = copy_once(ledger);
    }
    if (code == CODE_BUSY)
        (void)why_set(&ledger->place.fault, code, "%s-wal: was taken away, and somebody's read keeps what it held from being "
                      "copied: end that query", ledger->file);
    if (code == CODE_OK)
        place__clear(ledger);
    return code;
}

static enum code look_at_all(struct ledger *ledger)
{
    struct place *place = &ledger->place;
    struct stat there;
    enum code code = CODE_OK;

    place->fault.text[0] = '\0';
    if (stat(ledger->path, &there) != 0 || !is_there(place, PLACE_FILE, &there))
        code = link_again(ledger);
    else
        code = check_file(ledger, &there);
    for (enum place_part part = PLACE_WAL; code == CODE_OK && !place->log_is_lost && part < PLACE_PARTS; part++)
        if (!look(ledger, part, &there) || !is_there(place, part, &there)) {
            place->log_is_lost = true;
            ledger_doubt(ledger, part == PLACE_WAL ? "its -wal file was taken away or replaced" :
                                                      "its -shm file was taken away or replaced");
        }
    return code == CODE_OK && place->log_is_lost ? copy_lost_log(ledger) : code;
}

enum code ledger_check_place(struct ledger *ledger)
{
    struct place *place = &ledger->place;
    enum code code;

    if (is_quiet(place))
        return CODE_OK;
    place->looked_us = clock_monotonic_us();
    code = look_at_all(ledger);
    place->is_sound = code == CODE_OK && !place->log_is_lost;
    return code;
}
