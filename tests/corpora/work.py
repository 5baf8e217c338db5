# SPDX-License-Identifier: Apache-2.0
"""12.11: recorded ordinary work through the gate with policies/guard: how often an hour the set stops a call, keeps an answer back or leaves
something out of one. An hour is one of work: from call to call of a session, pauses of more than ten minutes left out. Calls of different
sessions are judged one by one, so that the rule about what was read before says nothing here."""

import collections
import datetime
import json

import guard

PAUSE = 600


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def text_of(content):
    """What a tool answered."""
    if isinstance(content, list):
        return "\n".join(one.get("text", "") for one in content if isinstance(one, dict))
    return content if isinstance(content, str) else ""


class Work:
    """Calls by their ids, so that what is recorded twice counts once; what answered them; and when each session called."""

    def __init__(self):
        self.calls, self.answers, self.times = {}, {}, collections.defaultdict(list)

    def call(self, number, tool, arguments, session=None, time=None):
        if number not in self.calls:
            self.calls[number] = (tool, arguments)
            if time is not None:
                self.times[session].append(time)

    def cases(self):
        return [guard.Case("calls", False, tool, arguments, self.answers.get(number) or "done")
                for number, (tool, arguments) in self.calls.items()]

    def hours(self):
        gaps = [later - one for times in map(sorted, self.times.values()) for one, later in zip(times, times[1:])]
        return sum(gap for gap in gaps if gap <= PAUSE) / 3600


def lines_of(folder):
    for path in sorted(folder.rglob("full.jsonl")):
        for line in path.read_text("utf-8", "replace").splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue  # a line of another program's transcript, which is one document


def entire(folder):
    """Sessions of Claude Code, as the program `entire` keeps them at each commit; it has left out what looked like a secret."""
    work = Work()
    for line in lines_of(folder):
        content = line["message"].get("content") if isinstance(line.get("message"), dict) else None
        for part in content if isinstance(content, list) else ():
            if part.get("type") == "tool_use":
                work.call(part["id"], part["name"], part["input"], line["sessionId"], moment(line["timestamp"]))
            elif part.get("type") == "tool_result":
                work.answers[part["tool_use_id"]] = text_of(part.get("content"))
    return work


def harbor(folder):
    """What agents typed into terminals, in the format ATIF."""
    work = Work()
    for path in sorted(folder.rglob("trajectory.json")):
        for step in json.loads(path.read_text())["steps"]:
            for place, one in enumerate(step.get("tool_calls") or ()):
                number = (path, step["step_id"], place)
                work.call(number, one["function_name"], one["arguments"], path, moment(step["timestamp"]))
                work.answers[number] = "\n".join(text_of(part.get("content")) for part in (step.get("observation") or {}).get("results", []))
    return work


def taubench(folder):
    """A customer service's calls, without times."""
    work = Work()
    for path in sorted((folder / "historical_trajectories").glob("*.json")):
        for talk, one in enumerate(json.loads(path.read_text())):
            latest = {}  # ids of calls come again
            for place, turn in enumerate(one["traj"]):
                for call in turn.get("tool_calls") or ():
                    latest[call["id"]] = (path, talk, place, call["id"])
                    work.call(latest[call["id"]], call["function"]["name"], json.loads(call["function"]["arguments"]))
                if turn["role"] == "tool":
                    work.answers[latest[turn["tool_call_id"]]] = turn["content"]
    return work


def run(read):
    """As guard.run, with what that is an hour."""
    def told_of(folder):
        work = read(folder)
        outcomes, hours = guard.measure(work.cases()), work.hours()
        guard.told(outcomes)
        if hours:
            stopped, left_out = sum(one.stopped for one in outcomes), sum(one.left_out for one in outcomes)
            print(f"  {hours:.1f} hours of {len(work.times)} sessions, {len(outcomes) / hours:.0f} calls an hour: {stopped / hours:.2f} stopped and "
                  f"{left_out / hours:.2f} answers with something left out an hour")
        return 0
    return told_of
