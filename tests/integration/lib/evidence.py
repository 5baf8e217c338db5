# SPDX-License-Identifier: Apache-2.0
"""Audit files that somebody changes: copies, changes as who knows the triggers would make them, whole new chains, and the
two verifiers over them."""
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys

from integration.lib.gate import CALLGATE, TOP, Gate, call, check, equal, eventually, mcp_route

PAPER = TOP / "tools/verify-audit"
CHAINED = ("decision", "outcome", "event")
POLICY = """\
policy: two
rules:
  - {id: two.protocol, effect: permit, match: {methods: [protocol]}}
  - {id: two.count, effect: permit, match: {tools: [count]}}
  - {id: two.never, effect: forbid, match: {tools: [never]}, reason: "no"}
"""


def paper():
    """The independent verifier's own functions, without its command line."""
    names = {}
    names["__file__"] = str(PAPER)
    exec(compile(PAPER.read_text().split("\nparser = ")[0], str(PAPER), "exec"), names)
    return names


def sealed(gate):
    """The files of a trail that nobody writes any more, oldest first. """
    found = [path for path in gate.folder.glob("audit-[0-9]*.db") if not path.samefile(gate.audit_path)]
    return sorted(found, key=lambda path: int(path.stem.split("-")[-1]))


def everywhere(gate, sql):
    """The rows of all files of a trail; those of one that was killed while its header changed as they stand."""
    rows = []
    for path in [*sealed(gate), gate.audit_path]:
        how = "immutable=1" if pathlib.Path(f"{path.resolve()}-journal").exists() else "mode=ro"
        db = sqlite3.connect(f"file:{path}?{how}", uri=True, timeout=60)
        rows += db.execute(sql).fetchall()
        db.close()
    return rows


def signed_gate(upstream, **more):
    routes = [mcp_route(upstream.url, name=tenant, path=f"/{tenant}",
                        identity=[{"none": {"principal": "bot", "tenant": tenant}}]) for tenant in ("acme", "beta")]
    conf = {"audit": {"database": "audit.db", "checkpoint_interval": "40ms", "checkpoint_rows": 3}}
    return Gate(routes, {"two.yaml": POLICY}, conf=conf, **more)


def make_calls(gate, rounds):
    """Each round is covered by a checkpoint before the next."""
    for number in range(rounds):
        for tenant in ("acme", "beta"):
            gate.post(f"/{tenant}", call("count", {"id": str(number), "secret": "s"}), {"X-Correlation-Id": f"{tenant}-{number}"})
        gate.post("/acme", call("never", {}), {"X-Correlation-Id": f"never-{number}"})
        eventually(lambda: gate.rows("SELECT count(*) AS n FROM entry WHERE what <> 'checkpoint' AND "
                                     "seq > (SELECT coalesce(max(size), 0) FROM checkpoint)")[0]["n"] == 0,
                   f"round {number} is covered")


class Lab:
    def __init__(self, database, folder):
        self.database, self.folder, self.copies = pathlib.Path(database), pathlib.Path(folder), []

    def copy(self):
        path = self.folder / f"copy-{len(self.copies)}.db"
        shutil.copy(self.database, path)
        path.chmod(0o600)  # a sealed file is written by nobody
        self.copies.append(path)
        return path

    def change(self, sql, *values):
        """On a copy, past the triggers. None: a constraint does not allow it, or nothing changed."""
        path = self.copy()
        with sqlite3.connect(path) as db:
            triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
            for name, _ in triggers:
                db.execute(f"DROP TRIGGER {name}")
            try:
                changed = sum(db.execute(part, values).rowcount for part in sql.split(";"))
            except sqlite3.Error:
                changed = 0
            for _, text in triggers:
                db.execute(text)
        db.close()
        if changed:
            return path
        self.copies.pop().unlink()
        return None

    def rewrite(self, change, keeps_checkpoints=True):
        """A new chain from start to end over rows that `change` was let loose on: a list of (table, row)."""
        path, own = self.copy(), paper()
        with sqlite3.connect(path) as db:
            for name, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
                db.execute(f"DROP TRIGGER {name}")
            triggers = sqlite3.connect(self.database).execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
            rows = sorted(((table, row) for table in CHAINED for _, _, row in own["rows"](db, table)), key=lambda r: r[1]["seq"])
            change(rows)
            (_, _, first), = own["rows"](db, "file")
            previous, heads, numbers = first["hash"], {}, {row["seq"]: i + 1 for i, (_, row) in enumerate(rows)}
            for table in CHAINED + (() if keeps_checkpoints else ("checkpoint",)):
                db.execute(f"DELETE FROM {table}")
            for number, (table, row) in enumerate(rows, 1):
                row["seq"], row["tenant_previous"] = number, heads.get(row["tenant"])
                if table == "outcome":
                    row["decision"] = numbers[row["decision"]]
                row["hash"] = previous = own["sha"](previous, own["canonical"](table, row))
                if row["tenant"] is not None:
                    heads[row["tenant"]] = previous
                db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
            for text, in triggers:
                db.execute(text)
        db.close()
        return path

    def sign(self, change, after):
        """A new chain, with a key of one's own: that is what the file says, and what signs all checkpoints over more than `after` rows."""
        own, pem, scratch = paper(), self.folder / "own.pem", self.folder / "own.text"
        ssl = lambda *words: subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True).stdout
        ssl("genpkey", "-algorithm", "ed25519", "-out", pem)
        public = own["key_of"](ssl("pkey", "-in", pem, "-pubout").decode())[1]
        marks = sqlite3.connect(self.database).execute("SELECT size, time_us, note FROM checkpoint ORDER BY size").fetchall()
        origin = marks[0][2].split("\n")[0]
        name = own["sha"](origin.encode(), b"\n\1", public)[:4]
        path = self.rewrite(lambda rows: change(rows, f"{origin}+{name.hex()}+{own['text64'](bytes([1]) + public)}"))
        with sqlite3.connect(path) as db:
            triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
            for trigger, _ in triggers:
                db.execute(f"DROP TRIGGER {trigger}")
            db.execute("DELETE FROM checkpoint WHERE size > ?", (after,))
            tree, heads = own["Tree"](), {}
            for row in sorted((row for table in CHAINED for _, _, row in own["rows"](db, table)), key=lambda row: row["seq"]):
                tree.add(row["hash"])
                if row["tenant"] is not None:
                    heads[row["tenant"]] = (row["seq"], row["hash"])
                for size, time_us, _ in [mark for mark in marks if mark[0] == row["seq"] > after]:
                    tenants = own["Tree"]()
                    for tenant in sorted(heads, key=str.encode):
                        tenants.add(own["leaf_of"](tenant, heads[tenant]))
                    text = (f"{origin}\n{size}\n{own['text64'](tree.root())}\ntime {time_us}\n"
                            f"tenants {tenants.size} {own['text64'](tenants.root())}\n")
                    scratch.write_text(text)
                    signature = ssl("pkeyutl", "-sign", "-inkey", pem, "-rawin", "-in", scratch)
                    db.execute("INSERT INTO checkpoint VALUES (?, ?, ?, ?)", (size, time_us, tree.save(), f"{text}\n\u2014 {origin} "
                                                                              f"{own['text64'](name + signature)}\n"))
            for _, text in triggers:
                db.execute(text)
        db.close()
        return path

    def ours(self, path, *options):
        """(exit status, the answer) of `callgate audit verify`."""
        done = subprocess.run([CALLGATE, "audit", "verify", str(path), "--json", *map(str, options)], capture_output=True, text=True,
                              timeout=120)
        return done.returncode, json.loads(done.stdout) if done.stdout else {"text": done.stderr}

    def paper(self, *words):
        """A run of the verifier that was written from the paper."""
        return subprocess.run([sys.executable, str(PAPER), *map(str, words)], capture_output=True, text=True, timeout=600)

    def theirs(self, paths, *options):
        """Its line for each path."""
        done = self.paper(*options, *paths)
        check(len(done.stdout.splitlines()) == len(paths), f"a line for each file {done.stderr[-300:]}")
        return done.stdout.splitlines()

    def expect(self, path, what, *options, whole=False, rows=None):
        """Both find it broken (or whole), and name one of `rows` where these are given."""
        status, answer = self.ours(path, *(("--checkpoints", options[options.index("--checkpoints") + 1]) if "--checkpoints" in options
                                           else ()), *(("--key", options[options.index("--key") + 1]) if "--key" in options else ()))
        line, = self.theirs([path], *options)
        equal((status, line == "whole"), (0, True) if whole else (1, False), f"{what}: {'whole' if whole else line}")
        if rows is None:
            return
        named = [fault.get("seq") for fault in answer["faults"][:3]]
        check(any(row in named for row in rows), f"{what}: ours names one of the rows {rows}: {answer['faults'][:3]}")
        check(any(re.search(rf"row {row}\b", line) for row in rows), f"{what}: the other names one of the rows {rows}: {line}")
