# SPDX-License-Identifier: Apache-2.0
"""The program's own judgement, asked over a pipe (judge.c), and how a failing case is made small."""

import subprocess

from generate import policy_text
from meaning import Several


class Engine:
    def __init__(self, program, *flags):
        self.child = subprocess.Popen([program, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask_texts(self, texts):
        """Takes: the texts of one set. Returns: a tuple of words for each test, or the lines of its refusal."""
        frames = [str(len(texts)).encode() + b"\n"]
        for text in texts:
            raw = text.encode()
            frames += [str(len(raw)).encode() + b"\n", raw]
        self.child.stdin.write(b"".join(frames))
        self.child.stdin.flush()
        answers = []
        while True:
            line = self.child.stdout.readline().decode()
            if line == "":
                raise RuntimeError(f"the judge ended with {self.child.wait()} on:\n" + "\n".join(texts))
            if line == "\n":
                return answers
            answers.append(tuple(line.rstrip("\n").split("\t")))

    def ask(self, rules, calls):
        return self.ask_texts([policy_text(rules, calls)])

    def close(self):
        self.child.stdin.close()
        return self.child.wait()


def smaller(thing):
    """Everything that is one step smaller than this, keeping its kind: without a member, or with one member smaller. A
    condition may also become its part."""
    if isinstance(thing, list):
        for at in range(len(thing)):
            yield thing[:at] + thing[at + 1:]
        for at, one in enumerate(thing):
            for less in smaller(one):
                yield thing[:at] + [less] + thing[at + 1:]
    elif isinstance(thing, dict):
        inner = thing.get("of")
        yield from inner if isinstance(inner, list) else [inner] if inner is not None else []
        for key in thing:
            yield {other: value for other, value in thing.items() if other != key}
        for key, value in thing.items():
            for less in smaller(value):
                yield {**thing, key: less}
    elif isinstance(thing, Several):
        for at in range(len(thing)):
            yield Several(thing[:at] + thing[at + 1:]) if len(thing) > 2 else thing[1 - at]
    elif isinstance(thing, str) and len(thing) > 4:
        yield thing[:len(thing) // 2]
        yield thing[len(thing) // 2:]


def shrink(case, fails, steps=4000):
    """The smallest case found that still fails. Takes: fails(case), which may raise on a case without sense."""
    while steps > 0:
        for less in smaller(case):
            steps -= 1
            try:
                still = fails(less)
            except (KeyError, ValueError, TypeError, AttributeError, IndexError):
                still = False
            if still or steps <= 0:
                break
        else:
            return case
        if still:
            case = less
    return case
