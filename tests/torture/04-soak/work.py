# SPDX-License-Identifier: Apache-2.0
"""Work at a pace: what is done so often an hour, packed into less, by threads that can be told to rest."""
import contextlib
import multiprocessing
import threading
import time

TOLD = 20  # what went wrong, at most, of a kind


class Later(Exception):
    """Who asks is told to come again, since the machine is too busy."""


class Plan:
    """What processes share: how many of each kind of event were made, whether all are to rest, and the agents' key of the moment."""

    def __init__(self, hour, packed):
        """Takes: hour: kinds of events, and how many of each an hour has; packed: how many times faster they come."""
        self.hour, self.packed = hour, packed
        self.made = {kind: multiprocessing.Value("q", 0) for kind in hour}
        self.resting, self.workers = multiprocessing.Value("i", 0), multiprocessing.Value("i", 0)
        self.rest, self.over = multiprocessing.Event(), multiprocessing.Event()
        self.key = multiprocessing.Array("c", 256)
        self.wrong = multiprocessing.Queue()

    def add(self, kind, count=1):
        with self.made[kind].get_lock():
            self.made[kind].value += count

    def told(self):
        """What went wrong, of each kind some."""
        found = []
        while not self.wrong.empty():
            found.append(self.wrong.get())
        return found

    def all_rest(self):
        return self.resting.value == self.workers.value


class Worker(threading.Thread):
    """Has `agent` take a turn so often; `agent.leave` gives up what it keeps open between turns. Who is late does not catch up: an hour
    that a slow machine makes of it is said in the end."""

    def __init__(self, plan, kind, agent, share=1):
        super().__init__(daemon=True, name=kind)
        self.plan, self.kind, self.agent = plan, kind, agent
        self.pause_s = 3600 * share / (plan.hour[kind] * plan.packed)
        self.told = 0
        with plan.workers.get_lock():
            plan.workers.value += 1

    def run(self):
        due = time.monotonic()
        while not self.plan.over.is_set():
            if self.plan.rest.is_set():
                self.have_a_rest()
                due = time.monotonic()
            due = max(due + self.pause_s * self.turn(), time.monotonic())
            while time.monotonic() < due and not self.plan.rest.is_set() and not self.plan.over.is_set():
                time.sleep(min(0.1, max(0, due - time.monotonic())))

    def turn(self):
        """Returns: how many events it was."""
        made = 1
        try:
            made = self.agent.turn() or 1
            self.plan.add(self.kind, made)
        except Later:
            pass
        except Exception as failure:  # whatever it was, the run goes on, and says so in the end
            self.told += 1
            if self.told <= TOLD:
                self.plan.wrong.put((self.kind, repr(failure)[:400]))
            with contextlib.suppress(Exception):
                self.agent.leave()
        return made

    def have_a_rest(self):
        self.agent.leave()
        with self.plan.resting.get_lock():
            self.plan.resting.value += 1
        while self.plan.rest.is_set() and not self.plan.over.is_set():
            time.sleep(0.05)
        with self.plan.resting.get_lock():
            self.plan.resting.value -= 1
