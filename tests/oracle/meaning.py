# SPDX-License-Identifier: Apache-2.0
"""A second evaluator of policies: slow, obvious, written from the sentences "Meaning" 1-16 of the policy language and from
nothing else. It reads the same structures that the generator prints: dicts, lists, strings, booleans, None and Number."""

import re
from decimal import Decimal

TRUE, UNDECIDED, FALSE = 1, 0, -1
SAFE = 2**53 - 1
PROTOCOL = ["initialize", "server/discover", "ping", "tools/list", "stream/open", "session/end"]
STRING_OPERATORS = ["matches", "glob", "starts_with", "ends_with", "contains", "min_length", "max_length"]
OPERATORS = STRING_OPERATORS + ["equals", "in", "is", "min", "max", "min_items", "max_items", "exists"]


class Number:
    """A number as it was written."""

    def __init__(self, lexeme):
        self.lexeme = lexeme
        self.value = Decimal(lexeme)

    def is_integer(self):
        return self.value == self.value.to_integral_value()


def truth(is_true):
    return TRUE if is_true else FALSE


def type_of(value):
    if value is None:
        return "null"
    for kind, name in ((bool, "boolean"), (Number, "number"), (str, "string"), (list, "array"), (dict, "object")):
        if isinstance(value, kind):
            return name
    raise TypeError(value)


# 4: different types are unequal, numbers are compared by exact decimal value, strings byte for byte.
def equal(a, b):
    if type_of(a) != type_of(b):
        return False
    if isinstance(a, Number):
        return a.value == b.value
    if isinstance(a, list):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    return a == b


# 8: `*` is any run of characters including `/`, `?` one code point, `\` escapes, nothing else is special.
def glob(pattern, text):
    if pattern == "":
        return text == ""
    if pattern[0] == "*":
        return any(glob(pattern[1:], text[i:]) for i in range(len(text) + 1))
    if text == "":
        return False
    if pattern[0] == "?":
        return glob(pattern[1:], text[1:])
    if pattern[0] == "\\" and len(pattern) > 1:
        pattern = pattern[1:]
    return pattern[0] == text[0] and glob(pattern[1:], text[1:])


# 8, and the sentence about (?i): an opening use is undecided on U+017F and U+212A. `$` never stands before a final line end,
# which Python writes as \\Z.
def regex(pattern, text, whole, opening):
    if opening and "(?i" in pattern and ("\u017f" in text or "\u212a" in text):
        return UNDECIDED
    flags = re.DOTALL | (0 if "(?i" in pattern else re.ASCII)
    return truth((re.fullmatch if whole else re.search)(pattern.replace("$", r"\Z"), text, flags) is not None)


def as_text(value):
    """4: string operators read numbers, booleans and null as the text that was sent."""
    if isinstance(value, Number):
        return value.lexeme
    return {True: "true", False: "false", None: "null"}[value] if value is None or isinstance(value, bool) else value


def operator_truth(name, operand, value, whole, opening):
    kind = type_of(value)
    if name == "exists":
        return truth(operand)
    if name == "equals":
        return truth(equal(operand, value))
    if name == "in":
        return truth(any(equal(one, value) for one in operand))
    if name == "is":
        return truth(kind == "number" and value.is_integer() if operand == "integer" else kind == operand)
    if name in ("min", "max"):
        if kind != "number" or (value.is_integer() and abs(value.value) > SAFE):
            return UNDECIDED
        return truth(value.value >= operand.value if name == "min" else value.value <= operand.value)
    if name in ("min_items", "max_items"):
        if kind not in ("array", "object"):
            return UNDECIDED
        return truth(len(value) >= int(operand.lexeme) if name == "min_items" else len(value) <= int(operand.lexeme))
    if name == "contains" and kind == "array":
        return truth(any(equal(operand, one) for one in value))
    if kind in ("array", "object"):
        return UNDECIDED
    text = as_text(value)
    if name == "matches":
        return regex(operand, text, whole, opening)
    if name == "glob":
        return truth(glob(operand, text))
    if name == "starts_with":
        return truth(text.startswith(operand))
    if name == "ends_with":
        return truth(text.endswith(operand))
    if name == "contains":
        return truth(operand in text) if isinstance(operand, str) else UNDECIDED
    return truth(len(text) >= int(operand.lexeme) if name == "min_length" else len(text) <= int(operand.lexeme))


# ---- paths: a list of steps, each a selector or ("..", selector); a selector is a name, an index, a slice or WILD ----

WILD = object()
ABSENT = object()


def children(value):
    return list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []


def descendants(value):
    return [value] + [deeper for child in children(value) for deeper in descendants(child)]


def select_one(selector, value):
    if selector is WILD:
        return children(value)
    if isinstance(selector, str):
        return [value[selector]] if isinstance(value, dict) and selector in value else []
    if isinstance(selector, slice):
        return value[selector] if isinstance(value, list) else []
    if isinstance(value, list) and -len(value) <= selector < len(value):
        return [value[selector]]
    return []


def select(steps, value, lacks):
    """All selected values; where `lacks`, also one ABSENT for each element of a [*] before further steps in which the rest
    of the path selects nothing (6)."""
    if not steps:
        return [value]
    step, rest = steps[0], steps[1:]
    if isinstance(step, tuple):
        return [one for at in descendants(value) for child in select_one(step[1], at) for one in select(rest, child, lacks)]
    found = []
    for child in select_one(step, value):
        inner = select(rest, child, lacks)
        if lacks and step is WILD and rest and not [one for one in inner if one is not ABSENT]:
            inner = [ABSENT]
        found += inner
    return found


# ---- conditions: (steps, operators, options) leaves, ("all", [...]), ("any", [...]), ("not", condition) ----


# 3: Kleene.
def all_of(truths):
    return min(truths, default=TRUE)


def any_of(truths):
    return max(truths, default=FALSE)


def leaf_truth(leaf, root, closes, nots):
    """`closes`: of the rule; `nots`: how many stand above."""
    opening = closes == (nots % 2 == 1)  # 5
    operators, options = leaf["operators"], leaf["options"]
    lets_apply = options.get("optional") is True or options.get("absent") == "applies"
    whole = {"whole": True, "anywhere": False, None: opening}[options.get("anchor")]  # 8
    every = {"every": True, "any": False, None: opening}[options.get("quantify")]  # 6
    values = [] if root is ABSENT else select(leaf["steps"], root, opening)
    if leaf["steps"] and leaf["steps"][-1] == ("..", WILD):  # 4: containers are skipped
        for name in operators:
            if name in STRING_OPERATORS:
                values = [v for v in values if v is ABSENT or not isinstance(v, (dict, list))
                          or (name == "contains" and isinstance(v, list))]

    # 7: what makes the rule apply is true at the top, and each `not` turns it round.
    absent = truth(lets_apply == (nots % 2 == 0))
    if "exists" in operators:
        absent = truth(not operators["exists"])

    def one(value):
        if value is ABSENT:
            return absent
        return all_of([operator_truth(name, operand, value, whole, opening) for name, operand in operators.items()])

    if not values:
        return absent
    return (all_of if every else any_of)([one(value) for value in values])


def condition_truth(condition, root, closes, nots):
    kind = condition["kind"]
    if kind == "not":
        return -condition_truth(condition["of"], root, closes, nots + 1)
    if kind == "leaf":
        parts = dict(condition["operators"])
        if "not_matches" not in parts:
            return leaf_truth(condition, root, closes, nots)
        pattern = parts.pop("not_matches")  # 5: exactly `not: {matches}`
        negative = -leaf_truth({**condition, "operators": {"matches": pattern}}, root, closes, nots + 1)
        return all_of([negative] + ([leaf_truth({**condition, "operators": parts}, root, closes, nots)] if parts else []))
    truths = [condition_truth(one, root, closes, nots) for one in condition["of"]]
    return all_of(truths) if kind == "all" else any_of(truths)


# ---- rules ----


def name_truth(name, value, opening, is_method):
    if isinstance(name, dict):  # {regex}
        whole = {"whole": True, "anywhere": False, None: opening}[name.get("anchor")]
        return regex(name["regex"], value, whole, opening)
    if is_method and name == "protocol":  # 10
        return truth(value in PROTOCOL or value.startswith("notifications/"))
    return truth(glob(name, value))  # a literal is a glob without anything special


def match_truth(rule, call):
    opening = rule["effect"] == "permit"
    match = dict(rule.get("match", {}))
    if "methods" not in match and (opening or "tools" in match):  # 10
        match["methods"] = ["tools/call"]
    truths = []
    for word in ("tenants", "principals", "upstreams", "methods", "tools"):
        if word not in match:
            continue
        value = call.get(word[:-1])
        values = [value] if value is not None else []
        if word == "methods" and value == "response":
            values.append(call["answers"])
        truths.append(any_of([name_truth(n, v, opening, word == "methods") for n in match[word] for v in values]))
    return all_of(truths)


def rule_truth(rule, call):
    root = call.get("root", ABSENT)
    truths = [match_truth(rule, call)]
    truths += [condition_truth(one, root, rule["effect"] != "permit", 0) for one in rule.get("when", [])]
    if "only_args" in rule and root is not ABSENT:
        truths.append(truth(set(root) <= set(rule["only_args"])))
    return all_of(truths)


def names_method(rules, call):
    for rule in rules:
        match = rule.get("match", {})
        methods = match.get("methods")
        if methods is None and (rule["effect"] == "permit" or "tools" in match):
            methods = ["tools/call"]
        upstreams = match.get("upstreams")
        if upstreams is not None and any_of([name_truth(n, call["upstream"], rule["effect"] == "permit", False)
                                                for n in upstreams]) == FALSE:
            continue
        values = [call["method"]] + ([call["answers"]] if call["method"] == "response" else [])
        if any(not isinstance(n, dict) and name_truth(n, v, False, True) == TRUE for n in methods or [] for v in values):
            return True
    return False


def judge(rules, call):
    """1, 2, 3 and 13: (verdict, rule or None, reason)."""
    applying = {"forbid": [], "require_approval": [], "permit": []}
    for rule in rules:
        value = rule_truth(rule, call)
        applies = value == TRUE or (value == UNDECIDED and rule["effect"] != "permit")
        if applies and rule.get("mode") != "monitor":
            applying[rule["effect"]].append(rule["id"])
    for effect, verdict, reason in (("forbid", "deny", "forbidden"), ("require_approval", "hold", "approval_required"),
                                    ("permit", "permit", "permitted")):
        if applying[effect]:
            return verdict, min(applying[effect], key=lambda name: name.encode()), reason
    if call["method"] != "tools/call" and not names_method(rules, call):
        return "deny", None, "method_unknown"
    return "deny", None, "no_rule"
