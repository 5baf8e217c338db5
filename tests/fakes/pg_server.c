/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/pg_server.h"
#include "fakes/cm.h"
#include "fakes/folder.h"

#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct pg_server pg_server;

static void text_of(const char *line, const char *name, char *out, size_t size)
{
    char key[32];
    const char *at;

    (void)snprintf(key, sizeof key, "\"%s\": \"", name);
    at = strstr(line, key);
    assert_non_null(at);
    (void)snprintf(out, size, "%.*s", (int)strcspn(at + strlen(key), "\""), at + strlen(key));
}

int pg_server_start(void **state)
{
    int in[2], out[2];
    char line[2048];

    (void)state;
    (void)snprintf(pg_server.folder, sizeof pg_server.folder, "/tmp/callgate-pg-XXXXXX");
    if (mkdtemp(pg_server.folder) == NULL || pipe(in) != 0 || pipe(out) != 0)
        return -1;
    pg_server.pid = fork();
    if (pg_server.pid == 0) {
        (void)dup2(in[0], 0);
        (void)dup2(out[1], 1);
        for (int fd = 3; fd < 64; fd++)
            (void)close(fd);
        execlp("python3", "python3", "tests/integration/lib/fleet.py", pg_server.folder, (char *)NULL);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    pg_server.to = fdopen(in[1], "w");
    pg_server.from = fdopen(out[0], "r");
    if (fgets(line, sizeof line, pg_server.from) == NULL)
        return -1;
    text_of(line, "url", pg_server.url, sizeof pg_server.url);
    text_of(line, "local", pg_server.local, sizeof pg_server.local);
    text_of(line, "root", pg_server.root, sizeof pg_server.root);
    text_of(line, "port", pg_server.port, sizeof pg_server.port);
    return 0;
}

int pg_server_finish(void **state)
{
    int status;

    (void)state;
    (void)fclose(pg_server.to);
    (void)waitpid(pg_server.pid, &status, 0);
    (void)fclose(pg_server.from);
    folder_remove(pg_server.folder);
    return 0;
}

void pg_server_tell(const char *word)
{
    char line[256];

    (void)fprintf(pg_server.to, "%s\n", word);
    (void)fflush(pg_server.to);
    do
        assert_non_null(fgets(line, sizeof line, pg_server.from));
    while (strcmp(line, "done\n") != 0); /* fleet.py says what it waited for, too */
}

struct pg *pg_server_open(struct pg_place place)
{
    struct why why = {0};
    struct pg *pg;

    if (pg_open(&place, "callgate test", &pg, &why) != CODE_OK)
        fail_msg("%s", why.text);
    return pg;
}

void pg_server_ask(struct pg *pg, const char *sql)
{
    struct why why = {0};

    if (pg_ask(pg, sql, NULL, 0, NULL, &why) != CODE_OK)
        fail_msg("%s: %s", sql, why.text);
}

int64_t pg_server_number(struct pg *pg, const char *sql)
{
    struct why why = {0};
    struct pg_rows *rows;
    int64_t found;

    if (pg_ask(pg, sql, NULL, 0, &rows, &why) != CODE_OK)
        fail_msg("%s: %s", sql, why.text);
    assert_int_equal(pg_rows_count(rows), 1);
    found = pg_rows_int(rows, 0, 0);
    pg_rows_free(&rows);
    return found;
}

bool pg_server_is_there(void)
{
    glob_t found = {0};
    bool is_there = glob("/usr/lib/postgresql/*/bin/postgres", 0, NULL, &found) == 0;

    globfree(&found);
    (void)signal(SIGPIPE, SIG_IGN);
    if (!is_there)
        (void)printf("there is no PostgreSQL here; tools/install-deps --tests installs it\n");
    return is_there;
}
