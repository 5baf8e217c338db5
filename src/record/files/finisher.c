/* SPDX-License-Identifier: Apache-2.0 */
#include "files/finisher.h"

#include "files/files.h"
#include "rows/indices.h"
#include "base/log.h"
#include "os/clock.h"
#include "os/sandbox.h"

#include <sys/resource.h>

#define PAUSE_MS 1000
#define REST_US INT64_C(1000000) /* so long without a commit of many calls: the processors have time for indices */
#define NICE 19

void finisher_init(struct finisher *finisher, const char *audit, const char *live)
{
    *finisher = (struct finisher){.audit = audit, .live = files_first(audit, live)};
}

void finisher_fini(struct finisher *finisher)
{
    erase_sealed_fini(&finisher->erase);
}

void finisher_poke(struct finisher *finisher)
{
    thread_poke(&finisher->thread);
}

void finisher_follow(struct finisher *finisher, const char *live)
{
    atomic_store(&finisher->live, files_first(finisher->audit, live));
    finisher_poke(finisher);
}

/* Sorting the keys of a file takes 5 to 12 us for each call in it, a fourth of what the call itself took. Without
 * indices a query reads the file in 0.3 s, so that indices can wait until calls are fewer. */
static bool is_under_load(const struct finisher *finisher)
{
    int64_t loaded_us = atomic_load(&finisher->loaded_us);

    return loaded_us != 0 && loaded_us > clock_monotonic_us() - REST_US;
}

/* The -wal file is copied whole before anything else is written, since after a failed sync nobody knows how much was. */
static enum code finish(struct finisher *finisher, const char *path, struct why *why)
{
    enum code code = files_may_write(path, true);

    if (code == CODE_OK)
        code = files_absorb(path, why);
    if (code == CODE_OK && is_under_load(finisher) && !atomic_load(&finisher->thread.is_stopping))
        return why_set(why, CODE_BUSY, "its indices wait until calls are fewer");
    if (code == CODE_OK && !atomic_load(&finisher->thread.is_stopping))
        code = indices_build(path, &finisher->thread.is_stopping, why);
    if (atomic_load(&finisher->thread.is_stopping)) /* the rest is the next start's */
        return code;
    return code == CODE_OK ? files_finish(path, why) : code;
}

/* Files that begin behind the live one are passed over, since the writer may be making one. */
bool finisher_round(struct finisher *finisher)
{
    uint64_t live = atomic_load(&finisher->live);
    struct files files;
    bool again = false;

    if (!files_begin(&files, finisher->audit))
        return true;
    while (files_next(&files)) {
        struct why why = {""};
        enum code code;

        if (files.first >= live || !files_is_unfinished(files.path))
            continue;
        if (is_under_load(finisher) && !files_has_log(files.path)) {
            again = true;
            continue;
        }
        code = finish(finisher, files.path, &why);
        again = again || code != CODE_OK;
        if (atomic_load(&finisher->thread.is_stopping))
            continue;
        if (code == CODE_OK) {
            log_info("audit", "%s: is finished: nobody writes it any more", files.path);
        } else if (finisher->complained_of < files.first) {
            finisher->complained_of = files.first;
            log_info("audit", "%s: cannot be finished yet: %s", files.path,
                     why.text[0] != '\0' ? why.text : code == CODE_BUSY ? "somebody has it open" : code_text(code));
        }
    }
    files_end(&files);
    return again;
}

static void run_finisher(void *argument)
{
    struct finisher *finisher = argument;
    int wait_ms = 0;

    sandbox_narrow(SANDBOX_KEEPER);
    (void)setpriority(PRIO_PROCESS, 0, NICE); /* of this thread alone, on Linux */
    while (thread_rest(&finisher->thread, wait_ms)) {
        bool erases = atomic_load(&finisher->erase.state) == ERASE_ASKED, wait = false;

        if (erases)
            erase_sealed_step(&finisher->erase, &wait);
        else
            wait = finisher_round(finisher);
        wait_ms = wait ? PAUSE_MS : erases ? 0 : -1;
    }
    (void)finisher_round(finisher); /* so that no file that was left keeps a -wal file, if that is possible */
}

enum code finisher_start(struct finisher *finisher, struct why *why)
{
    return thread_start(&finisher->thread, "audit-finisher", run_finisher, finisher, why);
}

void finisher_stop(struct finisher *finisher)
{
    thread_stop(&finisher->thread);
}
