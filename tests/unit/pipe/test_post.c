/* SPDX-License-Identifier: Apache-2.0 */
/* A line of an agent's as a request to the gate: what its head repeats, and what it never can (5.2, 5.11). */
#include "fakes/cm.h"

#include "pipe/agent_priv.h"

#include <stdio.h>
#include <stdlib.h>

static struct pipe_agent agent;
static char text[1 << 16];

/* The request as it goes to the gate; "" where it cannot be written. */
static const char *written(const char *line)
{
    struct post *post = post__of_line(span_text(line));
    struct buf out;
    enum code code;

    assert_non_null(post);
    post->number = 7;
    buf_init(&out, sizeof text - 1);
    code = post__write(post, &agent, &out);
    text[0] = '\0';
    if (code == CODE_OK) {
        memcpy(text, buf_peek(&out).at, buf_len(&out));
        text[buf_len(&out)] = '\0';
    }
    buf_fini(&out);
    post__free(&post);
    return text;
}

static void has(const char *line, const char *part)
{
    if (strstr(written(line), part) == NULL)
        fail_msg("%s: no %s in %s", line, part, text);
}

static void has_not(const char *line, const char *part)
{
    if (strstr(written(line), part) != NULL)
        fail_msg("%s: %s in %s", line, part, text);
}

static int setup(void **state)
{
    (void)state;
    memset(&agent, 0, sizeof agent);
    buf_init(&agent.session, 1024);
    buf_init(&agent.version, 64);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buf_fini(&agent.session);
    buf_fini(&agent.version);
    return 0;
}

#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"
#define MODERN(method, more) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{" more META "}}"

TEST_CASE_WITH(a_modern_line_says_in_its_head_what_its_body_says, setup, teardown)
{
    has(MODERN("tools/call", "\"name\":\"echo\","), "\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n");
    has(MODERN("resources/read", "\"uri\":\"file:///a\","), "\r\nMcp-Name: file:///a\r\n");
    has(MODERN("tasks/get", "\"taskId\":\"t-1\","), "\r\nMcp-Name: t-1\r\n");
    has(MODERN("tools/call", "\"name\":\"gr\xc3\xbc\xc3\x9f\","), "\r\nMcp-Name: =?base64?Z3LDvMOf?=\r\n");
    has(MODERN("tools/call", "\"name\":\" a\","), "\r\nMcp-Name: =?base64?IGE=?=\r\n");
    has(MODERN("tools/call", "\"name\":\"=?base64?eA==?=\","), "\r\nMcp-Name: =?base64?PT9iYXNlNjQ/ZUE9PT89?=\r\n");
    has_not(MODERN("tools/list", ""), "Mcp-Name");
    has_not(MODERN("tools/call", "\"name\":7,"), "Mcp-Name");
}

/* 6.14: a version that finds no room is not said, whole or in part; the gate refuses what lacks one. */
TEST_CASE_WITH(a_version_beyond_measure_is_left_out, setup, teardown)
{
    char line[4096], version[2001];

    for (size_t len = 1000; len <= 2000; len += 1000) {
        memset(version, len > 1024 ? 'v' : '\x01', len); /* the short one grows in base64 */
        version[len] = '\0';
        for (size_t i = 0; len < 1024 && i + 1 < len; i += 2)
            memcpy(version + i, "\xc3\xbc", 2);
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
                 "\"io.modelcontextprotocol/protocolVersion\":\"%s\"}}}", version);
        has(line, "Callgate-Line: 7");
        has_not(line, "MCP-Protocol-Version");
    }
}

TEST_CASE_WITH(no_line_writes_a_header_of_its_own, setup, teardown)
{
    has_not(MODERN("tools/call", "\"name\":\"a\\r\\nX-Evil: 1\","), "X-Evil: 1\r\n");
    has_not(MODERN("a\\r\\nX-Evil: 1", ""), "\r\nX-Evil");
    has_not(MODERN("gr\xc3\xbc", ""), "Mcp-Method");
    has("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}", "\r\nContent-Length: 37\r\n");
}

TEST_CASE_WITH(what_cannot_be_read_goes_up_as_it_came, setup, teardown)
{
    has("no json", "\r\n\r\nno json");
    has("{\"a\":1,\"a\":2}", "\r\n\r\n{\"a\":1,\"a\":2}");
    has_not("{\"jsonrpc\":\"2.0\",\"method\":\"x\"} {}", "Mcp-");
}

TEST_CASE_WITH(an_older_line_names_its_session, setup, teardown)
{
    const char *line = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}";

    assert_int_equal(buf_add_text(&agent.session, "s.1"), CODE_OK);
    assert_int_equal(buf_add_text(&agent.version, "2025-06-18"), CODE_OK);
    has(line, "\r\nMcp-Session-Id: s.1\r\nMCP-Protocol-Version: 2025-06-18\r\n");
    has(line, "\r\nCallgate-Line: 7\r\n");
    has_not(MODERN("tools/list", ""), "Mcp-Session-Id");
    has_not("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", "Mcp-Session-Id");
    agent.conf.key_header = SPAN_LIT("X-API-Key");
    agent.conf.key = SPAN_LIT("cg_k");
    has(line, "\r\nX-API-Key: cg_k\r\n");
    agent.conf.key = SPAN_LIT("cg_k\r\nX: y");
    assert_string_equal(written(line), "");
}

TEST_MAIN(NULL, NULL)
