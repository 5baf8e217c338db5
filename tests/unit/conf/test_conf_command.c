/* SPDX-License-Identifier: Apache-2.0 */
/* `upstream: {command:}`: what is taken, and which faults are told where. 5.12 */
#include "fakes/cm.h"

#include "conf/conf.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/callgate-conf-XXXXXX";
static char conf_path[64];

static void put_file(const char *name, const char *text, mode_t mode)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    (void)fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

static int setup(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(conf_path, sizeof conf_path, "%s/callgate.yaml", folder);
    put_file("shop.token", "s3cret-token\n", 0600);
    put_file("open.token", "x", 0644);
    return 0;
}

static int teardown(void **state)
{
    static const char *const names[] = {"callgate.yaml", "shop.token", "open.token"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char path[128];

        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    return rmdir(folder);
}

static struct conf *load(const char *text)
{
    struct faults faults;
    struct conf *conf;

    put_file("callgate.yaml", text, 0644);
    faults_init(&faults);
    if (conf_load(conf_path, &conf, &faults, NULL) != CODE_OK)
        fail_msg("%s at %d:%d", faults.fault[0].text, faults.fault[0].line, faults.fault[0].column);
    return conf;
}

static void assert_words(const char *const *got, const char *const *wanted)
{
    size_t i = 0;

    for (; wanted[i] != NULL; i++) {
        assert_non_null(got[i]);
        assert_string_equal(got[i], wanted[i]);
    }
    assert_null(got[i]);
}

TEST_CASE(test_everything)
{
    static const char *const words[] = {"-c", "a\nb", "80", "", NULL};
    static const char *const environment[] = {"TOKEN=s3cret-token", "PATH=/bin", "N=1", NULL};
    struct conf *conf = load("routes:\n  - name: shop\n    path: /shop\n    limits: {event: 1 MiB}\n"
                             "    identity: [{api_key: X-API-Key}]\n"
                             "    upstream: {command: [sh, -c, \"a\\nb\", 80, ''], per: gate, idle: 1min, most: 3, memory: 64 MiB,\n"
                             "      cwd: ., env: {TOKEN: {file: shop.token}, PATH: /bin, N: 1}}\n");
    const struct runner_command *command = conf->commands->commands;
    char path[128];

    assert_int_equal(conf->commands->count, 1);
    assert_string_equal(command->route, "shop");
    assert_true(command->argv[0][0] == '/' && span_ends_with(span_text(command->argv[0]), SPAN_LIT("/sh")));
    assert_words(command->argv + 1, words);
    assert_words(command->environment, environment);
    (void)snprintf(path, sizeof path, "%s/.", folder);
    assert_string_equal(command->folder, path);
    assert_int_equal(command->per, RUNNER_GATE);
    assert_int_equal(command->idle_ms, 60000);
    assert_int_equal(command->most, 3);
    assert_int_equal(command->memory_bytes, 64 << 20);
    assert_int_equal(command->line_bytes, 1 << 20);
    assert_true(span_is(conf->proxy->routes[0].upstream.command, "shop"));
    assert_int_equal(conf->name_count, 0); /* nothing to resolve */
    conf_free(&conf);
}

TEST_CASE(test_defaults)
{
    struct conf *conf = load("routes: [{name: a, path: /a, upstream: {command: [sh]}, identity: [{api_key: X-API-Key}]}]\n");
    const struct runner_command *command = conf->commands->commands;

    assert_true(span_starts_with(span_text(command->environment[0]), SPAN_LIT("PATH=")));
    assert_null(command->environment[1]);
    assert_int_equal(command->per, RUNNER_SESSION);
    assert_int_equal(command->most, 32);
    assert_int_equal(command->idle_ms, 600000);
    assert_int_equal(command->memory_bytes, 1 << 30);
    assert_null(command->folder);
    conf_free(&conf);
}

static const struct {
    const char *upstream;
    int column;
    const char *words;
} bad[] = {
    {"command: npx", 10, "is a list"},
    {"command: [no-such-program-here, -y]", 11, "there is no program no-such-program-here"},
    {"command: [./none]", 11, "there is no program ./none"},
    {"command: [sh, [a]]", 15, "is a text"},
    {"command: [sh], url: 'https://x/'", 16, "knows no `url`"},
    {"command: [sh], env: [A]", 21, "is a map"},
    {"command: [sh], env: {'A=B': x}", 29, "no name of a variable"},
    {"command: [sh], env: {A: {file: open.token}}", 32, "chmod go-rwx"},
    {"command: [sh], env: {A: {fil: shop.token}}", 26, "did you mean `file`?"},
    {"command: [sh], per: agent", 21, "`session`, `principal` or `gate`"},
    {"command: [sh], memory: 1 KiB", 24, "between"},
    {"command: [sh], most: 0", 22, "between 1 and 1000"},
    {"command: [sh], idle: 5", 22, "with its unit"},
    {"command: [sh]}, pass: ['POST /x'], limits: {", 23, "a call that nobody judges"}, /* its child takes any path for a call's */
    {"command: [sh]}, pass: ['GET /x'], limits: {", 23, "leave `pass` out"},
    {"command: [sh], cwd: /nowhere-at-all", 21, "there is no folder /nowhere-at-all"},
    {"command: [sh]}, transports: [http+sse], limits: {", 29, "leave `transports` out"},
};

TEST_CASE(test_faults)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct faults faults;
        struct conf *conf;
        char text[512];

        (void)snprintf(text, sizeof text, "routes: [{name: a, path: /a, identity: [{api_key: X-API-Key}], upstream: {\n%s}}]\n",
                       bad[i].upstream);
        put_file("callgate.yaml", text, 0644);
        faults_init(&faults);
        assert_int_equal(conf_load(conf_path, &conf, &faults, NULL), CODE_INVALID);
        assert_null(conf);
        if (faults.fault[0].line != 2 || faults.fault[0].column != bad[i].column ||
            strstr(faults.fault[0].text, bad[i].words) == NULL)
            fail_msg("%s: %d:%d: %s", bad[i].upstream, faults.fault[0].line, faults.fault[0].column, faults.fault[0].text);
    }
}

/* Whatever fails for want of memory leaves nothing behind; the sanitizers see it. */
#define ROUTE "routes: [{name: a, path: /a, upstream: {url: 'http://127.0.0.1:1/'}, identity: [{api_key: X-API-Key}]}]\n"

/* 7.10: a program that is told of held calls is a command of a name that no route can have, whose exit status is its answer. */
TEST_CASE(test_notified)
{
    struct conf *conf = load(ROUTE "notify: {run: [sh, -c, exit], url: 'https://ops.example:8443/held', secret: {file: shop.token}}\n");
    const struct runner_command *command = conf->commands->commands;

    assert_int_equal(conf->commands->count, 1);
    assert_true(span_equals(span_text(command->route), conf->notify.program.command));
    assert_int_equal(command->kind, PIPE_ONCE);
    assert_true(command->is_told && command->most == 2 && command->memory_bytes == 256 << 20);
    assert_true(span_starts_with(span_text(command->environment[0]), SPAN_LIT("PATH=")));
    assert_null(command->environment[1]);
    assert_true(span_is(conf->notify.secret, "s3cret-token"));
    assert_string_equal(conf->notify.server.host, "ops.example");
    assert_int_equal(conf->notify.server.port, 8443);
    assert_true(span_is(conf->notify.server.path, "/held") && conf->notify.server.tls != NULL);
    assert_int_equal(conf->name_count, 1); /* workers resolve and reach the upstream, and not who is told */
    conf_free(&conf);
}

TEST_CASE(test_no_route_is_named_like_it)
{
    struct faults faults;
    struct conf *conf;

    put_file("callgate.yaml", "routes: [{name: (notify), path: /a, upstream: {command: [sh]}, identity: [{api_key: X-API-Key}]}]\n",
             0644);
    faults_init(&faults);
    assert_int_equal(conf_load(conf_path, &conf, &faults, NULL), CODE_INVALID);
}

TEST_CASE(test_out_of_memory)
{
    static const char text[] = "routes: [{name: a, path: /a, identity: [{api_key: X-API-Key}],\n"
                               "  upstream: {command: [sh, -c, x], env: {A: {file: shop.token}}}}]\n"
                               "notify: {run: [sh], url: 'http://127.0.0.1:1/x', secret: {file: shop.token}}\n";
    enum code code = CODE_NOMEM;
    uint64_t nth = 0;

    put_file("callgate.yaml", text, 0644);
    while (code != CODE_OK && nth < 2000) {
        struct faults faults;
        struct conf *conf;

        faults_init(&faults);
        mem_fail_at(++nth, 1);
        code = conf_load(conf_path, &conf, &faults, NULL);
        mem_fail_at(0, 0);
        conf_free(&conf);
    }
    assert_int_equal(code, CODE_OK);
    assert_true(nth > 10);
}

TEST_MAIN(setup, teardown)
