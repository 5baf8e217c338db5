/* SPDX-License-Identifier: Apache-2.0 */
/* The person's side of the control socket. */
#include "people/control.h"
#include "people/login.h"
#include "args/print.h"
#include "cli/policy_given.h"

#include "base/mem.h"
#include "os/file.h"
#include "os/local.h"
#include "os/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_TRIES 500
#define BUSY_US 10000
#define GONE_MS 1000 /* for the process of a command that is over to be gone */

/* ---- which socket, and whether it is needed ---- */

/* Whose rights, or whose mode, keep it from this process; a file that is not there is no such case. */
static bool is_kept(const char *path, bool to_write)
{
    return access(path, to_write ? R_OK | W_OK : R_OK) != 0 && errno == EACCES;
}

const char *control_socket(struct conf_file *file, struct arena *arena)
{
    static struct faults faults;
    const char *named = getenv(CONTROL_SOCKET);
    struct conf_people people;
    bool is_read;

    faults_init(&faults);
    is_read = conf_people(file, arena, &people, &faults) == CODE_OK && people.is_on;
    return named != NULL && named[0] != '\0' ? named : is_read ? people.socket : CONTROL_USUAL;
}

/* What may not be read says nothing of the socket: then it is where it usually is. Who has a login gives his commands by it.
 * Returns: false where the command is to be run here. Takes: socket: on the arena. */
static bool find_socket(const struct command *command, struct conf_file *file, struct arena *arena, const char **socket)
{
    static struct faults faults;
    struct conf_people people;
    const char *named = getenv(CONTROL_SOCKET);
    char *database = NULL;
    bool is_needed, is_named = named != NULL && named[0] != '\0';

    faults_init(&faults);
    *socket = is_named ? named : CONTROL_USUAL;
    if (conf_people(file, arena, &people, &faults) != CODE_OK)
        return is_kept(conf_file_path(file), false) || (access(conf_file_path(file), F_OK) != 0 && access(*socket, F_OK) == 0);
    is_needed = (command->is_of_audit ? conf_audit_path(file, &database, &faults)
                                      : conf_store_path(file, &database, &faults)) == CODE_OK &&
                (is_kept(database, command->writes) || login_is_there(people.is_on && !is_named ? people.socket : *socket));
    mem_free(database);
    if (people.is_on && !is_named)
        *socket = people.socket;
    return is_needed && (people.is_on || named != NULL);
}

/* ---- the talk ---- */

/* Whoever listens gets our output and our files: it must be where nobody but the gate's user and root could have put it. */
static bool is_trusted(const char *path, int fd)
{
    char *folder = file_beside(path, SPAN_LIT("."));
    struct stat there;
    uid_t uid;
    bool good = folder != NULL && stat(folder, &there) == 0 && local_listener(fd, &uid) == CODE_OK &&
                (uid == 0 || uid == there.st_uid) && (there.st_mode & (S_IWGRP | S_IWOTH)) == 0;

    mem_free(folder);
    return good;
}

/* Says why nothing was done: to whoever gives the command, or where *talk says. */
PRINTF_LIKE(3, 4) static int fail(const struct control_talk *talk, int status, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (talk->said == NULL)
        return complain((enum exit_status)status, "%s", text);
    buf_add_text(talk->said, text);
    return status;
}

static int connect_to(const struct control_talk *talk, int *fd)
{
    const char *path = talk->socket;
    enum code code = local_connect(path, fd);

    for (int i = 0; i < BUSY_TRIES && code == CODE_BUSY; i++) {
        (void)usleep(BUSY_US);
        code = local_connect(path, fd);
    }
    if (code == CODE_NOT_FOUND)
        return fail(talk, STATUS_CANNOT, "no gate listens on %s, where people are heard who may not open the store; start the "
                        "gate, with `people:` in its configuration, or name its socket in " CONTROL_SOCKET, path);
    if (code != CODE_OK)
        return fail(talk, STATUS_CANNOT, "the gate's socket %s, where people are heard who may not open the store, cannot be "
                        "reached: %s", path,
                        strerror(errno));
    if (!is_trusted(path, *fd)) {
        sock_close(fd);
        return fail(talk, STATUS_CANNOT, "%s lies where others than the gate's user could have put it; nothing was said to "
                        "whoever listens there", path);
    }
    (void)fcntl(*fd, F_SETFL, fcntl(*fd, F_GETFL) & ~O_NONBLOCK);
    return OPTIONS_GO;
}

/* With the descriptors that the command is to print into. */
static bool send_head(int fd, const struct control_head *head, const struct control_talk *talk)
{
    const int handed[] = {talk->out, talk->err};

    return local_hand(fd, span_of(head, sizeof *head), handed, 2) == CODE_OK;
}

/* Behind the login, where there is one, all but where the configuration is, which has said its word: the gate has its own. */
static enum code add_words(struct buf *words, const char *login, const struct asked *asked, struct control_head *head)
{
    char **argv = asked->words;
    enum code code = CODE_OK;

    if (login != NULL) {
        code = buf_add_text(words, CONTROL_LOGIN);
        if (code == CODE_OK)
            code = buf_add(words, login, strlen(login) + 1);
        head->count++;
    }

    for (int i = 0; i < asked->word_count && code == CODE_OK; i++) {
        if (strcmp(argv[i], "--config") == 0 && i + 1 < asked->word_count) {
            i++;
        } else if (strncmp(argv[i], "--config=", 9) != 0) {
            code = buf_add(words, argv[i], strlen(argv[i]) + 1);
            head->count++;
        }
    }
    head->bytes = (uint32_t)buf_len(words);
    return code;
}

/* Only what was named on the command line: the gate is not to choose what it reads of ours. */
static bool is_operand(const struct asked *asked, struct span path)
{
    for (int i = 0; i < asked->given.count; i++)
        if (span_is(path, asked->given.operands[i]))
            return true;
    return false;
}

/* And what such a file names by `with:`, which its author chose. */
static bool is_named(const struct asked *asked, struct span path)
{
    for (int i = 0; i < asked->given.count; i++)
        if (policy_given_names(asked->given.operands[i], path))
            return true;
    return false;
}

static enum code send_file(int fd, const struct asked *asked, struct span path)
{
    char name[4096];
    struct why why = {"no such word was given"};
    struct buf text;
    enum code code = CODE_DENIED;

    buf_init(&text, CONTROL_FILE_BYTES);
    (void)snprintf(name, sizeof name, "%.*s", SPAN_ARG(path));
    if (is_operand(asked, path) || is_named(asked, path))
        code = file_read(name, FILE_ANY, CONTROL_FILE_BYTES, &text, &why);
    code = code == CODE_OK ? control_send(fd, CONTROL_CONTENT, buf_peek(&text))
                           : control_send(fd, CONTROL_NO_CONTENT, span_text(why.text[0] != '\0' ? why.text : code_text(code)));
    buf_fini(&text);
    return code;
}

static int talk_over(int fd, const struct control_talk *talk)
{
    enum control_kind kind = CONTROL_FILE;
    enum code code = CODE_OK;
    struct control_head head = {.magic = CONTROL_MAGIC};
    struct buf frame;
    int status;

    buf_init(&frame, CONTROL_WORDS_BYTES);
    buf_wipes(&frame);
    code = add_words(&frame, talk->login, talk->asked, &head);
    if (code == CODE_OK && send_head(fd, &head, talk))
        (void)control_write(fd, buf_peek(&frame)); /* where it is refused at once, the answer says why */
    while (kind == CONTROL_FILE && code == CODE_OK) {
        code = talk->wait == NULL || talk->wait(talk->context, fd) ? CODE_OK : CODE_BUSY;
        if (code == CODE_OK)
            code = control_receive(fd, &kind, &frame);
        if (code == CODE_OK && kind == CONTROL_FILE)
            code = send_file(fd, talk->asked, buf_peek(&frame));
    }
    if (code == CODE_OK && kind == CONTROL_STATUS && buf_len(&frame) == 1)
        status = (unsigned char)buf_peek(&frame).at[0];
    else if (code == CODE_OK && (kind == CONTROL_REFUSED || kind == CONTROL_LATER))
        status = fail(talk, STATUS_CANNOT, "%.*s", SPAN_ARG(buf_peek(&frame)));
    else if (code == CODE_LIMIT)
        status = fail(talk, STATUS_USAGE, "the command's words have more than %zu bytes", CONTROL_WORDS_BYTES);
    else if (code == CODE_BUSY)
        status = fail(talk, STATUS_CANNOT, "the gate has not answered in time, and goes on with the command no longer; ask for "
                      "less");
    else
        status = fail(talk, STATUS_CANNOT, "the gate ended before the command was over; look whether it was done before you "
                      "give it again");
    if (talk->is_refused != NULL)
        *talk->is_refused = code == CODE_OK && kind == CONTROL_REFUSED;
    buf_fini(&frame);
    /* Its process counts as one of this account until it is gone, and so could keep out whatever is asked next. */
    if (code == CODE_OK)
        (void)poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, GONE_MS);
    return status;
}

int control_talk(const struct control_talk *talk)
{
    int fd = -1, status = connect_to(talk, &fd);

    if (status == OPTIONS_GO)
        status = talk_over(fd, talk);
    sock_close(&fd);
    return status;
}

int control_login(const char *socket, struct buf *login, const char **text)
{
    struct why why = {""};
    enum code code;

    *text = NULL;
    buf_init(login, LOGIN_BYTES);
    buf_wipes(login);
    code = login_find(socket, login, &why);
    if (code == CODE_OK && !buf_is_empty(login)) {
        code = buf_add_byte(login, '\0');
        *text = buf_peek(login).at;
    }
    return code == CODE_OK ? OPTIONS_GO : complain_why(code, &why);
}

/* As whoever the person shows to be. */
static int talk_as_shown(const char *socket, const struct asked *asked)
{
    struct buf login;
    const char *text;
    int status = control_login(socket, &login, &text);

    if (status == OPTIONS_GO)
        status = control_talk(&(struct control_talk){.socket = socket, .login = text, .asked = asked, .out = STDOUT_FILENO,
                                                     .err = STDERR_FILENO});
    buf_fini(&login);
    return status;
}

int control_ask(const struct command *command, const struct asked *asked)
{
    const char *socket;
    struct arena arena;
    int status = OPTIONS_GO;

    if (command->roles == 0 || asked->store != NULL)
        return OPTIONS_GO;
    if (find_socket(command, asked->file, &arena, &socket))
        status = talk_as_shown(socket, asked);
    arena_fini(&arena);
    return status;
}
