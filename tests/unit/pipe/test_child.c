/* SPDX-License-Identifier: Apache-2.0 */
/* The converter before real processes: small scripts that say what they should, and what they should not (5.12, 5.23). */
#include "fakes/cm.h"

#include "base/log.h"
#include "base/mem.h"
#include "os/clock.h"
#include "pipe/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_US INT64_C(120000000) /* what is waited for comes, however busy the machine is */

struct bench {
    struct loop *loop;
    struct pipe_child *child;
    int ended, status;
    char got[4][1 << 17]; /* of each connection */
    size_t len[4];
    int fd[4];
};

static struct bench bench;

static void has_ended(void *context, int status)
{
    (void)context;
    bench.ended++;
    bench.status = status;
}

static struct pipe_child_conf conf_of(const char *const *argv)
{
    return (struct pipe_child_conf){.loop = bench.loop, .name = "shop", .argv = argv, .ended = has_ended};
}

/* valgrind 3.19 knows no pidfd_open, without which no program is started. */
static void skip_where_none_starts(void)
{
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

    if (fd < 0 && errno == ENOSYS && getenv("CALLGATE_VALGRIND") != NULL)
        skip();
    if (fd >= 0)
        close(fd);
}

static void begin(const struct pipe_child_conf *conf)
{
    struct why why = {""};
    enum code code;

    skip_where_none_starts();
    code = pipe_child_start(conf, &bench.child, &why);
    if (code != CODE_OK)
        fail_msg("%s", why.text);
}

static void begin_python(const char *text)
{
    const char *argv[] = {"python3", "-uc", text, NULL};
    struct pipe_child_conf conf = conf_of(argv);

    begin(&conf);
}

static void dial(size_t at)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(pipe_child_serve(bench.child, ends[1]), CODE_OK);
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    bench.fd[at] = ends[0];
    bench.len[at] = 0;
    bench.got[at][0] = '\0';
}

static void turn(void)
{
    assert_int_equal(loop_turn(bench.loop, 20000), CODE_OK);
    for (size_t i = 0; i < 4; i++) {
        ssize_t got = bench.fd[i] >= 0 ? read(bench.fd[i], bench.got[i] + bench.len[i], sizeof bench.got[i] - 1 - bench.len[i])
                                       : 0;

        bench.len[i] += got > 0 ? (size_t)got : 0;
        bench.got[i][bench.len[i]] = '\0';
    }
}

static void wait_for(size_t at, const char *text)
{
    int64_t until = clock_monotonic_us() + WAIT_US;

    while (strstr(bench.got[at], text) == NULL && clock_monotonic_us() < until)
        turn();
    if (strstr(bench.got[at], text) == NULL)
        fail_msg("no %s in: %s", text, bench.got[at]);
}

static void wait_ended(void)
{
    int64_t until = clock_monotonic_us() + WAIT_US;

    while (bench.ended == 0 && clock_monotonic_us() < until)
        turn();
    assert_int_equal(bench.ended, 1);
    assert_true(pipe_child_is_over(bench.child));
}

static void some_turns(void)
{
    for (int i = 0; i < 10; i++)
        turn();
}

static void post(size_t at, const char *body)
{
    char head[256];
    int len = snprintf(head, sizeof head, "POST /mcp HTTP/1.1\r\nHost: child\r\nContent-Type: application/json\r\n"
                       "Content-Length: %zu\r\n\r\n", strlen(body));

    if (bench.fd[at] < 0)
        dial(at);
    assert_int_equal(write(bench.fd[at], head, (size_t)len), len);
    assert_int_equal(write(bench.fd[at], body, strlen(body)), strlen(body));
}

static void get(size_t at)
{
    static const char text[] = "GET /mcp HTTP/1.1\r\nHost: child\r\nAccept: text/event-stream\r\n\r\n";

    dial(at);
    assert_int_equal(write(bench.fd[at], text, sizeof text - 1), sizeof text - 1);
}

static void hang_up(size_t at)
{
    (void)close(bench.fd[at]);
    bench.fd[at] = -1;
}

static int setup(void **state)
{
    (void)state;
    memset(&bench, 0, sizeof bench);
    for (size_t i = 0; i < 4; i++)
        bench.fd[i] = -1;
    (void)signal(SIGPIPE, SIG_IGN);
    log_init(LOG_INFO, LOG_JSON);
    return loop_new(&bench.loop);
}

static int teardown(void **state)
{
    (void)state;
    pipe_child_free(&bench.child);
    for (size_t i = 0; i < 4; i++)
        if (bench.fd[i] >= 0)
            (void)close(bench.fd[i]);
    loop_free(&bench.loop);
    return 0;
}

#define ECHO "import sys,json\n" \
    "for l in sys.stdin:\n" \
    "  m=json.loads(l)\n" \
    "  if 'id' in m: print(json.dumps({'jsonrpc':'2.0','id':m['id'],'result':m}))\n"

/* 5.12: the answer comes under the asker's id, whatever the child was told; nothing else: as JSON. */
TEST_CASE_WITH(test_answer, setup, teardown)
{
    begin_python(ECHO);
    post(0, "{\"jsonrpc\":\"2.0\",\"id\":\"a b\",\"method\":\"tools/call\",\"params\":{\"_meta\":{\"progressToken\":\"t\"}}}");
    wait_for(0, "}}}");
    assert_non_null(strstr(bench.got[0], "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(bench.got[0], "{\"jsonrpc\":\"2.0\",\"id\":\"a b\",\"result\":{\"jsonrpc\":\"2.0\",\"id\":1,"
                                         "\"method\":\"tools/call\",\"params\":{\"_meta\":{\"progressToken\":1}}}}"));
    post(0, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    wait_for(0, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    pipe_child_end(bench.child);
    wait_ended();
    assert_true(WIFEXITED(bench.status) && WEXITSTATUS(bench.status) == 0);
}

/* 5.12: what was said before the answer comes before it, on the same stream, under the asker's token. */
TEST_CASE_WITH(test_order, setup, teardown)
{
    const char *first, *second;

    begin_python("import sys,json\n"
                 "for l in sys.stdin:\n"
                 "  m=json.loads(l); t=m['params']['_meta']['progressToken']\n"
                 "  print(json.dumps({'jsonrpc':'2.0','method':'notifications/progress','params':{'progressToken':t,'progress':1}}))\n"
                 "  print(json.dumps({'jsonrpc':'2.0','method':'notifications/message','params':{'data':'hm'}}))\n"
                 "  print(json.dumps({'jsonrpc':'2.0','id':m['id'],'result':{}}))\n");
    post(0, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"_meta\":{\"progressToken\":\"mine\"}}}");
    wait_for(0, "\r\n0\r\n\r\n");
    assert_non_null(strstr(bench.got[0], "Content-Type: text/event-stream\r\n"));
    first = strstr(bench.got[0], "\"progressToken\":\"mine\"");
    second = strstr(bench.got[0], "\"hm\"");
    assert_true(first != NULL && second > first && strstr(second, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}") != NULL);
}

/* 5.12: two askers with one id and one token get each their own; an answer to what nobody asked, or a second one, nobody. */
TEST_CASE_WITH(test_ids_apart, setup, teardown)
{
    begin_python("import sys,json\n"
                 "a=json.loads(sys.stdin.readline()); b=json.loads(sys.stdin.readline())\n"
                 "for m in (b,a,a): print(json.dumps({'jsonrpc':'2.0','id':m['id'],'result':m['method']}))\n"
                 "print('{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":\"nobody\"}')\n"
                 "sys.stdin.read()\n");
    post(0, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"one\"}");
    some_turns();
    post(1, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"two\"}");
    wait_for(0, "\"id\":1,\"result\":\"one\"}");
    wait_for(1, "\"id\":1,\"result\":\"two\"}");
    some_turns();
    assert_null(strstr(bench.got[0], "nobody"));
    assert_null(strstr(bench.got[1], "nobody"));
    assert_null(strstr(strstr(bench.got[0], "\"one\"") + 1, "HTTP/1.1"));
}

/* 5.23: two lines at once, a line in pieces, what is no message, half a line at the end. */
TEST_CASE_WITH(test_odd_lines, setup, teardown)
{
    begin_python("import sys,os,time\n"
                 "sys.stdin.readline()\n"
                 "os.write(1,b'hello\\n{}\\n[]\\n\\n\\xff\\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\\n"
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"res')\n"
                 "time.sleep(.2)\n"
                 "os.write(1,b'ult\":{}}\\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":')\n");
    post(0, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"ping\"}");
    wait_for(0, "\"id\":\"x\",\"result\":{}}");
    assert_non_null(strstr(bench.got[0], "notifications/x"));
    assert_null(strstr(bench.got[0], "hello"));
    wait_ended();
}

/* 5.23, 10.18: a line that is too long goes by: who asked for it gets an error, and so does the child for its own question. */
TEST_CASE_WITH(test_long_line, setup, teardown)
{
    begin_python("import sys,json; read=lambda: json.loads(sys.stdin.readline())\n"
                 "big='\"'+'x'*9000000+'\"'; n=read()['id']\n"
                 "print('{\"params\":%s,\"method\":\"roots/list\",\"id\":\"q\"}\\n%s\\n{\"result\":%s,\"id\":%d}'%(big,big,big,n))\n"
                 "said=read(); print(json.dumps({'jsonrpc':'2.0','id':read()['id'],'result':said})); read()\n");
    post(0, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    wait_for(0, "\"id\":1,\"error\":{\"code\":5030,\"message\":\"The server's answer is too large.\"}}");
    post(0, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
    (void)state, wait_for(0, "\"id\":2,\"result\":{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"error\":{\"code\":-32600");
}

/* 5.23: what a child does not read is bounded: who asks more is told so, and nothing is kept for him. */
TEST_CASE_WITH(test_deaf, setup, teardown)
{
    static char body[60000];
    unsigned taken = 0;

    begin_python("import time\ntime.sleep(600)\n");
    (void)snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"a\":\"%0*d\"}}", 59000, 7);
    do {
        if (bench.fd[0] >= 0)
            hang_up(0);
        post(0, body);
        wait_for(0, "\r\n\r\n");
        taken++;
    } while (strstr(bench.got[0], "HTTP/1.1 202") != NULL && taken < 100);
    assert_non_null(strstr(bench.got[0], "HTTP/1.1 503 "));
    assert_in_range(taken, 17, 24); /* 1 MiB, and what the pipe holds */
    pipe_child_signal(bench.child, SIGTERM);
    wait_ended();
}

/* 5.23: a child that says nothing holds its asker only as long as that waits; one that ends, not at all. */
TEST_CASE_WITH(test_silence, setup, teardown)
{
    begin_python("import sys\nsys.stdin.readline(); sys.stdin.readline()\nsys.exit(3)\n");
    post(0, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    some_turns();
    assert_int_equal(bench.len[0], 0);
    post(1, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    wait_for(0, "HTTP/1.1 502 ");
    wait_for(1, "HTTP/1.1 502 ");
    wait_ended();
    assert_int_equal(WEXITSTATUS(bench.status), 3);
    post(0, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
    wait_for(0, "process is not there");
}

/* Time that goes fifty times as fast. */
static int64_t hurry(void *context)
{
    (void)context;
    return clock_monotonic_us() * 50;
}

/* 5.23: SIGTERM is asked of, SIGKILL is not; what the child forked into its group goes with it. */
TEST_CASE_WITH(test_stubborn, setup, teardown)
{
    char *at;
    pid_t grandchild;

    loop_use_clock(bench.loop, hurry, NULL);
    begin_python("import sys,os,signal,time,json\n"
                 "signal.signal(signal.SIGTERM,signal.SIG_IGN)\n"
                 "p=os.fork()\n"
                 "if p==0:\n"
                 "  time.sleep(600)\n"
                 "m=json.loads(sys.stdin.readline())\n"
                 "print(json.dumps({'jsonrpc':'2.0','id':m['id'],'result':p}))\n"
                 "while True: time.sleep(600)\n");
    post(0, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    wait_for(0, "}");
    at = strstr(bench.got[0], "\"result\":");
    assert_non_null(at);
    grandchild = (pid_t)strtol(at + 9, NULL, 10);
    assert_int_equal(kill(grandchild, 0), 0);
    pipe_child_end(bench.child);
    wait_ended();
    assert_true(WIFSIGNALED(bench.status) && WTERMSIG(bench.status) == SIGKILL);
    for (int i = 0; i < 200 && kill(grandchild, 0) == 0; i++) {
        char path[64], text[512] = "";
        FILE *file;

        (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)grandchild);
        file = fopen(path, "r");
        if (file == NULL || fgets(text, sizeof text, file) == NULL || strstr(text, ") Z ") != NULL) {
            if (file != NULL)
                (void)fclose(file);
            return; /* nobody has waited for it yet, but it is dead */
        }
        (void)fclose(file);
        (void)usleep(10000);
    }
    assert_int_not_equal(kill(grandchild, 0), 0);
}

/* 5.23: a leader that ends, while what it forked holds its stdout, ends the child all the same. */
TEST_CASE_WITH(test_left_behind, setup, teardown)
{
    begin_python("import os,sys,time\nif os.fork()==0: time.sleep(600)\nsys.exit(4)\n");
    wait_ended();
    assert_int_equal(WEXITSTATUS(bench.status), 4);
}

#define SAYS "import sys,json\n" \
    "for l in sys.stdin:\n" \
    "  m=json.loads(l)\n" \
    "  if m['method']=='notifications/cancelled':\n" \
    "    print(json.dumps({'jsonrpc':'2.0','method':'notifications/seen','params':m['params']}))\n" \
    "  if m['method']=='ping': print(json.dumps({'jsonrpc':'2.0','id':m['id'],'result':{}}))\n"

/* 5.12, 5.3: whoever hangs up cancels a request of 2026-07-28, and no other; what belongs to no request waits for a GET. */
TEST_CASE_WITH(test_cancel, setup, teardown)
{
    begin_python(SAYS);
    post(0, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"slow\",\"params\":{}}");
    post(1, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"slow\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
            "\"2026-07-28\"}}}");
    some_turns();
    hang_up(0), hang_up(1), some_turns();
    get(2);
    wait_for(2, "\"requestId\":2");
    assert_null(strstr(bench.got[2], "\"requestId\":1"));
    /* An asker of an older revision says so itself, and its number becomes ours. */
    post(3, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"slow\"}");
    some_turns();
    post(0, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"q\"}}");
    wait_for(0, "202");
    wait_for(3, "\"id\":\"q\",\"error\":{\"code\":5030");
    wait_for(2, "\"requestId\":3");
}

/* 5.3: a subscription is known by the number of its request, which is ours on the child's side and the asker's on his; what is
 * said meanwhile of another request is that one's. */
TEST_CASE_WITH(test_listen, setup, teardown)
{
    begin_python("import sys,json\n"
                 "K='io.modelcontextprotocol/subscriptionId'\n"
                 "a,b,c=[json.loads(sys.stdin.readline()) for i in range(3)]\n"
                 "print(json.dumps({'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':c['id']}}))\n"
                 "for i in (a['id'],987654): print(json.dumps({'jsonrpc':'2.0','method':'notifications/tools/list_changed',"
                 "'params':{'_meta':{K:i}}}))\n"
                 "print(json.dumps({'jsonrpc':'2.0','method':'notifications/message','params':{'data':'of b'}}))\n"
                 "print(json.dumps({'jsonrpc':'2.0','id':b['id'],'error':{'code':-32601,'message':'no'}}))\n"
                 "print(json.dumps({'jsonrpc':'2.0','id':a['id'],'result':{'_meta':{K:a['id']}}}))\n"
                 "sys.stdin.read()\n");
    post(0, "{\"jsonrpc\":\"2.0\",\"id\":\"sub\",\"method\":\"subscriptions/listen\",\"params\":{\"_meta\":{"
            "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}");
    some_turns();
    post(1, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"other\",\"params\":{\"_meta\":{"
            "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}");
    post(2, "{\"jsonrpc\":\"2.0\",\"id\":\"sub\",\"method\":\"subscriptions/listen\"}");
    wait_for(2, "HTTP/1.1 502 ");
    wait_for(0, "\r\n0\r\n\r\n");
    assert_non_null(strstr(bench.got[0], "list_changed\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"sub\"}}}"));
    assert_non_null(strstr(bench.got[0], "{\"jsonrpc\":\"2.0\",\"id\":\"sub\",\"result\":{\"_meta\":{"
                                         "\"io.modelcontextprotocol/subscriptionId\":\"sub\"}}}"));
    assert_true(strstr(bench.got[0], "987654") == NULL && strstr(bench.got[0], "of b") == NULL);
    assert_true(strstr(bench.got[1], "of b") != NULL && strstr(bench.got[1], "requestId") == NULL);
}

/* 5.12: what is shared is initialized once; nobody is asked on behalf of all, and no word reaches the wrong one. */
TEST_CASE_WITH(test_shared, setup, teardown)
{
    static const char script[] =
        "import sys,json\nn=0\n"
        "for l in sys.stdin:\n"
        "  m=json.loads(l)\n"
        "  if m.get('method')=='initialize':\n"
        "    n+=1\n"
        "    print(json.dumps({'jsonrpc':'2.0','id':m['id'],'result':{'n':n,'caps':m['params']['capabilities']}}))\n"
        "  if m.get('method')=='go':\n"
        "    print(json.dumps({'jsonrpc':'2.0','id':900,'method':'sampling/createMessage'}))\n"
        "    print(json.dumps({'jsonrpc':'2.0','method':'notifications/message','params':{'data':'secret'}}))\n"
        "    print(json.dumps({'jsonrpc':'2.0','method':'notifications/tools/list_changed'}))\n"
        "    print(json.dumps({'jsonrpc':'2.0','id':m['id'],'result':json.loads(sys.stdin.readline())}))\n";
    const char *argv[] = {"python3", "-uc", script, NULL};
    struct pipe_child_conf conf = conf_of(argv);

    conf.is_shared = conf.refuses_questions = true;
    begin(&conf);
    post(0, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"capabilities\":{\"sampling\":{}}}}");
    post(1, "{\"jsonrpc\":\"2.0\",\"id\":\"z\",\"method\":\"initialize\",\"params\":{\"capabilities\":{}}}");
    wait_for(0, "\"id\":0,\"result\":{\"n\":1,\"caps\":{}}}");
    wait_for(1, "\"id\":\"z\",\"result\":{\"n\":1,\"caps\":{}}}");
    get(2);
    wait_for(2, "text/event-stream");
    post(1, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"go\"}");
    wait_for(1, "\"id\":3,\"result\":{\"jsonrpc\":\"2.0\",\"id\":900,\"error\":{\"code\":-32601");
    wait_for(2, "list_changed");
    some_turns();
    assert_null(strstr(bench.got[0], "secret"));
    assert_null(strstr(bench.got[1], "secret"));
    assert_null(strstr(bench.got[2], "secret"));
}

/* 5.12, 5.23: whoever asks first may go, and many may have gone after her: the others are answered, and so is who comes later. */
TEST_CASE_WITH(test_first_gone, setup, teardown)
{
    static const char script[] = "import sys,json\n"
                                 "first=json.loads(sys.stdin.readline())\n"
                                 "for i in range(301): sys.stdin.readline()\n"
                                 "print(json.dumps({'jsonrpc':'2.0','id':first['id'],'result':{'n':1}}))\n"
                                 "sys.stdin.readline()\n";
    const char *argv[] = {"python3", "-uc", script, NULL};
    struct pipe_child_conf conf = conf_of(argv);
    char batch[300 * 48 + 2];
    size_t len = 0;

    conf.is_shared = true;
    begin(&conf);
    post(0, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}");
    some_turns();
    hang_up(0);
    post(1, "{\"jsonrpc\":\"2.0\",\"id\":\"waits\",\"method\":\"initialize\",\"params\":{}}");
    for (int i = 0; i < 300; i++)
        len += (size_t)snprintf(batch + len, sizeof batch - len,
                                "%c{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}", i == 0 ? '[' : ',', i);
    (void)snprintf(batch + len, sizeof batch - len, "]");
    post(2, batch);
    some_turns();
    hang_up(2);
    some_turns();
    post(3, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/go\"}");
    wait_for(1, "\"id\":\"waits\",\"result\":{\"n\":1}}");
    post(3, "{\"jsonrpc\":\"2.0\",\"id\":\"late\",\"method\":\"initialize\",\"params\":{}}");
    wait_for(3, "\"id\":\"late\",\"result\":{\"n\":1}}");
}

/* 5.12: what names no request goes to nobody where two wait that have no session in common; each alone gets it. */
TEST_CASE_WITH(test_whose_message, setup, teardown)
{
    static const char ask[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"go\",\"params\":{\"_meta\":{"
                              "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}";
    static const char script[] = "import sys,json\n"
        "def say(**m): print(json.dumps({'jsonrpc':'2.0',**m}))\n"
        "def read(): return json.loads(sys.stdin.readline())\n"
        "a,b=read(),read()\n"
        "say(method='notifications/message',params='whose'); say(id=9,method='whose')\n"
        "say(id=a['id'],result=read()['error'])\n"
        "say(method='notifications/message',params='hers'); say(id=b['id'],result={}); read()\n";
    const char *argv[] = {"python3", "-uc", script, NULL};
    struct pipe_child_conf conf = conf_of(argv);

    conf.is_shared = true;
    begin(&conf);
    post(0, ask), some_turns(), post(1, ask);
    wait_for(0, "\"result\":{\"code\":-32601");
    wait_for(1, "\"result\":{}");
    assert_true(strstr(bench.got[0], "whose") == NULL && strstr(bench.got[1], "whose") == NULL);
    assert_true(strstr(bench.got[0], "hers") == NULL && strstr(bench.got[1], "hers") != NULL);
}

/* 5.4: a batch goes in as lines and is answered on one stream. */
TEST_CASE_WITH(test_batch, setup, teardown)
{
    begin_python(ECHO);
    post(0, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\\"]\"},{\"jsonrpc\":\"2.0\",\"method\":\"n\"},"
            "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"b\"}]");
    wait_for(0, "\r\n0\r\n\r\n");
    assert_non_null(strstr(bench.got[0], "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{"));
    assert_non_null(strstr(bench.got[0], "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{"));
    post(0, "{\"no\":\"message\"}");
    wait_for(0, "HTTP/1.1 400 ");
}

/* 5.4, 5.12, 5.23: a member that takes back the one before it does not end the reply before the last was told. */
TEST_CASE_WITH(test_batch_cancels_itself, setup, teardown)
{
    begin_python(ECHO);
    post(0, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"},"
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}},"
            "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}]");
    wait_for(0, "\r\n0\r\n\r\n");
    assert_non_null(strstr(bench.got[0], "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":5030"));
    assert_non_null(strstr(bench.got[0], "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{"));
}

/* 5.10: one process a request; what fails is 502, and so is what is not whole. */
TEST_CASE_WITH(test_okso, setup, teardown)
{
    static const char script[] = "import sys,json\nm=json.load(sys.stdin)\n"
                                 "if m['action']=='bad': sys.exit(3)\n"
                                 "if m['action']=='half': print('{'); sys.exit(0)\n"
                                 "print(json.dumps({'type':'result','result':m},indent=2))\n";
    const char *argv[] = {"python3", "-c", script, NULL};
    struct pipe_child_conf conf = conf_of(argv);

    conf.kind = PIPE_ONCE;
    begin(&conf);
    post(0, "{\"action\":\"list_tools\"}");
    wait_for(0, "{\"type\":\"result\",\"result\":{\"action\":\"list_tools\"}}");
    post(1, "{\"action\":\"bad\"}");
    wait_for(1, "HTTP/1.1 502 ");
    post(2, "{\"action\":\"half\"}");
    wait_for(2, "HTTP/1.1 502 ");
    pipe_child_end(bench.child);
    wait_ended();
}

/* A program that is not there is told at once; an environment is what it is said to be; a descriptor is none of its business. */
TEST_CASE_WITH(test_start, setup, teardown)
{
    const char *const nothing[] = {"/no/such/program", NULL};
    const char *const argv[] = {"/usr/bin/env", "python3", "-uc",
        "import sys,json,os,resource as r\nm=json.loads(sys.stdin.readline())\n"
        "print(json.dumps({'jsonrpc':'2.0','id':m['id'],'result':[sorted({*os.environ}-{'LC_CTYPE'}),sorted(int(f) for f in "
        "os.listdir('/proc/self/fd') if int(f)<50)[:3],os.getpgid(0)==os.getpid(),r.getrlimit(r.RLIMIT_DATA)[0]]}))\n", NULL};
    const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "TOKEN=x", NULL};
    struct pipe_child_conf conf = conf_of(nothing);
    struct why why = {""};

    assert_int_equal(pipe_child_start(&conf, &bench.child, &why), CODE_IO);
    assert_string_equal(why.text, "/no/such/program cannot be started: No such file or directory");
    conf = conf_of(argv);
    conf.environment = environment;
    conf.memory_bytes = (uint64_t)256 << 20;
    begin(&conf);
    post(0, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    wait_for(0, "\"result\":[[\"PATH\",\"TOKEN\"],[0,1,2],true,");
    wait_for(0, getenv("CALLGATE_EMULATOR") == NULL ? ",268435456]}" : "]}"); /* qemu takes no limits of memory */
}

TEST_MAIN(NULL, NULL)
