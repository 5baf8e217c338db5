/* SPDX-License-Identifier: Apache-2.0 */
/* callgate policy fmt: files in the one manner. */
#include "author/tidy.h"
#include "cli/commands.h"
#include "cli/policy_given.h"
#include "cli/told.h"
#include "os/file.h"

#include <stdlib.h>
#include <sys/stat.h>

/* One file on its way. */
struct formatting {
    const char *path;
    struct buf before, after;
    bool changes;
};

/* A link stays one: the file that it leads to is written. */
static int put_back(const struct formatting *one)
{
    char *path = realpath(one->path, NULL);
    struct why why = {""};
    struct stat st;
    int status = STATUS_DONE;

    if (path == NULL || stat(path, &st) != 0)
        status = complain(STATUS_CANNOT, "%s: it is gone; nothing was written", one->path);
    else if (file_replace(path, st.st_mode & 0777, buf_peek(&one->after), &why) != CODE_OK)
        status = complain(STATUS_CANNOT, "%s", why.text);
    mem_free(path);
    return status;
}

static int format(struct formatting *one, bool writes)
{
    struct why why = {""};
    struct faults faults;
    enum code code = command_file(one->path, POLICY_FILE_MAX_BYTES, &one->before, &why);

    faults_init(&faults);
    if (code != CODE_OK)
        return complain(STATUS_CANNOT, "%s", why.text[0] != '\0' ? why.text : code_text(code));
    code = tidy_write(buf_peek(&one->before), one->path, &one->after, &faults);
    if (code == CODE_INVALID)
        return complain_faults(&faults);
    if (code != CODE_OK)
        return complain(STATUS_CANNOT, "%s", code_text(code));
    one->changes = !span_equals(buf_peek(&one->before), buf_peek(&one->after));
    return one->changes && writes ? put_back(one) : STATUS_DONE;
}

int cmd_policy_fmt(const struct asked *asked)
{
    struct doc *doc = doc_object(), *changed;
    bool any = false;
    int worst = STATUS_DONE, told;

    doc_bool(doc, "checked", asked->check);
    changed = doc_add_array(doc, "changed");
    for (int i = 0; i < asked->given.count; i++) {
        struct formatting one = {.path = asked->given.operands[i]};
        int status;

        buf_init(&one.before, POLICY_FILE_MAX_BYTES);
        buf_init(&one.after, 2 * POLICY_FILE_MAX_BYTES);
        status = format(&one, !asked->check);
        if (one.changes && status == STATUS_DONE)
            doc_text(changed, NULL, span_text(one.path));
        any |= one.changes;
        worst = status > worst ? status : worst;
        buf_fini(&one.before);
        buf_fini(&one.after);
    }
    told = told_answer(&doc, asked->json, "{*changed}{.}[{?checked}: not as `callgate policy fmt` writes it]\n{/}");
    if (worst != STATUS_DONE || told != STATUS_DONE)
        return worst != STATUS_DONE ? worst : told;
    return any && asked->check ? STATUS_NEGATIVE : STATUS_DONE;
}
