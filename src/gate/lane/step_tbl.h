/* SPDX-License-Identifier: Apache-2.0 */
/* The one way of a call through its pair, in order: X(STEP, "name", function, moves, "what it waits for, and what is settled
 * when it ends").
 *
 * A step that waits is entered again from its beginning. So what it does before it waits must be repeatable, or it must check
 * first whether it is done. A refusal has two exits: to JUDGE, and so to the record, where there is no record yet; to DENY
 * where there is.
 *
 * TO(STEP) is one move. tools/draw puts the drawing into src/README.md from this file. To add a step: a line here, its function,
 * its invariants in check_invariants (pair.c), a test in tests/unit/lane/test_step.c. */
#ifndef STEP_TABLE
#define STEP_TABLE(X, TO)                                                                                                 \
    X(READ_HEAD, "read_head", front__read_head, TO(FIND_ROUTE) | TO(JUDGE) | TO(CLOSING),                                  \
      "a request's head, read")                                                                                            \
    X(FIND_ROUTE, "find_route", front__find_route, TO(IDENTIFY) | TO(READ_BODY) | TO(JUDGE) | TO(DENY) | TO(CLOSING),      \
      "nothing; ends with route, Host, Origin and correlation settled, before anybody is asked who he is")                 \
    X(IDENTIFY, "identify", front__identify, TO(ADMIT) | TO(JUDGE) | TO(CLOSING), "what a provider says of who asks")      \
    X(ADMIT, "admit", front__admit, TO(READ_BODY) | TO(JUDGE) | TO(CLOSING),                                               \
      "nothing; ends with rates, proof, account, session and version settled: the body may come")                          \
    X(READ_BODY, "read_body", front__read_body, TO(UNDERSTAND) | TO(JUDGE) | TO(CLOSING), "the whole body")                \
    X(UNDERSTAND, "understand", front__understand, TO(JUDGE) | TO(DENY) | TO(CLOSING), "nothing; ends with the message read") \
    X(JUDGE, "judge", exchange__judge, TO(USE) | TO(RECORD) | TO(CLOSING),                                                 \
      "the judge's seat, where it is large; of a fleet, a second at most, whose an approval is; ends with a verdict")      \
    X(USE, "use", exchange__use, TO(RECORD) | TO(JUDGE) | TO(CLOSING),                                                    \
      "what the fleet gives of limits that count over it; most calls have none")                                          \
    X(RECORD, "record", exchange__record, TO(AWAIT) | TO(DENY) | TO(CLOSING), "room in the audit's ring")                  \
    X(AWAIT, "await", exchange__await, TO(CONNECT) | TO(DENY) | TO(CLOSING),                                               \
      "the record on disk; a connection upstream may begin meanwhile")                                                     \
    X(CONNECT, "connect", upstream_connect, TO(SEND) | TO(DENY) | TO(CLOSING), "the upstream's connection and handshake") \
    X(SEND, "send", upstream_send, TO(RELAY) | TO(DENY) | TO(CLOSING), "the request going up: nothing of it went before") \
    X(RELAY, "relay", reply_step, TO(FINISH) | TO(DENY) | TO(CLOSING), "the reply, checked and going down")               \
    X(DENY, "deny", deny_step, TO(FINISH) | TO(CLOSING), "our own answer going down")                                     \
    X(FINISH, "finish", front__finish, TO(READ_HEAD) | TO(CLOSING), "nothing; ends with the outcome told, and all given back") \
    X(CLOSING, "closing", pair_linger, 0, "the last bytes taken, or the linger's end; only worker_reap follows")
#endif
