/* SPDX-License-Identifier: Apache-2.0 */
/* callgate audit evidence: what an auditor gets of a stretch of time, in one folder. What is in it are the answers of other
 * commands, each given by this very program, and the digests of all of them in a list that the trail's key has signed.
 *
 * The folder has another name until all of it is on the disk. */
#include "args/print.h"
#include "base/mem.h"
#include "base/num.h"
#include "cli/commands.h"
#include "cli/told.h"
#include "conf/conf.h"
#include "crypto/digest.h"
#include "crypto/sign.h"
#include "language/store.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "run/serve_audit.h"
#include "setup/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 16
#define LIST_BYTES ((size_t)4 << 20)
#define VERSIONS_MAX 4096
#define LIST "SHA256SUMS"
#define SIGNATURE LIST ".sig"
#define KEY_FILE "audit-key.pub"

/* One file of the folder, and the command whose answer it is. */
struct answer {
    const char *file;
    const char *words[WORDS_MAX];
    bool of_time;     /* it takes --since and --until */
    bool may_deny;    /* what is wrong is an answer, too, and so is that it cannot be told */
};

#define EVERY(name, ...) {.file = name, .words = {__VA_ARGS__, NULL}}
#define OF_TIME(name, ...) {.file = name, .words = {__VA_ARGS__, NULL}, .of_time = true, .may_deny = true}
#define DENIES(name, ...) {.file = name, .words = {__VA_ARGS__, NULL}, .may_deny = true}

static const struct answer answers[] = {
    OF_TIME("calls.jsonl", "audit", "query", "--json", "--all", "--fields", "all", "--limit", "0", "--order", "oldest"),
    OF_TIME("denied.jsonl", "audit", "query", "--json", "--all", "--verdict", "deny", "--limit", "0", "--order", "oldest"),
    OF_TIME("trail.jsonl", "audit", "export", "--json"),
    OF_TIME("stats.json", "audit", "stats", "--json", "--all", "--per",
            "tenant,principal,agent,upstream,tool,verdict,reason,rule,outcome", "--top", "0"),
    DENIES("access.csv", "policy", "access", "--format", "csv"),
    EVERY("policies/versions.jsonl", "policy", "list", "--json"),
    EVERY("policies/activations.jsonl", "policy", "list", "--activations", "--json"),
    EVERY("approvals.jsonl", "approvals", "list", "--all", "--json"),
    EVERY("keys.jsonl", "key", "list", "--json"),
    EVERY("stops.jsonl", "stops", "--all", "--json"),
    EVERY("holds.jsonl", "audit", "holds", "--json"),
    EVERY("tools.jsonl", "tools", "list", "--all", "--json"),
    DENIES("files.jsonl", "audit", "files", "--json"),
    DENIES("status.json", "status", "--json"),
    DENIES("verify.json", "audit", "verify", "--all", "--json", "--key", KEY_FILE),
};

static const char how_to_read[] =
    "What stands in this folder are answers of the program callgate; evidence.json names the command and exit status of each.\n"
    "None of the files that the list names was left out or changed since, where both of these say so:\n\n"
    "    sha256sum --check --strict " LIST "\n"
    "    openssl pkeyutl -verify -pubin -inkey " KEY_FILE " -rawin -in " LIST " -sigfile " SIGNATURE "\n\n"
    "They say nothing of a file that the list does not name. This prints each such one, and nothing where none was added:\n\n"
    "    find . ! -type d -printf '%P\\0' | grep -zvxF -e " LIST " -e " SIGNATURE " -e "
    "\"$(sed -n 's/^[0-9a-f]\\{64\\}  //p' " LIST ")\" | tr '\\0' '\\n'\n\n"
    "Take " KEY_FILE " from elsewhere than this folder: it is the key that signs the trail's checkpoints.\n";

struct making {
    const struct asked *asked;
    const struct conf *conf;
    char part[PATH_MAX];            /* the folder, until it is whole */
    char since[CLOCK_TEXT_BYTES], until[CLOCK_TEXT_BYTES], made[CLOCK_TEXT_BYTES], by[ACTOR_BYTES];
    uint64_t versions[VERSIONS_MAX]; /* in force within the time, the newest first */
    size_t version_count;
    struct doc *files;              /* what evidence.json says of each */
    struct buf list;
    struct buf unanswered;          /* files whose command could not answer, as text */
    size_t count;
    int worst;
};

/* ---- a file of the folder ---- */

static enum code inside(const struct making *m, const char *name, char path[PATH_MAX], struct why *why)
{
    if ((size_t)snprintf(path, PATH_MAX, "%s/%s", m->part, name) < PATH_MAX)
        return CODE_OK;
    return why_set(why, CODE_LIMIT, "%s: the path is too long", m->part);
}

/* A line of the list, as sha256sum writes them. */
static enum code list_file(struct making *m, const char *name, struct why *why)
{
    unsigned char sha256[DIGEST_BYTES];
    char path[PATH_MAX], hex[2 * DIGEST_BYTES];
    uint64_t bytes;
    enum code code = inside(m, name, path, why);

    if (code == CODE_OK)
        code = backup_digest(path, &bytes, sha256, why);
    if (code != CODE_OK)
        return code;
    num_hex(sha256, sizeof sha256, hex);
    m->count++;
    return buf_addf(&m->list, "%.*s  %s\n", (int)sizeof hex, hex, name);
}

static enum code put_file(struct making *m, const char *name, struct span content, struct why *why)
{
    char path[PATH_MAX];
    enum code code = inside(m, name, path, why);

    return code == CODE_OK ? file_create(path, 0600, content, why) : code;
}

/* ---- a command's answer ---- */

/* Waits until the program has ended. Returns: its exit status; one that a signal ended counts as one that cannot. */
static int await(pid_t pid, int ended)
{
    struct pollfd poll_ended = {.fd = ended, .events = POLLIN};
    int status;

    while (poll(&poll_ended, 1, -1) < 0 && errno == EINTR)
        continue;
    (void)close(ended);
    status = process_finish(pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_CANNOT;
}

static enum code run(const char *const *argv, const char *path, int *status, struct why *why)
{
    struct process_program program = {.argv = argv, .err = -1};
    pid_t pid;
    int ended;
    enum code code = CODE_IO;

    program.out = file_make(path, O_WRONLY | O_EXCL, 0600);
    program.in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (program.out < 0 || program.in < 0)
        (void)why_set(why, code, "%s: %s", path, strerror(errno));
    else
        code = process_start(&program, &pid, &ended, why);
    if (code == CODE_OK)
        *status = await(pid, ended);
    if (code == CODE_OK && fsync(program.out) != 0)
        code = why_set(why, CODE_IO, "%s: %s", path, strerror(errno));
    if (program.out >= 0)
        (void)close(program.out);
    if (program.in >= 0)
        (void)close(program.in);
    return code;
}

static void note_answer(struct making *m, const struct answer *answer, const char *const *argv, size_t words, int status)
{
    struct doc *one = doc_add_object(m->files, NULL), *command = doc_add_array(one, "command");

    doc_text(one, "file", span_text(answer->file));
    for (size_t i = 1; i < words; i++)
        doc_text(command, NULL, span_text(argv[i]));
    doc_int(one, "status", status);
}

static enum code take_answer(struct making *m, const struct answer *answer, struct why *why)
{
    const char *argv[WORDS_MAX + 8] = {"/proc/self/exe"};
    char path[PATH_MAX], key[PATH_MAX];
    size_t count = 1;
    int status = STATUS_CANNOT;
    enum code code = inside(m, answer->file, path, why);

    if (code == CODE_OK)
        code = inside(m, KEY_FILE, key, why);
    for (const char *const *word = answer->words; *word != NULL; word++)
        argv[count++] = strcmp(*word, KEY_FILE) == 0 ? key : *word;
    if (answer->of_time) {
        argv[count++] = "--since";
        argv[count++] = m->since;
        argv[count++] = "--until";
        argv[count++] = m->until;
    }
    argv[count] = "--config";
    argv[count + 1] = m->conf->path;
    if (code == CODE_OK)
        code = run(argv, path, &status, why);
    if (code != CODE_OK)
        return code;
    if (status != STATUS_DONE && !answer->may_deny)
        return why_set(why, CODE_IO, "`callgate %s %s` ended with %d", answer->words[0], answer->words[1], status);
    if (status == STATUS_USAGE || status == STATUS_CANNOT)
        (void)buf_addf(&m->unanswered, "%s%s", buf_is_empty(&m->unanswered) ? "" : ", ", answer->file);
    if (!buf_is_empty(&m->unanswered) || (status != STATUS_DONE && strcmp(answer->words[0], "audit") == 0))
        m->worst = STATUS_NEGATIVE;
    note_answer(m, answer, argv, count, status);
    return list_file(m, answer->file, why);
}

/* ---- policies of the time ---- */

struct standing {
    struct making *m;
    int64_t since_us, until_us;
    bool has_begun; /* the one that was in force when the time began is there */
};

static enum code note_version(void *context, const struct policy_store_version *version)
{
    struct standing *standing = context;
    struct making *m = standing->m;

    if (version->activated_us >= standing->until_us || standing->has_begun)
        return CODE_OK;
    standing->has_begun = version->activated_us <= standing->since_us;
    if (m->version_count == VERSIONS_MAX)
        return CODE_LIMIT;
    m->versions[m->version_count++] = version->version;
    return CODE_OK;
}

static enum code find_versions(struct making *m, int64_t since_us, int64_t until_us, struct why *why)
{
    struct standing standing = {.m = m, .since_us = since_us, .until_us = until_us};
    struct db *db = NULL;
    enum code code = asked_store(m->asked, DB_READ, &db, why);

    if (code == CODE_OK)
        code = policy_store_activations(db, note_version, &standing, why);
    db_close(&db);
    return code == CODE_LIMIT ? why_set(why, code, "more than %d policies were activated in that time; ask for a shorter one",
                                        VERSIONS_MAX) : code;
}

static bool is_first(const struct making *m, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (m->versions[i] == m->versions[at])
            return false;
    return true;
}

/* Each version once, and each change in words and calls. */
static enum code take_policies(struct making *m, struct why *why)
{
    enum code code = CODE_OK;

    for (size_t i = 0; i < m->version_count && code == CODE_OK; i++) {
        char version[32], before[32], name[96];
        const struct answer show = EVERY(name, "policy", "show", version, "--json");
        const struct answer diff = DENIES(name, "policy", "diff", before, version, "--json");

        (void)snprintf(version, sizeof version, "%" PRIu64, m->versions[i]);
        (void)snprintf(name, sizeof name, "policies/version-%s.json", version);
        if (is_first(m, i))
            code = take_answer(m, &show, why);
        if (i + 1 == m->version_count || code != CODE_OK)
            break;
        (void)snprintf(before, sizeof before, "%" PRIu64, m->versions[i + 1]);
        (void)snprintf(name, sizeof name, "policies/change-%zu-from-%s-to-%s.json", m->version_count - 1 - i, before, version);
        code = take_answer(m, &diff, why);
    }
    return code;
}

/* ---- what is no command's answer ---- */

static void add_texts(struct doc *object, const char *key, const struct span *texts, size_t count)
{
    struct doc *list = doc_add_array(object, key);

    for (size_t i = 0; i < count; i++)
        doc_text(list, NULL, texts[i]);
}

/* Who may do what at the gate, as its configuration says. */
static struct doc *people_doc(const struct conf_people *people)
{
    struct doc *doc = doc_object(), *groups = doc_add_object(doc, "groups"), *members = doc_add_array(doc, "members");

    for (enum people_role role = PEOPLE_APPROVERS; role < PEOPLE_ROLES; role++)
        add_texts(groups, people_role_names[role].at, people->groups[role].names, people->groups[role].count);
    for (size_t i = 0; i < people->member_count; i++) {
        const struct conf_member *member = &people->members[i];
        struct doc *one = doc_add_object(members, NULL);

        doc_text_or_null(one, "name", member->name.len > 0 ? member->name : SPAN_NONE);
        doc_text_or_null(one, "group", member->group.len > 0 ? member->group : SPAN_NONE);
        doc_text_or_null(one, "provider", member->provider.len > 0 ? member->provider : SPAN_NONE);
        add_texts(one, "accounts", member->accounts, member->account_count);
        add_texts(one, "principals", member->principals, member->principal_count);
        add_texts(one, "roles", member->roles, member->role_count);
    }
    return doc;
}

/* Takes the document. */
static enum code put_doc(struct making *m, const char *name, struct doc **doc, struct why *why)
{
    struct buf text;
    enum code code;

    buf_init(&text, LIST_BYTES);
    code = doc_print(*doc, &text);
    doc_free(doc);
    if (code == CODE_OK)
        code = buf_add_byte(&text, '\n');
    code = code == CODE_OK ? put_file(m, name, buf_peek(&text), why) : why_set(why, code, "%s: %s", name, code_text(code));
    buf_fini(&text);
    return code == CODE_OK ? list_file(m, name, why) : code;
}

static enum code take_copy(struct making *m, const char *from, const char *name, struct why *why)
{
    char to[PATH_MAX];
    enum code code = inside(m, name, to, why);

    if (code == CODE_OK)
        code = backup_copy(from, to, 0600, why);
    return code == CODE_OK ? list_file(m, name, why) : code;
}

/* What the auditor is to know the key by: it stands beside the private one. */
static enum code take_key(struct making *m, struct why *why)
{
    char *path = serve_public_key_path(m->conf->audit.checkpoint_key);
    enum code code = path != NULL ? take_copy(m, path, KEY_FILE, why) : CODE_NOMEM;

    mem_free(path);
    return code;
}

/* The list begins with a comment, so that no signature of it is one of a checkpoint. */
static enum code sign(struct making *m, struct why *why)
{
    unsigned char signature[SIGN_BYTES];
    struct sign_key *key = NULL;
    enum code code = put_file(m, LIST, buf_peek(&m->list), why);

    if (code == CODE_OK)
        code = serve_checkpoint_key(m->conf->audit.checkpoint_key, false, &key, why);
    if (code == CODE_OK && sign_text(key, buf_peek(&m->list), signature) != CODE_OK)
        code = why_set(why, CODE_NOMEM, "%s", code_text(CODE_NOMEM));
    if (code == CODE_OK)
        code = put_file(m, SIGNATURE, span_of((const char *)signature, sizeof signature), why);
    sign_key_free(&key);
    return code;
}

/* ---- all of it ---- */

static enum code take_head(struct making *m, struct why *why)
{
    struct doc *doc = doc_object();
    enum code code = CODE_OK;

    doc_text(doc, "since", span_text(m->since));
    doc_text(doc, "until", span_text(m->until));
    doc_text(doc, "made", span_text(m->made));
    doc_text(doc, "made_by", span_text(m->by));
    m->files = doc_add_array(doc, "files");
    buf_addf(&m->list, "# callgate evidence of %s to %s, made %s\n", m->since, m->until, m->made);
    for (size_t i = 0; i < sizeof answers / sizeof answers[0] && code == CODE_OK; i++)
        code = take_answer(m, &answers[i], why);
    if (code == CODE_OK)
        code = take_policies(m, why);
    if (code == CODE_OK)
        code = put_doc(m, "evidence.json", &doc, why);
    doc_free(&doc);
    return code;
}

static enum code take_all(struct making *m, struct why *why)
{
    char folder[PATH_MAX];
    struct doc *people = people_doc(&m->conf->people);
    enum code code = inside(m, "policies", folder, why);

    if (code == CODE_OK && mkdir(folder, 0700) != 0)
        code = why_set(why, CODE_IO, "%s: %s", folder, strerror(errno));
    if (code == CODE_OK)
        code = take_key(m, why);
    if (code == CODE_OK && m->conf->audit.checkpoints != NULL && access(m->conf->audit.checkpoints, F_OK) == 0)
        code = take_copy(m, m->conf->audit.checkpoints, "checkpoints.txt", why);
    if (code == CODE_OK)
        code = take_head(m, why);
    if (code == CODE_OK)
        code = put_doc(m, "people.json", &people, why);
    doc_free(&people);
    if (code == CODE_OK)
        code = put_file(m, "README.txt", span_text(how_to_read), why);
    if (code == CODE_OK)
        code = list_file(m, "README.txt", why);
    if (code == CODE_OK)
        code = sign(m, why);
    if (code == CODE_OK && (!file_sync_folder(folder) || !file_sync_folder(m->part)))
        code = why_set(why, CODE_IO, "%s: %s", m->part, strerror(errno));
    return code;
}

static int make(struct making *m, const char *folder)
{
    struct why why = {""};
    struct doc *doc;
    enum code code;
    int status = backup_begin_folder(folder, m->part);

    if (status != OPTIONS_GO)
        return status;
    code = take_all(m, &why);
    if (code == CODE_OK)
        code = backup_end_folder(m->part, folder, &why);
    if (code != CODE_OK)
        return complain(STATUS_CANNOT, "%s; what was made stands in %s, which is no evidence: remove it",
                        why.text[0] != '\0' ? why.text : code_text(code), m->part);
    doc = doc_object();
    doc_text(doc, "evidence", span_text(folder));
    doc_int(doc, "files", (int64_t)m->count);
    doc_text(doc, "since", span_text(m->since));
    doc_text(doc, "until", span_text(m->until));
    doc_bool(doc, "sound", m->worst == STATUS_DONE);
    doc_text_or_null(doc, "unanswered", buf_is_empty(&m->unanswered) ? SPAN_NONE : buf_peek(&m->unanswered));
    (void)told_answer(&doc, m->asked->json, "{evidence}: {files} files of {since} to {until}, with a signed list of them; "
                      "README.txt says how to verify it\n"
                      "[no command could answer all of {unanswered}: what is wrong stands above\n]"
                      "[{!sound}something of the trail is missing, is not as it was or was not told: verify.json, "
                      "files.jsonl and evidence.json say what\n]");
    return m->worst;
}

int cmd_audit_evidence(const struct asked *asked)
{
    static struct making making;
    const int64_t now_us = clock_wall_us();
    const int64_t until_us = asked->until_us != 0 && asked->until_us < now_us ? asked->until_us : now_us;
    struct conf *conf = NULL;
    struct why why = {""};
    int status = asked_conf(asked, &conf);
    enum code code;

    if (status != OPTIONS_GO)
        return status;
    making = (struct making){.asked = asked, .conf = conf};
    clock_text(asked->since_us, making.since);
    clock_text(until_us, making.until);
    clock_text(now_us, making.made);
    actor_name(making.by);
    buf_init(&making.list, LIST_BYTES);
    buf_init(&making.unanswered, LIST_BYTES);
    code = asked->since_us < until_us ? find_versions(&making, asked->since_us, until_us, &why)
                                      : why_set(&why, CODE_INVALID, "--since lies behind --until");
    status = code == CODE_OK ? make(&making, asked_operand(asked, 0)) : complain_why(code, &why);
    buf_fini(&making.list);
    buf_fini(&making.unanswered);
    conf_free(&conf);
    return status;
}
