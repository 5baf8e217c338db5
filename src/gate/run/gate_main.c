/* SPDX-License-Identifier: Apache-2.0 */
/* callgate-gate: what `callgate serve` becomes, linked without the rooms of which enforcing has no need. */
#include "args/command.h"
#include "expiry/expiry.h"
#include "libraries/libraries.h"
#include "run/serve.h"
#include "run/serve_usage.h"

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
    (void)expiry_hold(*conf, NULL, &faults);
    conf_free(conf);
    if (code != CODE_OK)
        return complain_why(code, &why);
    if (faults.count > 0)
        return complain_faults(&faults);
    printf("the configuration is good\n");
    return STATUS_DONE;
}

static int serve_all(struct conf *conf, const struct serve_asked *asked, int ready_fd)
{
    struct serve serve;
    struct why why = {0};
    struct faults faults;
    enum code code;

    /* only a warning, since the other listeners serve */
    faults_init(&faults);
    if (!expiry_hold(conf, NULL, &faults))
        for (size_t i = 0; i < faults.count && i < FAULTS_MAX; i++)
            log_error("conf", "%s", faults.fault[i].text);
    signals_block();
    libraries_warn(serve_asks(conf));
    code = serve_open(&serve, conf, asked, &why);
    if (code == CODE_OK)
        code = serve_run(&serve, ready_fd, &why);
    serve_close(&serve);
    return code == CODE_OK || serve.is_called_off ? STATUS_DONE : complain_why(code, &why);
}

/* Reads the number of a descriptor that the parent process handed over; it must not be one that the gate may open itself. */
static int read_fd(const char *option, const char *text, int *fd)
{
    uint64_t number;

    *fd = 0;
    if (text == NULL)
        return OPTIONS_GO;
    if (num_u64(span_text(text), &number) != CODE_OK || number < 1 || number > 65535 ||
        fcntl((int)number, F_GETFD) < 0 || fcntl((int)number, F_SETFD, FD_CLOEXEC) < 0)
        return complain(STATUS_USAGE, "--%s %s is no open descriptor; hand one over", option, text);
    *fd = (int)number;
    return OPTIONS_GO;
}

static int run_serve(int argc, char **argv)
{
    struct serve_asked asked = {.check = false};
    struct conf *conf = NULL;
    struct why why = {""};
    int ready_fd, status;

    failures_as_asked(argc, argv);
    status = options_read(&serve_usage, argc, argv, &asked.given);
    if (status == OPTIONS_GO &&
        (asked.despite_loss != (asked.why != NULL) || (asked.despite_loss && asked.check)))
        status = complain(STATUS_USAGE, "--despite-loss and --why TEXT go together, and not with --check: who accepts a "
                          "loss says why");
    if (status == OPTIONS_GO)
        status = read_fd("ready-fd", asked.ready_fd, &ready_fd);
    if (status == OPTIONS_GO)
        status = read_fd("upgrades", asked.upgrades, &asked.before_fd);
    if (status != OPTIONS_GO)
        return status;
    if (!asked.check && (sandbox_harden(&why) != CODE_OK || secret_heap_open(&why) != CODE_OK)) /* before a secret is read */
        return complain(STATUS_CANNOT, "%s", why.text);
    status = load_conf(conf_find(asked.config), &conf);
    if (status != OPTIONS_GO)
        return status;
    if (asked.verbose)
        log_init(LOG_DEBUG, LOG_AUTO);
    return asked.check ? check_only(&conf) : serve_all(conf, &asked, ready_fd);
}

/* Started with the words of `callgate serve`, so that who looks for the process by them finds it. */
int main(int argc, char **argv)
{
    if (!command_begin())
        return STATUS_CANNOT;
    if (argc < 2 || strcmp(argv[1], "serve") != 0)
        return complain(STATUS_USAGE, "this is the program of `callgate serve`; start that");
    return print_end(run_serve(argc - 2, argv + 2));
}
