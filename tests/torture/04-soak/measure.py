# SPDX-License-Identifier: Apache-2.0
"""What processes hold, sampled, and whether it grows after a warm-up: the slope by least squares, or how far its highest climbed."""
import contextlib
import os
import pathlib
import statistics
import threading
import time

WINDOW_S = 5


def children(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that ended meanwhile
            found += [int(one) for one in (task / "children").read_text().split()]
    return found


def links(pid):
    found = []
    for one in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(one))
    return found


def held(pid):
    """Descriptors but those of the audit, which are counted apart. Memory is what no file has: the heap above all."""
    status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    open_files = links(pid)
    of_audit = sum("/audit" in one for one in open_files)
    return {"descriptors": len(open_files) - of_audit, "files of the audit": of_audit, "children": len(children(pid)),
            "threads": int(status["Threads"]), "memory": int(status["RssAnon"].split()[0])}


class Sampler(threading.Thread):
    """Of each process by name, once a second."""

    def __init__(self, processes):
        super().__init__(daemon=True)
        self.processes, self.samples, self.over = processes, [], threading.Event()

    def run(self):
        while not self.over.wait(1):
            self.samples.append((time.monotonic(), self.now()))

    def now(self):
        return {name: held(pid) for name, pid in self.processes.items()}

    def series(self, name, what, since):
        return [(at, sample[name][what]) for at, sample in self.samples if at >= since]


def growth(series):
    """Returns: by how much the line through the points rises from the first to the last."""
    if len(series) < 2:
        return 0.0
    middle, level = statistics.fmean(at for at, _ in series), statistics.fmean(value for _, value in series)
    spread = sum((at - middle) ** 2 for at, _ in series)
    slope = sum((at - middle) * (value - level) for at, value in series) / spread if spread else 0.0
    return slope * (series[-1][0] - series[0][0])


def growth_and_level(series):
    """Returns: the growth, and the mean."""
    return growth(series), statistics.fmean(value for _, value in series)


def climbed(series):
    """Returns: the growth of the highest, which is twice what the second half's is above the first's: of what grows evenly the same as growth(). A dip
    in between, when memory was given back and taken again, is none."""
    half = len(series) // 2
    return 2.0 * (max(value for _, value in series[half:]) - max(value for _, value in series[:half])) if half else 0.0


def windows(times, since, until, which):
    """Takes: times: (when, seconds) of calls; which: the quantile. Returns: (when, seconds) of each window of some seconds."""
    found = {}
    for at, seconds in times:
        if since <= at <= until:
            found.setdefault(int((at - since) / WINDOW_S), []).append(seconds)
    return [(since + number * WINDOW_S, sorted(some)[int(which * (len(some) - 1))]) for number, some in sorted(found.items())]


def rise(series):
    """Growth as a part of the median."""
    return growth(series) / statistics.median(value for _, value in series) if series else 0.0
