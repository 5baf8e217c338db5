/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a program: operands and options with their types, help, exit statuses, and who gives the command.
 *
 * Threads: main, before any other is started.
 * Owns: nothing; option values point into argv, and the guest is borrowed.
 * Lifetime: argv's.
 * Errors: exit statuses; sentences on stderr as `callgate: what; what to do`. */
#ifndef ARGS_COMMAND_H
#define ARGS_COMMAND_H

#include "args/print.h"
#include "base/buf.h"
#include "base/why.h"
#include "os/file.h"
#include "os/person.h"

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

/* What an option's value is. This alone decides whether a guest may give the option over a socket: see option_is_guests. */
enum option_type {
    OPTION_FLAG,     /* a bool; takes no value */
    OPTION_TEXT,     /* a const char *: words that nobody opens */
    OPTION_LINE,     /* likewise one line of visible characters, for the audit and for terminals; `most` of them */
    OPTION_WORD,     /* likewise one of `words` */
    OPTION_NUMBER,   /* an uint64_t from `least` on; `usual` where it is not given */
    OPTION_TIME,     /* an int64_t: microseconds since 1970, as `when` reads them; 0 where it is not given */
    OPTION_DURATION, /* an uint64_t: milliseconds, up to `most`; 0 where it is not given */
    OPTION_LIST,     /* a struct option_values: texts, one each time that it is given */
    OPTION_FILE,     /* a const char *: a path where the command runs */
    OPTION_FILES     /* a struct option_values of such paths */
};
#define OPTION_TYPES (OPTION_FILES + 1)

/* `--name` or `--name VALUE` or `--name=VALUE`. Given twice it is an error, but for flags, LIST and FILES. */
struct option {
    const char *name;               /* without dashes */
    const char *takes;              /* "FILE"; NULL for flags */
    const char *help;
    enum option_type type;
    size_t at;                      /* where its value goes: from the beginning of the struct given */
    const char *must;               /* the complaint where it is not given, "" for the usual one; NULL: it need not be given */
    uint64_t least, most, usual;
    const char *const *words;       /* ends with NULL */
    int (*when)(const char *option, const char *text, int64_t *time_us); /* Returns: as options_read */
};

/* Whether a guest may give it, because it names nothing that this process would open. */
bool option_is_guests(const struct option *option);

#define OPTION_VALUES_MAX 256
struct option_values {
    const char *value[OPTION_VALUES_MAX];
    size_t count;
};

enum operand_type {
    OPERAND_TEXT,    /* words that nobody opens */
    OPERAND_NUMBER,  /* from 1 on; where no list has it, a path may stand in its place, which is one where the command runs */
    OPERAND_CONTENT, /* a file of who gives the command, which command_file reads; or words */
    OPERAND_FILE     /* a path where the command runs: a guest may give neither it nor the operands behind it */
};

/* What is written otherwise now, and is understood until the next release, with a line that says the new spelling. */
struct spelling {
    const char *was, *is; /* "message", "why"; of an option also with its value: "format=csv" */
};

struct operand {
    const char *name;               /* "DATABASE" */
    enum operand_type type;
    bool may_lack;
    bool is_many;                   /* the last one: any number of them */
    const char *list;               /* of a NUMBER: the command that lists them */
};

struct usage {
    const char *path;               /* "callgate key create" */
    const char *synopsis;           /* what the usage shows behind the path; NULL: operands, and options that must be given */
    const char *about;              /* what it does, a few lines */
    const struct operand *operands; /* ends with name == NULL; or NULL */
    const struct option *options;   /* likewise; --help is always understood */
    const struct spelling *was;     /* of options; ends with was == NULL; or NULL */
};

/* The operands that were given. It is the first member of a struct; the options' `at` are offsets of its other members. */
struct given {
    char **operands;                /* in argv; ends with NULL */
    int count;
};

#define OPTIONS_GO (-1)

/* Reads argv and moves the operands to its front. `--` ends the options. Takes: given: the first member of a
 * struct that is otherwise zero.
 * Returns: OPTIONS_GO, or the exit status to return at once (after --help or a fault that was told). */
int options_read(const struct usage *usage, int argc, char **argv, struct given *given);

/* Where --json is among the words, failures are printed as JSON, even where the command has no answer in JSON or does not
 * exist. */
void failures_as_asked(int argc, char *const *argv);

/* Says the new spelling to whoever types; over a socket he has heard it at home. Takes: dashes: "--" of an option, else "". */
void spelling_tell(const struct spelling *spelling, const char *dashes);

/* The usage in one line, without the path. */
void usage_synopsis(const struct usage *usage, char *text, size_t size);
void usage_print(const struct usage *usage);

/* What each program begins with. Returns: false: it cannot go on. */
bool command_begin(void) MUST_USE;

/* Who gives a command. */
#define ACTOR_BYTES PERSON_BYTES
#define ACTOR_ALIASES 400 /* two entries of `people: {members}` at their longest, and a token's claims */
#define ACTOR_ALIAS_BYTES 264
struct actor {
    char name[ACTOR_BYTES];   /* as it is recorded: the login, and the account where the two differ ("alice (as root)") */
    char shown[ACTOR_ALIAS_BYTES]; /* who this is by a login of `people:`; "": only the account is known */
    uid_t account;            /* of the login, where the kernel remembers one */
    char alias[ACTOR_ALIASES][ACTOR_ALIAS_BYTES]; /* all names of this person that are known */
    bool is_own[ACTOR_ALIASES];                   /* nobody else has this alias; an agent, or an account that many use, may
                                                   * share one */
    size_t alias_count;
    bool opens_store;         /* he gives the command here, and not over a socket */
    /* What people are asked by (store_approvals.h, struct store_person); they live as long as the process. */
    struct span names, tenant, principal, issuer;
};
/* The person of an account. Takes: login: PERSON_UNKNOWN where the kernel remembers none. */
void actor_of(uid_t uid, uid_t login, struct actor *actor);
/* Leaves out what does not fit. */
void actor_add_alias(struct actor *actor, struct span name);
void actor_add_name(struct actor *actor, struct span name); /* likewise, one that nobody else has */
/* Who gives this process's command. Where the kernel remembers no login, SUDO_USER is believed, because whoever can run a
 * command here may change the same files anyway. */
void actor_find(struct actor *actor);
void actor_name(char out[ACTOR_BYTES]);

/* A person for whom this process runs one command that came over a socket (control_serve.h). The guest's name is the actor's.
 * The guest names files of his own machine, not of this process: so options may name none, and operands only where command_file
 * reads them. */
struct command_guest {
    struct actor actor;
    enum code (*read)(const char *path, size_t max_bytes, struct buf *out, struct why *why);
    bool (*goes_on)(void); /* of a command that follows; NULL: it does */
    bool is_own;           /* he may touch what is his own alone: what was stopped in his name, his principal's accounts */
};
void command_serve(const struct command_guest *guest);
bool command_is_guests(void);
bool command_is_own(void); /* and of one who may touch his own alone */
/* Whether who gives a command that follows may still give it: asked at each look. Returns: false after a complaint. */
bool command_goes_on(void);

/* Appends a file of whoever gives the command. Errors: as file_read. */
enum code command_file(const char *path, size_t max_bytes, struct buf *out, struct why *why) MUST_USE;
/* Appends a file with a secret in it, or where its path is "-" a line of standard input, a pipe or a terminal: neither is a
 * file, and neither need end. Takes: kind: of the file; what: "key", as somebody is asked for; out: which wipes. */
enum code command_secret(const char *path, enum file_kind kind, size_t max_bytes, const char *what, struct buf *out,
                         struct why *why) MUST_USE;

#endif
