/* SPDX-License-Identifier: Apache-2.0 */
/* callgate login and logout: who a person is, for the gate's socket, by a key or by a provider. */
#include "cli/commands.h"
#include "people/control.h"
#include "people/login.h"
#include "args/print.h"
#include "cli/told.h"

#include "json/text.h"
#include "os/file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ANSWER_BYTES ((size_t)1 << 20)

/* What the gate says of a person: CONTROL_WHO's answer. */
struct answer {
    struct buf text;
    struct json_text read;
};

static void answer_fini(struct answer *answer)
{
    buf_fini(&answer->text);
    json_text_fini(&answer->read);
}

/* Takes: login: NULL: by the account alone. Returns: OPTIONS_GO with the answer, which is the caller's in any case. */
static int ask_gate(const char *socket, const char *login, struct answer *answer)
{
    char word[] = CONTROL_WHO, *words[] = {word, NULL};
    const struct asked asked = {.words = words, .word_count = 1};
    char bytes[4096];
    ssize_t got;
    int fd = memfd_create("answer", MFD_CLOEXEC), status;

    *answer = (struct answer){.read = {.root = NULL}};
    buf_init(&answer->text, ANSWER_BYTES);
    if (fd < 0)
        return complain(STATUS_CANNOT, "there is no memory for the gate's answer");
    status = control_talk(&(struct control_talk){.socket = socket, .login = login, .asked = &asked, .out = fd,
                                                 .err = STDERR_FILENO});
    (void)lseek(fd, 0, SEEK_SET);
    while (status == STATUS_DONE && (got = read(fd, bytes, sizeof bytes)) > 0)
        if (buf_put(&answer->text, span_of(bytes, (size_t)got)) != CODE_OK)
            break;
    (void)close(fd);
    if (status != STATUS_DONE)
        return status;
    if (json_text_read(&answer->read, buf_peek(&answer->text), &json_file_rules, ANSWER_BYTES) != CODE_OK ||
        answer->read.root->type != JSON_OBJECT)
        return complain(STATUS_CANNOT, "the gate is of another version, and says nothing of logins");
    return OPTIONS_GO;
}

static int tell(const struct answer *answer, bool as_json)
{
    if (as_json)
        print_lines(stdout, buf_peek(&answer->text));
    else
        told_say(answer->read.root, "the gate knows you as {person}[, who is {*roles}{.}{/, }][, who audits {*audits}{.}{/, }]"
                 "[, who decides for {*decides}{.}{/, }]"
                 "[, who decides what {principal} of tenant {tenant} asks under `approvers: self`]"
                 "[{?roles=[]}{?audits=[]}{?decides=[]}, who has no role here]\n"
                 "[a rule's `approvers` may name you as {*names}{.}{/, }\n]");
    return STATUS_DONE;
}

/* Only what the gate takes is kept. */
static int try_and_keep(const struct login_kept *kept, const struct asked *asked)
{
    struct span shown = kept->key.at != NULL ? kept->key : kept->token;
    struct answer answer;
    struct why why = {""};
    struct buf login;
    int status;
    enum code code;

    buf_init(&login, LOGIN_BYTES);
    buf_wipes(&login);
    if (buf_put(&login, shown) != CODE_OK || buf_add_byte(&login, '\0') != CODE_OK) {
        buf_fini(&login);
        return complain(STATUS_USAGE, "the login is longer than %zu bytes", LOGIN_BYTES);
    }
    status = ask_gate(kept->socket.at, buf_peek(&login).at, &answer);
    if (status == OPTIONS_GO) {
        code = login_keep(kept, &why);
        status = code == CODE_OK ? tell(&answer, asked->json) : complain_why(code, &why);
    }
    answer_fini(&answer);
    buf_fini(&login);
    return status;
}

/* ---- by a key ---- */

static int log_in_by_key(const char *socket, const struct asked *asked)
{
    struct login_kept kept = {.socket = span_text(socket)};
    struct why why = {""};
    struct buf text;
    int status;
    enum code code;

    buf_init(&text, LOGIN_BYTES);
    buf_wipes(&text);
    code = command_secret(asked->key_file, FILE_ANY, LOGIN_BYTES, "key", &text, &why);
    kept.key = span_part(buf_peek(&text), 0, span_find(buf_peek(&text), '\n'));
    if (code != CODE_OK)
        status = complain_why(code, &why);
    else if (kept.key.len == 0 || kept.key.len + 1 < buf_len(&text))
        status = complain(STATUS_USAGE, "a key is one line, as `callgate key create` printed it");
    else
        status = try_and_keep(&kept, asked);
    buf_fini(&text);
    return status;
}

/* ---- by a provider ---- */

/* Takes: name NULL: the only one. */
static const struct json_node *find_login(const struct answer *answer, const char *name)
{
    const struct json_node *list = json_member(answer->read.root, SPAN_LIT("logins"));
    const struct json_node *found = list != NULL ? list->child : NULL;

    if (name == NULL)
        return found != NULL && found->next == NULL ? found : NULL;
    while (found != NULL && !span_is(json_member_text(found, "provider"), name))
        found = found->next;
    return found;
}

static int log_in_at(const struct json_node *login, const char *socket, const struct asked *asked)
{
    char issuer[1024], client[1024], ca[PATH_MAX]; /* it is read again where the login is renewed, wherever that is */
    const struct device_ask ask = {.socket = socket, .issuer = issuer, .client = client, .scopes = &asked->scopes,
                                   .ca = asked->ca != NULL && realpath(asked->ca, ca) != NULL ? ca : asked->ca};
    struct login_kept kept;
    struct arena texts;
    struct why why = {""};
    int status;
    enum code code;

    (void)snprintf(issuer, sizeof issuer, "%.*s", SPAN_ARG(json_member_text(login, "issuer")));
    (void)snprintf(client, sizeof client, "%.*s", SPAN_ARG(json_member_text(login, "client")));
    if (client[0] == '\0')
        return complain(STATUS_NEGATIVE, "by this provider people log in at the console; an admin may write a `client` for "
                        "`callgate login` into `people: {logins}`, too");
    arena_init(&texts, 4 * LOGIN_BYTES);
    code = device_log_in(&ask, &texts, &kept, &why);
    status = code == CODE_OK ? try_and_keep(&kept, asked) : complain_why(code, &why);
    arena_fini(&texts);
    return status;
}

static int log_in(const char *socket, const struct asked *asked)
{
    struct answer answer;
    int status = ask_gate(socket, NULL, &answer);
    const struct json_node *login = status == OPTIONS_GO ? find_login(&answer, asked->provider) : NULL;

    if (login != NULL)
        status = log_in_at(login, socket, asked);
    else if (status == OPTIONS_GO && asked->provider != NULL)
        status = complain(STATUS_NEGATIVE, "nobody logs in by \"%s\" here; `people: {logins}` of the gate's configuration says "
                          "by whom", asked->provider);
    else if (status == OPTIONS_GO)
        status = complain(STATUS_NEGATIVE, "log in by a key: --key-file FILE, or by one of the providers, where there are "
                          "some: --provider NAME; `callgate login --who --json` shows them");
    answer_fini(&answer);
    return status;
}

static int show(const char *socket, const struct asked *asked)
{
    struct answer answer;
    struct buf login;
    const char *text;
    int status = control_login(socket, &login, &text);

    if (status != OPTIONS_GO) {
        buf_fini(&login);
        return status;
    }
    status = ask_gate(socket, text, &answer);
    if (status == OPTIONS_GO)
        status = tell(&answer, asked->json);
    answer_fini(&answer);
    buf_fini(&login);
    return status;
}

int cmd_login(const struct asked *asked)
{
    struct arena arena;
    const char *socket = control_socket(asked->file, &arena);
    int status;

    if (asked->who)
        status = show(socket, asked);
    else if (asked->key_file != NULL)
        status = log_in_by_key(socket, asked);
    else
        status = log_in(socket, asked);
    arena_fini(&arena);
    return status;
}

int cmd_logout(const struct asked *asked)
{
    struct why why = {""};
    enum code code;

    (void)asked;
    code = login_forget(&why);
    if (code == CODE_NOT_FOUND)
        return complain(STATUS_NEGATIVE, "there is no login to be forgotten");
    if (code == CODE_OK)
        printf("your login is forgotten here; what the provider knows of it ends there\n");
    return code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
}
