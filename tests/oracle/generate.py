# SPDX-License-Identifier: Apache-2.0
"""Random policies and calls, small on purpose: few names and values, so that most of what could meet does meet."""

import base64
import datetime
import html.entities
import json
import re
import zlib
import zoneinfo

import forms
from meaning import Other, DECODED_OPERATORS, FOLDING, VARYING, WILD, Number, Several, descends, limits_of, listed, per_of, type_of

TENANTS = ["acme", "acme2", "ACME", "te\u017ft", "test"]
TOOLS = ["read", "read_all", "write", "Read", "a.b-c"]
URIS = ["file:///a", "file:///srv/x", "FILE:///a", "db://x?y", "x", "db://Ada@x/y", "DB://x/Y", "http://example.com/a", "http://example.com:80/a",
        "http://example.com:81/a", "HTTP://example.com/a", "http://me@Example.com/a", "http://10.0.0.1/a", "http://10.1/a", "note:A", "Note:a",
        "file://localhost/a", "file:////a", "file:///srv/../a", "file:///srv/%2E%2E/a", "file:///%61", "file:///a%20b", "file:///a?b", ""]
# What others are made of.
URI_BEGINS = ["file:///", "FILE:///", "file://localhost/", "file:/", "file://", "db://", "db://X", "db://u@", "dB:", "http://example.com",
              "http://u@example.com:80", "https://EXAMPLE.com:443/", "http://[::1]/", "http://0x7f.1/", "ws://x:080/", "x:", "//x/", "", "ftp:",
              "http://a..b/", "db://h:/", "db://h:22/", "db://u@v@h/", "note://caf%C3%A9", "file://h:1/", "db://[x", "http://x."]
URI_STEPS = ["a", "srv", "x", "..", ".", "/", "/", "/", "//", "%2E", "%2e%2E", "%2F", "%20", "%C3%A4", "%c3%a4", "%41", "%25", "%5C", "\\", " ",
             "?", "#", ";", "%3B", "%3F", "q=..", "\u00e4", "%", "%zz", "|", "[", "@", ":", "...", "+", "%2B", "%00", "A"]
URI_GLOBS = ["file:*", "file:///*", "file:///a*", "*", "db://*", "db://x*", "http://example.com/*", "http://*", "*/a", "*x", "?*", "note:?",
             "http*", "file:///srv/*"]
PATHS = ["/v1/x", "/v1/y", "/v1", "/", "/v1/x/y", "/v1/*"]
GROUPS = ["staff", "Staff", "admin", "acme", "a,b", "*", "/acme/read", "\u017ftaff", ""]
SCOPES = ["read", "read:all", "READ", "tools/call", "*", "acme"]
QUERIES = ["a=b", "a=b&c", "team=x", "*=b"]
METHODS = ["tools/call", "initialize", "ping", "notifications/x", "tools/list", "prompts/get", "resources/read",
           "resources/subscribe", "skills/get", "acme/files/read",
           "sampling/createMessage", "stream/open", "response"]
KEYS = ["a", "b", "list", "a b", "\u00e4"]
STRINGS = ["", "x", "xy", "yx", "drop", "DROP table", "a/b", "a\nb", "xy\n", "\u017f", "S", "\u212a", "k", "\u00e4", "a\u0308",
           "\U0001f600", "10", "true", "*", "a*b", "\\"]
NUMBERS = ["0", "-0", "0.0", "1", "1.0", "10", "10.0", "1e1", "1E+1", "19.99", "19.990", "-5", "9007199254740991",
           "9007199254740992", "-9007199254740993", "9007199254740991.5", "1e20", "0.30000000000000004", "0.3", "1e-5"]
PATTERNS = ["x", "x+", "[a-z]+", "xy?", "(?i)drop", "(?i)s", "(?i)k", ".*", "a.b", "^x", "y$", "1[0-9]?", "x|xy", "true", ".",
            "", "[^x]"]
GLOBS = ["*", "x*", "*y", "?", "??", "a*b", "\\*", "a\\*b", "x", "", "*x*y*", "1*", "?*"]
TYPES = ["integer", "null", "boolean", "number", "string", "array", "object"]
OPERATORS = ["equals", "in", "matches", "not_matches", "glob", "starts_with", "ends_with", "contains", "is", "min", "max",
             "min_length", "max_length", "min_items", "max_items", "exists", "under", "path", "path", "cut", "url", "cidr", "format", "free_of",
             "detect", "multiple_of", "unique", "email", "words"]
SPECIAL = ["under", "path", "cut", "url", "cidr", "format", "free_of", "detect", "email"]  # their values must be drawn on purpose: chance makes none
PATHS = ["/srv", "/srv/", "/srv/a", "/srv/../etc", "/srv/./a", "//srv//a", "/srvx", "srv/a", "/srv/%2e%2e/x", "/srv/%252e%252e/x",
         "/a/../srv/b", "/..//srv", "/srv/a%", "/srv\\a", "/srv/%00", "/srv/\u0085", "%2Fsrv%2fa", "/%ff", "/srv/%C3%A4",
         "/srv/a/../../srv/b", "/", ".", "/etc/passwd", "/srv/a/b/..", "/srv/a/b/../..", "/srv/.../a", "/\u00e4/x", "/srv/%5ca",
         "/srv/a/../../etc", "/srv/a\n", "/srv/..%2f..%2fetc", "/srv//..//srv/a", "/SRV/a", "/srv/a/%2E", "/%73rv/a", "/srvx/a", "/sr/v", "/srv/ab", "/srv/a/b", "/srv/./../srv/a",
         "/srv/a/%25", "/../../srv", "/srv/..", "/srv/\u00e4/..", "/srv/x/..//../etc"]
# What others are made of.
PATH_STEPS = ["srv", "srv/a", "a", "/", "/", "/", "/", "..", "..", ".", "%2e", "%2F", "%2f", "%73", "%20", "?", "#", ";", "%3f", "%5c", "%25",
              "etc", "x", "%C3%A4"]
DIRECTORIES = ["/srv", "/srv/", "/srv/a", "/", "/etc", "/\u00e4"]
# What `path:` is asked of, and what its maps are made of.
FILE_BEGINS = ["/srv/a", "/srv/a", "/srv", "/srv/", "/SRV/a", "/\uff53rv/a", "a", "./a", "", "/", ".", "/srv/{principal}", "-a", "~", "./-a", "\uff0da", "/etc", "//srv/a"]
FILE_STEPS = ["b", "b.c", "b.C", "B.c", "x.md", ".git", ".GIT", ".gi\u200bt", "\uff0egit", "\u2024git", ".gitignore", "secret", "SECRET", "se\u00adcret", "\uff53ecret",
              "key-12ab", "KEY-12ab", "\u212aey-12ab", "a b", " b", "b ", "b\u00a0", "b\ufeff", "b'", 'b"', "'b'", "b:", "b\uff1a", "*", "[x]", "\u00e4", "a\u0308", "\u00df",
              "SS", "\u3164", "\u0661", "\u2460", "..", "\u2025", ".", "", "%2e", "a\\b", "`", "\u2028", "a\n", "\uff0f", "\u00a8", "a\u200d", "...", "keys", "KEYS", "README",
              "readme", "\ufe0f", "b,c", "a@b", "a=b", "x" * 998]
FILE_FOLDERS = ["/srv", "/srv/a", "/srv/a/", "/", ".", "a", "a/b", "/SRV", "/\u00e4", "/srv/\u00df"]
FILE_TAKEN_OUT = {"/srv": ["/srv/a", "/srv/keys", "/srv/a/Secret"], "/srv/a": ["/srv/a/keys", "/srv/A/b"], "/srv/a/": ["/srv/a/keys"], "/": ["/srv/a/b", "/etc"],
                  ".": ["a", "keys", "a/b"], "a": ["a/keys"], "a/b": ["a/b/keys"], "/SRV": ["/srv/a"], "/\u00e4": ["/\u00e4/keys"], "/srv/\u00df": ["/srv/ss/keys"]}
URL_RESTS = ["/srv/a/b", "/srv/a", "/", "", "/srv/a/b.c?x", "/srv/a?x", "/srv/../a", "/srv/a;x/b", "/srv//a", "/srv/%61", "/srv/a#?x", "/SRV/a/b", "/srv/a/.git", "/srv/a/"]
SCHEMES = ["http", "https", "HTTPS", "ws", "wss", "ftp", "file", "x-y+1", "mailto"]
HOSTS = ["example.com", "Example.COM", "a.example.com", "evil-example.com", "example.com.", "10.0.0.1", "010.0.0.1", "0x0a.0.0.1",
         "10.1", "[::1]", "[::ffff:10.0.0.1]", "[zz]", "", "ex%61mple.com", "a_b.example.com", "a..example.com", "1.2.3.4.5", "0X1f",
         "[::1]x", "::1", "localhost", "9", "x.9", "-", "[0:0::1]", "[::1%25x]", "*", "999.0.0.1", "[]"]
PORTS = ["", "", ":", ":80", ":443", ":8080", ":65535", ":65536", ":x", ":-1", ":+80", ":80:80", ":21"]
TAILS = ["", "/", "/a?b@c", "?q", "#f", "/a\\b", "/\u00e4", "/ a", "/a\n", "?a:b@c/d"]
URL_HOSTS = ["example.com", "EXAMPLE.com", "*.example.com", "*", "10.0.0.1", "10.*", "[::1]", "localhost", "?", "*example*"]
INSIDE = ["8.8.8.8", "db.internal", "a.nip.io", "nip.io", "[64:ff9b::a00:1]", "[2002:a00:1::]", "[2001:4860::1]", "192.0.0.9", "192.0.0.8", "168.63.129.16", "[::1]",
          "[::ffff:8.8.8.8]", "[4000::1]", "localhost", "localhost.example.com", "[64:ff9b:1::808:808]"]
# What stands around and between links.
LINKING = ["see ", " ", "x", "git+", "(", ")", ".", ",", "'", "\"", "`", "<", ">", "\t", "\n", "@", "\u00a0", "\u201d", "\u00e4", "http:/", "http:\\\\", "https:\t//", "a.b",
           "://", ":", "|", "**", "]", "?u=", "//", "ftp:/", "=\"", "= ' "]
MAIL = ["ada@example.com", "bot@example.com", "BOT@example.com", "bot+x@example.com", "test@a.example.com", "a@b", "mallory%evil.net@example.com", "-oQ@example.com", "\"a,b\"@example.com",
        "ada@example.com.", "ada@10.0.0.1", "ada@0x1", "a.b-c_d@EXAMPLE.com", "a..b@example.com", "ada@bot.example.com", "_x@acme", "", "Ada <ada@example.com>", "ada@example.com "]
MAIL_DOMAINS = ["example.com", "EXAMPLE.com", "*.example.com", "*", "b", "{tenant}", "{principal}.example.com"]
MAIL_LOCALS = ["ada", "{principal}", "*", "b?t", "a", "BOT", "{principal}+*"]
ADDRESSES = ["10.0.0.1", "10.255.255.255", "11.0.0.0", "192.168.1.1", "::1", "2001:db8::1", "2001:DB8:0::1", "::ffff:10.0.0.1",
             "010.0.0.1", "10.0.0.1x", "10.0.0", "10.0.0.1/8", "fe80::1%eth0", "::", "0.0.0.0", "[::1]", "1.2.3.4.5", "10.0.0.256",
             "::ffff:a00:1", "2001:db8:ffff::", "::10.0.0.1"]
RANGES = ["10.0.0.0/8", "10.0.0.1", "192.168.0.0/16", "0.0.0.0/0", "::/0", "::1", "2001:db8::/32", "10.0.0.0/31", "128.0.0.0/1",
          "2001:db8::/33"]
FORMED = ["123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-42661417400", "2024-02-29", "2023-02-29", "2024-13-01",
          "2024-1-01", "0000-02-29", "2024-02-29T23:59:60Z", "2024-02-29t23:58:60z", "2024-02-29T12:00:00+01:00",
          "2024-06-30T18:59:60-05:00", "2024-02-29T12:00:00.5Z", "2024-02-29T12:00:00.Z", "2024-02-29 12:00:00Z", "2024-02-29T24:00:00Z",
          "2024-02-29T12:00:00", "2024-02-29T12:00:00+24:00", "a@b", "a.b@c.d", ".a@b", "a@-b", "a@b.", "a@@b", "@b", "a@b..c",
          "a..b@c", "x" * 64 + "@b", "x" * 65 + "@b", "a@" + "b" * 63, "a@" + "b" * 64, "a+b@c-d.e", "\u00e4@b", "a@b\n",
          "2024-02-29\n", "\u0662024-02-29", "10.0.0.1", "::1", "10.0.0.01", "1" * 8 + "-1111-1111-1111-" + "1" * 12]
HIDDEN = ["", "x", "xy", "drop", "DROP table", "a/b", "../x", "<b>", "\"", "\u00e4", "k", "10", "\\", "{\"a\": [1, \"x\\u0079\"]}", "a\u00adb",
          "\ufb01", "\uff41", "dr\u200bop", "a\u0308"]
BROKEN = ["%", "%2", "%zz", "%c3", "%c3%a4", "&lt", "&nope;", "&#0;", "&#xd800;", "&#x110000;", "&amp;lt;", "YQ=", "YQ", "YR==", "Y Q==\n",
          "_-8", "/+8", "YQ==YQ==", "=", "\"\\ud800\"", "\"\\ud83d\\ude00\"", "\"a", "[1 , 2]", "{\"a\":1,\"a\":2}", "01", "1e999", "nul", " null ",
          "&sol;", "&NewLine;", "&nldr;/", "&eacute;", "&fjlig;", "&Afr;", "&#00120;", "&#X78;", "&#x;", "NaN", "[\"\\u0000\"]", "%00", "%25252e",
          "\u0130", "\u212b", "&ZeroWidthSpace;x", "&shy;x", "&#120x", "&#x78 y",
          "&lt x", "&#120", "&nGt;", "%2520", "%E2%80%8Bx", "eHk", "e Hk=", "eHk==", "\"\\/\"", "{}", "\"\"", "[]"]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "Australia/Lord_Howe", "America/St_Johns"]
HOURS = ["08:00-17:30", "22:00-06:00", "00:00-24:00", "18:00-24:00", "00:00-00:01", "23:59-00:00", "02:00-03:00", "12:00-11:59"]
# People whose names mean something where they are put, and what says them.
AGENTS = ["", "bot", "shopbot", "a*b", ".."]
PEOPLE = ["bot", "test", "a", "a*b", "..", "a/b", "x?", "a%b", "a/..", "%2e.\\b", "a/.../b", "xy", "\\", "Ada", "a.b", "a b", "a\u200bb"]
SAYING = ["{principal}", "{principal}", "{agent}", "{tenant}", "x{principal}", "{principal}y", "{upstream}{principal}", "{{principal}}", "{{tenant}",
          "{user}", "{", "{principal", "a{{{tenant}}}", "{}"]
SAYING_OF = {"glob": ["{principal}*", "\\{principal}", "\\\\{principal}*", "?{tenant}", "*{principal}*"], "under": ["/srv/{principal}", "/{tenant}/", "/srv/{tenant}{principal}/a"],
             "url": ["{principal}.example.com", "*.{tenant}", "{upstream}", "{principal}", "{tenant}b.example.com"]}
SAID = ["test", "bot", "acme", "xbot", "xtest", "testy", "shopbot", "testtest", "{principal}", "{acme", "a*b", "aXb", "..", "/srv/test", "/srv/bot/x",
        "/srv/../x", "/acme", "/srv/acmebot/a", "/srv/a/b", "https://bot.example.com/", "https://test.example.com", "https://shop", "https://test",
        "https://Ada.example.com", "a{acme}", "x?", "/srv/testtest/a/b"]
HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]
# Around changes of clocks, of days and of calendars; seconds since 1970.
MOMENTS = [1700000000, 1711846800, 1711843200, 1729990800, 1729994400, 1730613600, 1710054000, 1709164800, 100000, 4102444800, 951782400,
           1325242800, 2524607999, 1699999999, 32503679999]
# Hidden or not by themselves or by what stands beside them.
TIMES = ["2023-11-14T22:13:20Z", "2023-11-14T23:13:20+01:00", "2023-11-14T22:12:20.5Z", "2024-02-29T23:59:60Z", "2024-11-04T07:00:39.800003z", "1970-01-01T00:00:00Z",
         "2023-11-14T22:13:20", "soon"]
DETECTED = ["4111 1111 1111 1111", "4111 1111 1111 1112", "x4111 1111 1111 1111", "pay 4000 0566 5566 5556.", "4111 1111 1111 11111", "KEY-12ab", "key-12ab", "a key-12abc",
            "skey-0000,key-00", "a@home", "@home", "\u00e4@home", "1@home b@homes"]
# As values.DETECTORS says them in Python.
DETECTORS = ("detectors: {visa: {pattern: '4[0-9]{3} [0-9]{4} [0-9]{4} [0-9]{4}(?![0-9])', literals: ['\\b4\\d\\d\\d '], check: luhn, finds: [4111 1111 1111 1111]}, "
             "key: {pattern: 'key-[0-9a-f]{4}(?![0-9a-f])', finds: [key-12ab]}, "
             "at_home: {pattern: '[A-Za-z]@home', literals: ['@home'], before: 1, finds: [a@home]}}")
UNSEEN = ["a\u200bb", "a\u202eb", "\u2066x\u2069", "\u00ad", "x\U000e0041", "a\u0001b", "\u007f", "\u0085", "\t\r\n", "a\u2028b", "\ufeffx",
          "\u0628\u200c\u0628", "\u0915\u094d\u200d\u0937", "a\u200db", "\U0001f468\u200d\U0001f469", "\U0001f468\u200c\U0001f469",
          "\u200d\u0628", "\u0628\u200d", "\u0628\u200d\u200d\u0628", "\u2764\ufe0f", "\ufe0f", "a\ufe0f\ufe0f", "\u0600\u0661", "\u115f",
          "=?utf-8?q?a?=", "x=??B?", "=? =?a?x?", "a\u000bb", "\u2029", "\r", "\u3164", "\u2065", "\ufff0", "a\ufe00b", "1\ufe0f", "1\ufe01", "\u00a0", "\u2063", "\U0001f3f3\ufe0f\u200d\U0001f308", "\u180e", "\u0301", "x"]
ENTITIES = sorted(name for name in html.entities.html5 if name.endswith(";"))
DECODERS = ["percent", "base64", "unicode", "html", "json", "hex", "base64_inside", "homoglyph"]
LETTERS = {"a": "\u0430", "o": "\u03bf", "p": "\u0440", "x": "\u0445", "I": "\u0406", "O": "\u041e", "k": "\u043a", "r": "\U0001d42b"}
DECODED = {*DECODED_OPERATORS, "not_matches", "not_equals"}
EFFECTS = ["permit", "permit", "forbid", "require_approval"]


def disguise(random, text):
    """One of the many ways in which a string may be written for somebody else to decode."""
    for _ in range(random.choice([1, 1, 1, 2, 2, 3, 4])):
        way = random.randrange(9)
        if way == 0:
            text = "".join("".join(f"%{byte:02{random.choice('xX')}}" for byte in c.encode()) if random.random() < 0.5 else c
                           for c in text)
        elif way == 1:
            text = base64.b64encode(text.encode()).decode()
            if random.random() < 0.5:
                text = text.rstrip("=").replace("+", "-")
        elif way == 2:
            text = "".join(random.choice([f"&#{ord(c)};", f"&#x{ord(c):x};", c, c]) for c in text)
        elif way == 3:
            text = json.dumps(text, ensure_ascii=random.random() < 0.5)
        elif way == 4:
            text = "".join(f"\\x{byte:02x}" if random.random() < 0.5 else chr(byte) for byte in text.encode()) if text.isascii() else text
        elif way == 5:
            between, before = random.choice(["", "", " ", ":", ", ", "-"]), random.choice(["", "0x", "a", "x", "id="])
            text = before + between.join(f"{byte:02x}" for byte in text.encode()) + random.choice(["", ";", "f", " be"])
        elif way == 6:
            text = base64.b64encode(text.encode(), altchars=random.choice([b"+/", b"-_"])).decode().rstrip(random.choice(["", "="]))
            text = random.choice(["", "?d=", "x", "xy", "xyz", "/c/", "my-", "a_"]) + text + random.choice(["", "&e", "/x", "abc", "\n b", "-"])
            text = text[:20] + random.choice(["", "\n", "\r\n  ", " "]) + text[20:]
        elif way == 7:
            text = "".join(LETTERS.get(c, c) if random.random() < 0.6 else c for c in text)
        else:
            text = "".join(random.choice([c, c, c + "\u200b", chr(ord(c) + 0xfee0)]) if "!" <= c <= "~" else c for c in text)
    return text


class Generator:
    def __init__(self, random, without=()):
        self.random = random
        self.without = set(without)  # words of the language that are left out
        self.wanted = set()     # what the rules ask of strings
        self.forms = []         # of commands, which rules name
        self.named = []         # strings that stand in rules, so that calls may hide them
        self.wanted_facts = set()
        self.met = []           # conditions that ask for rules
        self.summed = False     # some limit is a sum, or of different values
        self.drills = True
        self.past = False       # whether calls leave something behind for later ones
        self.judged = "judged" not in self.without and self.maybe(0.3)  # whether calls come at a route that judges the agent
        self.focused = random.random() < 0.4  # on few paths and flat arguments, so that operators see many values

    def maybe(self, share):
        return self.random.random() < share

    def url(self):
        choice = self.random.choice
        if self.maybe(0.7):  # ordinary, or in its host alone not
            hosts = INSIDE if self.maybe(0.2) else HOSTS if self.maybe(0.5) else HOSTS[:3] + ["10.0.0.1", "[::1]", "[::ffff:10.0.0.1]", "localhost"]
            return choice(SCHEMES[:3]) + "://" + choice(hosts) + choice(["", "", ":80", ":443", ":8080"]) + choice(TAILS[:5])
        return (choice(SCHEMES) + choice(["://"] * 6 + [":", ":/", ":///", ""]) + choice([""] * 8 + ["u@", "u:p@"])
                + choice(HOSTS[:4] + HOSTS) + choice(PORTS) + choice(TAILS))

    def file_path(self):
        text = self.random.choice(FILE_BEGINS)
        for _ in range(self.random.choice([0, 1, 1, 1, 2, 2, 3])):
            text += "/" * (text != "" and not text.endswith("/")) + self.random.choice(FILE_STEPS)
        return text + self.random.choice(["", "", "", "", "/", "//", " "])

    def file_place(self):
        choice = self.random.choice
        under = choice(FILE_FOLDERS)
        place = {"under": [under] if self.maybe(0.5) else [under, choice(FILE_FOLDERS)]}
        if "variables" not in self.without and self.maybe(0.15):
            place["under"] = [choice(["/srv/{principal}", "{tenant}", "/{tenant}/{principal}"])]
            self.wanted.add("said")
        elif self.maybe(0.25):
            place["not_under"] = [choice(FILE_TAKEN_OUT[under])]
        for word, share, made in (("below", 0.4, lambda: choice(["1+", "0", "1", "1-2", "2-3", "0-1"])),
                                  ("hidden", 0.5, lambda: choice(["any", [".git"], [".gitignore", ".g*t"], [".\u00e4"]])),
                                  ("names", 0.15, lambda: self.random.sample(["README*", "b", "s?cret", "\u00df", "B.c"], 2)),
                                  ("endings", 0.3, lambda: self.random.sample([".c", ".md", ".gitignore"], 2)),
                                  ("none_of", 0.4, lambda: self.random.sample(["key", "at_home", "*Secret*", "keys", "\\ss", "s?", "b*"], 2)),
                                  ("letters", 0.25, lambda: "plain"), ("without", 0.25, lambda: choice([":*", "[]", "\u00c4", "k", "\u3164s"]))):
            if self.maybe(share):
                place[word] = made()
        if "none_of" in place:
            place["none_of"] = ["\\keys" if one == "keys" else one for one in place["none_of"]]
        return place

    def inner(self, depth):
        """A condition of one text: what stands before or behind a cut."""
        name = self.random.choice(["matches", "not_matches", "glob", "in", "max_length", "min_length", "free_of", "path", "detect", "starts_with", "not", "any", "all", "cut"])
        if name in ("any", "all", "not", "cut") and depth == 0:
            name = "glob"
        if name == "not":
            return {"not": self.inner(depth - 1)}
        if name in ("any", "all"):
            return {name: [self.inner(depth - 1) for _ in range(2)]}
        if name == "cut":
            return {"cut": self.cutting(depth - 1)}
        more = self.inner(0) if depth > 0 and self.maybe(0.4) else {}
        return {**more, name: self.operand(name) if name != "path" else self.file_place()}

    def cutting(self, depth):
        parts = self.random.choice([["front"], ["rest"], ["front", "rest"]])
        return {"at": self.random.choice([":", "/", "a", "\u00e4"]), **{part: self.inner(depth) for part in parts}}

    def string(self):
        """Mostly one of those that the rules ask about."""
        if not self.wanted or self.maybe(0.3):
            return self.random.choice(STRINGS)
        wanted = "decode" if "decode" in self.wanted and self.maybe(0.6) else self.random.choice(sorted(self.wanted))
        if wanted == "url":
            text = self.url() if self.maybe(0.7) else "https://example.com" + self.random.choice(URL_RESTS)
        elif wanted == "path":
            text = self.file_path()
        elif wanted == "cut":
            text = self.random.choice(STRINGS + SAID) + self.random.choice([":", "/", "", "\u00e4", "::"]) + self.random.choice(STRINGS + [self.file_path()])
        elif wanted == "decode":
            text = (self.random.choice(BROKEN) if self.maybe(0.25) else f"a&{self.random.choice(ENTITIES)}" if self.maybe(0.1) else
                    disguise(self.random, self.random.choice(HIDDEN + self.named)))
        elif wanted == "links":
            text = "".join(self.url() if self.maybe(0.4) else self.random.choice(LINKING) for _ in range(self.random.randrange(1, 6)))
        elif wanted == "email":
            text = self.random.choice([",", ", ", ",  ", ";"]).join(self.random.choice(MAIL) for _ in range(self.random.choice([1, 1, 1, 2, 3])))
        elif wanted == "under" and self.maybe(0.6):
            text = "/" * self.maybe(0.9) + "".join(self.random.choice(["srv", *PATH_STEPS]) for _ in range(self.random.randrange(1, 10)))
        else:
            text = self.random.choice({"under": PATHS, "cidr": ADDRESSES, "format": FORMED, "free_of": UNSEEN, "said": SAID, "detect": DETECTED, "time": TIMES}[wanted])
        return disguise(self.random, text) if "decode" in self.wanted and self.maybe(0.2) else text

    def scalar(self):
        kind = self.random.randrange(10)
        if kind < (7 if self.wanted else 4):
            return self.string()
        if kind < 8:
            return Number(self.random.choice(NUMBERS))
        return self.random.choice([True, False, None])

    def value(self, depth):
        kind = self.random.randrange(10) if depth > 0 else 9
        if self.forms and self.maybe(0.3):
            return forms.command(self.random, self.forms)
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

    def selector(self):
        return self.random.choice(KEYS[:3] + [self.random.choice(KEYS), WILD, WILD, 0, -1, self.slice()])

    def steps(self):
        if self.focused:
            return self.random.choice([["a"], ["a"], ["b"], [WILD], [("..", WILD)]])
        steps = []
        for _ in range(self.random.choice([1, 1, 1, 2, 2, 3])):
            selector = self.selector()
            if self.maybe(0.05):
                selector = Several(self.selector() for _ in range(self.random.choice([2, 2, 3])))
            steps.append(("..", selector) if self.maybe(0.15) else selector)
        if self.maybe(0.1):
            steps = [("..", WILD)]
        return [] if self.maybe(0.03) else steps

    def other(self):
        steps = [self.random.choice(["a", "b", "list"]) for _ in range(self.random.choice([1, 1, 2]))]
        return Other(self.random.choice(["arg", "arg", "claim"]) if "who" not in self.without else "arg", steps)

    def moment(self):
        plus = self.random.choice([0, 0, 60, -3600, 86400])
        return self.random.choice([Other("now", [], plus), Other("arg", [self.random.choice("ab")], plus), self.random.choice(TIMES[:6])])

    def operand(self, name):
        choice = self.random.choice
        if name in ("equals", "not_equals", "in", "min", "max") and self.maybe(0.15):
            return self.other()
        if name == "not_equals":
            name = "equals"
        if name in ("matches", "not_matches"):
            return choice(PATTERNS)
        if name in VARYING and name != "path" and "variables" not in self.without and self.maybe(0.2):
            said = choice(SAYING_OF.get(name, SAYING))
            self.wanted.add("said")
            if name == "email":
                return self.mail_terms()
            if name == "url":
                return {"schemes": ["https"], "hosts": [said] if self.maybe(0.5) else [said, choice(URL_HOSTS)]}
            return [said, "x", Number("1")] if name == "in" else [said, "/etc"] if name == "under" and self.maybe(0.5) else said
        if name == "glob":
            return choice(GLOBS)
        if name in ("starts_with", "ends_with"):
            return choice(STRINGS)
        if name == "in":
            return [one for one in (self.value(1) for _ in range(self.random.randrange(1, 5))) if not names_list(one)] or [Number("1")]
        if name == "contains":
            one = self.value(1)
            return "list" if names_list(one) else one
        if name == "is":
            return choice(TYPES) if self.maybe(0.7) else self.random.sample(TYPES, 2)
        if name == "multiple_of":
            return Number(choice(["1", "2", "0.01", "1e-5", "10.0", "3e19"]))
        if name == "unique":
            return True
        if name in ("under", "cidr"):
            pool = DIRECTORIES if name == "under" else RANGES
            return choice(pool) if self.maybe(0.5) else self.random.sample(pool, 2)
        if name == "path":
            return self.file_place() if self.maybe(0.7) else [self.file_place(), self.file_place()]
        if name == "cut":
            return self.cutting(2)
        if name == "url":
            return self.url_terms()
        if name == "format":
            return choice(["uuid", "email", "date", "date-time", "ipv4", "ipv6"])
        if name == "email":
            return self.mail_terms()
        if name == "detect":
            return self.random.sample(["visa", "key", "at_home"], self.random.randrange(1, 3))
        if name == "free_of":
            return "hidden" if self.maybe(0.4) else self.random.sample(["hidden", "line_ends", "encoded_words"], self.random.randrange(1, 4))
        if name == "words":
            lines = [forms.form(self.random) for _ in range(self.random.choice([1, 1, 2, 3]))]
            self.forms += lines
            return {"forms": lines}
        if name in ("min", "max"):
            return Number(choice(NUMBERS))
        if name.startswith(("min_", "max_")):
            return Number(str(self.random.randrange(4)))
        return self.maybe(0.5) if name == "exists" else self.value(1)

    def mail_terms(self):
        terms = {}
        while not terms:
            for word, pool in (("domains", MAIL_DOMAINS), ("local", MAIL_LOCALS)):
                if self.maybe(0.7 if word == "domains" else 0.3):
                    pool = [one for one in pool if "variables" not in self.without or "{" not in one]
                    terms[word] = self.random.choice(pool) if self.maybe(0.5) else self.random.sample(pool, 2)
            if self.maybe(0.3):
                terms["most"] = Number(self.random.choice("123"))
            if self.maybe(0.3):
                terms["none"] = self.maybe(0.8)
        return terms

    def url_terms(self):
        terms = {"to": "public"} if self.maybe(0.25) else {}
        while not terms or (len(terms) == 1 and "to" in terms and self.maybe(0.5)):
            if self.maybe(0.5):
                terms["schemes"] = self.random.sample(["http", "https"] if self.maybe(0.6) else SCHEMES[:2] + SCHEMES[3:], 2)
            if self.maybe(0.6):
                terms["hosts"] = self.random.sample(URL_HOSTS, self.random.randrange(1, 3))
            if self.maybe(0.25):
                terms["path"] = [next(one for one in iter(self.file_place, None) if all(folder.startswith("/") for folder in one["under"]))]
            if self.maybe(0.2):
                terms["query"] = "none"
            if self.maybe(0.15):
                terms["ports"] = "any"
            elif self.maybe(0.3):
                terms["ports"] = [Number(one) for one in self.random.sample(["80", "443", "8080", "65535", "21"], 2)]
        return terms

    def schema(self, depth, inside=False):
        """A JSON Schema. Takes: inside: it is about a member or an element, so that it may be the whole once more."""
        choice, words = self.random.choice, {}
        if inside and self.maybe(0.15):
            return {"$ref": "#"}
        if self.maybe(0.1):
            return self.maybe(0.6)
        if self.maybe(0.5):
            words["type"] = choice(TYPES) if self.maybe(0.7) else self.random.sample(TYPES, 3)
        for word, pool in (("minimum", NUMBERS), ("maximum", NUMBERS), ("exclusiveMinimum", NUMBERS), ("multipleOf", ["1", "0.01", "1e-5"]),
                           ("minLength", "012"), ("maxLength", "123"), ("minItems", "012"), ("maxItems", "123"), ("minProperties", "012"),
                           ("maxProperties", "234")):
            if self.maybe(0.08):
                words[word] = Number(choice(pool))
        for word, value in (("enum", lambda: [self.value(1) for _ in range(4)]), ("const", lambda: self.value(1)), ("uniqueItems", lambda: True),
                            ("pattern", lambda: choice(["x", "^x", "[a-z]+", "^[^x]*$"])), ("required", lambda: self.random.sample(KEYS, 1))):
            if self.maybe(0.08):
                words[word] = value()
        if depth == 0:
            return words
        for word in ("additionalProperties", "items", "contains", "propertyNames"):
            if self.maybe(0.12):
                words[word] = self.schema(depth - 1, True)
        if self.maybe(0.4):
            words["properties"] = {key: self.schema(depth - 1, True) for key in self.random.sample(KEYS, 3)}
        for word in ("allOf", "anyOf", "oneOf"):
            if self.maybe(0.12):
                words[word] = [self.schema(depth - 1) for _ in range(self.random.choice([1, 2, 3]))]
        if self.maybe(0.1):
            words["not"] = self.schema(depth - 1)
        return words

    def leaf(self, effect, names=None, decodes=False):
        steps = self.steps()
        known = [name for name in OPERATORS if name not in self.without]
        names = names or self.random.sample(known, self.random.choice([1, 1, 1, 2, 3]))
        if "exists" in names:
            names = ["exists"]
        options = {}
        if self.maybe(0.3) and names != ["exists"]:
            if effect == "permit":
                options["optional"] = self.random.choice([True, True, "or_null", False])
            else:
                options["absent"] = self.random.choice(["applies", "ignored"])
        if self.maybe(0.25):
            options["quantify"] = self.random.choice(["every", "any"])
        if self.maybe(0.25) and ("matches" in names or "not_matches" in names):
            options["anchor"] = self.random.choice(["whole", "anywhere"])
        if "decode" not in self.without and set(names) & DECODED and (decodes or self.maybe(0.25)):
            options["decode"] = self.random.sample(DECODERS, self.random.randrange(1, 6))
        if "joined" not in self.without and not set(names) - DECODED and self.maybe(0.2) and any(
                descends(step) or not isinstance(step[0] if isinstance(step, Several) and len(step) == 1 else step, (str, int))
                for step in steps):
            options["joined"] = self.maybe(0.9)
        if not set(names) - DECODED and "joined" not in options and self.maybe(0.5 if "url" in names else 0.1):
            options["links"] = self.maybe(0.95)
        elif "keys" not in self.without and self.maybe(0.1):
            options["keys"] = self.maybe(0.9)
        self.wanted.update(name for name in names + list(options) if name in SPECIAL + ["decode", "links"])
        on = self.random.choice(["meta", "param"]) if "meta" not in self.without and self.maybe(0.15) else "arg"
        if "who" not in self.without and self.maybe(0.12):
            on = "claim"
        operators = {name: self.operand(name) for name in names}
        if "is" in names and {"min", "max"} & set(names) and self.maybe(0.6):
            operators["is"] = "time" if self.maybe(0.7) else ["time", "null"]
            operators.update({name: self.moment() for name in ("min", "max") if name in names})
            self.wanted.add("time")
        if set(names) & set(FOLDING) and not {"matches", "not_matches"} & set(names) and self.maybe(0.3) and all(
                isinstance(operators[name], (str, Other)) for name in ("equals", "not_equals", "contains") if name in operators):
            options["ignore_case"] = self.maybe(0.9)
        more = [self.steps() for _ in range(self.random.choice([1, 1, 2]))] if on != "claim" and self.maybe(0.15) else []
        if "decode" in options:
            for one in operators.values():
                self.named += [text for text in (one if isinstance(one, list) else [one]) if isinstance(text, str)] * 5
        return {"kind": "leaf", "steps": steps, "more": more, "on": on, "operators": operators, "options": options}

    def day(self, timed):
        """Of a moment at which some call may be made, by some clock."""
        moment = datetime.datetime.fromtimestamp(self.random.choice(MOMENTS) + 86400 * self.random.choice([0, 0, 0, -1, 2]),
                                                 zoneinfo.ZoneInfo(self.random.choice(ZONES[:3])))
        return moment.strftime("%Y-%m-%dT%H:%M" if timed and self.maybe(0.4) else "%Y-%m-%d")

    def dates(self):
        if self.maybe(0.3):
            return self.day(False)
        begin, end = sorted([self.day(True), self.day(True)])
        begin, end = self.random.choice([(begin, end), (begin, end), (begin, ""), ("", end)])
        return f"{begin}..{end}" if begin[:10] != end[:10] else begin[:10]  # a day that ends where it begins is none

    def until(self):
        if self.maybe(0.4):
            offset = self.random.choice(["Z", "+01:00", "-05:30"])
            return self.day(False) + "T" + self.random.choice(["00:00:00", "09:30:00", "23:59:59.5"]) + offset
        return {"zone": self.random.choice(ZONES[:4]), "at": self.day(True)}

    def fact(self, effect):
        """A condition beyond arguments."""
        choice, sample = self.random.choice, self.random.sample
        words = [word for word in ("during", "session", "client", "plan") + ("session",) * (4 * self.past) + (() if effect == "permit" else ("annotations",))
                 if word not in self.without]
        word, options = choice(words), {}
        self.wanted_facts.add(word)
        if word == "during":
            value = {"zone": choice(ZONES)}
            while len(value) == 1:
                if self.maybe(0.5):
                    value["days"] = sample(["mon", "tue", "wed-fri", "fri-mon", "sat-sun", "sun"], self.random.randrange(1, 3))
                if self.maybe(0.3):
                    value["dates"] = [self.dates() for _ in range(self.random.randrange(1, 4))]
                if self.maybe(0.6):
                    hours = sample(HOURS, self.random.randrange(1, 3))
                    value["hours"] = hours if self.maybe(0.5) else hours[0]
        elif word == "session":
            value = {"called": sample(TOOLS + ["re*", "*"], self.random.randrange(1, 3)), "within": choice(["1s", "5s", "1min", "1h", "24h"])}
            if not self.without & {"limit", "met"} and self.maybe(0.4):
                value = {"met": [], "within": value["within"]}
                self.met.append(value)  # the rules are named when they are there
            if not self.without & {"limit", "met"} and self.maybe(0.4):
                value = {"label": [self.label() for _ in range(choice([1, 2, 2, 3]))]}
                value.update(within=choice(["5s", "1min", "1h"])) if self.maybe(0.6) else None
                value.update(every=self.maybe(0.8)) if self.maybe(0.7) else None
            if self.maybe(0.5):
                value["by"] = sample(["session", "correlation", "principal", "agent", "tenant"], self.random.randrange(1, 3))
            if "called" in value and self.maybe(0.2):
                value["upstreams"] = choice([["shop"], ["test", "s*"], ["*"]])
        elif word == "plan":
            value = "required"
        elif word == "client":
            value = choice(RANGES) if self.maybe(0.5) else sample(RANGES, 2)
        else:
            value = {hint: self.maybe(0.5) for hint in sample(HINTS, self.random.choice([1, 1, 2]))}
            if self.maybe(0.5):
                options["absent"] = choice(["applies", "ignored"])
        return {"kind": "fact", "word": word, "value": value, "options": options}

    def condition(self, effect, depth):
        kind = self.random.randrange(10) if depth > 0 else 9
        if kind < 2:
            return {"kind": "not", "of": self.condition(effect, depth - 1)}
        if kind < 4:
            members = [self.condition(effect, depth - 1) for _ in range(self.random.randrange(1, 4))]
            return {"kind": self.random.choice(["all", "any"]), "of": members}
        if "facts" not in self.without and self.maybe(0.6 if self.past else 0.15):
            return self.fact(effect)
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

    def uri(self):
        if self.maybe(0.5):
            return self.random.choice(URIS)
        return self.random.choice(URI_BEGINS) + "".join(self.random.choice(URI_STEPS) for _ in range(self.random.randrange(1, 6)))

    def label(self):
        """What it stands for; where it is written it gets a name."""
        pools = [("tools", TOOLS + ["re*"]), ("tools", TOOLS + ["re*"]), ("resources", URIS[:-1] + URI_GLOBS), ("prompts", TOOLS)]
        entries = []
        for word, pool in self.random.choices(pools, k=self.random.randrange(1, 4)):
            one = {word: self.random.sample(pool, self.random.randrange(1, 3))}
            if self.maybe(0.4):
                one["upstreams"] = [self.random.choice(["shop", "s*", "test"])]
            entries.append(self.random.choice(TOOLS + ["*", "re*"]) if self.maybe(0.5) else one)
        return entries

    def redaction(self):
        """As one of the rules, so that it is made small like them."""
        match = {word: self.names(pool) for word, pool in (("tools", TOOLS), ("tenants", TENANTS)) if self.maybe(0.3)}
        if "tools" not in match and "resources" not in self.without and self.maybe(0.15):
            match["resources"] = self.random.sample(URIS[:-1] + URI_GLOBS, 1)
        if "who" not in self.without and self.maybe(0.15):
            match["groups"] = self.names(GROUPS[:-1])
        words = self.random.choice([["args"], ["args"], ["answer"], ["args", "answer"]])
        if "meta" not in self.without and self.maybe(0.4):
            words = [*words, "params"]
        redaction = {"effect": "redact", "match": match, **{word: [self.steps() for _ in range(self.random.choice([1, 1, 2]))] for word in words}}
        return {**redaction, "query": True} if "meta" not in self.without and self.maybe(0.2) else redaction

    def limit(self, sums):
        limit = {"calls": Number(self.random.choice(["1", "1", "2", "3", "5"]))}
        by = ["tenant", "principal", "agent", "upstream", "tool", "client"]
        if sums and self.maybe(0.6):
            self.summed = True
            limit = {"sum": self.random.choice([["a"], ["a"], ["b"], [WILD], ["list", WILD], [("..", "a")], ["a", WILD, "b"]]),
                     "at_most": Number(self.random.choice(["1", "10.5", "20", "0.3", "5e1", "100.000001"]))}
            if self.maybe(0.4):
                limit = {"distinct": {"arg": self.random.choice([["a"], ["a"], ["a"], ["b"], [WILD], ["list", WILD], [("..", "b")], ["a", WILD, "b"]]),
                                      "most": Number(self.random.choice(["1", "1", "2", "2", "3", "256"]))}}
        else:
            by.append("session")
        limit["per"] = self.random.choice(["second", "second", "minute", "hour", "day", "1s", "2s", "90s", "24h", "7d", "31d"])
        if self.maybe(0.5):
            by = self.random.sample(by, self.random.randrange(1, 3))
            limit["by"] = by if self.maybe(0.7) else by[0]
        if self.maybe(0.3):
            limit["over"] = self.random.choice(["require_approval", "require_approval", "deny"])
        return limit

    def limits(self, sums):
        """One, or several that count different things."""
        if self.maybe(0.6):
            return self.limit(sums)
        found = {}
        for _ in range(self.random.randrange(1, 4)):
            limit = self.limit(sums)
            counted = limit.get("sum"), limit.get("distinct", {}).get("arg")
            found[repr(counted), per_of(limit), repr(sorted(listed(limit.get("by", []))))] = limit
        return list(found.values())

    def rule(self, number):
        effect = self.random.choice(EFFECTS + ["permit"] * (4 * self.past))
        rule = {"id": self.random.choice("abAB_") + str(number), "effect": effect, "match": {}}
        for word, pool, share in (("tenants", TENANTS, 0.2), ("principals", ["bot", "test"], 0.1), ("agents", AGENTS[1:], 0.4 if self.judged else 0.1), ("upstreams", ["shop", "test"], 0.2),
                                  ("methods", METHODS + ["protocol", "protocol"], 0.2), ("tools", TOOLS, 0.5), ("paths", PATHS, 0.1),
                                  ("queries", QUERIES, 0.1), ("groups", GROUPS[:-1], 0.12), ("scopes", SCOPES, 0.08)):
            if word in ("groups", "scopes") and "who" in self.without:
                continue
            if self.maybe(share * (0.4 if self.past else 1)):
                rule["match"][word] = self.names(pool)
        if "tools" not in rule["match"] and "resources" not in self.without and self.maybe(0.15):
            word, pool = self.random.choice([("resources", URIS[:-1] + URI_GLOBS), ("prompts", TOOLS)])
            rule["match"][word] = self.names(pool)
        if not self.without & {"limit", "met", "resources"} and self.maybe(0.1):
            rule["match"]["labels"] = [self.label() for _ in range(self.random.choice([1, 1, 2]))]
        if effect == "require_approval" and self.maybe(0.2):
            rule["approvals"] = self.random.randrange(1, 6)  # how many are asked decides nothing, nor who
            rule["approvers"] = {word: self.random.sample(["admin", "treasury", "acme"], 2) for word in self.random.sample(["roles", "groups", "tenants"], 2)}
        if self.maybe(0.4 if self.past else 0.75):
            rule["when"] = [self.condition(effect, 2) for _ in range(self.random.choice([1, 1, 1, 2]))]
        if effect == "permit" and "limit" not in self.without and self.maybe(0.6 if self.past else 0.15):
            rule["limit"] = self.limits("tools" in rule["match"] or "prompts" in rule["match"])
        if effect != "forbid" and self.maybe(0.15):
            rule["only_args"] = self.random.sample(KEYS, 3)
        if effect != "forbid" and "tools" in rule["match"] and not self.past and "schema" not in self.without and self.maybe(0.3):
            rule["arguments"] = "by_schema"
        if "facts" not in self.without and self.maybe(0.1):
            rule["until"] = self.until()
        if self.maybe(0.1):
            rule["mode"] = self.random.choice(["monitor", "enforce"])
        return rule

    def in_short(self):
        """12.9: what one entry of `allow`, `ask` or `deny` stands for."""
        form = self.random.choice(list(SHORT))
        upstream = self.random.choice(["shop", "test", "shop", "test", "*", "s*"])
        words = ["everyone", "everyone", "principal:bot", "bot", "test", "t*", "principal:everyone"]
        words += ["agent:bot", "agent:b*"] + [f"tenant:{one}" for one in TENANTS] + ([f"group:{one}" for one in GROUPS[:-1]] if "who" not in self.without else [])
        who, tools = self.random.choice(words), self.random.sample(TOOLS + ["re*", "?e*"], 2)
        kind, colon, name = who.partition(":")
        match = {"upstreams": [upstream]}
        if who != "everyone":
            match[kind + "s" if colon else "principals"] = [name if colon else who]
        name = f"oracle.{form}.{escaped(upstream)}.{escaped(who)}"
        rules = [Short({"id": name, "effect": SHORT[form], "match": {**match, "tools": tools, "methods": ["tools/call"]}})]
        if form != "deny":
            rules.append(Short({"id": name + ".protocol", "effect": "permit", "match": {**match, "methods": ["protocol"]}}))
        for rule in rules:
            rule.entry = (form, upstream, who, tools)
        return rules

    def halves(self):
        """Rules that give a half of most calls, or both."""
        made = []
        for number in range(20, self.random.randrange(22, 25)):
            rule = {"id": f"{self.random.choice('ab')}{number}", "effect": self.random.choice(["permit"] * 4 + ["require_approval"]), "match": {"tools": ["*"]}}
            if self.maybe(0.6):
                rule["match"]["agents"] = self.random.choice([["*"], ["bot", "shopbot"], ["bot"]])
            if self.maybe(0.25):
                word, pool = self.random.choice([("principals", ["*"]), ("principals", ["bot"])] + [("groups", GROUPS[:1])] * ("who" not in self.without))
                rule["match"][word] = pool
            if rule["effect"] == "permit" and "limit" not in self.without and self.maybe(0.4):
                rule["limit"] = self.limits(True)
            if self.maybe(0.15):
                rule["mode"] = "monitor"
            made.append(rule)
        return made

    def call(self, rules):
        method = "tools/call" if self.maybe(0.8) else self.random.choice(METHODS)
        call = {"tenant": self.random.choice(TENANTS), "principal": self.random.choice(PEOPLE if "said" in self.wanted else PEOPLE[:2]),
                "upstream": self.random.choice(["shop", "test"]), "method": method}
        if self.maybe(0.6):
            call["agent"] = self.random.choice(AGENTS)
        if self.judged and self.maybe(0.8):
            call.update(agent_judged=True, agent=self.random.choice(AGENTS[1:3] * 4 + AGENTS))
        if method == "tools/call":
            call["tool"] = self.random.choice(TOOLS)
            if not self.past and "schema" not in self.without and self.maybe(0.9):
                call["schema"] = {"type": "object", "properties": {"a": self.schema(2)}} if self.maybe(0.3) else {"allOf": [self.schema(2)]}
        self.circumstances(call, rules)
        held = [rule["id"] for rule in rules
                if rule["effect"] == "require_approval" or any(one.get("over") == "require_approval" for one in limits_of(rule))]
        if held and "approved" not in self.without and self.maybe(0.8 if self.past else 0.3):
            call["approved"] = self.random.sample(held, self.random.randrange(1, len(held) + 1))
        limited = [rule for rule in rules if limits_of(rule)]
        if limited and not self.past and self.maybe(0.5):
            call["spent"] = {rule["id"]: self.spent(rule) for rule in limited if self.maybe(0.7)}
        if method == "response":
            call["answers"] = self.random.choice(METHODS[1:-1])
        if self.maybe(0.95) and method != "response":
            call["root"] = {key: self.value(self.random.randrange(2)) for key in "ab"} if self.focused else self.object(3)
        if self.summed and "root" in call and self.maybe(0.3):
            call["root"].update({"a": self.told_apart(), "b": self.told_apart(), "list": [self.told_apart() for _ in range(self.random.randrange(3))]})
        elif self.summed and "root" in call and self.maybe(0.6):
            amount = lambda: Number(self.random.choice(["0", "0.1", "0.2", "1", "1.5", "5", "9.99", "10", "10.500000", "2e1", "0.000001", "1E-7", "-0"]))
            call["root"].update({"a": amount(), "b": amount(), "list": [amount(), amount()]} if self.maybe(0.7) else
                                {"a": [{"b": amount()}, {"b": amount()} if self.maybe(0.7) else {}]})
        if method == "acme/files/read" and self.maybe(0.9):
            call["resource"] = self.uri() or "x"
        if (method.startswith("resources/") or method == "skills/get") and self.maybe(0.9):
            call.setdefault("root", {})["uri"] = self.uri() if self.maybe(0.9) else self.value(1)
        if method == "prompts/get" and self.maybe(0.9):
            call["prompt"] = self.random.choice(TOOLS)
        if self.maybe(0.4):
            call["path"] = self.random.choice(PATHS[:-1])
        if self.maybe(0.3):
            call["query"] = self.random.choice(QUERIES[:-1])
        if "meta" not in self.without and self.maybe(0.4):
            call["meta"] = self.object(2)
        if "meta" not in self.without and method in ("tools/call", "prompts/get") and self.maybe(0.4):
            call["param"] = self.object(2)
        if "who" not in self.without and self.maybe(0.6):
            call.update({word: self.random.sample(pool, self.random.randrange(1, 4)) for word, pool in (("groups", GROUPS), ("scopes", SCOPES)) if self.maybe(0.7)})
            call["claims"] = {key: self.value(self.random.randrange(2)) for key in "ab"} if self.focused else self.object(3)
        return call

    def told_apart(self):
        return self.random.choice([Number("1"), Number("1.0"), Number("10e-1"), Number("2"), "1", "x", "x", "", True, False, None, [Number("1")]])

    def spent(self, rule):
        numbers = [[one for one in (self.told_apart() for _ in range(4)) if one is not None and not isinstance(one, list)]
                   if "distinct" in one and self.maybe(0.7) else
                   Number(self.random.choice(["0", "0.1", "9.999999", "10", "19", "40", "99.1"]) if "sum" in one else str(self.random.randrange(0, 7)))
                   for one in limits_of(rule)]
        return numbers if isinstance(rule["limit"], list) and (len(numbers) > 1 or "distinct" not in limits_of(rule)[0]) else numbers[0]

    def earlier(self, rules):
        """A call that was permitted before."""
        if self.maybe(0.3):
            return self.random.choice(TOOLS)
        earlier = {"tool": self.random.choice(TOOLS)}
        if "resources" not in self.without and self.maybe(0.2):
            earlier = self.random.choice([{"resource": self.uri() or "x"}, {"prompt": self.random.choice(TOOLS)}])
        if self.met and self.maybe(0.5):
            earlier = {"met": self.random.choice(meetable(rules))} if self.maybe(0.7) else {**earlier, "met": self.random.choice(meetable(rules))}
        for word, pool in (("upstream", ["shop", "test"]), ("principal", ["bot", "test"]), ("agent", AGENTS), ("session", ["s1", "s2", ""]),
                           ("correlation", ["c1", "c2", ""]), ("ago", ["0s", "1s", "2s", "5s", "6s", "1min", "61s", "1h", "24h", "25h"])):
            if self.maybe(0.3):
                earlier[word] = self.random.choice(pool)
        return earlier

    def circumstances(self, call, rules):
        """Who calls from where and when, in whose company."""
        if "facts" in self.without:
            return
        if self.maybe(0.9):
            call["time"] = (self.random.choice(MOMENTS) + self.random.choice([0, -1, 1, 60, -60, 3600, 43200, 86400 * 3])) * 1000000
        if self.maybe(0.8):
            call["client"] = self.random.choice(ADDRESSES)
        if self.maybe(0.6):
            call["session"] = self.random.choice(["s1", "s2"])
        if self.maybe(0.6):
            call["correlation"] = self.random.choice(["c1", "c2"])
        if "plan" in self.wanted_facts and self.maybe(0.5):
            call["plan"] = self.random.randrange(1, 257)
        if "session" in self.wanted_facts and not self.past:
            call["after"] = [self.earlier(rules) for _ in range(self.random.randrange(3))]
        if "annotations" in self.wanted_facts:
            call["annotations"] = {hint: self.maybe(0.5) for hint in HINTS if self.maybe(0.6)}

    def history(self, calls):
        """Calls one after the other, which share most of what they have, so that what they leave behind matters."""
        self.past, self.focused, self.drills = True, True, False
        rules, made = self.spending(calls) if "limit" not in self.without and self.maybe(0.3) else self.case(calls)
        now = self.random.choice(MOMENTS) * 1000000
        for at in range(1, len(made)):
            if self.maybe(0.4):  # an agent tries again
                made[at] = dict(made[self.random.randrange(at)])
        for call in made:
            now += self.random.choice([0, 0, 1, 400000, 999999, 1000000, 1000001, 5000000, 30000000, 59000000, 3600000000, 43200000000])
            call["time"] = now
        return rules, made

    def drill(self, calls):
        """One leaf a rule and one string a call, so that what operators make of strings is seen often."""
        self.focused = True
        self.without = {*self.without, "meta", "keys", "joined", "facts"}
        rules = []
        for number in range(self.random.randrange(2, 5)):
            effect = self.random.choice(EFFECTS[1:])
            name = self.random.choice(SPECIAL + ["words"] * 3 + sorted(DECODED - {"contains"}))
            leaf = self.leaf(effect, [name], name in DECODED and name not in SPECIAL)
            leaf["steps"] = ["a"]
            of = {"kind": "not", "of": leaf} if self.maybe(0.3) else leaf
            rules.append({"id": f"d{number}", "effect": effect, "match": {"methods": ["tools/call"]}, "when": [of]})
        made = [{**self.call(rules), "method": "tools/call", "tool": "read"} for _ in range(calls)]
        for call in made:
            call["root"] = {"a": forms.command(self.random, self.forms) if self.forms and self.maybe(0.6) else self.string()}
            for word in ("answers", "prompt"):
                call.pop(word, None)
        return rules, made

    def spending(self, calls):
        """Permits with sums, which most calls ask for and some fill."""
        rules = [{"id": f"{self.random.choice('ab')}{number}", "effect": "permit", "match": {"tools": self.random.choice([["*"], ["*"], ["re*"]])},
                  "limit": self.limits(True)} for number in range(self.random.randrange(1, 4))]
        rules += [self.rule(9)] * self.maybe(0.5) + [self.redaction()] * self.maybe(0.2)
        for value in self.met:
            value["met"] = [rules[0]["id"]]
        self.summed = True
        made = [{**self.call(rules), "method": "tools/call", "tool": self.random.choice(TOOLS)} for _ in range(calls)]
        return rules, [{word: value for word, value in call.items() if word not in ("answers", "prompt")} for call in made]

    def targets(self, calls):
        """Resources alone, by few names and globs that begin and end alike: what a list leaves out wrongly is permitted here."""
        uris = ["".join(self.random.choice("ab") for _ in range(self.random.randrange(1, 5))) for _ in range(6)]
        globs = [uri[:self.random.randrange(3)] + self.random.choice(["*", "*", "?", "*a*"]) + uri[self.random.randrange(1, 5):]
                 for uri in uris]
        permits = self.random.sample(uris, 2) if self.maybe(0.5) else ["*"] if self.maybe(0.5) else self.random.sample(globs, 3)
        rules = [{"id": "t0", "effect": "permit", "match": {"resources": permits}}]
        rules += [{"id": f"t{number}", "effect": "forbid", "match": {"resources": [self.random.choice(uris + 3 * globs)]}}
                  for number in range(1, self.random.randrange(2, 4))]
        return rules, [{"tenant": "acme", "principal": "bot", "upstream": "shop", "method": "resources/read",
                        "root": {"uri": self.random.choice(uris)}} for _ in range(calls)]

    def case(self, calls):
        if self.drills and self.maybe(0.25):
            return self.drill(calls)
        if self.drills and "limit" not in self.without and self.maybe(0.1):
            return self.spending(calls)
        if self.drills and "resources" not in self.without and self.maybe(0.15):
            return self.targets(calls)
        rules = [self.rule(number) for number in range(self.random.randrange(1, 7))] + (self.halves() if self.judged else [])
        if self.maybe(0.2):
            rules += self.in_short()
        if self.met and not meetable(rules):
            rules.append({"id": "m9", "effect": "permit", "match": {}})
        for value in self.met:
            value["met"] = self.random.sample(meetable(rules), 1)
        rules += [self.redaction() for _ in range(self.random.choice([0, 0, 1, 2]))]
        return rules, [self.call(rules) for _ in range(calls)]


def meetable(rules):
    """The ids of rules that a call may meet which passes."""
    return [rule["id"] for rule in rules if rule["effect"] in ("permit", "require_approval")]


# ---- as text: JSON, which is YAML ----


def text_of(value):
    if type(value) is int or isinstance(value, Written):
        return str(value)
    if type_of(value) == "number":
        return value.lexeme
    if isinstance(value, str):  # YAML has no pairs of surrogates: beyond ASCII as it stands, but for what no file may hold
        return re.sub("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]", lambda m: f"\\u{ord(m[0]):04x}", json.dumps(value, ensure_ascii=False))
    if isinstance(value, list):
        return "[" + ", ".join(map(text_of, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(text_of(key) + ": " + text_of(one) for key, one in value.items()) + "}"
    return json.dumps(value)


def selector_text(selector):
    if isinstance(selector, Several):
        return ",".join(map(selector_text, selector))
    if isinstance(selector, slice):
        parts = [selector.start, selector.stop] + ([selector.step] if selector.step is not None else [])
        return ":".join("" if part is None else str(part) for part in parts)
    return "*" if selector is WILD else f"'{selector}'" if isinstance(selector, str) else str(selector)


def picks(text, choices):
    """One of the ways to write the same, by the text itself: what is printed stays what was asked."""
    return choices[zlib.crc32(text.encode()) % len(choices)]


def path_of(steps):
    text = "$"
    for step in steps:
        selector = step[1] if descends(step) else step
        written = f"[{selector_text(selector)}]"
        short = selector if isinstance(selector, str) and selector.isascii() and selector.isalpha() else "*" if selector is WILD else None
        if short and picks(text + written, [True, False]):
            text += (".." if descends(step) else ".") + short
        else:
            text += (".." if descends(step) else "") + picks(text + written, [written, written.replace("'", '"')])
    bare = text[2:]
    return bare if text.startswith("$.") and bare.isalpha() and picks(text, [True, False]) else text


class Written(str):
    """Text that is YAML already."""


PLAIN = re.compile("[ -z|~]{1,200}")  # what a parameter may be, in ASCII


OTHER = {"text": "other", "number": "7"}  # what nobody asks for, since all are set


def names_list(value):
    """12.2: in place of a value this is a list's name."""
    return isinstance(value, dict) and list(value) == ["list"] and isinstance(value["list"], str)


def as_list(operand, named):
    """12.2: under a name, some of them as a list that another one holds."""
    written = text_of(operand)
    if len(operand) > 1 and picks(written + "inner", [True, False]):
        inner = as_list(operand[1:], named)
        written = text_of([operand[0], inner])
    return {"list": named["lists"].setdefault(written, f"l{len(named['lists'])}")}


def as_parameter(kind, written, named):
    return "{" + named["parameters"].setdefault((kind, written), f"v{len(named['parameters'])}") + "}"


def in_part(text, is_glob, named):
    """12.1: a text of which the rest is a parameter's value; in a glob such a rest is escaped, so that it holds nothing special."""
    at = picks(text + "at", [0, len(text) // 2])
    if not PLAIN.fullmatch(text) or not text[at:] or (is_glob and re.search(r"[*?\\]", text)):
        return text
    return text[:at] + as_parameter("text", text_of(text[at:]), named)


def plain_other(operand):
    named = {"now": True} if operand.on == "now" else {operand.on: path_of(operand.steps)}
    plus = {"plus": picks(str(operand.plus), [f"{operand.plus}s"])} if operand.plus else {}
    return "now" if operand.on == "now" and not plus else {**named, **plus}


def plain_operator(name, operand, named):
    if isinstance(operand, Other):
        return plain_other(operand)
    """Some patterns and lists stand under a name in the file, and some values are set."""
    if name in ("equals", "contains", "starts_with", "ends_with", "glob") and isinstance(operand, str) and picks(operand + name, [True, False]):
        return in_part(operand, name == "glob", named)
    if name in ("min", "max") and not isinstance(operand, str) and picks(operand.lexeme + name, [True, False]):
        return as_parameter("number", operand.lexeme, named)
    if name in ("matches", "not_matches") and operand and picks(operand, [True, False]):
        return {"pattern": named["patterns"].setdefault(operand, f"p{len(named['patterns'])}")}
    if name == "path":
        places = [named["paths"].setdefault(text_of(one), f"f{len(named['paths'])}") if picks(text_of(one), [True, False]) else one
                  for one in (operand if isinstance(operand, list) else [operand])]
        return places if isinstance(operand, list) else places[0]
    if name == "words" and picks(text_of(operand), [True, False]):
        return {"forms": plain_operator("in", operand["forms"], named)}
    if name == "in" and picks(text_of(operand), [True, False]):
        return as_list(operand, named)
    return operand


def plain_operators(operators, named):
    """As they are written: what is asked of the parts of a cut stands beside it."""
    plain = {}
    for name, operand in operators.items():
        if name == "cut":
            plain.update({"cut": operand["at"], **{part: plain_operators(operand[part], named) for part in ("front", "rest") if part in operand}})
        elif name in ("not", "any", "all"):
            plain[name] = [plain_operators(one, named) for one in operand] if isinstance(operand, list) else plain_operators(operand, named)
        else:
            plain[name] = plain_operator(name, operand, named)
    return plain


def plain_condition(condition, named):
    if condition["kind"] == "leaf":
        operators = plain_operators(condition["operators"], named)
        paths = list(map(path_of, [condition["steps"], *condition["more"]]))
        return {condition["on"]: paths if condition["more"] or picks(paths[0], [True] + [False] * 9) and condition["on"] != "claim" else paths[0],
                **operators, **condition["options"]}
    if condition["kind"] == "fact":
        value = condition["value"]
        if condition["word"] == "session" and "label" in value:
            value = {**value, "label": label_names(value["label"], named)}
        return {condition["word"]: value, **condition["options"]}
    if condition["kind"] == "not":
        return {"not": plain_condition(condition["of"], named)}
    return {condition["kind"]: [plain_condition(one, named) for one in condition["of"]]}


def label_names(labels, named):
    return [named["labels"].setdefault(text_of(label), f"n{len(named['labels'])}") for label in labels]


def plain_modes(rules, name):
    """Now and then the file is monitored, and what is not says so itself. Returns: the file's line, and the rules."""
    if not picks(name + "".join(rule["id"] for rule in rules), [True] + [False] * 7):
        return [], rules
    return ["mode: monitor"], [{key: value for key, value in rule.items() if key != "mode"} if rule.get("mode") == "monitor" else
                               {**rule, "mode": "enforce"} for rule in rules]


def plain_limit(limit):
    if "distinct" in limit:
        return {**limit, "distinct": {**limit["distinct"], "arg": path_of(limit["distinct"]["arg"])}}
    return {**limit, "sum": path_of(limit["sum"])} if "sum" in limit else limit


def plain_rule(rule, named):
    if "limit" in rule:
        limit = rule["limit"]
        rule = {**rule, "limit": list(map(plain_limit, limit)) if isinstance(limit, list) else plain_limit(limit)}
    if "tools" in rule.get("match", {}) and picks(text_of(rule["match"]["tools"]), [True, False, False]):
        rule = {**rule, "match": {**rule["match"], "tools": as_list(rule["match"]["tools"], named)}}
    if "labels" in rule.get("match", {}):
        rule = {**rule, "match": {**rule["match"], "labels": label_names(rule["match"]["labels"], named)}}
    return {**rule, "when": [plain_condition(one, named) for one in rule["when"]]} if "when" in rule else rule


SHORT = {"allow": "permit", "ask": "require_approval", "deny": "forbid"}


class Short(dict):
    """A rule that an entry of `allow`, `ask` or `deny` stands for; whoever changes it has a rule like any other."""

    entry = None


def escaped(name):
    """12.9: as it stands in an id."""
    return "".join(chr(byte) if 32 < byte < 127 and chr(byte) not in '"\\%' else f"%{byte:02X}" for byte in name.encode())


def plain_short(rules):
    """Returns: the rules that are written out, and the lines of the others' maps: an entry stands for all of its rules, or none is short."""
    entries = {}
    for rule in rules:
        if isinstance(rule, Short):
            entries.setdefault((*rule.entry[:3], tuple(rule.entry[3])), []).append(rule)
    whole = {key: of for key, of in entries.items() if len(of) == (1 if key[0] == "deny" else 2)}
    short = [rule for of in whole.values() for rule in of]
    maps = {}
    for form, upstream, who, tools in whole:
        maps.setdefault(form, {}).setdefault(upstream, {})[who] = list(tools)
    return [rule for rule in rules if not any(rule is one for one in short)], [f"{form}: " + text_of(of) for form, of in maps.items()]


def time_text(time_us):
    moment = datetime.datetime.fromtimestamp(time_us // 1000000, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + f".{time_us % 1000000:06}Z"


def plain_call(call):
    plain = {key: value for key, value in call.items() if key not in ("root", "time")}
    for word in ("session", "correlation"):
        plain.setdefault(word, "")  # else a test has one of its own
    if call["method"] != "acme/files/read":
        plain.pop("resource", None)  # such a message says it itself, or is about none
    if "time" in call:
        plain["time"] = time_text(call["time"])
    if "root" in call:
        plain["arguments" if call["method"] in ("tools/call", "prompts/get") else "params"] = call["root"]
    return plain


def nothing_named():
    return {"patterns": {}, "lists": {}, "labels": {}, "paths": {}, "parameters": {}}


def definitions(named):
    """The lines of a file that say what its rules name."""
    values = {word: value for (_, value), word in named["parameters"].items()}
    parameters = {word: Written(f"{{is: {kind}, default: {OTHER[kind]}}}" if picks(word + value, [True, False]) else
                                f"{{is: {kind}, required: true}}") for (kind, value), word in named["parameters"].items()}
    return ["parameters: " + text_of(parameters), "set: " + text_of({word: Written(value) for word, value in values.items()}),
            "patterns: " + text_of({word: pattern for pattern, word in named["patterns"].items()}), DETECTORS, forms.KINDS_TEXT] + [
                f"{part}: " + text_of({word: Written(values) for values, word in named[part].items()}) for part in ("lists", "labels", "paths")]


def policy_text(rules, calls, name="oracle"):
    """One file. What its tests expect is not looked at."""
    named = nothing_named()
    redactions, rules = ([rule for rule in rules if (rule["effect"] == "redact") == wanted] for wanted in (True, False))
    mode, rules = plain_modes(rules, name)
    rules, short = plain_short(rules) if name == "oracle" and not mode else (rules, [])
    lines = ["rules:" if rules else "rules: []"] + ["  - " + text_of(plain_rule(rule, named)) for rule in rules]
    lines[:0] = [f"policy: {name}", *mode, *short, *definitions(named)]
    lines += ["redact: " + text_of([{word: list(map(path_of, value)) if word in ("args", "params", "answer") else value
                                     for word, value in one.items() if word != "effect"} for one in redactions])]
    lines += ["tests:" if calls else "tests: []"]
    lines += ["  - " + text_of({"name": str(at), "call": plain_call(call), "expect": {"verdict": "deny"}})
              for at, call in enumerate(calls)]
    return "\n".join(lines) + "\n"
