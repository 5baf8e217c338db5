# SPDX-License-Identifier: Apache-2.0
"""11.1: what a call costs: time of processors by thread, in user and in kernel mode, and calls of the system by name. On a shared machine
these differ from run to run by a few percent, where rates do by fifteen: so they are told first."""

import collections
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import time

from lib import load


def processes(first):
    """A process and all that it has started."""
    found = [first]
    for process in found:
        for task in pathlib.Path(f"/proc/{process}/task").glob("*"):
            found += map(int, (task / "children").read_text().split())
    return found


class Clocks:
    """Between `with` and its end: seconds of processors that each kind of thread took, of a process and of what it has started (`of`: name ->
    (user, kernel)), and the share of all processors that nobody used (`idle`). How long a thread ran is exact; how much of that
    in the kernel is what its clock ticks of 10 ms say, so both are for runs of seconds."""

    TICK = os.sysconf("SC_CLK_TCK")

    def __init__(self, process):
        self.process, self.of, self.idle = process.pid, {}, 0.0

    def threads(self):
        """By number: its kind, its ticks in user and in kernel mode, its seconds on a processor."""
        found = {}
        for process in processes(self.process):
            for task in pathlib.Path(f"/proc/{process}/task").glob("*"):
                try:
                    name, fields = (task / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
                    ran = int((task / "schedstat").read_text().split()[0]) / 1e9
                except OSError:  # it has just ended
                    continue
                kind = "main" if int(task.name) == self.process else re.sub(r"^audit-|[-\d]+$", "", name)
                if process != self.process:
                    kind += " beside it"
                found[task.name] = kind, *map(int, fields.split()[11:13]), ran
        return found

    @staticmethod
    def machine():
        fields = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return fields[3] + fields[4], sum(fields)

    def __enter__(self):
        self.begun, self.before = self.machine(), self.threads()
        return self

    def __exit__(self, *_):
        ended, after = self.machine(), self.threads()
        self.idle = (ended[0] - self.begun[0]) / max(ended[1] - self.begun[1], 1)
        for number, (kind, user, kernel, ran) in after.items():
            _, user_before, kernel_before, ran_before = self.before.get(number, (kind, 0, 0, 0.0))
            ticks = user - user_before, kernel - kernel_before
            if sum(ticks) == 0:  # less than a tick: as in its life before
                ticks = user, kernel
            share = ticks[1] / sum(ticks) if sum(ticks) else 0.5
            had = self.of.get(kind, (0.0, 0.0))
            self.of[kind] = had[0] + (ran - ran_before) * (1 - share), had[1] + (ran - ran_before) * share

    def a_call(self, calls):
        """By thread: microseconds of so many calls each, [user, kernel]."""
        return {kind: [seconds / max(calls, 1) * 1e6 for seconds in both] for kind, both in self.of.items()}


class SystemCalls:
    """Between `with` and its end: how often a process, and what it has started, made each call of the system (`of`: name -> count), and who
    counted (`by`). perf counts in the kernel; where it may not, strace, which makes each call some microseconds longer. Both slow what
    they count, so it is a round of its own. `by` is None where neither is there."""

    TRACING = [pathlib.Path(place) for place in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")]

    def __init__(self, process):
        self.wanted = ",".join(map(str, processes(process.pid)))
        self.of, self.by, self.counter = collections.Counter(), None, None
        if shutil.which("perf") and any(os.access(place / "events" / "syscalls", os.R_OK) for place in self.TRACING):
            self.by = "perf"
        elif shutil.which("strace"):
            self.by = "strace"

    def begin_perf(self):
        """Counting begins when it has said that it is ready, not before."""
        order, told = os.pipe(), os.pipe()
        self.counter = subprocess.Popen(["perf", "stat", "-x", ",", "-e", "syscalls:sys_enter_*", "-D", "-1", "-p", self.wanted,
                                         "--control", f"fd:{order[0]},{told[1]}"], pass_fds=[order[0], told[1]],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        os.close(order[0])
        os.close(told[1])
        os.write(order[1], b"enable\n")
        os.read(told[0], 16)
        os.close(order[1])
        os.close(told[0])

    def begin_strace(self):
        self.counter = subprocess.Popen(["strace", "-c", "-f", "-p", self.wanted], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.counter.stderr.readline()  # that it is attached

    def __enter__(self):
        if self.by is not None:
            {"perf": self.begin_perf, "strace": self.begin_strace}[self.by]()
        return self

    def __exit__(self, *_):
        if self.counter is None:
            return
        self.counter.send_signal(signal.SIGINT)
        text = self.counter.communicate()[1]
        if self.by == "perf":
            found = re.findall(r"^(\d+),[^,]*,syscalls:sys_enter_(\w+)", text, re.M)
        else:
            found = [(count, name) for count, name in re.findall(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$", text, re.M) if name != "total"]
        for count, name in found:
            self.of[name] += int(count)


class Case:
    """What is loaded, and, where it is known, the process whose cost is counted."""

    def __init__(self, port, script, process=None, path="/mcp", scheme="http"):
        self.port, self.script, self.process, self.where = port, script, process, (path, scheme)

    def load(self, connections, seconds):
        """One round: rate and latencies; of a known process also microseconds of processors a call by thread (user, kernel)."""
        if self.process is None:
            return load(self.port, connections, seconds, self.script, *self.where)
        with Clocks(self.process) as clocks:
            result = load(self.port, connections, seconds, self.script, *self.where)
        return dict(result, cpu_us=clocks.a_call(result["calls"]), idle=clocks.idle)

    def count(self, connections, seconds):
        """A round of its own: calls of the system a call by name, and who counted them."""
        with SystemCalls(self.process) as counter:
            result = load(self.port, connections, seconds, self.script, *self.where)
        return {name: count / max(result["calls"], 1) for name, count in counter.of.most_common() if count > 0}, counter.by


COUNTED_S = 2  # a round in which system calls are counted


def tell(case, name, connections, seconds, rounds):
    """What a call of these rounds cost, and, in a round of its own, which system calls it makes. Returns the latter for a report."""
    calls, by = case.count(connections, min(COUNTED_S, seconds))
    print(f"{connections:>11}  {name:<10} {cost_line(rounds)}\n{'':>24}{calls_line(calls, by)}", flush=True)
    return {"connections": connections, "case": name, "system_calls": calls, "counted_by": by}


def memory_bytes(process):
    return int(pathlib.Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def idle_cost(gate, count=2000):
    """Bytes of memory an idle plain connection takes."""
    before = memory_bytes(gate.process)
    held = [socket.create_connection(("127.0.0.1", gate.port), 10) for _ in range(count)]
    time.sleep(0.5)
    grown = memory_bytes(gate.process) - before
    for one in held:
        one.close()
    return max(grown, 0) // count


def medians(counts):
    """Of dictionaries of numbers, as of one; the largest first."""
    names = {name for one in counts for name in one}
    found = {name: statistics.median(one.get(name, 0) for one in counts) for name in names}
    return dict(sorted(found.items(), key=lambda both: -both[1]))


def cost_of(results):
    """Of rounds: (user, kernel) microseconds a call, and the same by thread, the most expensive first."""
    sides = [medians([{thread: both[side] for thread, both in one["cpu_us"].items()} for one in results]) for side in (0, 1)]
    threads = {thread: (sides[0][thread], sides[1][thread]) for thread in sides[0]}
    whole = tuple(statistics.median(sum(both[side] for both in one["cpu_us"].values()) for one in results) for side in (0, 1))
    return whole, dict(sorted(threads.items(), key=lambda both: -sum(both[1])))


def cost_line(results):
    whole, threads = cost_of(results)
    each = ", ".join(f"{thread} {sum(both):.1f} ({both[0]:.1f} + {both[1]:.1f})" for thread, both in threads.items() if sum(both) >= 0.05)
    return (f"CPU a call {sum(whole):.1f} us ({whole[0]:.1f} user + {whole[1]:.1f} kernel): {each}; processors idle "
            f"{statistics.median(one['idle'] for one in results):.0%}")


def calls_line(calls, by):
    if by is None:
        return "system calls: not counted, since neither perf nor strace is there"
    return f"{sum(calls.values()):.2f} system calls a call: " + ", ".join(f"{name} {count:.2f}" for name, count in calls.items() if count >= 0.005) + f" ({by})"
