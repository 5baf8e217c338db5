# SPDX-License-Identifier: Apache-2.0
"""4.17: public test cases for readers: JSONTestSuite and llhttp's own fixtures, shown to ours (tests/oracle/reader.c)."""

import collections
import json
import re
import subprocess


class Reader:
    def __init__(self, program):
        self.child = subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, what, text):
        self.child.stdin.write(f"{what} {len(text)}\n".encode() + text)
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())


def same_for_python(text, canonical):
    """Whether CPython reads from our canonical bytes what it reads from the document itself."""
    try:
        return json.loads(text.decode("utf-8")) == json.loads(canonical.decode("utf-8"))
    except (ValueError, RecursionError):
        return False


def json_test_suite(folder, reader):
    """y_: a reader must accept it; n_: it must refuse it; i_: it may do either."""
    counts, refused = collections.Counter(), {}
    for path in sorted((folder / "test_parsing").glob("*.json")):
        text, kind = path.read_bytes(), path.name[0]
        answer = reader.ask("json-file", text)
        accepted = "canonical" in answer
        counts[kind, accepted] += 1
        if accepted and not same_for_python(text, bytes.fromhex(answer["canonical"])):
            counts["apart"] += 1
            print(f"    {path.name}: accepted, and read apart by CPython")
        if kind == "n" and accepted:
            print(f"    {path.name}: ACCEPTED, though it is no JSON")
        if kind == "y" and not accepted:
            refused[path.name] = answer["fault"]
    print(f"  n_ (no JSON): {counts['n', False]} of {counts['n', False] + counts['n', True]} refused")
    print(f"  y_ (JSON): {counts['y', True]} of {counts['y', False] + counts['y', True]} accepted; refused on purpose:")
    for name, fault in refused.items():
        print(f"    {name}: {fault}")
    print(f"  i_ (either): {counts['i', False]} refused, {counts['i', True]} accepted")
    print(f"  accepted and read apart by CPython: {counts['apart']}")
    return counts["n", True] + counts["apart"]


# ---- llhttp ------------------------------------------------------------------------------------------------------------

FIXTURE = re.compile(r'<!--\s*meta=(\{.*?\})\s*-->\s*```http\n(.*?)```.*?```log\n(.*?)```', re.S)


def unescaped(text):
    """A fixture's input as bytes, by the rules of llhttp's test/md-test.ts."""
    text = re.sub(r"\n\Z", "", text)
    text = re.sub(r"\\(\r\n|\r|\n)", "", text)
    text = re.sub(r"\r\n|\r|\n", "\r\n", text)
    for mark, byte in (("\\r", "\r"), ("\\n", "\n"), ("\\t", "\t"), ("\\f", "\f")):
        text = text.replace(mark, byte)
    text = re.sub(r"\\x([0-9a-fA-F]+)", lambda one: chr(int(one[1], 16)), text)
    return re.sub(r"\\([0-7]{1,3})", lambda one: chr(int(one[1], 8)), text).encode("utf-8")


def bodies_in(log):
    """What llhttp says of whole messages: how many, and the bytes of all their bodies."""
    spans = re.findall(r"len=(\d+) span\[body\]=", log)
    return len(re.findall(r"message complete", log)), sum(map(int, spans))


def goes_to_the_end(message):
    names = {bytes.fromhex(name).lower() for name, _ in message["headers"]}
    return message["status"] and not names & {b"content-length", b"transfer-encoding"}


def judged(answer, log):
    """Our answer beside llhttp's log. A fixture does not end its connection, we do: a reply that lasts until then is whole for us."""
    ours, ended = answer["messages"], answer["end"] in ("nothing", "closed")
    theirs, their_body = bodies_in(log)
    bad = bool(re.search(r"error code=(?!2[123]\b)\d+", log))  # but for the parser's pauses
    if not bad and ended and len(ours) == theirs + 1 and goes_to_the_end(ours[-1]):
        theirs += 1
    if len(ours) > theirs:
        return "WRONG: taken by us alone"
    if ended and len(ours) == theirs:
        same = sum(len(one["body"]) // 2 for one in ours) == their_body
        return "taken by both, and read the same" if same else "WRONG: read apart"
    if len(ours) == theirs:
        return "refused by both" if bad else "unfinished for both, or refused by us behind what both took"
    return "refused by us alone"


def llhttp_fixtures(folder, reader):
    """What strict llhttp refuses we refuse; what both take whole has as many messages and body bytes."""
    counts = collections.Counter()
    for path in sorted([*(folder / "test" / "request").glob("*.md"), *(folder / "test" / "response").glob("*.md")]):
        for meta, text, log in FIXTURE.findall(path.read_text("utf-8")):
            kind = json.loads(meta).get("type", "")
            if "${" in text or json.loads(meta).get("pause") or json.loads(meta).get("skipBody"):
                counts["left out: a fixture of llhttp's own machinery"] += 1
                continue
            if "lenient" in kind:
                counts["left out: for a loose parser"] += 1
                continue
            text = unescaped(text)
            answer = reader.ask("GET" if kind.startswith("response") else "http-request", text)
            counts[judged(answer, log)] += 1
            if judged(answer, log).startswith("WRONG"):
                print(f"    {path.name}: {text!r}: {answer}")
            elif judged(answer, log) == "refused by us alone":
                counts["    " + answer["end"]] += 1
    for what, count in sorted(counts.items(), key=lambda one: (one[0].startswith("  "), one[0])):
        print(f"  {what}: {count}")
    return sum(count for what, count in counts.items() if what.startswith("WRONG"))
