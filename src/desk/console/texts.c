/* SPDX-License-Identifier: Apache-2.0 */
#include "console/texts.h"

#include "base/take_in.h"

TAKE_IN(texts_head, "src/desk/console/head.html");
TAKE_IN(texts_foot, "src/desk/console/foot.html");
TAKE_IN(texts_login, "src/desk/console/login.html");
TAKE_IN(texts_fault, "src/desk/console/fault.html");
TAKE_IN(texts_calls, "src/desk/console/calls.html");
TAKE_IN(texts_call, "src/desk/console/call.html");
TAKE_IN(texts_approvals, "src/desk/console/approvals.html");
TAKE_IN(texts_approval, "src/desk/console/approval.html");
TAKE_IN(texts_now, "src/desk/console/now.html");
TAKE_IN(texts_policies, "src/desk/console/policies.html");
TAKE_IN(texts_policy, "src/desk/console/policy.html");
TAKE_IN(texts_diff, "src/desk/console/diff.html");
TAKE_IN(texts_replay, "src/desk/console/replay.html");
TAKE_IN(texts_tools, "src/desk/console/tools.html");
TAKE_IN(texts_tool, "src/desk/console/tool.html");
TAKE_IN(texts_evidence, "src/desk/console/evidence.html");
TAKE_IN(texts_fleet, "src/desk/console/fleet.html");
TAKE_IN(texts_connect, "src/desk/console/connect.html");
TAKE_IN(texts_connecting, "src/desk/console/connecting.html");
TAKE_IN(texts_stops, "src/desk/console/stops.html");
TAKE_IN(texts_stop, "src/desk/console/stop.html");
TAKE_IN(texts_waits, "src/desk/console/waits.html");
TAKE_IN(texts_css, "src/desk/console/console.css");
TAKE_IN(texts_js, "src/desk/console/console.mjs");
TAKE_IN(texts_icon, "src/desk/console/icon.svg");
