# SPDX-License-Identifier: Apache-2.0
"""2.9, 12.2, 12.5: a second evaluator of policies: slow, obvious, written from the sentences of the policy language and, where these
leave a choice, from "Exactly" in policies/LANGUAGE.md, and from nothing else. It reads the same structures that the generator prints: dicts, lists, strings, booleans, None and Number."""

import re
import zoneinfo
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import forms
import values
from values import FALSE, TRUE, UNDECIDED, truth

SAFE = 2**53 - 1
PROTOCOL = ["initialize", "server/discover", "ping", "tools/list", "stream/open", "session/end"]
STRING_OPERATORS = ["matches", "glob", "starts_with", "ends_with", "contains", "min_length", "max_length", "under", "path", "cut", "url", "cidr",
                    "format", "free_of", "detect"]
DECODED_OPERATORS = STRING_OPERATORS + ["equals", "in", "email"]  # those that are asked of every reading


class Number:
    """A number as it was written."""

    def __init__(self, lexeme):
        self.lexeme = lexeme
        self.value = Decimal(lexeme)

    def is_integer(self):
        return self.value == self.value.to_integral_value()


class Other:
    """{arg: PATH} or {claim: PATH} in place of a value; of a moment so many seconds later. on == "now": that of the call."""

    def __init__(self, on, steps, plus=0):
        self.on, self.steps, self.plus = on, steps, plus

    def value(self, call):
        """ABSENT: there is none."""
        root = call.get({"arg": "root", "claim": "claims"}[self.on], ABSENT)
        found = [] if root is ABSENT else select(self.steps, root, False, False, lambda value: False)
        return found[0] if found else ABSENT

    def moment(self, call):
        if self.on == "now":
            return call["time"] + us_of(self.plus) if call.get("time", 0) > 0 else None
        at = moment_of(self.value(call))
        return None if at is None else at + us_of(self.plus)


def moment_of(text):
    """Microseconds since 1970; None: it is no time."""
    if not isinstance(text, str) or not values.has_format("date-time", text):
        return None
    clock, fraction, offset = re.fullmatch(r"(.{19})(?:\.([0-9]+))?(.*)", text).groups()
    leap = clock[17:] == "60"
    at = datetime.fromisoformat(clock[:10] + "T" + clock[11:17] + ("59" if leap else clock[17:])).replace(tzinfo=timezone.utc)
    ahead = 0 if offset in "Zz" else (int(offset[1:3]) * 60 + int(offset[4:])) * (-60 if offset[0] == "-" else 60)
    return us_of(round((at - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds()) + leap - ahead) + int(((fraction or "") + "000000")[:6])


def other_truth(name, operand, value, call):
    """12.6: compared with another value; what is not there, or is of another type, is undecided."""
    other = operand.value(call)
    if other is ABSENT:
        return UNDECIDED
    if call.get("folds") and name in FOLDING:
        value, other = (values.fold(one) if isinstance(one, str) else one for one in (value, other))
        other = [values.fold(one) if isinstance(one, str) else one for one in other] if isinstance(other, list) and name == "in" else other
    if name == "in":
        return truth(any(equal(one, value) for one in other)) if isinstance(other, list) else UNDECIDED
    if type_of(other) != type_of(value):
        return UNDECIDED
    if name == "equals":
        return truth(equal(other, value))
    if type_of(other) != "number" or (other.is_integer() and abs(other.value) > SAFE):
        return UNDECIDED
    return operator_truth(name, other, value, False, False)


def moment_truth(name, operand, value, call):
    """Beside `is: time` bounds are moments."""
    at, bound = moment_of(value), operand.moment(call) if isinstance(operand, Other) else moment_of(operand)
    if at is None or bound is None:
        return UNDECIDED
    return truth(at >= bound if name == "min" else at <= bound)


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


VARYING = ["equals", "in", "glob", "starts_with", "ends_with", "contains", "under", "path", "url", "email"]
FOLDING = ["equals", "in", "contains", "glob", "starts_with", "ends_with"]
VARIABLES = ["principal", "tenant", "upstream", "agent"]


def say(text, call, name):
    """What an operand says in this call; None where what a variable stands for cannot stand there: what is empty, `.` or `..`, or
    holds characters that nobody sees or controls, nowhere; in a path nothing with `/`, `\\` or `%`; in a host only a-z, 0-9,
    `-` and `_`. `{{principal}}` is the text `{principal}`, any other brace is itself, as is one behind the `\\` of a glob."""
    said, at = "", 0
    for found in re.finditer((r"\\.|" if name == "glob" else "") + r"\{\{(\w+)\}\}|\{(\w+)\}", text, re.DOTALL):
        if (found[1] or found[2]) not in VARIABLES:
            continue
        said, at = said + text[at:found.start()], found.end()
        if found[1]:
            said += "{" + found[1] + "}"
            continue
        stands = call.get(found[2], "")
        if stands == "" or values.has_dots(stands) or values.hides(stands) or any(c < " " for c in stands):
            return None
        if (name == "under" and set(stands) & set("/\\%")) or (name == "url" and not re.fullmatch("[a-z0-9_-]+", stands, re.ASCII)):
            return None
        said += re.sub(r"([*?\\])", r"\\\1", stands) if name == "glob" else stands
    return said + text[at:]


def said_places(places, call):
    """Of `path`: a map or a list of maps; those with what their folders say in this call."""
    return [{**place, **{word: [say(one, call, "under") for one in listed(place[word])] for word in ("under", "not_under") if word in place}}
            for place in listed(places)]


def text_truth(asked, text, opening, call):
    """12.2: a condition about one text: operators, `not_matches`, and `not`, `any`, `all` of such maps; all of it must hold."""
    truths = []
    for name, operand in asked.items():
        if name == "not":
            truths.append(-text_truth(operand, text, not opening, call))
        elif name in ("any", "all"):
            truths.append((any_of if name == "any" else all_of)([text_truth(one, text, opening, call) for one in operand]))
        elif name == "not_matches":
            truths.append(-regex(operand, text, not opening, not opening))
        else:
            truths.append(varying_truth(name, operand, text, opening, opening, call))
    return all_of(truths)


def cut_truth(operand, value, opening, call):
    """12.2: in two at the first such character; without one it is no text in two."""
    if type_of(value) in ("array", "object"):
        return UNDECIDED
    call = {**call, "folds": False, "times": False}
    front, mark, rest = as_text(value).partition(operand["at"])
    if mark == "":
        return FALSE
    return all_of([text_truth(operand[part], text, opening, call) for part, text in (("front", front), ("rest", rest)) if part in operand])


def folded_truth(name, operand, value, whole, opening, call):
    """ignore_case: texts, operands and what variables stand for are folded before they are compared; operators of text read scalars
    as texts."""
    def fold(one):
        return values.fold(one) if isinstance(one, str) else one
    if name not in ("equals", "in") and type_of(value) not in ("array", "object"):
        value = as_text(value)
    if name == "contains" and isinstance(value, list):
        value = [fold(one) for one in value]
    call = {**call, **{word: fold(call[word]) for word in VARIABLES if word in call}}
    truths = []
    for one in operand if name == "in" else [operand]:
        said = say(one, call, name) if isinstance(one, str) else one
        truths.append(UNDECIDED if isinstance(one, str) and said is None else
                      operator_truth(name, [fold(said)] if name == "in" else fold(said), fold(value), whole, opening))
    return max(truths)


def varying_truth(name, operand, value, whole, opening, call):
    """An operator whose operand may hold variables. Of several, each is one that may be undecided."""
    if name in ("min", "max") and call.get("times"):
        return moment_truth(name, operand, value, call)
    if isinstance(operand, Other):
        return other_truth(name, operand, value, call)
    if call.get("folds") and name in FOLDING:
        return folded_truth(name, operand, value, whole, opening, call)
    if name == "cut":
        return cut_truth(operand, value, opening, call)
    if name == "path":
        return operator_truth(name, said_places(operand, call), value, whole, opening)
    if name == "url" and "path" in operand:
        operand = {**operand, "path": said_places(operand["path"], call)}
    if name not in VARYING:
        return operator_truth(name, operand, value, whole, opening)
    if name == "url":
        hosts = {"hosts": [say(one, call, name) for one in operand["hosts"]]} if "hosts" in operand else {}
        return operator_truth(name, {**operand, **hosts}, value, whole, opening)
    if name == "email":
        said = {word: [say(one, call, place) for one in (operand[word] if isinstance(operand[word], list) else [operand[word]])]
                for word, place in (("domains", "url"), ("local", "glob")) if word in operand}
        return operator_truth(name, {**operand, **said}, value, whole, opening)
    if name in ("in", "under"):
        each = operand if isinstance(operand, list) else [operand]
        return max(varying_one(name, one, value, whole, opening, call) for one in each)
    return varying_one(name, operand, value, whole, opening, call)


def varying_one(name, one, value, whole, opening, call):
    said = say(one, call, name) if isinstance(one, str) else one
    if isinstance(one, str) and said is None:  # also of what it cannot read
        return UNDECIDED
    return operator_truth(name, [said] if name == "in" else said, value, whole, opening)


def operator_truth(name, operand, value, whole, opening):
    kind = type_of(value)
    if name == "exists":
        return truth(operand)
    if name == "equals":
        return truth(equal(operand, value))
    if name == "in":
        return truth(any(equal(one, value) for one in operand))
    if name == "is":
        return truth(any(kind == "number" and value.is_integer() if one == "integer" else
                         kind == "string" and values.has_format("date-time", value) if one == "time" else kind == one
                         for one in (operand if isinstance(operand, list) else [operand])))
    if name == "unique":
        if kind != "array":
            return UNDECIDED
        return truth(not any(equal(one, other) for at, one in enumerate(value) for other in value[:at]))
    if name in ("min", "max", "multiple_of"):
        if kind != "number" or (value.is_integer() and abs(value.value) > SAFE):
            return UNDECIDED
        if name == "multiple_of":
            return multiple(value.value, operand.value)
        return truth(value.value >= operand.value if name == "min" else value.value <= operand.value)
    if name in ("min_items", "max_items"):
        if kind not in ("array", "object"):
            return UNDECIDED
        return truth(len(value) >= int(operand.lexeme) if name == "min_items" else len(value) <= int(operand.lexeme))
    if name == "email":
        return values.email(operand, value, opening, glob)
    if name == "words":
        return forms.words_truth(operand["forms"], value)
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
    if name in ("under", "cidr"):
        return getattr(values, name)(operand if isinstance(operand, list) else [operand], text)
    if name == "url":
        return values.url(operand, text, glob, opening)
    if name == "path":
        return values.path(operand, value, glob, opening) if isinstance(value, str) else FALSE
    if name == "format":
        return truth(values.has_format(operand, text))
    if name == "free_of":
        return truth(values.is_free_of(operand if isinstance(operand, list) else [operand], text))
    if name == "detect":
        return truth(any(values.DETECTORS[one](text) for one in operand))
    if name == "contains":
        return truth(operand in text) if isinstance(operand, str) else UNDECIDED
    return truth(len(text) >= int(operand.lexeme) if name == "min_length" else len(text) <= int(operand.lexeme))


def decoded_truth(name, operand, value, whole, opening, decode, call, parts=()):
    """An operator is asked of every reading: where the leaf closes any suffices, where it opens every one must hold."""
    if not decode or not isinstance(value, str) or name not in DECODED_OPERATORS:
        return varying_truth(name, operand, value, whole, opening, call)
    found = values.readings(value, decode, parts)
    if found is None:
        return UNDECIDED
    return (min if opening else max)(varying_truth(name, operand, one, whole, opening, call) for one in found)


# ---- paths: a list of steps, each a selector or ("..", selector); a selector is a name, an index, a slice, WILD or Several ----

WILD = object()
ABSENT = object()


class Several(tuple):
    """The selectors of one step, one after the other."""


class Text(str):
    """A string of an answer. `holds`: the array or object that it holds as JSON; else None."""
    holds = None


def held(value):
    """9.2: for the steps of a path a text that holds JSON is what it holds."""
    return value.holds if isinstance(value, Text) and value.holds is not None else value


def children(value):
    value = held(value)
    return list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []


def descendants(value):
    return [value] + [deeper for child in children(value) for deeper in descendants(child)]


def select_one(selector, value):
    if isinstance(selector, Several):
        return [found for one in selector for found in select_one(one, value)]
    value = held(value)
    if selector is WILD:
        return children(value)
    if isinstance(selector, str):
        return [value[selector]] if isinstance(value, dict) and selector in value else []
    if isinstance(selector, slice):
        return value[selector] if isinstance(value, list) else []
    if isinstance(value, list) and -len(value) <= selector < len(value):
        return [value[selector]]
    return []


def descends(step):
    return isinstance(step, tuple) and not isinstance(step, Several)


def selects_all(step):
    """Whether the step has a `*`."""
    selector = step[1] if descends(step) else step
    return selector is WILD or (isinstance(selector, Several) and WILD in selector)


def names_of(step, value):
    """keys: the names of the members that a last step selects. Elements of arrays have none."""
    selector = step[1] if descends(step) else step
    names = []
    for at in map(held, descendants(value) if descends(step) else [value]):
        for one in selector if isinstance(selector, Several) else [selector]:
            if isinstance(at, dict):
                names += list(at) if one is WILD else [one] if isinstance(one, str) and one in at else []
    return names


def select(steps, value, lacks, keys, skips):
    """All selected values, or names, but those that are skipped; where `lacks`, also one ABSENT for each element of a [*]
    before further steps in which the rest of the path selects nothing (6)."""
    if not steps:
        return [] if skips(value) else [value]
    step, rest = steps[0], steps[1:]
    if keys and not rest:
        return names_of(step, value)
    if descends(step):
        return [one for at in descendants(value) for child in select_one(step[1], at)
                for one in select(rest, child, lacks, keys, skips)]
    found = []
    for selector in step if isinstance(step, Several) else [step]:
        for child in select_one(selector, value):
            inner = select(rest, child, lacks, keys, skips)
            if lacks and selector is WILD and rest and not [one for one in inner if one is not ABSENT]:
                inner = [ABSENT]
            found += inner
    return found


def subject_of(leaf, call):
    by_arguments = call["method"] in ("tools/call", "prompts/get")
    root = call.get({"arg": "root", "meta": "meta", "claim": "claims", "value": "value", "param": "param" if by_arguments else "root"}[leaf["on"]], ABSENT)
    steps, keys = leaf["steps"], leaf["options"].get("keys") is True
    if keys and not (steps and selects_all(steps[-1])):
        steps = steps + [WILD]  # asked are the names of the members of what is selected
    return root, steps, keys


def paths_of(leaf, call):
    """The root, all paths of the leaf, and whether names are asked for."""
    each = [subject_of({**leaf, "steps": steps}, call) for steps in [leaf["steps"], *leaf.get("more", [])]]
    return each[0][0], [steps for _, steps, _ in each], each[0][2]


def selected_by(leaf, call, opening):
    root, paths, keys = paths_of(leaf, call)
    texts = [name for name in leaf["operators"] if name in STRING_OPERATORS]

    def skips(value, everywhere):
        """4: what has no link where links are asked. At the end of `..*` what a string operator cannot read is skipped, since its members are selected, too."""
        if leaf["options"].get("optional") == "or_null" and value is None:
            return True
        if leaf["options"].get("links") is True:
            return everywhere if isinstance(value, (dict, list)) else links_of(value, leaf["options"].get("decode")) == []
        return everywhere and any(isinstance(value, dict) or (isinstance(value, list) and name != "contains") for name in texts)
    return [] if root is ABSENT else [one for steps in paths for one in select(
        steps, root, opening, keys, lambda value, last=bool(steps) and descends(steps[-1]) and selects_all(steps[-1]): skips(value, last))]


def links_of(value, decode):
    """The URLs in all readings of a string; None where these are too many, and of what may hold texts."""
    if isinstance(value, (dict, list)):
        return None
    if not isinstance(value, str):
        return []
    found = values.readings(value, decode) if decode else [value]
    return None if found is None else [link for one in found for link in values.links(one)]


def joined_parts(leaf, call):
    """joined: the strings and numbers, or names, that the path selects, once each, as they stand in the document."""
    root, paths, keys = paths_of(leaf, call)
    found = {place: one for steps in paths for place, one in places(steps, root)} if root is not ABSENT else {}
    if keys:
        parents = dict(below(root, ())) if found else {}
        named = [(place, parents[place[:-1]]) for place in sorted(found)]
        return [list(parent)[place[-1]] for place, parent in named if isinstance(parent, dict)]
    return [one if isinstance(one, str) else one.lexeme for _, one in sorted(found.items(), key=lambda item: item[0])
            if isinstance(one, (str, Number))]


# ---- conditions: (steps, operators, options) leaves, ("all", [...]), ("any", [...]), ("not", condition) ----


# 3: Kleene.
def all_of(truths):
    return min(truths, default=TRUE)


def any_of(truths):
    return max(truths, default=FALSE)


def leaf_truth(leaf, call, closes, nots):
    """`closes`: of the rule; `nots`: how many stand above."""
    opening = closes == (nots % 2 == 1)  # 5
    operators, options = leaf["operators"], leaf["options"]
    lets_apply = options.get("optional") in (True, "or_null") or options.get("absent") == "applies"
    whole = {"whole": True, "anywhere": False, None: opening}[options.get("anchor")]  # 8
    every = {"every": True, "any": False, None: opening}[options.get("quantify")]  # 6
    found = selected_by(leaf, call, opening)
    call = {**call, "folds": options.get("ignore_case") is True, "times": "time" in listed(operators.get("is", []))}
    # 7: what makes the rule apply is true at the top, and each `not` turns it round.
    absent = truth(lets_apply == (nots % 2 == 0))
    if "exists" in operators:
        absent = truth(not operators["exists"])

    def one(value, parts=()):
        if value is ABSENT:
            return absent
        if options.get("links") is True:
            found = links_of(value, options.get("decode"))
            return UNDECIDED if found is None else (all_of if every else any_of)(
                [all_of([varying_truth(name, operand, link, whole, opening, call) for name, operand in operators.items()]) for link in found])
        return all_of([decoded_truth(name, operand, value, whole, opening, options.get("decode"), call, parts)
                       for name, operand in operators.items()])

    if not found:
        return absent
    parts = joined_parts(leaf, call) if options.get("joined") is True else []
    return (all_of if every else any_of)([one(value) for value in found] + ([one("".join(parts), parts)] if len(parts) > 1 else []))


def condition_truth(condition, call, closes, nots):
    kind = condition["kind"]
    if kind == "fact":
        return fact_truth(condition, call, nots)
    if kind == "not":
        return -condition_truth(condition["of"], call, closes, nots + 1)
    if kind == "leaf":
        parts = dict(condition["operators"])
        negated = [(word[4:], parts.pop(word)) for word in ("not_matches", "not_equals") if word in parts]  # 5: exactly `not: {matches}`
        truths = [-leaf_truth({**condition, "operators": {word: operand}}, call, closes, nots + 1) for word, operand in negated]
        return all_of(truths + ([leaf_truth({**condition, "operators": parts}, call, closes, nots)] if parts else []))
    truths = [condition_truth(one, call, closes, nots) for one in condition["of"]]
    return all_of(truths) if kind == "all" else any_of(truths)


def undecided_place(condition, call, closes, nots, where):
    """3: where the first undecided condition stands, as messages name it."""
    kind = condition["kind"]
    if kind == "not":
        return undecided_place(condition["of"], call, closes, nots + 1, where + ".not")
    if kind in ("all", "any"):
        for at, one in enumerate(condition["of"]):
            if condition_truth(one, call, closes, nots) == UNDECIDED:
                return undecided_place(one, call, closes, nots, f"{where}.{kind}[{at}]")
    return where


# ---- what is asked beyond arguments; `call["past"]` is what earlier calls left behind, or None ----

DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
BY = {"session": ["tenant", "principal", "agent", "upstream", "session"], "correlation": ["tenant", "correlation"],
      "principal": ["tenant", "principal"], "agent": ["tenant", "agent"], "tenant": ["tenant"]}


def listed(value):
    return value if isinstance(value, list) else [value]


def us_of(seconds):
    return seconds * 1000000


def seconds_of(duration):
    number, unit = re.fullmatch("([0-9]+)([a-z]+)", duration).group(1, 2)
    return int(number) * {"s": 1, "min": 60, "h": 3600, "d": 86400}[unit]


def days_of(words):
    days = set()
    for word in words:
        first, _, last = word.partition("-")
        at, end = DAYS.index(first), DAYS.index(last or first)
        while at != end:
            days.add(at)
            at = (at + 1) % 7
        days.add(end)
    return days


def minutes_of(clock):
    return int(clock[:2]) * 60 + int(clock[3:])


def local_time(text, end):
    """A day, which as an end is meant to its own, or a day and a time of it; without a zone."""
    day = datetime.strptime(text[:10], "%Y-%m-%d")
    return day + (timedelta(days=1 if end else 0) if len(text) == 10 else timedelta(minutes=minutes_of(text[11:])))


def is_dated(dates, local):
    """By the clocks of the zone: a day, or what lies from one on and before the end of another."""
    for one in dates:
        begin, dots, end = one.partition("..")
        end = end if dots else begin
        if (not begin or local_time(begin, False) <= local) and (not end or local < local_time(end, True)):
            return True
    return False


def lasts(rule, call):
    """`until`: the rule applies before it. Where the time of the call is not known that is undecided."""
    if "time" not in call:
        return UNDECIDED
    until = rule["until"]
    if isinstance(until, str):
        end = datetime.fromisoformat(until)
    else:  # the first of two such moments; one that is skipped is counted on from before
        end = local_time(until["at"], True).replace(tzinfo=zoneinfo.ZoneInfo(until["zone"]))
    since = end.astimezone(timezone.utc) - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return truth(call["time"] < since // timedelta(microseconds=1))


def during_truth(fact, call):
    if "time" not in call:
        return UNDECIDED
    moment = datetime.fromtimestamp(call["time"] // 1000000, zoneinfo.ZoneInfo(fact["zone"]))
    if "dates" in fact and not is_dated(fact["dates"], moment.replace(tzinfo=None)):
        return FALSE
    days = days_of(fact.get("days", DAYS))
    today, minute = moment.weekday(), moment.hour * 60 + moment.minute
    for hours in listed(fact.get("hours", "00:00-24:00")):
        begin, end = minutes_of(hours[:5]), minutes_of(hours[6:])
        if begin < end:
            holds = today in days and begin <= minute < end
        else:  # hours past midnight belong to the day on which they begin
            holds = (today in days and minute >= begin) or ((today - 1) % 7 in days and minute < end)
        if holds:
            return TRUE
    return FALSE


def was_before(fact, call, by, asked):
    """Whether `asked` holds of a call that was permitted within the time, in one of the companies."""
    return any_of([FALSE] + [asked(earlier) for earlier in call["past"].permitted
                             if call.get("time", 0) - us_of(seconds_of(fact.get("within", "24h"))) <= earlier["time"]
                             and any(all(earlier.get(word, "") == call.get(word, "") for word in BY[one]) for one in by)])


def was_called(fact, earlier):
    if "met" in fact:  # 7.4: a rule that applied to a call which was permitted
        return any(rule in earlier["met"] for rule in listed(fact["met"]))
    return (earlier["method"] == "tools/call" and earlier["tool"] != "" and any(glob(name, earlier["tool"]) for name in fact["called"])
            and ("upstreams" not in fact or any(glob(name, earlier["upstream"]) for name in fact["upstreams"])))


def session_truth(fact, call):
    by = [one for one in listed(fact.get("by", ["session", "correlation"])) if call.get(one)]
    if not by:
        return UNDECIDED
    if "label" not in fact:
        return was_before(fact, call, by, lambda earlier: truth(was_called(fact, earlier)))
    truths = [was_before(fact, call, by, lambda earlier, label=label: is_labelled(label, earlier)) for label in fact["label"]]
    return all_of(truths) if fact.get("every") else any_of(truths)


def is_labelled(label, call):
    """9.4: a label is a list of tools, wherever they are, and of maps as `match` takes them, by names and globs."""
    return any_of([all_of(list(match_truths({"effect": "forbid", "match": one if isinstance(one, dict) else {"tools": [one]}}, call).values()))
                   for one in label])


def fact_truth(condition, call, nots):
    word, fact = condition["word"], condition["value"]
    if word == "during":
        return during_truth(fact, call)
    if word == "session":
        return session_truth(fact, call)
    if word == "client":
        return values.cidr(listed(fact), call.get("client", ""))
    if word == "plan":
        return truth(call.get("plan", 0) > 0)
    # annotations: a hint that the server has not given is absent (7)
    absent = truth((condition["options"].get("absent") == "applies") == (nots % 2 == 0))
    given = call["hints"]
    return all_of([truth(given[hint] == wanted) if hint in given else absent
                   for hint, wanted in fact.items()])


# ---- rules ----


def name_truth(name, value, opening, is_method):
    if isinstance(name, dict):  # {regex}
        whole = {"whole": True, "anywhere": False, None: opening}[name.get("anchor")]
        return regex(name["regex"], value, whole, opening)
    if is_method and name == "protocol":  # 10
        return truth(value in PROTOCOL or value.startswith("notifications/"))
    return truth(glob(name, value))  # a literal is a glob without anything special


def resource_truth(name, uri, opening):
    """What spells a URI out means it, and `*` all of them. Else each of its readings is asked; where they differ, or are too many, it
    is undecided."""
    readings = values.uri_readings(uri)
    if name == "*" or (isinstance(name, str) and not re.search(r"[*?\\]", name) and name == uri):
        return TRUE
    truths = {name_truth(name, one, opening, False) for one in readings or []}
    return truths.pop() if len(truths) == 1 else UNDECIDED


def methods_of(rule):
    """10: what `methods` stands for where it is left out; None: every method."""
    match = rule.get("match", {})
    if "methods" in match:
        return match["methods"]
    if "resources" in match:
        if rule["effect"] != "permit":
            return None  # whatever is about a resource, also by a method that a route declares
        return ["resources/read", "resources/subscribe", "resources/unsubscribe", "skills/get", "resources/directory/read"]
    if "prompts" in match:
        return ["prompts/get"]
    if "labels" in match and "tools" not in match:
        if rule["effect"] == "permit":  # what has the label, but opens by no method that only a route declares
            return ["tools/call", "resources/read", "resources/subscribe", "resources/unsubscribe", "skills/get", "resources/directory/read", "prompts/get"]
        return None
    return ["tools/call"] if rule["effect"] == "permit" or "tools" in match else None


def has_uri(method):
    """Whether params.uri says what it is about. Of a method that a route declares the call says it by `resource`."""
    return method.startswith("resources/") or method == "skills/get"


def values_of(word, call):
    """What a list of `match` is asked about."""
    if word == "methods":
        return [call["method"]] + ([call["answers"]] if call["method"] == "response" else [])
    if word == "resources":
        uri = call.get("root", {}).get("uri") if has_uri(call["method"]) else call.get("resource") if call["method"] == "acme/files/read" else None
        return [uri] if isinstance(uri, str) and uri else []  # without one the gate refuses the message unjudged
    if word in ("groups", "scopes"):
        return [one for one in call.get(word, []) if one]  # who has none is in none, not even in `*`
    one = "query" if word == "queries" else word[:-1]
    return [call[one]] if call.get(one) else []  # nothing is matched by no pattern, not even by `*`


MATCHED = ["tenants", "principals", "upstreams", "methods", "agents", "paths", "queries", "labels", "tools", "resources", "prompts", "groups", "scopes"]


def match_truths(rule, call):
    opening = rule["effect"] == "permit"
    match = {**rule.get("match", {}), "methods": methods_of(rule)}
    return {word: any_of([is_labelled(label, call) for label in match[word]]) if word == "labels" else
            any_of([resource_truth(n, v, opening) for n in match[word] for v in values_of(word, call)]) if word == "resources" else
            any_of([name_truth(n, v, opening, word == "methods") for n in match[word] for v in values_of(word, call)])
            for word in MATCHED if match.get(word) is not None}


def only_args_truth(rule, call):
    root = call.get("root", ABSENT)
    return TRUE if "only_args" not in rule or root is ABSENT else truth(set(root) <= set(rule["only_args"]))


def arguments_truth(rule, call):
    """only_args, and `arguments: by_schema`."""
    if "arguments" not in rule:
        return only_args_truth(rule, call)
    root = call.get("root", ABSENT)
    fits = schema_truth(call["schema"], {} if root is ABSENT else root, call["schema"]) if "schema" in call else FALSE
    return all_of([only_args_truth(rule, call), fits])


IS = {"minimum": ("number", "min"), "maximum": ("number", "max"), "multipleOf": ("number", "multiple_of"), "minLength": ("string",
      "min_length"), "maxLength": ("string", "max_length"), "minItems": ("array", "min_items"), "maxItems": ("array", "max_items"),
      "uniqueItems": ("array", "unique"), "minProperties": ("object", "min_items"), "maxProperties": ("object", "max_items")}


def schema_truth(schema, value, root):
    """JSON Schema, keyword by keyword, by the language's own operators."""
    if isinstance(schema, bool):
        return truth(schema)
    kind, truths = type_of(value), []

    def each(what, values):
        truths.extend(schema_truth(what, one, root) for one in values)
    for word, said in schema.items():
        if word in IS and kind == IS[word][0]:
            truths.append(operator_truth(IS[word][1], said, value, False, True))
        elif word in ("exclusiveMinimum", "exclusiveMaximum") and kind == "number":
            truths.append(-operator_truth("max" if word == "exclusiveMinimum" else "min", said, value, False, True))
        elif word in ("type", "const", "enum"):
            truths.append(operator_truth({"type": "is", "const": "equals", "enum": "in"}[word], said, value, False, True))
        elif word == "pattern" and kind == "string":
            truths.append(truth(re.search(said, value) is not None))
        elif word == "$ref":
            found = root
            for step in said.split("/")[1:]:
                found = found[step]
            truths.append(schema_truth(found, value, root))
        elif word == "not":
            truths.append(-schema_truth(said, value, root))
        elif word == "allOf":
            truths.append(all_of([schema_truth(one, value, root) for one in said]))
        elif word == "anyOf":
            truths.append(any_of([schema_truth(one, value, root) for one in said]))
        elif word == "oneOf":
            found = [schema_truth(one, value, root) for one in said]
            truths.append(FALSE if found.count(TRUE) > 1 else UNDECIDED if UNDECIDED in found else truth(found.count(TRUE) == 1))
        elif word == "required" and kind == "object":
            truths.append(truth(set(said) <= set(value)))
        elif word == "properties" and kind == "object":
            truths.extend(schema_truth(one, value[key], root) for key, one in said.items() if key in value)
        elif word == "additionalProperties" and kind == "object":
            each(said, [one for key, one in value.items() if key not in schema.get("properties", {})])
        elif word == "propertyNames" and kind == "object":
            each(said, value)
        elif word == "items" and kind == "array":
            each(said, value)
        elif word == "contains" and kind == "array":
            truths.append(any_of([FALSE] + [schema_truth(said, one, root) for one in value]))
    return all_of(truths)


def multiple(value, of):
    """Undecided where 64 bits do not hold both as whole numbers of the same small part."""
    for places in range(20):
        one, other = abs(value) * 10 ** places, of * 10 ** places
        if one == int(one) and other == int(other):
            return truth(one % other == 0) if max(one, other) < 2 ** 64 else UNDECIDED
        if other >= 2 ** 64 or (other == int(other) and one >= 2 ** 64):
            return UNDECIDED
    return UNDECIDED


def rule_truth(rule, call):
    """Returns: the truth, and the place of the first undecided condition or "-"."""
    root, closes = call.get("root", ABSENT), rule["effect"] != "permit"
    matched, when = match_truths(rule, call), rule.get("when", [])
    ending = [lasts(rule, call)] if "until" in rule else []
    truths = list(matched.values()) + ending + [condition_truth(one, call, closes, 0) for one in when]
    if not closes:
        truths.append(arguments_truth(rule, call))
    if all_of(truths) != UNDECIDED:
        return all_of(truths), "-"
    at = truths.index(UNDECIDED)
    if at < len(matched):
        return UNDECIDED, f"match.{list(matched)[at]}"
    if ending and at == len(matched):
        return UNDECIDED, "until"
    at -= len(matched) + len(ending)
    if at == len(when):  # of a permit, which then does not apply
        return UNDECIDED, "arguments"
    return UNDECIDED, undecided_place(when[at], call, closes, 0, f"when[{at}]")


def names_method(rules, call):
    """Whether some rule names the method for this upstream letter by letter, by glob or by `protocol` (src/gate/mcp/README.md). One
    that is monitored changes nothing that an agent sees, so it names nothing."""
    for rule in rules:
        if rule.get("mode") == "monitor":
            continue
        upstreams = rule.get("match", {}).get("upstreams")
        if upstreams is not None and any_of([name_truth(n, call["upstream"], rule["effect"] == "permit", False)
                                             for n in upstreams]) == FALSE:
            continue
        if any(not isinstance(n, dict) and name_truth(n, v, False, True) == TRUE
               for n in methods_of(rule) or [] for v in values_of("methods", call)):
            return True
    return False


# ---- what is left out of the audit ----


def members(value):
    return list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []


def below(value, place):
    return [(place, value)] + [deeper for at, (_, child) in enumerate(members(value)) for deeper in below(child, place + (at,))]


def keys_of(selector, value):
    """The members that a selector selects, by their number."""
    keys = [key for key, _ in members(value)]
    if selector is WILD:
        return range(len(keys))
    if isinstance(selector, Several):
        return [at for one in selector for at in keys_of(one, value)]
    if isinstance(selector, str):
        return [keys.index(selector)] if isinstance(value, dict) and selector in value else []
    if not isinstance(value, list):
        return []
    return range(len(keys))[selector] if isinstance(selector, slice) else [at for at in (selector % max(len(keys), 1),)
                                                                          if -len(keys) <= selector < len(keys)]


def places(steps, value, place=()):
    """Where the selected values stand, as numbers of members from the root."""
    if not steps:
        return [(place, value)]
    step, rest = steps[0], steps[1:]
    found = []
    for here, one in below(value, place) if descends(step) else [(place, value)]:
        for at in keys_of(step[1] if descends(step) else step, one):
            found += places(rest, members(one)[at][1], here + (at,))
    return found


def redacted_places(redactions, call, roots):
    """Redactions stand among the rules, with the effect `redact`, and match like a forbid. The values that the audit leaves out, in the order in which they stand; those inside others go with them. What could not
    be decided leaves out all. Takes: roots: what the paths of `args` and `params` lead into; or those of `answer`, for which the call's own root stands."""
    found, query = {}, False
    for redaction in redactions:
        paths = [(word, root, steps) for word, root in roots.items() for steps in redaction.get(word, [])]
        matched = all_of(match_truths(redaction, call).values())
        if matched == FALSE:
            continue
        query = query or ("query" in redaction and "answer" not in roots)
        if not paths:
            continue
        if matched == UNDECIDED or any(word != "params" and not steps or (word == "answer" and "root" not in call) for word, _, steps in paths):
            return "all"
        for _, root, steps in paths:
            found.update(((root != "root", *place), value) for place, value in places(steps, call[root])) if root in call else None
    return found, query


def redacted(redactions, call, roots):
    """What the record leaves out, as it is printed."""
    left_out = redacted_places(redactions, call, roots)
    if left_out == "all":
        return "all"
    found, query = left_out
    return [plain(found[place]) for place in sorted(found)
            if not any(place[:length] in found for length in range(1, len(place)))] + ["?"] * query


def plain(value):
    """As Python reads JSON where it keeps numbers as they were written."""
    if isinstance(value, Number):
        return ("number", value.lexeme)
    if isinstance(value, list):
        return [plain(one) for one in value]
    return {key: plain(one) for key, one in value.items()} if isinstance(value, dict) else value


# ---- the past ----


PERIODS = {"second": us_of(1), "minute": us_of(60), "hour": us_of(3600), "day": us_of(86400)}


class Past:
    """What earlier calls left behind. `taken`: the times of each limit's tokens, by what is counted together."""

    def __init__(self):
        self.taken = {}
        self.permitted = []
        self.granted = {}  # until when, by what an approval is bound to
        self.hints = {}    # by upstream and tool

    def taken_of(self, rule, limit, call):
        by = listed(limit.get("by", []))
        key = (rule["id"], repr(plain_limit(limit)), *((one, call.get(one, "")) for one in sorted(by)))
        return self.taken.setdefault(key, [])

    def wait_us(self, rule, at, amount, call):
        """12: how long until the limit has room; 0 where it has. An amount fits at t where it and what was taken in (t - per, t]
        are at most the bound together."""
        limit, now = limits_of(rule)[at], call["time"]
        per = per_of(limit)
        inside = sorted((one for one in self.taken_of(rule, limit, call) if one[0] > now - per), key=lambda one: one[0])
        if "distinct" in limit:
            others = sorted({value: time for time, value in inside if value != amount}.values())
            places = int(bound_of(limit)) - 1  # for others beside this one
            return 0 if len(others) <= places else others[len(others) - places - 1] + per - now
        total = sum(taken for _, taken in inside) + amount
        if total <= bound_of(limit):
            return 0
        for time, taken in inside:
            total -= taken
            if total <= bound_of(limit):
                return time + per - now
        return per

    def bound_to(self, rule, call):
        """11: tenant, principal, agent, upstream, tool (and what else the message is about), the canonical arguments, the rule."""
        return (call.get("agent", ""), *(call.get(word) for word in ("tenant", "principal", "upstream", "method", "answers", "tool", "prompt", "path", "query")),
                repr("root" in call and canonical(call["root"])), rule["id"])

    def is_granted(self, rule, call):
        return self.granted.get(self.bound_to(rule, call), 0) > call["time"]

    def settle(self, verdict, asking, met, call):
        """A permitted call counts for those that ask what was called or met, and uses its approvals up; one that is held is looked
        at by a person."""
        if verdict == "permit":
            self.permitted.append({**call, "met": met})
            for rule in asking:
                self.granted.pop(self.bound_to(rule, call), None)
        if verdict == "hold":
            for rule in asking:
                if rule["id"] in call.get("approved", []) and not self.is_granted(rule, call):
                    self.granted[self.bound_to(rule, call)] = call["time"] + PERIODS["hour"]

    def said_of(self, call):
        """What the upstream says of the tool: the last that it said. Of what is no tool it says nothing."""
        if "tool" not in call:
            return {}
        if call.get("annotations"):
            self.hints[call["upstream"], call["tool"]] = call["annotations"]
        return self.hints.get((call["upstream"], call["tool"]), {})

    def take(self, rule, amounts, call):
        for at, (limit, amount) in enumerate(zip(limits_of(rule), amounts)):
            if "distinct" in limit and self.wait_us(rule, at, amount, call):
                continue  # a person let the value by, which takes no place
            self.taken_of(rule, limit, call).append((call["time"], amount))


class Told(Past):
    """What a test says of the past: calls that were permitted, in all that they leave out like the tested one, and how many
    calls count under a permit's limit."""

    def __init__(self, call):
        super().__init__()
        self.spent = call.get("spent", {})
        for earlier in call.get("after", []):
            earlier = {"tool": earlier} if isinstance(earlier, str) else {"tool": "", **earlier}
            earlier["met"] = listed(earlier.get("met", []))
            time = call.get("time", 0) - us_of(seconds_of(earlier.get("ago", "0s")))
            method = "resources/read" if "resource" in earlier else "prompts/get" if "prompt" in earlier else "tools/call"
            company = {word: value for word, value in call.items() if word not in ("root", "prompt", "resource")}
            root = {"root": {"uri": earlier["resource"]}} if "resource" in earlier else {}
            self.permitted.append({**company, **earlier, **root, "method": method, "time": time})

    def is_granted(self, rule, call):
        return rule["id"] in call.get("approved", [])

    def settle(self, verdict, asking, met, call):
        pass

    def said_of(self, call):
        return call.get("annotations", {})

    def take(self, rule, amounts, call):
        pass

    def wait_us(self, rule, at, amount, call):
        """A test names a number for each limit, in their order; for one of different values it may name those."""
        limit, spent = limits_of(rule)[at], self.spent.get(rule["id"], 0)
        if isinstance(spent, list) and not ("distinct" in limit and len(limits_of(rule)) == 1):
            spent = spent[at]
        if "distinct" in limit:
            others = len({value_of(one) for one in spent} - {amount}) if isinstance(spent, list) else spent.value if spent else 0
            return per_of(limit) if others + 1 > bound_of(limit) else 0
        return per_of(limit) if (spent.value if isinstance(spent, Number) else spent) + amount > bound_of(limit) else 0


def canonical(value):
    """Members in the order in which they were sent, numbers as they were written."""
    if isinstance(value, Number):
        return value.lexeme
    if isinstance(value, list):
        return [canonical(one) for one in value]
    if isinstance(value, dict):
        return [(key, canonical(one)) for key, one in value.items()]
    return value


def plain_limit(limit):
    what = limit["calls"].lexeme if "calls" in limit else ("sum", limit["sum"]) if "sum" in limit else ("distinct", limit["distinct"]["arg"])
    return what, per_of(limit), sorted(listed(limit.get("by", [])))


def per_of(limit):
    return PERIODS.get(limit["per"]) or us_of(seconds_of(limit["per"]))


def value_of(value):
    """The same for what is equal as in `equals`."""
    return type_of(value), value.value if isinstance(value, Number) else value


def limits_of(rule):
    return listed(rule["limit"]) if rule["effect"] == "permit" and "limit" in rule else []


def bound_of(limit):
    return (limit["calls"] if "calls" in limit else limit["at_most"] if "sum" in limit else limit["distinct"]["most"]).value


def amount_of(limit, call, redactions):
    """12: what the call takes of the limit; None where it cannot be said exactly. All selected values are added; each is a number
    from 0 on with at most six places, together at most 10^12, and none of them is left out of the record. Where different values
    are counted, the path selects exactly one string, number or boolean, which is not left out of the record either."""
    if "calls" in limit:
        return 1
    root = call.get("root", ABSENT)
    steps = limit["sum"] if "sum" in limit else limit["distinct"]["arg"]
    found = [] if root is ABSENT else select(steps, root, True, False, lambda value: False)
    left_out = redacted_places(redactions, call, roots_of(call))
    if not found or any(one is ABSENT for one in found) or left_out == "all":
        return None
    if any((False, *place)[:length] in left_out[0] for place, _ in places(steps, root) for length in range(1, len(place) + 2)):
        return None
    if "distinct" in limit:
        is_one = len(found) == 1 and type_of(found[0]) in ("string", "number", "boolean")
        return value_of(found[0]) if is_one else None
    if any(not isinstance(one, Number) for one in found):
        return None
    if any(one.value < 0 or one.value * 10**6 % 1 != 0 for one in found) or sum(one.value for one in found) > 10**12:
        return None
    return sum(one.value for one in found)


def roots_of(call):
    return {"args": "root", "params": "param" if call["method"] in ("tools/call", "prompts/get") else "root"}


# ---- verdicts ----

ORDER = ["forbid", "require_approval", "permit"]
FORBIDS, HOLDS, GRANTED, PERMITS, OVER = range(5)  # what an applying rule comes to; the first beats the others
KINDS = {FORBIDS: ("deny", "forbidden"), HOLDS: ("hold", "approval_required"), GRANTED: ("permit", "permitted"),
         PERMITS: ("permit", "permitted")}


def weight(rule, call, over):
    """11: once granted, a require_approval permits by itself; what is only monitored nobody is asked to approve. 12: a permit over
    a limit that asks holds where nothing else decides."""
    if over:
        return OVER
    if rule["effect"] == "require_approval":
        if arguments_truth(rule, call) != TRUE:
            return FORBIDS  # nobody may approve it
        return GRANTED if rule.get("mode") != "monitor" and call["past"].is_granted(rule, call) else HOLDS
    return FORBIDS if rule["effect"] == "forbid" else PERMITS


def kind_of(heaviest, rule, call):
    if heaviest != OVER:
        return KINDS[heaviest]
    return KINDS[GRANTED if rule.get("mode") != "monitor" and call["past"].is_granted(rule, call) else HOLDS]


def named(rule, more=""):
    return f"{rule['id']},{rule['effect']},{rule.get('mode', 'enforce')}{more}"


def names_claim(asked):
    """Whether a condition is about a claim, or compares with one."""
    if isinstance(asked, dict):
        return asked.get("on") == "claim" or any(names_claim(one) for one in asked.values())
    if isinstance(asked, (list, tuple)):
        return any(names_claim(one) for one in asked)
    return isinstance(asked, Other) and asked.on == "claim"


def halves_of(rule):
    """15.1: a rule that names agents decides the agent's half, and the person's where it says who that is, too; any other the person's.
    A forbid decides both."""
    match = rule.get("match", {})
    if rule["effect"] == "forbid":
        return {"person", "agent"}
    if "agents" not in match:
        return {"person"}
    return {"agent"} | ({"person"} if {"principals", "groups", "scopes"} & set(match) or names_claim(rule.get("when", [])) else set())


def needs_agent(call):
    return call.get("agent_judged", False) and call["method"] not in PROTOCOL and not call["method"].startswith("notifications/")


class Half:
    """What the rules of a half say. `first`: the applying one that decides, `would`: were monitored rules active; or None."""

    def __init__(self, half, rules, applying, waits, call):
        def mine(rule):
            return half is None or half in halves_of(rule)
        applying = [one for one in applying if mine(one[3])]
        self.first = next((one for one in applying if one[3].get("mode") != "monitor"), None)
        self.would = applying[0] if applying else None
        self.wait = min((wait for rule, wait in waits if mine(rule)), default=0)
        if self.first:
            self.kind, self.reason = kind_of(self.first[0], self.first[3], call)
        else:
            self.kind, self.reason = "deny", self.default([rule for rule in rules if mine(rule)], rules, half == "agent", call)

    def default(self, mine, rules, is_agents, call):
        planned = {**call, "plan": 1}  # 8.7: a permit that lacks nothing else says so
        if is_agents and call.get("agent", "") == "":
            return "agent_unknown"
        if self.wait:
            return "rate_limited"
        if any(rule["effect"] == "permit" and rule.get("mode") != "monitor" and rule_truth(rule, call)[0] != TRUE and rule_truth(rule, planned)[0] == TRUE
               for rule in mine):
            return "plan_required"
        if is_agents:
            return "no_agent_rule"
        return "method_unknown" if call["method"] != "tools/call" and not names_method(rules, call) else "no_rule"

    def distance(self):
        """How far it is from a permit."""
        order = ["permitted", "approval_required", "rate_limited", "plan_required", ["no_rule", "method_unknown", "no_agent_rule"], "agent_unknown", "forbidden"]
        return next(at for at, reason in enumerate(order) if self.reason in listed(reason))

    def would_be(self, call):
        return kind_of(self.would[0], self.would[3], call)[0] if self.would else "deny"


RANKS = ["deny", "hold", "permit"]


def judge(rules, call, past=None):
    """1, 2, 3, 11, 12 and 13; 15.1: where the route judges the agent there are two halves, and the call gets the lower verdict. Returns:
    verdict, reason, deciding rule or "-", its first undecided condition or "-", the verdict were monitored rules active or "-", its rule
    or "-", the wait in microseconds or "-", the rule that gives the agent's half, "none", or "-" where it is not needed, what the audit
    leaves out, and each applying rule."""
    applying, found, waits = [], [], []
    redactions, rules = ([rule for rule in rules if (rule["effect"] == "redact") == wanted] for wanted in (True, False))
    past = past or Told(call)
    call = {**call, "past": past, "hints": past.said_of(call)}
    for rule in rules:
        value, place = rule_truth(rule, call)
        order = (ORDER.index(rule["effect"]), rule["id"].encode())
        if not (value == TRUE or (value == UNDECIDED and rule["effect"] != "permit")):
            continue
        amounts = [amount_of(limit, call, redactions) for limit in limits_of(rule)]
        if None in amounts:
            continue
        over = {at: past.wait_us(rule, at, amount, call) for at, amount in enumerate(amounts)}
        over = {at: wait for at, wait in over.items() if wait}
        asks = bool(over) and all(limits_of(rule)[at].get("over") == "require_approval" for at in over)
        found.append((order, named(rule, ",limited" if over else ""), rule["id"] if not over else None))
        if over and not asks and rule.get("mode") != "monitor":
            waits.append((rule, max(over.values())))
        if not over or asks:
            applying.append((weight(rule, call, asks), order, place, rule, amounts))
    applying.sort(key=lambda one: one[:2])
    halves = [Half(half, rules, applying, waits, call) for half in (["person", "agent"] if needs_agent(call) else [None])]
    by = max(halves, key=Half.distance)  # of the same, the first
    for one in {half.would[1]: half.would for half in halves if half.would}.values():
        if one[3].get("mode") == "monitor" and one[0] != OVER:
            past.take(one[3], one[4], call)
    would = min(halves, key=lambda half: RANKS.index(half.would_be(call)))
    is_monitored = any(one[3].get("mode") == "monitor" for one in applying)
    rest = (would.would_be(call), would.would[3]["id"] if would.would else "-") if is_monitored else ("-", "-")
    agents = "-" if len(halves) == 1 else "none" if halves[1].kind == "deny" else halves[1].first[3]["id"]
    names = (agents, redacted(redactions, call, roots_of(call)), *(name for _, name, _ in sorted(found)), redacted(redactions, call, {"answer": "root"}))
    asking = [one[3] for one in applying if one[3].get("mode") != "monitor" and one[3]["effect"] == "require_approval"]
    asking += [half.first[3] for half in halves if half.first and half.first[0] == OVER]
    if by.kind == "permit":
        for one in {half.first[1]: half.first for half in halves}.values():
            past.take(one[3], one[4], call)
    past.settle(by.kind, asking, [half.first[3]["id"] for half in halves if half.first] + [met for _, _, met in found if met], call)
    wait = str(max(half.wait for half in halves if half.reason == "rate_limited")) if by.reason == "rate_limited" else "-"
    return (by.kind, by.reason, by.first[3]["id"] if by.first else "-", by.first[2] if by.first else "-", *rest, wait, *names)
