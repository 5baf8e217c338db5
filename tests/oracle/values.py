# SPDX-License-Identifier: Apache-2.0
"""What the operators that look inside one string mean, from the paragraph "Operators" of the policy language: decoded
readings, file paths, URLs, address ranges, formats. TRUE, FALSE and UNDECIDED are those of meaning.py."""

import base64
import codecs
import datetime
import html.entities
import ipaddress
import json
import pathlib
import re
import unicodedata

TRUE, UNDECIDED, FALSE = 1, 0, -1
DEPTH = 3
READINGS = 64


def truth(is_true):
    return TRUE if is_true else FALSE


# ---- decode ----


def escaped_bytes(text):
    return re.sub(rb"%([0-9A-Fa-f]{2})", lambda m: bytes([int(m[1], 16)]), text.encode())


def percent(text):
    """Replaces well-formed escapes and leaves the rest; each byte that is no UTF-8 is U+FFFD."""
    return escaped_bytes(text).decode("utf-8", "each_replaced")


codecs.register_error("each_replaced", lambda e: ("\ufffd" * (e.end - e.start), e.end))


def from_base64(text):
    """The whole string; either alphabet or both, padding full or absent, blanks left out."""
    text = re.sub("[ \t\r\n]", "", text)
    body = text.rstrip("=")
    if not re.fullmatch(r"[A-Za-z0-9+/_-]*", body, re.ASCII) or len(body) % 4 == 1:
        return None
    if body != text and len(text) - len(body) != -len(body) % 4:
        return None
    raw = base64.b64decode(body.replace("-", "+").replace("_", "/") + "=" * (-len(body) % 4))
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def unicode(text):
    """NFKC without what is ignorable."""
    return unicodedata.normalize("NFKC", "".join(c for c in text if not ignorable(c)))


def fold(text):
    """What texts are compared as that differ in nothing but case, or in what NFKC makes equal."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", text).casefold())


def from_html(text):
    """Well-formed escapes of characters that are scalar values; names with their semicolon."""
    def one(match):
        name = match[1] or match[2]
        if name[0] != "#":
            return html.entities.html5.get(name + ";", match[0])
        code = int(name[2:], 16) if name[1] in "xX" else int(name[1:])
        return chr(code) if 0 < code < 0x110000 and not 0xd800 <= code < 0xe000 else match[0]
    return re.sub(r"&(?:(#[0-9]+|#[xX][0-9A-Fa-f]+);?|([A-Za-z][A-Za-z0-9]*);)", one, text, flags=re.ASCII)


def refuse(word):
    raise ValueError(word)  # NaN and its like are no JSON


def from_json(text):
    """The whole string. A string becomes what it says; any other value its text without blanks, with its strings decoded."""
    try:
        json.loads(text, parse_constant=refuse, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    parts = re.findall(r'"(?:[^"\\]|\\.)*"|[^ \t\r\n"]+', text, re.DOTALL)
    if len(parts) == 1 and parts[0][0] == '"':
        said = json.loads(parts[0])
    else:
        said = "".join('"' + json.loads(part) + '"' if part[0] == '"' else part for part in parts)
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in said)


BLANKS = "[ \t\r\n]*"
ALIKE = {chr(int(point, 16)): seen.replace('\\"', '"').replace("\\\\", "\\") for point, seen in
         re.findall(r'X\(0x(\w+), "(.*)"\)', (pathlib.Path(__file__).parents[2] / "build/gen/lookalike_tbl.h").read_text())}


def homoglyph(text):
    return "".join(ALIKE.get(c, c) for c in unicode(text)) if not text.isascii() else None


def pieces(raw, least):
    """All of it where it is text, else what of it is text in ASCII; and whether it was all."""
    if len(raw) >= least:
        try:
            whole = raw.decode("utf-8")
            if not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", whole):
                return [whole], True
        except UnicodeDecodeError:
            pass
    return [one.decode() for one in re.findall(rb"[\t\n\r\x20-\x7e]{%d,}" % least, raw)], False


def replaced(text, run_at):
    """Each run stands where it stood, as its pieces, a line each. Takes: run_at: where the run at a place ends, and its pieces."""
    out, at = [], 0
    while at < len(text):
        end, found = run_at(text, at)
        out.append("\n".join(found) if found else text[at:max(end, at + 1)])
        at = max(end, at + 1)
    return "".join(out)


def from_hex(text):
    def pairs(digits):
        return bytes.fromhex(digits[:len(digits) // 2 * 2])

    def run_at(text, at):
        escapes = re.compile(r"(?:\\[xX][0-9A-Fa-f]{2})+").match(text, at)
        if escapes:
            return escapes.end(), pieces(pairs(re.sub(r"\\[xX]", "", escapes[0])), 1)[0]
        number = re.compile(r"(?:0[xX](?=[0-9A-Fa-f]))?([0-9A-Fa-f]+)", re.ASCII)
        numbers, end, begin = [], at, at
        while found := number.match(text, begin):
            if numbers and len(found[1]) % 2:
                break
            numbers.append(found[1])
            end = found.end()
            if len(found[1]) % 2 or re.match("[A-Za-z0-9]", text[at - 1:at]):
                break
            begin = re.compile(BLANKS + "[:,;._-]?" + BLANKS).match(text, end).end()
        least = 1 if at == 0 and end == len(text) else 8
        made, whole = pieces(b"".join(map(pairs, numbers)), least)
        if not whole and len(numbers) == 1 and len(numbers[0]) > 2 * least:
            made += pieces(pairs(numbers[0][1:]), least)[0]
        return end, made
    return replaced(text, run_at)


def base64_inside(text):
    def parts(letters, lacks):
        found = []
        for part in re.split(lacks, letters):
            for skipped in range(4):
                if len(part) - skipped < 11:
                    break
                plain = part[skipped:].replace("-", "+").replace("_", "/")
                made, whole = pieces(base64.b64decode((plain + "AAA")[:(len(plain) + 3) // 4 * 4])[:len(plain) * 3 // 4], 8)
                found += made
                if whole:
                    if skipped == 0 and part == letters:
                        return made, True
                    break
        return found, False

    def run_at(text, at):
        run = re.compile(r"[A-Za-z0-9+/_-]{16,}" + BLANKS + r"\n" + BLANKS + r"(?=[A-Za-z0-9+/_-])")
        end = at
        while long_line := run.match(text, end):
            end = long_line.end()
        end = re.compile("[A-Za-z0-9+/_-]*").match(text, end).end()
        letters = re.sub(r"[ \t\r\n]", "", text[at:end])
        standard, for_urls = bool(re.search("[+/]", letters)), bool(re.search("[_-]", letters))
        ways = ["[+/]", "[_-]"] if for_urls and not standard else ["[_-]", "[+/]"]
        found, whole = parts(letters, ways[0])
        if not whole and (standard or for_urls) and (standard == for_urls or len(letters) <= 4096):
            found += parts(letters, ways[1])[0]
        return (re.compile("={0,2}").match(text, end).end() if end > at else end), found
    return replaced(text, run_at)


DECODERS = {"percent": percent, "base64": from_base64, "unicode": unicode, "html": from_html, "json": from_json, "hex": from_hex,
            "base64_inside": base64_inside, "homoglyph": homoglyph}


def readings(text, names, parts=()):
    """The string and all that it may be read as, nested to depth 3; None where there are over 64. Takes: parts: that it was joined
    of, each is also read by itself."""
    found, newest = [text], [text]
    for depth in range(DEPTH):
        made = []
        for one in newest:
            for name in names:
                ways = [DECODERS[name](one)]
                if parts and depth == 0:
                    each = [DECODERS[name](part) for part in parts]
                    ways.append("".join(part if reading is None else reading for part, reading in zip(parts, each)))
                for reading in ways:
                    if reading is not None and reading not in found:
                        found.append(reading)
                        made.append(reading)
                    if len(found) > READINGS:
                        return None
        newest = made
    return found


# ---- under ----


def steps_of(path):
    """Resolves `.`, `..` and `//`. The root is above itself."""
    steps = []
    for step in path.split("/"):
        if step == "..":
            steps = steps[:-1]
        elif step not in ("", "."):
            steps.append(step)
    return steps


def has_dots(text):
    """A step `.` or `..`, as it is written or escaped; `?`, `#` and `;` end one, too."""
    return bool({".", ".."} & set(re.split(r"[/\\?#;]", percent(text))))


def ends_in_blank(text):
    """What Python or JavaScript trim."""
    text = escaped_bytes(text).decode("utf-8", "surrogateescape")
    return text.rstrip().rstrip("\ufeff") != text


def debatable(path):
    return (any("\udc80" <= c <= "\udcff" or c == "\\" or unicodedata.category(c) == "Cc" for c in path) or ends_in_blank(path)
            or not path.startswith("/") or path.startswith("//"))


def under(directories, text):
    decoded = escaped_bytes(text).decode("utf-8", "surrogateescape")  # once
    if debatable(text) or debatable(decoded) or "%" in decoded:
        return UNDECIDED
    if ".." in re.split("[/?#;]", decoded) and ({"?", "#", ";"} & set(decoded) or re.search("%2[eEfF]", text)):
        return UNDECIDED
    if re.search(r"//(.*/)?\.\.(/|$)", decoded, re.DOTALL):
        return UNDECIDED
    if any(is_inside(text, one) and is_inside(decoded, one) for one in directories):
        return TRUE
    return UNDECIDED if any(is_inside(path, one) for one in directories for path in (text, decoded, re.split("[?#;]", decoded)[0])) else FALSE


def is_inside(path, directory):
    return steps_of(path)[:len(steps_of(directory))] == steps_of(directory)


# ---- path ----


def plain(text):
    """NFKC without what nobody sees."""
    kept = ""
    for at, c in enumerate(text):
        kept += "" if deceives(kept[-1:], c, text[at + 1:at + 2]) else c
    return unicode(kept)


def folded(text):
    return unicodedata.normalize("NFKC", plain(text).casefold())


def is_blank(c):
    return unicodedata.category(c) == "Zs" or c in "\u180e\ufeff"


def path_of(text):
    """Whether it is absolute, its steps, whether it is a folder; None where readers may take it in several ways."""
    if text in ("/", "."):
        return text == "/", [], True
    absolute = text.startswith("/")
    rest = text[1:] if absolute else text.removeprefix("./")
    steps = (rest[:-1] if rest.endswith("/") else rest).split("/")
    for at, step in enumerate(steps):
        for one in (step, plain(step)):
            if one in ("", ".", "..") or re.search(r"[%\\`/\0-\x1f\x7f-\x9f\u2028\u2029]", one):
                return None
            if is_blank(one[0]) or is_blank(one[-1]) or one[-1] in "'\"":
                return None
            if at == 0 and not absolute and (one[0] in "-~+@='\"" or ":" in one):
                return None
    return absolute, steps, rest.endswith("/")


def lies_in(path, folder):
    """`folder`: a text, or None where a variable in it cannot be said."""
    folder = None if folder is None else path_of(folder)
    if folder is None:
        return UNDECIDED
    if path[0] != folder[0] or len(path[1]) < len(folder[1]):
        return FALSE
    pairs = list(zip(path[1], folder[1]))
    if all(one == other for one, other in pairs):
        return TRUE
    return UNDECIDED if all(folded(one) == folded(other) for one, other in pairs) else FALSE


def fits_any(patterns, step, fits):
    """True as both are written, undecided where it fits once both are plain, or folded."""
    if any(fits(one, step) for one in patterns):
        return TRUE
    return UNDECIDED if any(fits(read(one), read(step)) for one in patterns for read in (plain, folded)) else FALSE


def has_plain_letters(text):
    return all(c in "_.+@=,- " or (unicodedata.category(c)[0] in "LM" or unicodedata.category(c) == "Nd") and not unseen(c) and not ignorable(c)
               for c in text)


def found_in(names, step):
    """What detectors find in a step: true as it is written, undecided in another reading."""
    if any(DETECTORS[one](step) for one in names):
        return TRUE
    return UNDECIDED if any(DETECTORS[one](read(step)) for one in names for read in (plain, folded)) else FALSE


def step_truths(place, step, glob):
    hidden, bad = place.get("hidden"), place.get("none_of", [])
    if plain(step).startswith(".") and hidden != "any":
        yield UNDECIDED if hidden is None else fits_any(hidden, step, glob)
    if "letters" in place:
        yield TRUE if has_plain_letters(step) else UNDECIDED if has_plain_letters(folded(step)) else FALSE
    yield -fits_any(place.get("without", ""), step, lambda c, text: c != "" and c in text)
    if not step.startswith(".") or hidden == "any":
        yield -fits_any([one for one in bad if one not in DETECTORS], step, glob)
        yield -found_in([one for one in bad if one in DETECTORS], step)


def place_truth(place, under, path, glob, opening):
    inside = lies_in(path, under)
    if under is not None and path_of(under) is not None and path[0] != path_of(under)[0]:
        return FALSE if opening else UNDECIDED  # from where the server stands it may lead there
    if inside == FALSE or under is None or path_of(under) is None:
        return inside
    steps = path[1][len(path_of(under)[1]):]
    least, most = re.fullmatch(r"(\d+)(\+|-\d+)?", place.get("below", "0+")).groups()
    truths = [inside, truth(int(least) <= len(steps) <= (500 if most == "+" else int((most or "-" + least)[1:])))]
    truths += [-lies_in(path, out) for out in place.get("not_under", [])]
    truths += [one for step in steps for one in step_truths(place, step, glob)]
    if "names" in place or "endings" in place:
        truths.append(FALSE if path[2] or not steps else max(fits_any(place.get("names", []), steps[-1], glob),
                                                              fits_any(place.get("endings", []), steps[-1], lambda end, step: step.endswith(end))))
    return min(truths)


def path(places, text, glob, opening):
    """Takes: places: maps, whose folders are said already."""
    if len(text) > 1000:
        return FALSE if opening else UNDECIDED
    read = path_of(text)
    if read is None:
        return UNDECIDED
    return max(place_truth(place, under, read, glob, opening) for place in places for under in place["under"])


# ---- URIs of resources ----


def uri_readings(uri):
    """The readings of a URI; None: there are more than two."""
    if len(uri.encode()) > 8192 or ends_in_blank(uri) or re.search(r'[^!-~]|["<>\\^`{|}#]', uri):
        return None
    for escape in re.finditer("%(.{0,2})", uri):
        if not re.fullmatch("[0-9A-F]{2}", escape[1]) or re.fullmatch(r"[\0-\x1f\x7f/\\%A-Za-z0-9._~-]", chr(int(escape[1], 16))):
            return None
    scheme, rest = re.fullmatch(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(.*)", uri).groups()
    authority, known = None, PORTS.get((scheme or "").lower())
    if scheme and rest.startswith("//"):
        authority, rest = re.fullmatch(r"//([^/?]*)(.*)", rest).groups()
    path, mark, query = rest.partition("?")
    is_file = (scheme or "").lower() == "file"
    if has_dots((authority or "") + path) or "//" in path:
        return None
    if mark and (query == "" or is_file or ".." in re.split(r"[/\\?#;]", percent(query))):
        return None
    if not scheme:
        return [uri]
    if authority is None:
        return None if known or is_file else [uri, scheme.lower() + ":" + rest]
    return authority_readings(scheme, authority, rest, known, is_file) and [uri, authority_readings(scheme, authority, rest, known, is_file)]


def authority_readings(scheme, authority, rest, known, is_file):
    """The URI in the usual form; None where it is unusual in more than one thing, or who knows how."""
    user, at, server = authority.partition("@") if "@" in authority else ("", "", authority)
    host, colon, port = server.partition(":")
    if "[" in server or "@" in server or (colon and (is_file or not re.fullmatch("[1-9][0-9]{0,4}", port) or int(port) > 65535)):
        return None
    if known:
        if not rest or not re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", host):
            return None
        if re.fullmatch(r"[0-9]+|0[xX].*", host.split(".")[-1]) and not (address(host) and address(host).version == 4):
            return None
    capitals = re.sub("%..", "", scheme + host)
    unusual = [capitals != capitals.lower(), bool(at), colon != "" and int(port) == known, is_file and host != ""]
    if sum(unusual) > 1:
        return None
    small = "".join(one if one.startswith("%") else one.lower() for one in re.split("(%..)", host))
    return scheme.lower() + "://" + ("" if unusual[3] else small) + ("" if unusual[2] else colon + port) + rest


# ---- url, cidr, format ----

PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443, "ftp": 21}


def address(text):
    """An IP address, or None. A zone is no part of an address."""
    try:
        return ipaddress.ip_address(text) if "%" not in text else None
    except ValueError:
        return None


def unmapped(one):
    """What an IPv4-mapped address reaches."""
    return one.ipv4_mapped or one if one.version == 6 else one


def cidr(ranges, text):
    one = address(text)
    if one is None:
        return UNDECIDED
    return truth(any(unmapped(one) in ipaddress.ip_network(r) for r in ranges))


def host_truth(hosts, host, glob):
    """`host`: lower case, with the brackets of IPv6. Takes: hosts None: any; glob: of meaning.py."""
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else None
    one = address(bare if bare is not None else host)
    if bare is not None and (one is None or one.version != 6):
        return UNDECIDED
    if one is None:
        labels = host.split(".")
        if not all(re.fullmatch(r"[a-z0-9_-]+", label, re.ASCII) for label in labels):
            return UNDECIDED  # a trailing dot, `%`, nothing at all
        if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", labels[-1], re.ASCII):
            return UNDECIDED  # some reader's address
        return truth(hosts is None or any(glob(one, host) for one in hosts))
    listed = [unmapped(address(one.strip("[]"))) for one in hosts or [] if address(one.strip("[]")) is not None]
    if unmapped(one) in listed:
        return TRUE
    # No IP literal unless listed; an author who wrote a glob that it happens to match did not think of it.
    return UNDECIDED if hosts is None or any(glob(pattern, bare or host) for pattern in hosts) else FALSE


def port_truth(ports, port, scheme):
    if port and (not re.fullmatch("[0-9]+", port, re.ASCII) or int(port) > 65535):
        return UNDECIDED
    usual = PORTS.get(scheme)
    if ports == "any":
        return TRUE
    if ports is None:
        return truth(not port or int(port) == usual)
    number = int(port) if port else usual
    return UNDECIDED if number is None else truth(number in ports)


def split_authority(authority):
    """Host and port: at the colon, which in brackets is none."""
    inside = authority.find("]") if authority.startswith("[") else 0
    at = authority.find(":", inside) if inside >= 0 else -1
    return (authority[:at], authority[at + 1:]) if at >= 0 else (authority, "")


def url_rest(terms, rest, authority, glob, opening):
    """What stands behind the host: no query, and a path as in `path`. In a path with `;` a step may end there."""
    query = rest.find("?")
    if terms.get("query") == "none" and query >= 0:
        yield UNDECIDED if "#" in rest[:query] else FALSE
    if "path" in terms:
        plain_path = re.split("[?#]", rest)[0]
        yield UNDECIDED if ";" in plain_path else path(terms["path"], plain_path or ("/" if authority is not None else ""), glob, opening)


def url(terms, text, glob, opening=True):
    match = re.fullmatch(r"([A-Za-z][A-Za-z0-9+.-]*):(//([^/?#]*))?(.*)", text, re.ASCII)
    if any(not "!" <= c <= "~" or c == "\\" for c in text) or match is None:
        return UNDECIDED
    scheme, authority = match[1].lower(), match[3]
    schemes, hosts, ports = (terms.get(word) for word in ("schemes", "hosts", "ports"))
    unknown = hosts is not None and None in hosts  # a variable's host that cannot be said may be the one
    hosts = None if hosts is None else [one.lower() for one in hosts if one is not None]
    ports = [int(one.lexeme) for one in ports] if isinstance(ports, list) else ports
    if authority is not None and "@" in authority:
        return UNDECIDED
    parts = [truth(schemes is None or scheme in [one.lower() for one in schemes])]
    if schemes is None and "to" in terms and scheme not in PORTS:
        parts = [UNDECIDED]
    host, port = split_authority(authority or "")
    if not host and scheme in PORTS:
        parts += [UNDECIDED]  # these need a host
    elif not host:
        parts += [UNDECIDED if hosts is not None or "to" in terms else TRUE, port_truth(ports, port, scheme)]
    else:
        named = host_truth(hosts, host.lower(), glob)
        named = max(named, UNDECIDED) if unknown else named
        parts += [public_truth(host.lower(), named, hosts) if "to" in terms else named, port_truth(ports, port, scheme)]
    return min(parts + list(url_rest(terms, match[4], authority, glob, opening)))


# ---- to: public ----


def lists_of(path):
    """The lists of a policy file whose entries are words without a meaning in YAML."""
    found, name = {}, None
    text = re.sub(r"(?m)(^|\s)#.*$", "", path.read_text())
    text = re.sub(r"\[[^]]*\]", lambda one: " ".join(one[0].split()), text)  # one may go on in the next lines
    for line in map(str.rstrip, text.splitlines()):
        if entry := re.fullmatch(r"  ([a-z0-9-]+):(?: \[(.*)\])?", line):
            name = found.setdefault(entry[1], [one.strip() for one in (entry[2] or "").split(",") if one.strip()])
        elif entry := re.fullmatch(r"    - '?([^']+)'?", line):
            name.append(entry[1])
    return found


PUBLIC = lists_of(pathlib.Path(__file__).parents[2] / "policies/words/public.yaml")


def is_public_address(one):
    one = unmapped(one)
    for text in PUBLIC["holds-ipv4"]:
        network = ipaddress.ip_network(text)
        if one in network:
            one = ipaddress.IPv4Address(one.packed[network.prefixlen // 8:][:4])
            break
    ranges = [(ipaddress.ip_network(text), word) for word in ("reachable", "not-reachable") for text in PUBLIC[word]]
    holding = [(network.prefixlen, word) for network, word in ranges if one in network]
    return bool(holding) and max(holding)[1] == "reachable"


def is_public_name(name):
    labels = name.split(".")
    ends = {".".join(labels[at:]) for at in range(len(labels))}
    return len(labels) > 1 and not ends & {*PUBLIC["special-names"], *PUBLIC["names-that-lead-inside"]}


def public_truth(host, named, hosts):
    """Takes: named: what the hosts say of it. An address that is public need not be listed where none are."""
    in_brackets = host.startswith("[") and host.endswith("]")
    one = address(host[1:-1] if in_brackets else host)
    if one is None:
        last = host.split(".")[-1]
        is_name = re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*", host, re.ASCII) and not re.fullmatch("[0-9]+|0x.*", last, re.ASCII)
        return FALSE if is_name and not is_public_name(host) else named
    if (one.version == 6) != in_brackets:
        return UNDECIDED
    return named if hosts is not None and is_public_address(one) else truth(is_public_address(one))


# ---- links ----

QUOTES = "\"'\u00ab\u00bb\u2039\u203a" + "".join(map(chr, range(0x2018, 0x2020)))


def ends_a_link(c):
    """White_Space, and controls."""
    return unicodedata.category(c) in ("Cc", "Zs", "Zl", "Zp")


def links(text):
    """The URLs in a text."""
    return [link for _, link in link_places(text)]


def link_places(text):
    """Each with where it begins."""
    found = []
    for colon in [at for at, c in enumerate(text) if c == ":"]:
        run = re.search(r"[A-Za-z0-9+.-]*\Z", text[:colon], re.ASCII)[0]
        scheme = re.sub("^[^A-Za-z]+", "", run)
        inner = re.fullmatch("(?i).+?(https?)", scheme, re.ASCII)
        for one in [scheme] + ([inner[1]] if inner else []):
            slashes = re.compile("[\t\r\n]*[/\\\\][/\\\\\t\r\n]*").match(text, colon + 1) if one.lower() in PORTS else None
            if one and text.startswith("://", colon):
                found.append((colon - len(one), link_at(text, colon - len(one), colon + 3)))
            elif one and slashes:
                found.append((colon - len(one), link_at(text, colon - len(one), slashes.end())))
    return found


def link_at(text, begin, host):
    end = host
    while end < len(text) and not ends_a_link(text[end]) and text[end] not in QUOTES + "<>`":
        end += 1
    if re.search(r"[/\\?#]", text[host:end]):
        return text[begin:end]
    further = max(further_end(text, end, SENTENCE), further_end(text, end, place_of(text[:begin])))
    if further > end:
        return text[begin:further]
    ends = ".,;:!)}*_~|" + ("" if "[" in text[host:end] else "]")
    return text[begin:host] + text[host:end].rstrip(ends)


SENTENCE = "sentence"


def without_blanks_behind(text):
    while text and ends_a_link(text[-1]):
        text = text[:-1]
    return text


def place_of(front):
    """What the link behind `front` stands in: what closes it, None: it begins the text."""
    inner = without_blanks_behind(front)
    if not inner:
        return None
    if inner[-1] == "<":
        return ">"
    is_value = inner == front or without_blanks_behind(inner[:-1]).endswith("=")
    return inner[-1] if inner[-1] in "\"'`" and is_value else SENTENCE


def further_end(text, end, place):
    """Up to where some readers go on with the host."""
    rest = re.match(r"[^/\\?#]*", text[end:], re.DOTALL)[0]
    if place == SENTENCE:
        rest = next((rest[:at] for at, c in enumerate(rest) if ends_a_link(c) or c == ">"), rest)
    elif place is not None:
        rest = rest.partition(place)[0]
    if "@" in rest:
        return end + rest.index("@") + 1
    left_out = re.match("[\t\r\n`" + QUOTES + "]*", rest)[0]
    more = rest[len(left_out):].rstrip(" \t\r\n.,;:!?)'\"`\0")
    if not left_out or not more or not (re.match("[A-Za-z0-9+._%-]", more, re.ASCII) or more[0] >= "\x80"):
        return end
    if any(c in "<>" or (ends_a_link(c) and c not in "\t\r\n") for c in more):
        return end
    return end + len(left_out) + len(more)


# ---- email ----


def email(terms, value, opening, glob):
    """Takes: terms: with None for each entry that cannot be said."""
    none = terms.get("none") is True
    if value is None and none:
        return TRUE
    if isinstance(value, str):
        value = re.split(", *", value) if value else []
    if not isinstance(value, list):
        return UNDECIDED
    if not value:
        return truth(none)
    truths = [email_truth(terms, one, glob) for one in value]
    whole = min(truths) if opening else max(truths)
    if "most" in terms and len(value) > int(terms["most"].lexeme) and (opening or whole == TRUE):
        return FALSE
    return whole


def email_truth(terms, text, glob):
    local, at, domain = text.partition("@") if isinstance(text, str) else ("", "", "")
    labels = domain.lower().split(".")
    if not at or len(text) > 254 or len(local) > 64 or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_+-]*(\.[A-Za-z0-9_+-]+)*", local, re.ASCII):
        return UNDECIDED
    if not all(re.fullmatch("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", one, re.ASCII) for one in labels) or re.fullmatch("[0-9]+|0x.*", labels[-1], re.ASCII):
        return UNDECIDED

    def local_matches(one):
        if one is None:
            return UNDECIDED
        if glob(one, local):
            return TRUE
        return UNDECIDED if glob(one.lower(), local.lower()) or glob(one.lower(), local.lower().split("+")[0]) else FALSE
    whose = [TRUE] if "domains" not in terms else [UNDECIDED if one is None else truth(glob(one.lower(), domain.lower())) for one in terms["domains"]]
    who = [TRUE] if "local" not in terms else list(map(local_matches, terms["local"]))
    return min(max(whose), max(who))


def is_date(text):
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text, re.ASCII):
        return False
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:])
    try:
        datetime.date(year or 2000, month, day)  # the year 0000 is one, and a leap year
        return True
    except ValueError:
        return False


def is_time(text):
    match = re.fullmatch(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?([Zz]|[+-]([0-9]{2}):([0-9]{2}))", text, re.ASCII)
    if not match:
        return False
    hour, minute, second = int(match[1]), int(match[2]), int(match[3])
    ahead_hours, ahead_minutes = int(match[6] or 0), int(match[7] or 0)
    if hour > 23 or minute > 59 or second > 60 or ahead_hours > 23 or ahead_minutes > 59:
        return False
    ahead = (ahead_hours * 60 + ahead_minutes) * (-1 if match[5][0] == "-" else 1)
    return second < 60 or (hour * 60 + minute - ahead) % 1440 == 1439  # a leap second ends a day of UTC


def is_email(text):
    """A dot-atom, `@`, a domain of labels."""
    local, at, domain = text.partition("@")
    return (at == "@" and len(text) <= 254 and len(local) <= 64
            and re.fullmatch(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*", local, re.ASCII) is not None
            and all(re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?", label, re.ASCII) for label in domain.split(".")))


def has_format(name, text):
    if name == "uuid":
        return re.fullmatch(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", text, re.ASCII) is not None
    if name == "email":
        return is_email(text)
    if name == "date":
        return is_date(text)
    if name == "date-time":
        return len(text) > 11 and text[10] in "Tt" and is_date(text[:10]) and is_time(text[11:])
    if name in ("ipv4", "ipv6"):
        one = address(text)
        return one is not None and one.version == int(name[-1])
    raise KeyError(name)


# ---- free_of: hidden ----

# Default_Ignorable_Code_Point beside the format characters; blanks of Braille, Khitan and music; what is no character.
IGNORABLE = {0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2065, 0x3164, 0xffa0, *range(0x180b, 0x1810), *range(0xfe00, 0xfe10),
             *range(0xfff0, 0xfff9), *range(0x13430, 0x13440), *range(0xe0000, 0xe1000)}
BLANK = {0x2800, 0x16fe4, 0x1d159, *range(0xfdd0, 0xfdf0), *(plane + last for plane in range(0, 0x110000, 0x10000) for last in (0xfffe, 0xffff))}
JOINERS, VARIATIONS = "\u200c\u200d", [chr(code) for code in range(0xfe00, 0xfe10)]
KEYCAPS = set("0123456789#*")
JOINED = ("ARABIC", "SYRIAC", "MONGOLIAN", "DEVANAGARI", "BENGALI", "TAMIL", "MALAYALAM", "SINHALA", "KHMER", "TIBETAN")


def ignorable(c):
    return unicodedata.category(c) == "Cf" or ord(c) in IGNORABLE


def unseen(c):
    """Controls but tab and line ends, what is ignorable, blanks, noncharacters, separators of lines and paragraphs."""
    category = unicodedata.category(c)
    if category == "Cc":
        return c not in "\t\n\r"
    return category in ("Zl", "Zp") or ord(c) in BLANK or (ignorable(c) and c not in VARIATIONS)


def deceives(before, c, after):
    """A joiner is seen by what it joins: letters of scripts that need it, or, if it is wide, emoji. One variation chooses how the
    character before it looks, of ASCII only that of keycaps; a run of them is a message."""
    if c in JOINERS:
        scripts = all(one and not unseen(one) and unicodedata.name(one, "").startswith(JOINED) for one in (before, after))
        return not scripts and not (c == "\u200d" and all(one and (ord(one) >= 0x1f300 or one == "\ufe0f") for one in (before, after)))
    if unseen(c):
        return True
    return c in VARIATIONS and (before in VARIATIONS or (before < "\x80" and (before not in KEYCAPS or c not in VARIATIONS[14:])))


def hides(text):
    return any(deceives(text[at - 1] if at > 0 else "", c, text[at + 1:at + 2]) for at, c in enumerate(text))


def is_free_of(words, text):
    """Of what the words name."""
    return not (("hidden" in words and hides(text)) or ("line_ends" in words and re.search("[\n-\r\x85\u2028\u2029]", text))
                or ("encoded_words" in words and re.search(r"=\?[^?]*\?[BbQq]\?", text)))


# ---- detect: three detectors of the generator's files, each in words of its own ----


def is_luhn(digits):
    return sum(sum(divmod(int(d) * (1 + at % 2), 10)) for at, d in enumerate(reversed(digits))) % 10 == 0


def has_visa(text):
    """Four groups of four digits that begin with 4, behind no letter or digit and before no digit, and whose sum is right."""
    return any(is_luhn(re.sub(" ", "", one)) for one in re.findall(r"(?<![A-Za-z0-9])4[0-9]{3} [0-9]{4} [0-9]{4} [0-9]{4}(?![0-9])", text))


DETECTORS = {
    "visa": has_visa,
    "key": lambda text: any(text[at:at + 4] == "key-" and re.match("[0-9a-f]{4}(?![0-9a-f])", text[at + 4:]) for at in range(len(text))),
    "at_home": lambda text: any(text[at:at + 5] == "@home" and text[max(at - 1, 0):at].isalpha() and text[max(at - 1, 0):at].isascii() for at in range(len(text))),
}
