/* SPDX-License-Identifier: Apache-2.0 */
/* Where an `endpoint` event sends the client: to the server that is asked already, or nowhere. */
#include "fakes/cm.h"

#include <stdio.h>

#include "mcp/endpoint.h"

#include <string.h>

static enum code resolve(const char *reference, bool is_tls, char text[1024])
{
    const struct mcp_endpoint_base base = {is_tls, SPAN_LIT("tools.example:8443"), SPAN_LIT("/v1/sse")};
    struct buf out;
    enum code code;

    buf_init(&out, 1 << 16);
    code = mcp_endpoint_resolve(span_text(reference), &base, &out);
    assert_int_equal(buf_code(&out), code);
    (void)snprintf(text, 1024, "%.*s", SPAN_ARG(code == CODE_OK ? buf_peek(&out) : SPAN_LIT("")));
    buf_fini(&out);
    return code;
}

TEST_CASE(stays) /* 5.4 */
{
    static const char *const rows[][2] = {
        {"/messages/?session_id=0a1b", "/messages/?session_id=0a1b"},
        {"/message?sessionId=1-2", "/message?sessionId=1-2"},
        {"https://tools.example:8443/messages", "/messages"},
        {"HTTPS://Tools.Example:8443/m?x=http://other/", "/m?x=http://other/"},
        {"messages?a=1", "/v1/messages?a=1"},
        {"/.../%2e%2e%2e/%2", "/.../%2e%2e%2e/%2"},
        {"?a=1:2", "/v1/sse?a=1:2"},
        {"/", "/"},
    };
    char text[1024];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(resolve(rows[i][0], true, text), CODE_OK);
        assert_string_equal(text, rows[i][1]);
    }
}

TEST_CASE(points_elsewhere) /* 5.4, 5.23 */
{
    static const char *const others[] = {
        "https://evil.example/messages", "http://tools.example:8443/messages", "https://tools.example/messages", "//evil.example/m",
        "https://tools.example:8443@evil.example/m", "https://tools.example:8443.evil.example/m", "file:///etc/passwd",
        "javascript:1", "mailto:a", "https:/messages",
    };
    static const char *const wrong[] = {
        "", "/a b", "/a#b", "/a\r\nHost: x", "/a\"b", "/a'b", "/\\evil", "/../x", "/a/./b", "..",
        "/%2e%2E/x", "/a/.%2e", "https://tools.example:8443",
        "https://tools.example:8443?x", "/\xc3\xa9", "https://tools.example:8443//evil.example/m",
    };
    char text[1024], longer[600];

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(resolve(others[i], true, text), CODE_DENIED);
        assert_string_equal(text, "");
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(resolve(wrong[i], true, text), CODE_INVALID);
        assert_string_equal(text, "");
    }
    assert_int_equal(resolve("https://tools.example:8443/m", false, text), CODE_DENIED);
    memset(longer, 'a', sizeof longer - 1);
    longer[0] = '/';
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(resolve(longer, true, text), CODE_INVALID);
    longer[MCP_ENDPOINT_MAX_BYTES] = '\0';
    assert_int_equal(resolve(longer, true, text), CODE_OK);
}

TEST_MAIN(NULL, NULL)
