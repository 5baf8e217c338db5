/* SPDX-License-Identifier: Apache-2.0 */
/* Every way in which a call or a connection can end: the single source for code, counters, audit and docs.
 *
 * X(NAME, "audit name", blame, HTTP status, JSON-RPC code, denial code, "text for the agent and the docs")
 *
 * blame:        whose fault: NOBODY, AGENT, POLICY, UPSTREAM, GATE HTTP status:  of the gate's answer where the reason is
 * answered at HTTP level, 0 where it never is JSON-RPC:     code of the gate's error where the message is a request other than
 * tools/call; 0 where none is due denial code:  `code` in _meta["dev.callgate/denial"]: NONE, POLICY, APPROVAL, RATE,
 * UNAVAILABLE, MALFORMED The text never contains anything of a rule or a policy.
 *
 * To add a reason: one line here, one test that provokes it; `make` regenerates nothing else. */
#ifndef REASON_TABLE
#define REASON_TABLE(X)                                                                                                       \
    X(UNSET, "unset", GATE, 503, 5030, UNAVAILABLE, "The gate could not say why it refused.")                                  \
    /* verdicts */                                                                                                             \
    X(PERMITTED, "permitted", NOBODY, 0, 0, NONE, "A rule permits the call.")                                                  \
    X(NO_RULE, "no_rule", POLICY, 403, 4030, POLICY, "No rule permits the call.")                                              \
    X(AGENT_UNKNOWN, "agent_unknown", POLICY, 403, 4030, POLICY, "Which agent acts is not known, and calls here need one.")     \
    X(NO_AGENT_RULE, "no_agent_rule", POLICY, 403, 4030, POLICY, "No rule permits the call to this agent.")                    \
    X(METHOD_UNKNOWN, "method_unknown", POLICY, 403, -32601, POLICY, "Method not found.")                                      \
    X(FORBIDDEN, "forbidden", POLICY, 403, 4030, POLICY, "A rule forbids the call.")                                           \
    X(APPROVAL_REQUIRED, "approval_required", POLICY, 403, 4031, APPROVAL, "The call needs a person's approval.")              \
    X(APPROVAL_REFUSED, "approval_refused", POLICY, 403, 4030, POLICY, "A person has refused the call.")                       \
    X(APPROVAL_LIMIT, "approval_limit", POLICY, 429, 4290, RATE, "Too many calls wait for a person's approval.")               \
    X(STOPPED, "stopped", POLICY, 403, 4030, POLICY, "A person has stopped such calls; do not try again before they are resumed.") \
    X(STOPPED_AMID, "stopped_amid", POLICY, 403, 4030, POLICY,                                                                 \
      "A person has stopped the call while it was under way; what the server did of it is not undone.")                       \
    X(STOPS_UNKNOWN, "stops_unknown", GATE, 503, 5030, UNAVAILABLE, "The gate cannot read what people have stopped.")          \
    X(RATE_LIMITED, "rate_limited", POLICY, 429, 4290, RATE, "Too many calls; try again later.")                               \
    X(BATCH_DENIED, "batch_denied", POLICY, 403, 4030, POLICY, "Another message of the same batch was not permitted.")         \
    X(BATCH_ORDER, "batch_order", POLICY, 403, 4030, POLICY, "A rule asks what was called before; send the calls one by one.") \
    X(INNER_CALL, "inner_call", POLICY, 403, 4030, POLICY,                                                                      \
      "The call that this tool is to make cannot be read; name one tool and its arguments, as the tool has them.")              \
    X(DEFINITION_CHANGED, "definition_changed", POLICY, 403, 4030, POLICY,                                                      \
      "Nobody accepted the tool as it was last listed; list the tools again, or ask a person (`callgate tools accept`).")      \
    X(PLAN_REQUIRED, "plan_required", POLICY, 403, 4030, POLICY, "The call needs a signed plan, and came without one.")         \
    X(PLAN_STEP, "plan_step", POLICY, 403, 4030, POLICY, "The call is no step of its plan.")                                   \
    X(PLAN_USED, "plan_used", POLICY, 403, 4030, POLICY, "The step of the plan was used as often as it may be.")               \
    X(PLAN_ORDER, "plan_order", POLICY, 403, 4030, POLICY, "Another step of the plan comes first.")                            \
    X(PLAN_INVALID, "plan_invalid", AGENT, 403, 4030, POLICY, "The plan is not valid.")                                        \
    X(PLAN_ENDED, "plan_ended", AGENT, 403, 4030, POLICY, "The plan has ended, or has not begun.")                             \
    X(PLAN_FOREIGN, "plan_foreign", AGENT, 403, 4030, POLICY, "The plan is somebody else's.")                                  \
    X(NO_POLICY, "no_policy", GATE, 503, 5030, UNAVAILABLE, "The gate has no active policy.")                                  \
    X(STARTING, "starting", GATE, 503, 5030, UNAVAILABLE, "The gate reads what was called before; try again soon.")            \
    X(FLEET_STALE, "fleet_stale", GATE, 503, 5030, UNAVAILABLE, "The gate has not heard of its fleet for too long.")           \
    X(FLEET_BEHIND, "fleet_behind", GATE, 503, 5030, UNAVAILABLE, "The gate could not take its fleet's policy.")               \
    X(FLEET_FORKED, "fleet_forked", GATE, 503, 5030, UNAVAILABLE, "The gate's record is not the one that its fleet knows.")    \
    X(FLEET_AWAY, "fleet_away", GATE, 503, 5030, UNAVAILABLE, "The gate's fleet cannot be asked at the moment.")               \
    X(TOO_COSTLY, "too_costly", POLICY, 403, 4030, POLICY, "Judging the call would take too long.")                            \
    X(MEMORY, "memory", GATE, 503, 5030, UNAVAILABLE, "The gate is short of memory.")                                          \
    X(CONFIGURATION_DIFFERS, "configuration_differs", GATE, 503, 5030, UNAVAILABLE,                                             \
      "The gate runs another configuration than the pipe reads.")                                                              \
    X(AUDIT_DOWN, "audit_down", GATE, 503, 5030, UNAVAILABLE, "The gate cannot record calls at the moment.")                   \
    X(AUDIT_FULL, "audit_full", GATE, 503, 5030, UNAVAILABLE, "The gate cannot record calls fast enough.")                     \
    X(PRINCIPAL_LIMIT, "principal_limit", AGENT, 429, 4290, RATE, "Too many requests of this principal at once.")              \
    X(REQUEST_RATE, "request_rate", AGENT, 429, 4290, RATE, "Too many requests; try again later.")                             \
    X(MEMORY_SHARE, "memory_share", AGENT, 429, 4290, RATE, "This principal or address holds too much of the gate's memory.")  \
    X(STATE_SHARE, "state_share", AGENT, 429, 4290, RATE, "This tenant or principal holds too much of what the gate counts.")  \
    X(PROOF_SHARE, "proof_share", AGENT, 429, 4290, RATE, "Too many proofs of possession of this tenant or principal.")        \
    X(CONNECTION_SHARE, "connection_share", AGENT, 429, 4290, RATE, "Too many connections of this principal or address.")      \
    X(SERVER_UNKNOWN, "server_unknown", POLICY, 403, 4030, POLICY, "No server of this endpoint has that name.")                \
    X(SERVER_UNNAMED, "server_unnamed", AGENT, 403, -32601, POLICY, "Method not found.")                                       \
    X(ANSWER_UNASKED, "answer_unasked", AGENT, 403, 0, NONE, "The answer belongs to no open question of this session.")        \
    X(TENANT_NOT_ALLOWED, "tenant_not_allowed", AGENT, 403, 0, NONE, "The key may not act for this tenant.")                   \
    /* identity */                                                                                                             \
    X(CREDENTIAL_MISSING, "credential_missing", AGENT, 401, 0, NONE, "A credential is required.")                              \
    X(CREDENTIAL_WRONG, "credential_wrong", AGENT, 401, 0, NONE, "The credential is not valid.")                               \
    X(IDENTITY_UNAVAILABLE, "identity_unavailable", GATE, 503, 5030, UNAVAILABLE,                                              \
      "Who asks cannot be verified at the moment: the identity provider does not answer.")                                     \
    X(IDENTITY_SHARE, "identity_share", AGENT, 429, 4290, RATE,                                                                 \
      "Too many tokens of this address are being asked about at once; try again later.")                                       \
    X(CREDENTIAL_TWICE, "credential_twice", AGENT, 400, 0, MALFORMED, "A token belongs into its own header alone.")              \
    X(SESSION_FOREIGN, "session_foreign", AGENT, 404, 0, NONE, "The session is not known.")                                    \
    /* HTTP, front */                                                                                                          \
    X(HTTP_MALFORMED, "http_malformed", AGENT, 400, 0, MALFORMED, "The HTTP request is malformed.")                            \
    X(HTTP_HEAD_TOO_LARGE, "http_head_too_large", AGENT, 431, 0, MALFORMED, "The HTTP head is too large.")                     \
    X(HTTP_FRAMING, "http_framing", AGENT, 400, 0, MALFORMED, "The framing of the HTTP message is ambiguous.")                 \
    X(HTTP_VERSION, "http_version", AGENT, 505, 0, MALFORMED, "Only HTTP/1.1 is spoken here.")                                 \
    X(HTTP_METHOD, "http_method", AGENT, 405, 0, MALFORMED, "The HTTP method is not allowed.")                                 \
    X(TRANSPORT, "transport", AGENT, 405, 0, MALFORMED, "This path speaks HTTP+SSE: a session begins with GET.")               \
    X(HTTP_HEADER_NAME, "http_header_name", AGENT, 400, 0, MALFORMED, "A header name is not allowed.")                         \
    X(HTTP_HEADER_TWICE, "http_header_twice", AGENT, 400, 0, MALFORMED, "A header that may occur once occurs twice.")          \
    X(HOST_FOREIGN, "host_foreign", AGENT, 403, 0, MALFORMED, "The Host is not served here.")                                  \
    X(ORIGIN_FOREIGN, "origin_foreign", AGENT, 403, 0, MALFORMED, "The Origin is not allowed.")                                \
    X(ROUTE_UNKNOWN, "route_unknown", AGENT, 404, 0, MALFORMED, "The path is not served here.")                                \
    X(PATH_DEBATABLE, "path_debatable", AGENT, 400, 0, MALFORMED, "The path has more than one reading.")                       \
    X(QUERY_REFUSED, "query_refused", AGENT, 400, 0, MALFORMED, "A query is not accepted here.")                               \
    X(MEDIA_TYPE, "media_type", AGENT, 415, 0, MALFORMED, "The Content-Type must be application/json.")                        \
    X(CONTENT_ENCODING, "content_encoding", AGENT, 415, 0, MALFORMED, "The body must not be encoded.")                         \
    X(EXPECTATION, "expectation", AGENT, 417, 0, MALFORMED, "The expectation cannot be met.")                                  \
    X(BODY_UNEXPECTED, "body_unexpected", AGENT, 400, 0, MALFORMED, "This method takes no body.")                              \
    X(BODY_TOO_LARGE, "body_too_large", AGENT, 413, 0, MALFORMED, "The body is too large.")                                    \
    X(PREFLIGHT, "preflight", NOBODY, 204, 0, NONE, "A browser's preflight was answered.")                                     \
    X(METADATA, "metadata", NOBODY, 200, 0, NONE, "The metadata of a protected resource, or of a front, were told.")           \
    X(OAUTH_SENT, "oauth_sent", NOBODY, 302, 0, NONE, "A front sent a browser to the provider.")                               \
    X(OAUTH_REGISTERED, "oauth_registered", NOBODY, 201, 0, NONE, "A front told its client's id.")                             \
    X(OAUTH_REQUEST, "oauth_request", AGENT, 400, 0, MALFORMED,                                                                \
      "A parameter of the OAuth request is missing, stands there twice, or has a value that is not taken here.")              \
    X(OAUTH_CLIENT, "oauth_client", AGENT, 400, 0, MALFORMED, "This OAuth client is not the registered one.")                  \
    /* JSON and JSON-RPC, front */                                                                                             \
    X(JSON_MALFORMED, "json_malformed", AGENT, 400, -32700, MALFORMED, "Parse error.")                                         \
    X(JSON_LIMIT, "json_limit", AGENT, 400, -32600, MALFORMED, "The JSON document is too deep or has too many parts.")         \
    X(JSON_DUPLICATE, "json_duplicate", AGENT, 400, -32600, MALFORMED, "A JSON object has a key twice.")                       \
    X(ENVELOPE, "envelope", AGENT, 400, -32600, MALFORMED, "The JSON-RPC envelope is not valid.")                              \
    X(BATCH, "batch", AGENT, 400, -32600, MALFORMED, "Batches are not accepted.")                                              \
    X(BATCH_LIMIT, "batch_limit", AGENT, 400, -32600, MALFORMED, "A batch may hold 1 to 64 messages.")                         \
    X(BATCH_MEMBER, "batch_member", AGENT, 400, -32600, MALFORMED, "A batch may not hold initialize, nor one id twice.")       \
    X(CALL_OPEN, "call_open", AGENT, 400, -32600, MALFORMED, "The id belongs to a call that is open.")                        \
    X(ARGUMENTS_INVALID, "arguments_invalid", AGENT, 400, -32602, MALFORMED, "The arguments must be an object.")               \
    X(TOOL_NAME_INVALID, "tool_name_invalid", AGENT, 400, -32602, MALFORMED, "The tool's name is not valid.")                  \
    X(PARAMS_INVALID, "params_invalid", AGENT, 400, -32602, MALFORMED, "The parameters are not valid.")                        \
    X(HEADER_MISMATCH, "header_mismatch", AGENT, 400, -32020, MALFORMED, "A header differs from the body.")                    \
    X(STATE_FOREIGN, "state_foreign", AGENT, 400, -32602, MALFORMED, "The requestState belongs to another call.")              \
    X(VERSION_UNSUPPORTED, "version_unsupported", AGENT, 400, -32022, MALFORMED, "Unsupported protocol version.")              \
    X(VERSION_HEADER, "version_header", AGENT, 400, -32600, MALFORMED, "The MCP-Protocol-Version header is not supported.")    \
    X(VERSION_NEGOTIATED, "version_negotiated", UPSTREAM, 200, -32602, NONE, "The server's protocol version is not supported.") \
    /* the agent's connection */                                                                                               \
    X(CLOSED_BEFORE_FIRST_BYTE, "closed_before_first_byte", NOBODY, 0, 0, NONE, "The connection was closed unused.")           \
    X(AGENT_DONE, "agent_done", NOBODY, 0, 0, NONE, "The agent closed the connection between requests.")                       \
    X(AGENT_GONE, "agent_gone", AGENT, 0, 0, NONE, "The agent closed the connection in the middle of a request.")              \
    X(AGENT_STALLED, "agent_stalled", AGENT, 0, 0, NONE, "The agent stopped reading the reply.")                               \
    X(HEAD_TIMEOUT, "head_timeout", AGENT, 408, 0, NONE, "The request's head did not arrive in time.")                         \
    X(BODY_TIMEOUT, "body_timeout", AGENT, 408, 0, NONE, "The request's body did not arrive in time.")                         \
    X(IDLE_TIMEOUT, "idle_timeout", NOBODY, 0, 0, NONE, "The connection was idle for too long.")                               \
    X(TLS_FAILED, "tls_failed", AGENT, 0, 0, NONE, "The TLS handshake failed.")                                                \
    X(TLS_NAME, "tls_name", AGENT, 421, 0, MALFORMED, "The Host differs from the TLS server name.")                            \
    X(CONNECTION_LIMIT, "connection_limit", GATE, 503, 5030, UNAVAILABLE, "The gate has too many connections.")                \
    X(DRAINING, "draining", GATE, 503, 5030, UNAVAILABLE, "The gate is shutting down.")                                        \
    /* the upstream */                                                                                                         \
    X(COMPLETED, "completed", NOBODY, 0, 0, NONE, "The reply was delivered.")                                                  \
    X(REPORTED, "reported", NOBODY, 0, 0, NONE, "The client said that its own call is over.")                                  \
    X(UNREPORTED, "unreported", NOBODY, 0, 0, NONE, "The client did not say what came of its own call.")                       \
    X(UPSTREAM_UNRESOLVED, "upstream_unresolved", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream's name cannot be resolved.") \
    X(UPSTREAM_UNREACHABLE, "upstream_unreachable", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream cannot be reached.")       \
    X(UPSTREAM_TLS, "upstream_tls", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream's certificate or TLS is not acceptable.")  \
    X(UPSTREAM_CONNECT_TIMEOUT, "upstream_connect_timeout", UPSTREAM, 504, 5030, UNAVAILABLE, "The upstream did not accept the connection in time.") \
    X(OUTGOING_MISSING, "outgoing_missing", GATE, 403, 4030, POLICY, "The gate has no credential of this caller for the upstream.") \
    X(ACCOUNT_MISSING, "account_missing", GATE, 403, 4030, POLICY,                                                             \
      "The caller has not connected an account of his own at the upstream, or it has ended.")                                  \
    X(OUTGOING_UNAVAILABLE, "outgoing_unavailable", GATE, 503, 5030, UNAVAILABLE,                                              \
      "The gate has no credential for the upstream at the moment.")                                                           \
    X(EXCHANGE_REFUSED, "exchange_refused", GATE, 503, 5030, UNAVAILABLE,                                                      \
      "The identity provider gives no token of the caller's for the upstream.")                                               \
    X(UPSTREAM_UNAUTHORIZED, "upstream_unauthorized", UPSTREAM, 502, 5030, UNAVAILABLE,                                        \
      "The upstream does not take the gate's credential.")                                                                    \
    X(UPSTREAM_SILENT, "upstream_silent", UPSTREAM, 504, 5030, UNAVAILABLE, "The upstream did not answer in time.")            \
    X(UPSTREAM_CLOSED, "upstream_closed", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream closed the connection before its answer was complete.") \
    X(UPSTREAM_MALFORMED, "upstream_malformed", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream's HTTP answer is malformed.")  \
    X(UPSTREAM_REDIRECT, "upstream_redirect", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream redirects; its URL must be configured.") \
    X(UPSTREAM_TYPE, "upstream_type", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream's Content-Type is neither JSON nor an event stream.") \
    X(UPSTREAM_ENCODED, "upstream_encoded", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream's answer is compressed.")          \
    X(UPSTREAM_TOO_LARGE, "upstream_too_large", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream's answer is too large.")       \
    X(UPSTREAM_JSON, "upstream_json", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream's answer is not acceptable.")            \
    X(UPSTREAM_DUPLICATE, "upstream_duplicate", UPSTREAM, 502, 5030, UNAVAILABLE, "An object in the upstream's answer has a key twice.") \
    X(UPSTREAM_NUMBER, "upstream_number", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream's answer holds a number that JSON does not have.") \
    X(UPSTREAM_ERROR_NULL, "upstream_error_null", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream's answer has an error that is null.") \
    X(UPSTREAM_ID_TYPE, "upstream_id_type", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream's answer has the id as a string where a number was asked.") \
    X(UPSTREAM_LEGACY, "upstream_legacy", UPSTREAM, 502, 5030, UNAVAILABLE,                                                    \
      "The upstream speaks HTTP+SSE of 2024-11-05: the route needs `transports: [http+sse]`.")                                \
    X(UPSTREAM_ENDPOINT, "upstream_endpoint", UPSTREAM, 502, 5030, UNAVAILABLE,                                                \
      "The upstream's endpoint event names another server.")                                                                   \
    X(UPSTREAM_EVENT, "upstream_event", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream's event stream is not acceptable.")    \
    X(UPSTREAM_UNASKED, "upstream_unasked", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream answered what was not asked.")     \
    X(UPSTREAM_TOOLS, "upstream_tools", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream lists more tools than its protocol allows.") \
    X(UPSTREAM_COSTLY, "upstream_costly", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream's lists take too long to look through.") \
    X(UPSTREAM_DEFINITION, "upstream_definition", UPSTREAM, 502, 5030, UNAVAILABLE, "A tool's definition holds characters that deceive a reader.") \
    X(UPSTREAM_DECEPTIVE, "upstream_deceptive", UPSTREAM, 502, 5030, UNAVAILABLE, "The upstream's answer holds characters that deceive a reader.") \
    X(STRIPPED, "stripped", NOBODY, 0, 0, NONE, "The reply was delivered without characters that deceive a reader.")           \
    X(MENDED, "mended", NOBODY, 0, 0, NONE, "The reply was delivered with a fault mended, as the route is lenient.") \
    X(MENDED_STRIPPED, "mended_stripped", NOBODY, 0, 0, NONE, "The reply was delivered with a fault mended, and without characters that deceive a reader.") \
    X(QUESTION_DENIED, "question_denied", POLICY, 0, 4030, POLICY, "The server's request is not permitted.")                   \
    X(ANSWER_WITHHELD, "answer_withheld", POLICY, 403, 4030, POLICY, "What came back is withheld.")                            \
    X(QUESTION_LIMIT, "question_limit", UPSTREAM, 0, 4290, RATE, "The server has too many open requests in this session.")     \
    X(STREAM_ENDED, "stream_ended", NOBODY, 0, 0, NONE, "The event stream ended.")                                             \
    X(STREAM_IDLE, "stream_idle", UPSTREAM, 504, 5030, UNAVAILABLE, "The upstream fell silent in the middle of its answer.")   \
    X(GATE_DIED, "gate_died", GATE, 0, 0, NONE, "The gate ended before the outcome was known.")                                \
    X(INTERNAL, "internal", GATE, 500, 5030, UNAVAILABLE, "The gate failed.")
#endif
