/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a server's message that is judged on its way to the agent, and every legal move: X(NAME, "name", moves,
 * "what it waits for, and what is settled when it ends").
 *
 * TO(NAME) is one move. tools/draw puts the drawing into src/README.md from this file. A message that nobody has to wait for
 * goes through it in one turn; once it was delivered, a request is open in enforce/question_table.c, for its answer. */
#ifndef QUESTION_TABLE
#define QUESTION_TABLE(X, TO)                                                                                             \
    X(CAME, "came", TO(READ) | TO(OVER), "what rules for answers say of it; a large one is out on the judge")              \
    X(READ, "read", TO(JUDGED) | TO(OVER), "its verdict; a request that is permitted is open from then on")                \
    X(JUDGED, "judged", TO(RECORDED) | TO(OVER), "room in the audit ring; a notification that is permitted needs none")    \
    X(RECORDED, "recorded", TO(READ) | TO(OVER), "its record on disk; a message that holds several requests goes round with each")                                                                \
    X(OVER, "over", 0, "delivered, or answered in the agent's place; forgotten where the agent has left")
#endif
