/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/audit_filter.h"
#include "trail/audit_policies.h"
#include "trail/audit_report.h"
#include "trail/audit_verify_fleet.h"
#include "trail/cmd_audit_priv.h"
#include "args/print.h"
#include "cli/progress.h"
#include "cli/told.h"

#include "base/mem.h"
#include "evidence/prove.h"
#include "evidence/strangers.h"
#include "evidence/verify_trail.h"
#include "os/file.h"
#include "os/thread.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define HEADS_BYTES ((size_t)1 << 30)
#define ROTATIONS_MAX 1000
#define ERASURES_MAX 20 /* one that nothing records is told as a fault then */
#define MOMENT_NS 200000000
#define RETRY (-2) /* no exit status */

/* The file that was named, or the one beside the database where there is one. Returns: OPTIONS_GO or the exit status. */
static int read_heads(const char *database, const char *named, char **path, struct buf *text, bool *is_there)
{
    struct why why = {0};
    enum code code;

    size_t size = strlen(named != NULL ? named : database) + sizeof ".heads";

    *path = mem_alloc(size);
    if (*path == NULL)
        return complain(STATUS_CANNOT, "not enough memory");
    (void)snprintf(*path, size, "%s%s", named != NULL ? named : database, named != NULL ? "" : ".heads");
    code = file_read(*path, FILE_ANY, HEADS_BYTES, text, &why);
    *is_there = code == CODE_OK;
    if (code == CODE_OK || (code == CODE_NOT_FOUND && named == NULL))
        return OPTIONS_GO;
    return complain(STATUS_CANNOT, "%s", why.text);
}

static int check_proof(const char *path, struct span text, const struct keyring *keys, struct span tenant, bool as_json)
{
    struct proof_report report;
    enum code code = audit_check_proof(text, keys, tenant, &report);
    bool good = report.fault[0] == '\0';
    struct doc *doc;

    if (code != CODE_OK)
        return complain(STATUS_CANNOT, "%s", code_text(code));
    doc = doc_object();
    doc_text(doc, "verdict", good ? SPAN_LIT("consistent") : SPAN_LIT("broken"));
    doc_text(doc, "file", span_text(path));
    doc_bool(doc, "proven", good && report.is_signed);
    doc_text(doc, "text", span_text(good ? report.what : report.fault));
    if (told_answer(&doc, as_json, "{file}: [{?verdict=broken}BROKEN][{?proven}proven][{!verdict=broken}{!proven}consistent, "
                    "not proven without --key]: {text}\n") != STATUS_DONE)
        return STATUS_CANNOT;
    return good ? STATUS_DONE : STATUS_NEGATIVE;
}

/* Returns: OPTIONS_GO where the file is no proof, and the database is meant. */
static int try_proof(const char *path, const struct keyring *keys, const char *tenant, bool as_json)
{
    struct why why = {0};
    struct buf text;
    char begin[64] = "";
    struct stat there;
    FILE *file = stat(path, &there) == 0 && S_ISREG(there.st_mode) ? fopen(path, "re") : NULL; /* a FIFO would wait */
    int status = OPTIONS_GO;

    if (file != NULL && fgets(begin, sizeof begin, file) == NULL)
        begin[0] = '\0';
    if (file != NULL)
        (void)fclose(file);
    if (!audit_is_proof(span_text(begin)) && tenant != NULL)
        return complain(STATUS_USAGE, "%s is no proof; `callgate audit prove --tenant %s` writes one", path, tenant);
    if (!audit_is_proof(span_text(begin)))
        return OPTIONS_GO;
    buf_init(&text, HEADS_BYTES);
    if (file_read(path, FILE_ANY, HEADS_BYTES, &text, &why) != CODE_OK)
        status = complain(STATUS_CANNOT, "%s", why.text);
    else
        status = check_proof(path, buf_peek(&text), keys, span_text(tenant), as_json);
    buf_fini(&text);
    return status;
}

/* A verification under way: how it is told, and where the gate's own file was when it was looked at, since a rotation puts
 * another one in its place. */
struct place {
    struct progress progress;
    const char *path, *heads_path;
    bool as_json;
    struct stat was;
    int tries; /* left; then what was read is told as it is */
    int erasures; /* likewise, where one came after the trail was read */
    int worst; /* status of what was told */
    size_t at; /* the file that was told last, or that is to be verified again */
    bool again;
};

static void show_progress(void *context, uint64_t done, uint64_t total)
{
    struct place *place = context;

    place->progress.total = total;
    progress_tell(&place->progress, done);
}

static void place_look(struct place *place)
{
    if (stat(place->path, &place->was) != 0)
        place->was = (struct stat){.st_ino = 0};
}

static bool place_has_moved(void *context)
{
    const struct place *place = context;
    struct stat is;

    return stat(place->path, &is) != 0 || is.st_ino != place->was.st_ino || is.st_dev != place->was.st_dev;
}

/* Of any file: what of it may be looked at once more. */
static void prepare(struct verify_conf *conf, struct place *place)
{
    conf->progress = show_progress;
    conf->context = place;
    conf->may_retry = place->erasures > 0;
    conf->has_moved = place->tries > 0 ? place_has_moved : NULL;
}

/* Returns: the exit status, or RETRY, with nothing said, where the file was rotated, or erased in, meanwhile. */
static int tell(struct place *place, const struct verify_conf *conf, enum code code, const struct verify_report *report,
                const struct why *why)
{
    progress_clear(&place->progress);
    if (code == CODE_BUSY && conf->has_moved != NULL && place_has_moved(place) && place->tries-- > 0)
        return RETRY;
    if (code == CODE_BUSY && place->erasures-- > 0)
        return RETRY;
    if (code != CODE_OK)
        return complain(STATUS_CANNOT, "%s", why->text);
    return audit_report_tell(conf, place->heads_path, report, place->as_json);
}

static int verify_file(struct verify_conf *conf, struct place *place)
{
    struct verify_report report;
    struct why why = {0};
    enum code code;

    prepare(conf, place);
    progress_begin(&place->progress, "verifying", 0);
    code = audit_verify(conf, &report, &why);
    progress_end(&place->progress);
    return tell(place, conf, code, &report, &why);
}

/* One file of a trail: the worst status is kept. */
static bool tell_file(void *context, const struct verify_conf *conf, size_t at, enum code code,
                      const struct verify_report *report, const struct why *why)
{
    struct place *place = context;
    int status = tell(place, conf, code, report, why);

    place->at = at;
    place->again = status == RETRY;
    if (!place->again)
        place->worst = trail_place_worse(status, place->worst);
    return !place->again;
}

/* Finds the files, once more where a rotation came between. */
static enum code find_files(struct place *place, struct trail *trail, struct why *why)
{
    enum code code;

    do {
        trail_fini(trail);
        place_look(place);
        code = trail_find(place->path, true, trail, why);
    } while (place_has_moved(place) && place->tries-- > 0);
    return code;
}

/* Those from place->at on; place->again: up to that one, which is to be verified once more. */
static enum code verify_files(struct verify_conf *conf, struct place *place, const struct trail *trail, struct why *why)
{
    struct verify_trail_conf all = {.trail = trail, .from = place->at, .threads = thread_cores(), .live = place->path,
                                    .tell = tell_file};
    enum code code;

    prepare(conf, place);
    all.each = *conf;
    place->again = false;
    progress_begin(&place->progress, "verifying", 0);
    code = verify_trail(&all, why);
    progress_end(&place->progress);
    return code;
}

/* The first file that begins where one began before the trail was looked at again. */
static size_t goes_on_at(const struct trail *trail, int64_t before_seq)
{
    size_t at = 0;

    while (at < trail->count && trail->files[at].before_seq < before_seq)
        at++;
    return at;
}

static void tell_stranger(const struct stranger *stranger, bool as_json)
{
    struct doc *doc = doc_object();

    doc_text(doc, "verdict", SPAN_LIT("stranger"));
    doc_text(doc, "file", span_text(stranger->path));
    doc_text(doc, "text", span_text(stranger->what));
    (void)told_answer(&doc, as_json, "STRANGER: {file}: {text}\n");
}

static enum code find_strangers(const struct place *place, struct strangers *strangers, struct why *why)
{
    struct trail trail = {0};
    enum code code = trail_find(place->path, true, &trail, why);

    if (code == CODE_OK)
        code = strangers_find(place->path, &trail, strangers, why);
    trail_fini(&trail);
    return code;
}

/* What stands beside the files and is none of them, a moment later still: a rotation makes the next file under its name before
 * the link leads there. */
static int tell_strangers(const struct place *place, bool as_json)
{
    struct strangers first = {0}, now = {0};
    struct why why = {""};
    int status = STATUS_DONE;
    enum code code = find_strangers(place, &first, &why);

    if (code == CODE_OK && first.count > 0) {
        (void)nanosleep(&(struct timespec){.tv_nsec = MOMENT_NS}, NULL);
        code = find_strangers(place, &now, &why);
    }
    if (code != CODE_OK)
        status = complain(STATUS_CANNOT, "%s", why.text);
    for (size_t i = 0; i < now.count; i++)
        for (size_t j = 0; j < first.count; j++)
            if (strcmp(now.list[i].path, first.list[j].path) == 0) {
                tell_stranger(&now.list[i], as_json);
                status = trail_place_worse(STATUS_UNPROVEN, status);
            }
    strangers_fini(&first);
    strangers_fini(&now);
    return status;
}

/* The worst status of all files. One that cannot be read keeps nobody from the others. */
static int verify_all(struct verify_conf *conf, struct place *place, uint64_t from)
{
    struct trail trail = {0};
    struct why why = {""};
    int status = STATUS_DONE;
    enum code code = find_files(place, &trail, &why);

    if (code == CODE_OK)
        place->worst = trail_place_tell_missing(&trail, from);
    if (code == CODE_OK)
        code = verify_sequence_new(&trail, &conf->sequence, &why);
    if (code == CODE_OK)
        code = verify_files(conf, place, &trail, &why);
    while (code == CODE_OK && place->again) {
        int64_t before_seq = trail.files[place->at].before_seq;

        code = find_files(place, &trail, &why);
        if (code == CODE_OK)
            code = verify_sequence_renew(&trail, conf->sequence, &why);
        place->at = goes_on_at(&trail, before_seq);
        if (code == CODE_OK)
            code = verify_files(conf, place, &trail, &why);
    }
    status = code != CODE_OK ? complain(STATUS_CANNOT, "%s", why.text)
                             : trail_place_worse(tell_strangers(place, place->as_json), place->worst);
    verify_sequence_free(&conf->sequence);
    trail_fini(&trail);
    return status;
}

/* After the rows: which policies they name. */
static int verify_policies(const char *path, const char *store, bool all, bool as_json)
{
    struct trail trail = {0};
    struct why why = {""};
    int status;

    if (trail_find(path, all, &trail, &why) != CODE_OK)
        status = complain(STATUS_CANNOT, "%s", why.text);
    else
        status = audit_policies_check(&trail, store, as_json);
    trail_fini(&trail);
    return status;
}

static int verify(struct verify_conf *conf, const struct asked *asked)
{
    struct place place = {.path = conf->path, .as_json = asked->json, .tries = ROTATIONS_MAX, .erasures = ERASURES_MAX};
    struct buf heads;
    bool heads_there = false;
    char *heads_path;
    int status;

    buf_init(&heads, HEADS_BYTES);
    /* Before the database: what it covers must be there. */
    status = read_heads(conf->path, asked->checkpoints, &heads_path, &heads, &heads_there);
    place.heads_path = heads_path;
    conf->heads = buf_peek(&heads);
    if (conf->heads.at == NULL && heads_there)
        conf->heads = SPAN_LIT(""); /* a file that was emptied holds none, which is a finding */
    if (status == OPTIONS_GO && asked->all)
        status = verify_all(conf, &place, asked->from);
    else if (status == OPTIONS_GO) {
        do
            place_look(&place);
        while ((status = verify_file(conf, &place)) == RETRY);
    }
    mem_free(heads_path);
    buf_fini(&heads);
    return status;
}

int cmd_audit_verify(const struct asked *asked)
{
    struct keyring keys = {.count = 0};
    struct verify_conf conf = {.path = NULL};
    struct why why = {""};
    char *path = NULL;
    enum code code;
    int status;

    if (asked->fleet)
        return audit_verify_fleet(asked);
    status = asked_trail(asked, asked_operand(asked, 0), &path);

    for (size_t i = 0; i < asked->public_keys.count && status == OPTIONS_GO; i++)
        if ((code = verify_key_read(asked->public_keys.value[i], &keys, &why)) != CODE_OK)
            status = complain_why(code, &why);
    if (status == OPTIONS_GO)
        status = try_proof(path, keys.count > 0 ? &keys : NULL, asked->tenant, asked->json);
    if (status == OPTIONS_GO) {
        conf.path = path;
        conf.unsigned_us = (int64_t)asked->unsigned_ms * 1000;
        conf.keys = keys.count > 0 ? &keys : NULL;
        status = verify(&conf, asked);
        if (asked->store != NULL)
            status = trail_place_worse(verify_policies(path, asked->store, asked->all, asked->json), status);
    }
    mem_free(path);
    return status;
}
