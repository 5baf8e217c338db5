// SPDX-License-Identifier: Apache-2.0
// Cedar in this process: policies parsed once, then one authorization after the other.
// usage: cedar.mjs POLICY CALLS ROUNDS   Prints one JSON object: the verdicts and the median nanoseconds of a call.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const cedar = createRequire(`${process.cwd()}/`)("@cedar-policy/cedar-wasm/nodejs");
const [policyPath, callsPath, rounds] = process.argv.slice(2);
const calls = readFileSync(callsPath, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const parsed = cedar.preparsePolicySet("compared", { staticPolicies: readFileSync(policyPath, "utf8") });
if (parsed.type !== "success") throw new Error(JSON.stringify(parsed));

const requests = calls.map((call) => ({
  principal: { type: "Agent", id: "bot" },
  action: { type: "Action", id: "call" },
  resource: { type: "Server", id: "shop" },
  context: { tool: call.tool, args: call.arguments },
  entities: [],
  preparsedPolicySetId: "compared",
}));

function permits(request) {
  const answer = cedar.statefulIsAuthorized(request);
  if (answer.type !== "success") throw new Error(JSON.stringify(answer));
  return answer.response.decision === "allow";
}

const times = [];
for (let round = 0; round < Number(rounds); round++) {
  for (const request of requests) {
    const begin = process.hrtime.bigint();
    permits(request);
    times.push(Number(process.hrtime.bigint() - begin));
  }
}
times.sort((a, b) => a - b);
console.log(JSON.stringify({ verdicts: requests.map(permits), p50_ns: times[times.length >> 1] }));
