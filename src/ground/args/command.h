/* SPDX-License-Identifier: Apache-2.0 */
/* What a command of the program is: its words, its help, its options, its exit status.
 *
 * Each file cmd_*.c defines one `const struct command cmd_*` and main.c lists it. A command either runs, or has `subs`.
 *
 * Threads: main, before any other is started.
 * Owns: nothing but the guest; option values point into argv.
 * Lifetime: argv's.
 * Errors: exit statuses; sentences on stderr as `callgate: what; what to do`. */
#ifndef ARGS_COMMAND_H
#define ARGS_COMMAND_H

#include "base/buf.h"
#include "base/why.h"
#include "os/person.h"

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

enum exit_status {
    STATUS_DONE = 0,
    STATUS_NEGATIVE = 1, /* denied, test failed, chain broken */
    STATUS_USAGE = 2,    /* wrong use or configuration */
    STATUS_CANNOT = 3,   /* file, network, memory */
    STATUS_UNPROVEN = 4  /* consistent, and not all of it is vouched for as it should be */
};

struct command {
    const char *name;
    const char *summary;           /* one line, for the list of commands */
    int (*run)(int argc, char **argv); /* what follows the command's words; argv[argc] == NULL */
    const struct command *subs;    /* ends with name == NULL; or NULL */
};

/* An option: `--name` or `--name VALUE` or `--name=VALUE`. Exactly one of flag, value and many is set. */
struct option {
    const char *name;              /* without dashes */
    const char *takes;             /* "FILE"; NULL for flags */
    const char *help;
    bool *flag;
    const char **value;            /* given twice is an error */
    uint64_t *number;              /* likewise; left as it is where the option is not given */
    uint64_t least;                /* that it may be */
    struct option_values *many;    /* may be repeated */
};

/* Where the configuration is; NULL goes to conf_find. */
#define CONFIG_OPTION(where)                                                                                                   \
    {.name = "config", .takes = "FILE", .help = "by default $CALLGATE_CONFIG, ./callgate.yaml or /etc/callgate/callgate.yaml", \
     .value = (where)}

#define OPTION_VALUES_MAX 256
struct option_values {
    const char *value[OPTION_VALUES_MAX];
    size_t count;
};

struct usage {
    const char *synopsis;          /* "callgate key create --principal NAME --tenant NAME [OPTIONS]" */
    const char *about;             /* what it does, a few lines */
    const struct option *options;  /* ends with name == NULL; --help is always understood */
    int operands_min;
    int operands_max;              /* -1: any number */
};

#define OPTIONS_GO (-1)

/* Reads argv; what is no option is moved to its front and counted into *operands. `--` ends the options.
 * Returns: OPTIONS_GO, or the exit status to return at once (after --help or a fault that was told). */
int options_read(const struct usage *usage, int argc, char **argv, int *operands);

/* A number that somebody wrote, of an option or an operand, from `least` on. Returns: as options_read. */
int option_number(const char *name, const char *text, uint64_t least, uint64_t *number);

/* Whether --by (or NULL) and --why are fit for the audit and for terminals. Takes: example: of a reason. Returns: as
 * options_read. */
int option_says(const char *by, const char *why, const char *example);

/* Prints `callgate: ...` on stderr. Returns: status. */
int complain(enum exit_status status, const char *format, ...) PRINTF_LIKE(2, 3);

/* Prints a struct why, or "not enough memory" where it is empty. Returns: the status that fits the code: USAGE for
 * CODE_INVALID, CANNOT otherwise. */
int complain_why(enum code code, const struct why *why);

/* Prints up to 20 faults as `file:line:column: text`. Returns: STATUS_USAGE. */
int complain_faults(const struct faults *faults);

/* The first fault as a sentence with its place. Returns: code. */
enum code why_of_faults(struct why *why, enum code code, const struct faults *faults);

/* What each of our programs begins with. Returns: false where it cannot go on. */
bool command_begin(void) MUST_USE;

/* Dispatches: finds the command among `commands` by argv[0], its sub-command likewise, and runs it. */
int command_run(const struct command *commands, const char *path, int argc, char **argv);

/* Who gives a command. */
#define ACTOR_BYTES PERSON_BYTES
#define ACTOR_ALIASES 400 /* two entries of `people: {members}` at their longest, and a token's claims */
#define ACTOR_ALIAS_BYTES 264
struct actor {
    char name[ACTOR_BYTES];   /* as it is recorded: the login, and the account where that is another ("alice (as root)") */
    char shown[ACTOR_ALIAS_BYTES]; /* who this is by a login of `people:`; "": only the account is known */
    uid_t account;            /* of the login, where the kernel remembers one */
    char alias[ACTOR_ALIASES][ACTOR_ALIAS_BYTES]; /* all names that are known */
    bool is_own[ACTOR_ALIASES];                   /* nobody else has that one, as an agent or an account of many may */
    size_t alias_count;
};
/* The person of an account. Takes: login: PERSON_UNKNOWN where the kernel remembers none. */
void actor_of(uid_t uid, uid_t login, struct actor *actor);
/* What does not fit is left out. */
void actor_add_alias(struct actor *actor, struct span name);
void actor_add_name(struct actor *actor, struct span name); /* likewise, one that nobody else has */
/* Of this process's command. What the kernel does not remember sudo's word stands for: whoever runs a command here has all
 * rights to what it changes. */
void actor_find(struct actor *actor);
void actor_name(char out[ACTOR_BYTES]);

/* Somebody else for whom this process runs one command (control_serve.h): their name is the actor's; a file is theirs, not this
 * process's, so that no option names one and operands only where somebody reads them by command_file. */
struct command_guest {
    struct actor actor;
    int operands_max;              /* as in struct usage, whatever the command takes otherwise */
    enum code (*read)(const char *path, size_t max_bytes, struct buf *out, struct why *why);
};
void command_serve(const struct command_guest *guest);

/* Appends a file of whoever gives the command. Errors: as file_read. */
enum code command_file(const char *path, size_t max_bytes, struct buf *out, struct why *why) MUST_USE;

#endif
