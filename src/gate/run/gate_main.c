/* SPDX-License-Identifier: Apache-2.0 */
/* callgate-gate: what `callgate serve` becomes, linked without the rooms of which enforcing has no need. */
#include "args/command.h"
#include "run/libraries.h"
#include "run/serve.h"

#include "base/log.h"
#include "base/num.h"
#include "crypto/secret.h"
#include "os/sandbox.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static void print_warnings(const struct faults *warnings)
{
    size_t told = warnings->count < FAULTS_MAX ? warnings->count : FAULTS_MAX;

    for (size_t i = 0; i < told; i++)
        log_warn("conf", "%s:%d:%d: %s", warnings->fault[i].file, warnings->fault[i].line, warnings->fault[i].column,
                 warnings->fault[i].text);
}

static int load_conf(const char *path, struct conf **conf)
{
    struct faults faults, warnings;
    enum code code;

    faults_init(&faults);
    faults_init(&warnings);
    code = conf_load(path, conf, &faults, &warnings);
    print_warnings(&warnings);
    if (code == CODE_OK)
        return OPTIONS_GO;
    if (faults.count > 0)
        return complain_faults(&faults);
    return complain(STATUS_CANNOT, "%s: %s", path, code_text(code));
}

static int check_only(struct conf **conf)
{
    struct why why = {0};
    struct faults faults;
    enum code code = serve_check(*conf, &why);

    faults_init(&faults);
    (void)conf_certificates_hold(*conf, NULL, &faults);
    conf_free(conf);
    if (code != CODE_OK)
        return complain_why(code, &why);
    if (faults.count > 0)
        return complain_faults(&faults);
    printf("the configuration is good\n");
    return STATUS_DONE;
}

static int serve_all(struct conf *conf, const char *continue_why, int64_t linger_us, int ready_fd)
{
    struct serve serve;
    struct why why = {0};
    struct faults faults;
    enum code code;

    /* The other listeners serve: a start that ended would close those, too. */
    faults_init(&faults);
    if (!conf_certificates_hold(conf, NULL, &faults))
        for (size_t i = 0; i < faults.count && i < FAULTS_MAX; i++)
            log_error("conf", "%s", faults.fault[i].text);
    signals_block();
    libraries_warn();
    code = serve_open(&serve, conf, continue_why, &why);
    serve.linger_us = linger_us;
    if (code == CODE_OK)
        code = serve_run(&serve, ready_fd, &why);
    serve_close(&serve);
    return code == CODE_OK || serve.is_called_off ? STATUS_DONE : complain_why(code, &why);
}

/* A descriptor of whoever started us; it must not be one that we may open ourselves meanwhile. */
static int read_ready_fd(const char *text, int *fd)
{
    uint64_t number;

    *fd = -1;
    if (text == NULL)
        return OPTIONS_GO;
    if (num_u64(span_text(text), &number) != CODE_OK || number < 1 || number > 65535 ||
        fcntl((int)number, F_GETFD) < 0 || fcntl((int)number, F_SETFD, FD_CLOEXEC) < 0)
        return complain(STATUS_USAGE, "--ready-fd %s is no open descriptor; hand one over", text);
    *fd = (int)number;
    return OPTIONS_GO;
}

static int run_serve(int argc, char **argv)
{
    const char *config = NULL, *ready = NULL, *reason = NULL, *used = NULL;
    uint64_t linger_ms = 0;
    bool check = false, verbose = false, goes_on = false;
    const struct option options[] = {
        CONFIG_OPTION(&config),
        {.name = "check", .help = "load everything, change nothing", .flag = &check},
        {.name = "verbose", .help = "also log why each request was refused and how each connection ended", .flag = &verbose},
        {.name = "continue-after-loss", .help = "though audit.db lacks rows that a checkpoint covers; recorded",
         .flag = &goes_on},
        {.name = "why", .takes = "TEXT", .help = "why a loss is accepted, for the record", .value = &reason},
        {.name = "ready-fd", .takes = "N", .help = "write one JSON line with the addresses there when ready", .value = &ready},
        {.name = "while-used", .takes = "MS", .help = "end so long after the last connection, as `callgate pipe` wants it",
         .value = &used},
        {0},
    };
    const struct usage usage = {"callgate serve [--config FILE] [--check] [--verbose] [--continue-after-loss --why TEXT]",
                                "Stands between agents and their tool servers. SIGHUP reloads, SIGTERM drains.",
                                options, 0, 0};
    struct conf *conf = NULL;
    struct why why = {""};
    int ready_fd, operands, status = options_read(&usage, argc, argv, &operands);

    if (status == OPTIONS_GO && (goes_on != (reason != NULL) || (goes_on && check)))
        status = complain(STATUS_USAGE, "--continue-after-loss and --why TEXT go together, and not with --check: who accepts a "
                          "loss says why");
    if (status == OPTIONS_GO && used != NULL && (num_u64(span_text(used), &linger_ms) != CODE_OK || linger_ms > UINT32_MAX))
        status = complain(STATUS_USAGE, "--while-used %s is no number of milliseconds", used);
    if (status == OPTIONS_GO)
        status = read_ready_fd(ready, &ready_fd);
    if (status != OPTIONS_GO)
        return status;
    if (!check && (sandbox_harden(&why) != CODE_OK || secret_heap_open(&why) != CODE_OK)) /* before a secret is read */
        return complain(STATUS_CANNOT, "%s", why.text);
    status = load_conf(conf_find(config), &conf);
    if (status != OPTIONS_GO)
        return status;
    if (verbose)
        log_init(LOG_DEBUG, LOG_AUTO);
    return check ? check_only(&conf) : serve_all(conf, reason, (int64_t)linger_ms * 1000, ready_fd);
}

/* Started as `callgate serve` is: the word stays, so that whoever looks for the process by its words finds it. */
int main(int argc, char **argv)
{
    if (!command_begin())
        return STATUS_CANNOT;
    if (argc < 2 || strcmp(argv[1], "serve") != 0)
        return complain(STATUS_USAGE, "this is the program of `callgate serve`; start that");
    return run_serve(argc - 2, argv + 2);
}
