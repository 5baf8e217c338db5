# SPDX-License-Identifier: Apache-2.0
"""What `words: {forms}` means, from the paragraph "Commands, word by word" of the policy language: a command is tried in every way
in which it could be the form. Beside it, random forms, and commands that are nearly theirs."""

import itertools
import re

import values
from values import FALSE, truth

# As the generator's files say them under `kinds:`.
KINDS_TEXT = "kinds: {FILE: {matches: '[a-z][a-z./]*'}, N: {matches: '-?[0-9]{1,3}'}, ANY: {max_length: 3}, UNDER: {under: /srv}}"
KINDS = {
    "FILE": lambda word: truth(re.fullmatch("[a-z][a-z./]*", word, re.ASCII) is not None),
    "N": lambda word: truth(re.fullmatch("-?[0-9]{1,3}", word, re.ASCII) is not None),
    "ANY": lambda word: truth(len(word) <= 3),
    "UNDER": lambda word: values.under(["/srv"], word),
}


# ---- a line as a tree: ("word", choices, repeats), ("maybe", items), ("option", (text, way, choices, number), must), ("end",) ----

NUMBERS = itertools.count()


def is_option(token):
    return token.startswith("-") and token not in ("-", "--")


def items_of(tokens):
    """The items up to the end, or to the bracket that closes."""
    items = []
    while tokens and tokens[0] not in ("]", ")"):
        items.append(item_of(tokens))
    return items


def item_of(tokens):
    token = tokens.pop(0)
    if token in "[(" and is_option(tokens[0]):
        rest = list(tokens)
        option = option_of(rest, True)
        if rest.pop(0) == {"[": "]", "(": ")"}[token]:  # a bracket of its own
            tokens[:] = rest
            return ("option", option, token == "(")
    if token == "[":
        inner = items_of(tokens)
        tokens.pop(0)
        return ("maybe", inner)
    if token == "(":
        choices, end = choices_of(tokens)
        return ("word", choices, end == ")...")
    if is_option(token):
        tokens.insert(0, token)
        return ("option", option_of(tokens, False), True)
    name = token.removesuffix("...")
    return ("word", [name], True) if name in KINDS and name != token else ("word", [token], False)


def choices_of(tokens):
    choices, end = [], "|"
    while end == "|":
        choices.append(tokens.pop(0))
        end = tokens.pop(0)
    return choices, end


def bracketed(tokens):
    tokens.pop(0)
    return choices_of(tokens)[0]


def option_of(tokens, alone):
    """Takes: alone: it is all that its bracket holds."""
    text = tokens.pop(0)
    if "=" in text:
        before, _, behind = text.partition("=")
        return before + "=", "behind", tuple([behind] if behind else bracketed(tokens)), next(NUMBERS)
    takes = not text.startswith(("-{", "-#")) and (alone or not text.startswith("--"))
    if not takes or tokens[:1] == [] or tokens[0] not in [*KINDS, "("] or (tokens[0] == "(" and is_option(tokens[1])):
        return text, "alone", (), next(NUMBERS)
    choices = bracketed(tokens) if tokens[0] == "(" else [tokens.pop(0)]
    return text, "either" if len(text) == 2 else "next", tuple(choices), next(NUMBERS)


# ---- whether a command is the form ----


def word_truth(choices, word, dashes):
    """Small words stand for themselves. A kind takes no word with a dash in front, unless it may; nothing takes an empty one."""
    if word == "":
        return FALSE
    return max(KINDS[one](word) if one in KINDS and (dashes or word[0] != "-") else truth(one not in KINDS and one == word)
               for one in choices)


def readings(option, options, words):
    """In which ways the command goes on with this option: how certain that is, how many words it takes, and which options these are."""
    text, way, choices, number = option
    first = words[0]
    if text.startswith("-{"):
        yield truth(re.fullmatch(f"-[{text[2:-1]}]+", first) is not None), 1, {number}
    elif text == "-#":
        yield truth(re.fullmatch("-[0-9]+", first, re.ASCII) is not None), 1, {number}
    elif way == "alone":
        yield truth(first == text), 1, {number}
    if way in ("behind", "either") and first.startswith(text):
        yield word_truth(choices, first[len(text):], True), 1, {number}
    if way in ("next", "either") and first == text and words[1:2] not in ([], ["--"]):
        yield word_truth(choices, words[1], not text.startswith("--")), 2, {number}
    for letters in options if way == "either" else []:  # -nC3
        for at in range(2, len(first)) if letters[0].startswith("-{") else []:
            if first[0] == "-" and set(first[1:at]) <= set(letters[0][2:-1]) and first[at] == text[1]:
                if first[at + 1:]:
                    yield word_truth(choices, first[at + 1:], True), 1, {number, letters[3]}
                elif words[1:2] not in ([], ["--"]):
                    yield word_truth(choices, words[1], True), 2, {number, letters[3]}


def is_kind(item):
    return item[0] == "word" and any(one in KINDS for one in item[1])


def items_truth(items, words, ended=False, options=(), missing=frozenset()):
    """Takes: ended: a `--` of the form stands before these words; options: that may stand here; missing: those that must still come."""
    found = FALSE
    for option in options if words else ():
        for sure, taken, which in readings(option, options, words):
            if sure != FALSE:
                found = max(found, min(sure, items_truth(items, words[taken:], ended, options, missing - which)))
    if not items:
        return max(found, truth(not words and not missing))
    item, rest = items[0], items[1:]
    if item[0] == "option":
        return max(found, items_truth(rest, words, ended, (*options, item[1]), missing | {item[1][3]} if item[2] else missing))
    if item[0] == "maybe" and len(item[1]) == 1 and is_kind(item[1][0]):
        return max(found, items_truth(rest, words, ended, options, missing), items_truth(item[1] + rest, words, ended, options, missing))
    if is_kind(item):
        return max(found, word_item_truth(item, items, words, ended, options, missing))
    if missing:  # options do not stand behind a small word, nor brackets with more in them
        return found
    if item[0] == "end":
        return max(found, items_truth(rest, words, ended))
    if item[0] == "maybe":
        return max(found, items_truth(rest, words, ended), items_truth([*item[1], ("end",), *rest], words, ended))
    return max(found, word_item_truth(item, items, words, ended, (), frozenset()))


def word_item_truth(item, items, words, ended, options, missing):
    _, choices, repeats = item
    here = word_truth(choices, words[0], ended) if words else FALSE
    if here == FALSE:
        return FALSE
    behind = items_truth(items[1:], words[1:], ended or choices == ["--"], options, missing)
    return min(here, max(behind, items_truth(items, words[1:], ended, options, missing)) if repeats else behind)


def words_truth(forms, value):
    """A list of texts of which none is empty; else it is no command."""
    if not isinstance(value, list) or not all(isinstance(word, str) and word != "" for word in value):
        return FALSE
    trees = [items_of(re.findall(r"\)\.\.\.|[\[\]()|]|[^\s\[\]()|]+", form)) for form in forms]
    return max(items_truth(tree, value) for tree in trees)


# ---- random ones ----

SMALL = ["a", "b", "a.b", "-", "./..."]
OPTIONS = ["-{xy}", "-{x}", "-#", "-x", "-n N", "-x ANY", "-n (a|b)", "-ab", "-ab FILE", "-name ANY", "--all", "--alloy", "--of=FILE", "--of=ANY", "--of=a",
           "--of=(a|b)"]
ALONE = OPTIONS + ["--all ANY", "--to FILE"]  # in a bracket of their own
PLACES = ["FILE", "N", "ANY", "UNDER", "FILE...", "ANY...", "(a|b)", "(a|FILE)", "(a|b)...", "UNDER..."]
WORDS = ["a", "b", "a.b", "-", "--", "-x", "-xy", "-y", "-yz", "-n", "-n5", "-na", "-5", "-55", "5", "-ab", "-name", "--all", "--al", "--alloy", "--all=a", "--of=a", "--of=", "--of=c",
         "--of", "--to", "/srv/a", "/etc/a", "srv", "A", "-xa", "abcd", "./...", "-z"]


def part(random, depth):
    kind = random.randrange(10)
    if kind < 3:
        return f"[{random.choice(ALONE)}]"
    if kind < 4:
        return random.choice(OPTIONS) if random.random() < 0.6 else f"({random.choice(ALONE)})"
    if kind < 6:
        return random.choice(SMALL)
    if kind < 7:
        return "--" if random.random() < 0.5 else "[--]"
    if kind < 8 and depth > 0:
        return f"[{' '.join(part(random, depth - 1) for _ in range(random.randrange(1, 4)))}]"
    return random.choice(PLACES)


def form(random):
    """A random form that can be read: of its options at most two must be there."""
    while True:
        line = " ".join(part(random, 2) for _ in range(random.randrange(1, 6)))
        bare = re.findall(r"-[^\s\[\]()|]*", re.sub(r"\[(-[^\[\]]*)\]", "", line))
        if len([one for one in bare if one != "--"]) <= 2 and not re.search(r"-\w+ \([^()]*\)\.\.\.", line):
            return line


def command(random, forms):
    """Nearly a command of one of the forms."""
    tokens = re.findall(r"[^\s\[\]()|]+", re.sub(r"\[[^\[\]]*\]", lambda m: m[0] if random.random() < 0.6 else "", random.choice(forms)))
    words = []
    for token in tokens:
        name = token.removesuffix("...")
        if name in KINDS or random.random() < 0.1:
            words += [random.choice({"FILE": ["a", "b", "a.b"], "N": ["5", "-5"], "UNDER": ["/srv/a", "a", "/etc"]}.get(name, WORDS))
                      for _ in range(random.choice([1, 1, 2]) if name != token else 1)]
        elif token.startswith("-{"):
            words.append("-" + "".join(random.choice(token[2:-1]) for _ in range(random.choice([1, 1, 2]))))
        elif token == "-#":
            words.append("-5")
        elif "=" in token:
            words.append(token.partition("=")[0] + "=" + random.choice(["a", "b", "abcd"]))
        else:
            words.append(token)
    for _ in range(random.choice([0, 0, 1, 1, 2])):
        at = random.randrange(len(words) + 1)
        words[at:at + random.choice([0, 0, 1])] = random.choice([[random.choice(WORDS)], [random.choice(WORDS)], [], words[at:at + 1] * 2, [""]])
    if len(words) > 1 and random.random() < 0.1:
        at = random.randrange(len(words) - 1)
        words[at:at + 2] = [words[at] + words[at + 1]]
    return words[:8]
