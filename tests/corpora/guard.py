# SPDX-License-Identifier: Apache-2.0
"""12.11: what policies/guard stops of public corpora that nobody had looked at when its words were written; work.py has ordinary work.

Each case is one call through a running gate with the set, its words and detectors, and what the server answers to it. An attack counts as
stopped where its call is denied or its answer withheld; of ordinary work also answers count of which something was left out. With --show
each attack that went through and each call of ordinary work that did not is printed. No corpus decides the exit status: these are figures."""

import collections
import concurrent.futures
import itertools
import json
import re
import subprocess
import sys
import time
import typing

import egress
from integration.lib.gate import TOP, Gate, mcp_route
from integration.lib.small_servers import SmallServer, result

FINDS = TOP / "build/release/tests/figures/finds"
AT_ONCE = 8
DENIED = AT_ONCE / 200  # seconds to wait after a denial: of more than 250 a second the gate counts some, which have no rows of their own


class Case(typing.NamedTuple):
    group: str
    attack: bool
    tool: str
    arguments: dict
    answer: str = "done"


class Outcome(typing.NamedTuple):
    case: Case
    stopped: bool
    left_out: bool
    rules: list     # that applied to the call, or why else it was denied; else the one that did something to the answer
    undecided: str


# ---- the gate -----------------------------------------------------------------------------------------------------------

ROWS = ("SELECT d.correlation, d.verdict, d.reason, d.rules, d.undecided, o.answer_effect, o.answer_rule, o.answer_undecided "
        "FROM decision d LEFT JOIN outcome o ON o.decision = d.seq WHERE d.correlation IS NOT NULL")


def outcome_of(case, row):
    if row["verdict"] != "permit":
        forbids = [one["id"] for one in json.loads(row["rules"] or "[]") if one["effect"] == "forbid"]
        return Outcome(case, True, False, forbids or [row["reason"]], row["undecided"])
    effect = row["answer_effect"]
    return Outcome(case, effect == "withhold", effect == "redact", [row["answer_rule"]] if row["answer_rule"] else [],
                   row["answer_undecided"])


class Upstream(SmallServer):
    """Answers the call of a number what its case says."""

    def __init__(self, cases):
        super().__init__()
        self.cases = cases

    def answer(self, asked):
        message = json.loads(asked.body)
        self.seen.clear()
        asked.reply(200, result(message, egress.text(self.cases[message["id"]].answer)))


def asked(gate, number, case):
    if egress.ask(gate, {"name": case.tool, "arguments": case.arguments}, f"case-{number}", number)[0]:
        time.sleep(DENIED)


def measure(cases):
    """[Outcome], in order."""
    with Upstream(cases) as upstream, Gate(routes=[mcp_route(upstream.url, name="assistant")], policies=egress.policies()) as gate:
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda one: asked(gate, *one), enumerate(cases)))
        gate.stop()  # the last outcomes are written then
        rows = {row["correlation"]: row for row in gate.rows(ROWS)}
    return [outcome_of(case, rows[f"case-{number}"]) for number, case in enumerate(cases)]


def asked_for():
    """The names of the detectors that the set asks for."""
    files = egress.policies()
    lists = dict(re.findall(r"^  ([a-z-]+):\s*\[([^]]*)\]", "\n".join(files.values()), re.M))
    bodies = [lists[name] for name in re.findall(r"detect: [^}]*\{list: ([a-z-]+)\}", files["guard.yaml"])]
    whole = [re.sub(r"\{list: ([a-z-]+)\}", lambda found: lists[found[1]], body) for body in bodies]
    return set(re.findall(r"[a-z0-9_]+", " ".join(whole))) | {"key_within", "hidden_text"}


def words_in(texts):
    """For each text the names of the guard's words that find something in it as it stands: not what a decoder reads in it."""
    words = [TOP / "policies/words" / f"{name}.yaml" for name in ("tokens", "secrets", "addresses", "key-files", "commands", "orders")]
    given = b"".join(b"%d\n%s" % (len(data), data) for data in (text.encode("utf-8", "replace") for text in texts))
    known, lines = asked_for(), []
    for files in (words, sorted((TOP / "policies/detectors").glob("*.yaml"))):  # so many as one set may ask for
        done = subprocess.run([FINDS, *files], input=given, stdout=subprocess.PIPE, check=True)
        lines.append(done.stdout.decode().splitlines())
    return [known & {name for line in both for name in line.split()[::3]} for both in zip(*lines)]


def texts_of(value):
    if isinstance(value, dict):
        return list(itertools.chain.from_iterable(map(texts_of, value.values()))) + list(value)
    if isinstance(value, list):
        return list(itertools.chain.from_iterable(map(texts_of, value)))
    return [value] if isinstance(value, str) else []


def judged(one):
    """The text that was found fault with: the answer's, or all of the call's."""
    return one.case.answer if one.rules and "-in-" in one.rules[0] else "\n".join(texts_of(one.case.arguments))


def told(outcomes):
    """Prints a line a group, then each rule and word that stopped something."""
    groups = collections.defaultdict(list)
    for one in outcomes:
        groups[one.case.group, one.case.attack].append(one)
    for (group, attack), some in groups.items():
        stopped, left_out = sum(one.stopped for one in some), sum(one.left_out for one in some)
        print(f"  {group}, {'attacks' if attack else 'ordinary'}: {stopped} of {len(some)} stopped ({100 * stopped / len(some):.1f} %)"
              + (f", something left out of {left_out} answers" if left_out else ""))
    for attack in (True, False):
        some = [one for one in outcomes if one.case.attack is attack and (one.stopped or one.left_out)]
        rules = collections.Counter(rule for one in some for rule in [*one.rules, *(["undecided"] if one.undecided else [])])
        found = collections.Counter(name for names in words_in(map(judged, some)) for name in names or ["(decoded, joined, or the host of a URL)"])
        if some:
            print(f"  {'attacks' if attack else 'ordinary'}, by rule: {counted(rules)}\n    by word: {counted(found)}")
    shown(outcomes)


def counted(counter):
    return ", ".join(f"{name} {count}" for name, count in counter.most_common())


def shown(outcomes):
    for one in outcomes if "--show" in sys.argv else ():
        if one.case.attack is not one.stopped or (one.left_out and not one.case.attack):
            print(json.dumps([one.case.group, one.rules, one.undecided, one.case.tool, one.case.arguments, one.case.answer]))


# ---- corpora of attacks -------------------------------------------------------------------------------------------------

def injecagent(folder):
    """What a tool answers, with somebody's orders in it: plainly ("base"), and behind "Ignore all previous instructions" ("enhanced")."""
    for setting, harm in itertools.product(("base", "enhanced"), ("dh", "ds")):
        for case in json.loads((folder / "data" / f"test_cases_{harm}_{setting}.json").read_text()):
            yield Case(f"{setting} {harm}", True, case["User Tool"], {"parameters": case["Tool Parameters"]}, case["Tool Response"])


def bipia(folder):
    """Orders of every kind behind an email or a piece of code, each once; and the emails, tables and code as they are."""
    read = lambda name: [json.loads(line)["context"] for line in (folder / "benchmark" / name).read_text().splitlines()]
    flat = lambda context: context if isinstance(context, str) else "\n".join(context)
    for kind, context in (("text", "email"), ("code", "code")):
        for part in ("train", "test"):
            places = itertools.cycle(map(flat, read(f"{context}/{part}.jsonl")))
            attacks = json.loads((folder / "benchmark" / f"{kind}_attack_{part}.json").read_text())
            for attack in itertools.chain.from_iterable(attacks.values()):
                yield Case(f"{kind} attacks", True, "read_" + context, {"number": 1}, f"{next(places)}\n{attack}")
    for context in ("email", "table", "code"):
        for text in read(f"{context}/train.jsonl") + read(f"{context}/test.jsonl"):
            yield Case(context, False, "read_" + context, {"number": 1}, flat(text))



def noseyparker(folder):
    """What its rules for secrets say that they find and pass by, but for what one passes by since another finds it."""
    import yaml  # pylint: disable=import-outside-toplevel  # PyYAML, which nothing else here needs
    files = sorted((folder / "crates/noseyparker/data/default/builtin/rules").glob("*.yml"))
    rules = [rule for path in files for rule in yaml.safe_load(path.read_text())["rules"] if "secret" in rule.get("categories", ())]
    found = {text.strip() for rule in rules for text in rule.get("examples") or []}
    for rule in rules:
        kind = next((word for word in ("hashed", "fuzzy") if word in rule["categories"]), "with a form of their own")
        for text in rule.get("examples") or []:
            yield Case(kind, True, "send_message", {"text": text})
        for text in rule.get("negative_examples") or []:
            if text.strip() not in found:
                yield Case(kind, False, "send_message", {"text": text})


URL = re.compile(r"[a-z]+://[^\s`'\"]+")
PROMPT = re.compile(r"^(?:\S+@\S+)?\$ ")


def code_of(path, first="", last="\0"):
    """The fenced blocks of a document, each a list of lines, between two of its headings."""
    text = path.read_text("utf-8")
    text = text[text.index(first):text.index(last) if last in text else None]
    return [[line.strip() for line in block.split("\n")[1:] if line.strip()] for block in text.split("```")[1::2]]


def commands_of(block):
    """Where some lines have a prompt, the others are what was printed."""
    typed = [PROMPT.sub("", line) for line in block if PROMPT.match(line)]
    return typed or block


def payloads(folder):
    """Addresses of SSRF (of each line the first), commands written round a filter, and lists of paths to the files of passwords."""
    for name in ("README", "SSRF-Cloud-Instances"):
        for line in itertools.chain.from_iterable(code_of(folder / "Server Side Request Forgery" / f"{name}.md")):
            for url in URL.findall(line)[:1]:
                yield Case("addresses inside", True, "fetch", {"url": url})
    blocks = code_of(folder / "Command Injection/README.md", "\n## Filter Bypasses", "\n## Data Exfiltration")
    for command in itertools.chain.from_iterable(map(commands_of, blocks)):
        yield Case("commands round a filter", True, "exec", {"command": command})
    paths = [line for name in ("File Inclusion/Intruders/JHADDIX_LFI.txt", "Directory Traversal/Intruder/directory_traversal.txt")
             for line in (folder / name).read_text("utf-8").splitlines() if re.search("passwd|shadow", line)]
    for path in dict.fromkeys(paths):
        yield Case("files of passwords", True, "read_file", {"path": path})


def run(read):
    """What `read` makes of a folder, through the gate. Returns: no faults, since these are figures."""
    def told_of(folder):
        told(measure(list(read(folder))))
        return 0
    return told_of
