/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket: who may not open the store gives the running gate's commands over it (`people:`).
 *
 * Beside the gate a process listens, as the gate's user, and is the program `callgate`. For each person who connects and is in
 * one of the groups it forks another, which confines itself before it reads a byte, and then runs the very function that the
 * command runs on the store otherwise. What it prints goes into the person's own descriptors; files of the person's it asks the
 * person for. So there is one meaning of each command, and one process an asker: none holds up another, nor the gate.
 *
 * Over the socket: a head with the standard output and error (SCM_RIGHTS) and the command's words; then frames.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: exit statuses, or a sentence. */
#ifndef PEOPLE_CONTROL_H
#define PEOPLE_CONTROL_H

#include "cli/commands.h"
#include "run/control_people.h"
#include "query/query.h"

#define CONTROL_SOCKET "CALLGATE_SOCKET" /* the environment's name of the socket, for who cannot read the configuration */
#define CONTROL_USUAL "/run/callgate/control.sock" /* as conf_keys.c has it */

/* What somebody may do. */
struct control_rights {
    unsigned roles;   /* PEOPLE_BIT, PEOPLE_AUDITS_TENANTS, PEOPLE_DECIDES_TENANTS, PEOPLE_DECIDES_OWN */
    struct span tenants[AUDIT_TENANTS_MAX]; /* of PEOPLE_AUDITS_TENANTS */
    size_t tenant_count;
    struct buf names; /* a line each: what `approvers` of a rule may name of him, as "group:treasury" */
};
void control_rights_init(struct control_rights *rights);
/* Adds a role as it is written, which lives as long as they; what is none, or too much, adds nothing. */
void control_add_role(struct control_rights *rights, struct span role);
/* The names of these roles, for who has them by a group of the machine, or may open the store. */
void control_name_roles(unsigned roles, struct buf *names);
/* Adds a name of this kind, "group" or "tenant"; one with a line's end in it, which would be two, is none. */
void control_add_name(struct control_rights *rights, const char *kind, struct span name);

/* ---- who it is: on the gate's side ---- */

bool control_rights_equal(const struct control_rights *a, const struct control_rights *b);

/* The roles of his groups. */
unsigned control_roles_of(const struct control_people *people, const struct person *person);

/* All of it: by his login, where he shows one, else by his account. Takes: store: as above; roles: of his groups; actor: of his
 * account; NULL: nobody asks who he is. *rights: made here. */
enum code control_know(const struct conf_people *conf, const struct control_people *people, const char *store,
                       const struct person *person, unsigned roles, const char *login, struct actor *actor,
                       struct control_rights *rights, struct why *why) MUST_USE;

/* Prints CONTROL_WHO's answer. Returns: an exit status. */
int control_tell_who(const struct conf_people *conf, const struct actor *actor, const struct control_rights *rights);

/* Notes in the store that this person reads the trail by these words: before a row is read. The gate tells the trail within
 * a second. Takes: store, audit: their paths; rights: NULL: he may read every tenant's rows. */
enum code control_note_reading(const char *store, const char *audit, const char *person, const struct control_rights *rights,
                               int argc, char **argv, struct why *why) MUST_USE;

/* Before a command's words: who gives it, as he shows it. */
#define CONTROL_LOGIN "login="
/* In a command's place: who one is, and by which providers one could log in, as JSON. */
#define CONTROL_WHO "login"
/* Behind it: the person begins to look on, which is noted as a reading is. */
#define CONTROL_LOOKS_ON "console"

/* ---- frames ---- */

enum control_kind {
    CONTROL_REFUSED = 1, /* to the person: a sentence; nothing was done */
    CONTROL_FILE,        /* to the person: a path among the words, whose content is wanted */
    CONTROL_STATUS,      /* to the person: the command's exit status, one byte; it is over */
    CONTROL_CONTENT,     /* from the person: the file */
    CONTROL_NO_CONTENT,  /* from the person: why it cannot be read */
    CONTROL_LATER        /* to the person: as CONTROL_REFUSED, but not for who he is: it may go another time */
};

#define CONTROL_WORDS_BYTES ((size_t)256 << 10)
#define CONTROL_FILE_BYTES ((size_t)32 << 20)

struct control_head {
    char magic[8];   /* CONTROL_MAGIC */
    uint32_t bytes;  /* of the words that follow, each with its NUL */
    uint32_t count;  /* of them */
};
#define CONTROL_MAGIC "cgctl-1"

/* These block. CODE_IO: the other side is gone. */
enum code control_send(int fd, enum control_kind kind, struct span bytes) MUST_USE;
/* Into `out`, which is emptied before; CODE_LIMIT where it is more than its cap. */
enum code control_receive(int fd, enum control_kind *kind, struct buf *out) MUST_USE;
bool control_write(int fd, struct span bytes);
bool control_read(int fd, void *to, size_t len);

/* The words of a request. Takes: bytes: with the last one's NUL; argv of `count` + 1 places. Returns: false where they are not
 * exactly so many. */
bool control_words(struct span bytes, size_t count, char **argv);

/* ---- the two sides ---- */

/* Gives the command over the socket where somebody may do so and its store is not this process's to open.
 * Returns: OPTIONS_GO where it is to be run here; else its exit status. */
int control_ask(const struct command *command, const struct asked *asked);

/* Where the gate of this configuration listens. Takes: arena: which holds it, and is the caller's in any case. */
const char *control_socket(struct conf_file *file, struct arena *arena);

/* A command that is to be given. */
struct control_talk {
    const char *socket, *login; /* login: what is shown of who gives it; NULL: nothing */
    const struct asked *asked;  /* its words; its operands are the files of the person's that it may read */
    int out, err;               /* where it prints */
    bool (*wait)(void *context, int fd); /* returns once the gate has said something, or false; NULL: it may be silent */
    void *context;
    struct buf *said;           /* gets the sentence where nothing was done, or nobody knows; NULL: it is complained */
    bool *is_refused;           /* set where that is because the gate does not let him; or NULL */
};
/* Gives it, without where the configuration is. Threads: any. Returns: its exit status. */
int control_talk(const struct control_talk *talk);

/* What the person shows to the gate on this socket, as login_find has it; NULL: nothing. It stands in *login, made here
 * and the caller's (buf_fini), also where this failed. Returns: OPTIONS_GO, or a status after a complaint. */
int control_login(const char *socket, struct buf *login, const char **text);

/* The process beside the gate, which it is told through CONTROL_GATE_FD: one word when it listens, "" or why it cannot.
 * Takes: argv: the configuration, the store and the audit. Blocks: until the gate has gone. */
int control_serve(int argc, char **argv);

#endif
