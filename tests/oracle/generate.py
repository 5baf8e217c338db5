# SPDX-License-Identifier: Apache-2.0
"""Random policies and calls, small on purpose: few names and values, so that most of what could meet does meet."""

import json

from meaning import WILD, Number, type_of

TENANTS = ["acme", "acme2", "ACME", "te\u017ft", "test"]
TOOLS = ["read", "read_all", "write", "Read", "a.b-c"]
METHODS = ["tools/call", "initialize", "ping", "notifications/x", "tools/list", "prompts/get", "resources/read",
           "sampling/createMessage", "stream/open", "response"]
KEYS = ["a", "b", "list", "a b", "\u00e4"]
STRINGS = ["", "x", "xy", "yx", "drop", "DROP table", "a/b", "a\nb", "xy\n", "\u017f", "S", "\u212a", "k", "\u00e4", "a\u0308",
           "\U0001f600", "10", "true", "*", "a*b", "\\"]
NUMBERS = ["0", "-0", "0.0", "1", "1.0", "10", "10.0", "1e1", "1E+1", "19.99", "19.990", "-5", "9007199254740991",
           "9007199254740992", "-9007199254740993", "9007199254740991.5", "1e20", "0.30000000000000004", "0.3", "1e-5"]
PATTERNS = ["x", "x+", "[a-z]+", "xy?", "(?i)drop", "(?i)s", "(?i)k", ".*", "a.b", "^x", "y$", "1[0-9]?", "x|xy", "true", ".",
            "", "[^x]"]
GLOBS = ["*", "x*", "*y", "?", "??", "a*b", "\\*", "a\\*b", "x", "", "*x*y*", "1*", "?*"]
OPERATORS = ["equals", "in", "matches", "not_matches", "glob", "starts_with", "ends_with", "contains", "is", "min", "max",
             "min_length", "max_length", "min_items", "max_items", "exists"]
EFFECTS = ["permit", "permit", "forbid", "require_approval"]


class Generator:
    def __init__(self, random):
        self.random = random

    def maybe(self, share):
        return self.random.random() < share

    def scalar(self):
        kind = self.random.randrange(10)
        if kind < 4:
            return self.random.choice(STRINGS)
        if kind < 8:
            return Number(self.random.choice(NUMBERS))
        return self.random.choice([True, False, None])

    def value(self, depth):
        kind = self.random.randrange(10) if depth > 0 else 9
        if kind < 2:
            return [self.value(depth - 1) for _ in range(self.random.randrange(4))]
        if kind < 4:
            return self.object(depth - 1)
        return self.scalar()

    def object(self, depth):
        keys = self.random.sample(KEYS, self.random.randrange(len(KEYS)))
        return {key: self.value(depth) for key in keys}

    def slice(self):
        begin, end = (self.random.choice([None, None, 0, 1, 2, 5, -1, -2, -5]) for _ in range(2))
        return slice(begin, end, self.random.choice([None, None, 1, 2, -1, -2]))

    def steps(self):
        steps = []
        for _ in range(self.random.choice([1, 1, 1, 2, 2, 3])):
            selector = self.random.choice(KEYS[:3] + [self.random.choice(KEYS), WILD, WILD, 0, -1, self.slice()])
            steps.append(("..", selector) if self.maybe(0.15) else selector)
        if self.maybe(0.1):
            steps = [("..", WILD)]
        return [] if self.maybe(0.03) else steps

    def operand(self, name):
        choice = self.random.choice
        if name in ("matches", "not_matches"):
            return choice(PATTERNS)
        if name == "glob":
            return choice(GLOBS)
        if name in ("starts_with", "ends_with"):
            return choice(STRINGS)
        if name == "in":
            return [self.value(1) for _ in range(self.random.randrange(1, 5))]
        if name == "is":
            return choice(["integer", "null", "boolean", "number", "string", "array", "object"])
        if name in ("min", "max"):
            return Number(choice(NUMBERS))
        if name.startswith(("min_", "max_")):
            return Number(str(self.random.randrange(4)))
        return self.maybe(0.5) if name == "exists" else self.value(1)

    def leaf(self, effect):
        steps = self.steps()
        names = self.random.sample(OPERATORS, self.random.choice([1, 1, 1, 2, 3]))
        if "exists" in names:
            names = ["exists"]
        options = {}
        if self.maybe(0.3) and names != ["exists"]:
            if effect == "permit":
                options["optional"] = self.maybe(0.7)
            else:
                options["absent"] = self.random.choice(["applies", "ignored"])
        if self.maybe(0.25):
            options["quantify"] = self.random.choice(["every", "any"])
        if self.maybe(0.25) and ("matches" in names or "not_matches" in names):
            options["anchor"] = self.random.choice(["whole", "anywhere"])
        return {"kind": "leaf", "steps": steps, "operators": {name: self.operand(name) for name in names}, "options": options}

    def condition(self, effect, depth):
        kind = self.random.randrange(10) if depth > 0 else 9
        if kind < 2:
            return {"kind": "not", "of": self.condition(effect, depth - 1)}
        if kind < 4:
            members = [self.condition(effect, depth - 1) for _ in range(self.random.randrange(1, 4))]
            return {"kind": self.random.choice(["all", "any"]), "of": members}
        return self.leaf(effect)

    def names(self, pool):
        names = []
        for _ in range(self.random.randrange(1, 3)):
            kind = self.random.randrange(10)
            if kind < 6:
                names.append(self.random.choice(pool))
            elif kind < 8:
                names.append(self.random.choice(["*", "acme*", "re*", "tools/*", "*/*", "?cme", "notifications/*"]))
            else:
                name = {"regex": self.random.choice(["acme", "(?i)acme", "(?i)test", "read", "re.*", "tools/.*", "[a-z]+", "."])}
                if self.maybe(0.3):
                    name["anchor"] = self.random.choice(["whole", "anywhere"])
                names.append(name)
        return names

    def rule(self, number):
        effect = self.random.choice(EFFECTS)
        rule = {"id": self.random.choice("abAB_") + str(number), "effect": effect, "match": {}}
        for word, pool, share in (("tenants", TENANTS, 0.2), ("principals", ["bot", "test"], 0.1), ("upstreams", ["shop", "test"], 0.2),
                                  ("methods", METHODS + ["protocol", "protocol"], 0.2), ("tools", TOOLS, 0.5)):
            if self.maybe(share):
                rule["match"][word] = self.names(pool)
        if self.maybe(0.75):
            rule["when"] = [self.condition(effect, 2) for _ in range(self.random.choice([1, 1, 1, 2]))]
        if effect == "permit" and self.maybe(0.15):
            rule["only_args"] = self.random.sample(KEYS, 3)
        if self.maybe(0.1):
            rule["mode"] = self.random.choice(["monitor", "enforce"])
        return rule

    def call(self):
        method = "tools/call" if self.maybe(0.8) else self.random.choice(METHODS)
        call = {"tenant": self.random.choice(TENANTS), "principal": self.random.choice(["bot", "test"]),
                "upstream": self.random.choice(["shop", "test"]), "method": method}
        if method == "tools/call":
            call["tool"] = self.random.choice(TOOLS)
        if method == "response":
            call["answers"] = self.random.choice(METHODS[:-1])
        if self.maybe(0.95) and method != "response":
            call["root"] = self.object(3)
        return call


# ---- as text: JSON, which is YAML ----


def text_of(value):
    if type_of(value) == "number":
        return value.lexeme
    if isinstance(value, str):  # YAML has no pairs of surrogates: beyond ASCII as it stands
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[" + ", ".join(map(text_of, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(text_of(key) + ": " + text_of(one) for key, one in value.items()) + "}"
    return json.dumps(value)


def selector_text(selector):
    if isinstance(selector, slice):
        parts = [selector.start, selector.stop] + ([selector.step] if selector.step is not None else [])
        return ":".join("" if part is None else str(part) for part in parts)
    return "*" if selector is WILD else f"'{selector}'" if isinstance(selector, str) else str(selector)


def path_of(steps):
    text = "$"
    for step in steps:
        descends, selector = (True, step[1]) if isinstance(step, tuple) else (False, step)
        text += (".." if descends else "") + f"[{selector_text(selector)}]"
    return text


def plain_condition(condition):
    if condition["kind"] == "leaf":
        return {"arg": path_of(condition["steps"]), **condition["operators"], **condition["options"]}
    if condition["kind"] == "not":
        return {"not": plain_condition(condition["of"])}
    return {condition["kind"]: [plain_condition(one) for one in condition["of"]]}


def policy_text(rules, calls, verdicts):
    tests = []
    for at, (call, (verdict, rule, reason)) in enumerate(zip(calls, verdicts)):
        plain = {key: value for key, value in call.items() if key != "root"}
        if "root" in call:
            plain["arguments" if call["method"] in ("tools/call", "prompts/get") else "params"] = call["root"]
        tests.append({"name": str(at), "call": plain, "expect": {"verdict": verdict, "rule": rule, "reason": reason}})
    plain_rules = [{**rule, **({"when": [plain_condition(one) for one in rule["when"]]} if "when" in rule else {})}
                   for rule in rules]
    lines = [f"policy: oracle\nrules:"] + ["  - " + text_of(rule) for rule in plain_rules]
    return "\n".join(lines + ["tests:"] + ["  - " + text_of(test) for test in tests]) + "\n"
