# SPDX-License-Identifier: Apache-2.0
"""The files of one trail as a kill left them: what stands half done, and what they say in all."""
import collections
import sqlite3
import subprocess
import sys

from integration.lib.evidence import PAPER, everywhere, paper, sealed

WRITE_VERSION = 18  # its place in an SQLite file's header; 2: WAL
OPEN_ERASURES = ("SELECT seq FROM event WHERE kind = 'erased' AND seq NOT IN "
                 "(SELECT json_extract(detail, '$.erased') FROM event WHERE kind = 'erase_done')")
ROTATION = ("the next file made", "sealed", "linked, no row yet", "a sealed file in WAL mode", "a journal beside a sealed file")


def is_begun(gate):
    """Some kills come before there is a file, or a table in it; one in the middle of its first page leaves a journal, which only
    who may write can take back."""
    path = gate.live_path
    if not path.exists() or (path.stat().st_size <= 4096 and path.with_name(path.name + "-journal").exists()):
        return False
    return path.stat().st_size > 0 and gate.rows("SELECT count(*) AS n FROM sqlite_schema")[0]["n"] > 0


def in_wal_mode(gate):
    return [path.name for path in sealed(gate) if path.read_bytes()[WRITE_VERSION:WRITE_VERSION + 1] == b"\2"]  # one that is being made is empty


def journals(gate):
    """Of sealed files that were killed while they left WAL mode; until the next start, who may not write cannot read those."""
    return [path.name for path in gate.folder.glob("audit-[0-9]*.db-journal")]


def leftovers(gate):
    """What no clean end leaves beside the live file."""
    names = {path.name for pattern in ("*.next*", "audit-[0-9]*.db-*") for path in gate.folder.glob(pattern)
             if not path.name.startswith(gate.live_path.name)}
    return sorted(names | set(in_wal_mode(gate)) | {path.name for path in made(gate)})


def made(gate):
    """Files behind the live one: of a rotation that had not come to the link."""
    live = int(gate.live_path.stem.split("-")[-1])
    return [path for path in sealed(gate) if int(path.stem.split("-")[-1]) > live]


def half_done(gate):
    """What stands in the middle, by name, each with what tells it from an earlier one."""
    found = {}
    if not is_begun(gate):
        return found
    row, = gate.rows("SELECT seq AS begin, (SELECT max(seq) FROM entry) AS last, (SELECT kind FROM event WHERE seq = "
                     "(SELECT max(seq) FROM entry)) AS kind FROM file")
    for path in made(gate):
        found["the next file made"] = path.name
    if row["kind"] == "sealed":
        found["sealed"] = row["last"]
    if row["last"] is None and row["begin"] > 0:
        found["linked, no row yet"] = row["begin"]
    found.update(("erasing", row["seq"]) for row in gate.rows(OPEN_ERASURES))
    found.update(("a sealed file in WAL mode", name) for name in in_wal_mode(gate))
    found.update(("a journal beside a sealed file", name) for name in journals(gate))
    return found


def unanswered(gate):
    """What was asked of the audit and has no answer yet, or is not done."""
    db = sqlite3.connect(f"file:{gate.folder / 'callgate.db'}?mode=ro", uri=True, timeout=60)
    rows = db.execute("SELECT id, kind, text FROM audit_request LEFT JOIN audit_answer ON request = id WHERE coalesce(done, 0) = 0")
    found = rows.fetchall()
    db.close()
    return found


class Told:
    """What the rows of all files say."""

    def __init__(self, gate):
        self.permits = collections.Counter()
        for correlation, count in everywhere(gate, "SELECT correlation, count(*) FROM decision WHERE verdict = 'permit' GROUP BY 1"):
            self.permits[correlation] += count
        self.due = {row[0] for row in everywhere(gate, "SELECT seq FROM decision WHERE expects_outcome")}
        self.outcomes = collections.Counter(row[0] for row in everywhere(gate, "SELECT decision FROM outcome"))
        self.numbers = sorted(row[0] for row in everywhere(gate, "SELECT seq FROM entry"))
        self.started = max((row[0] for row in everywhere(gate, "SELECT seq FROM event WHERE kind = 'start'")), default=0)

    def open(self, before):
        return sorted(seq for seq in self.due if seq < before and seq not in self.outcomes)

    def misnumbered(self):
        """Missing, or there twice."""
        return sorted((collections.Counter(self.numbers) - collections.Counter(range(1, len(self.numbers) + 1))).keys())


def not_erased(gate):
    """Values that an erasure which is over should have taken."""
    left = []
    for tenant, seq, before in everywhere(gate, "SELECT tenant, seq, json_extract(detail, '$.before_us') FROM event WHERE kind = 'erased'"):
        left += everywhere(gate, f"SELECT seq FROM decision WHERE tenant = '{tenant}' AND seq < {seq} AND time_us < {before} AND "
                                 "(salt IS NOT NULL OR arguments IS NOT NULL OR arguments_begin IS NOT NULL)")
    return left


def notes(gate):
    heads = gate.folder / "audit.db.heads"
    return paper()["notes_of"](heads.read_text()) if heads.exists() else []


def verified(gate, from_paper):
    """The faults that one of the verifiers finds in the trail, against its key and the checkpoints beside it."""
    key, heads = ["--key", str(gate.folder / "audit-key.pub")], gate.folder / "audit.db.heads"
    outside = str(heads) if notes(gate) else None
    if not from_paper:
        done = gate.run("audit", "verify", "--all", "--json", *key, *(["--checkpoints", outside] if outside else []))
        return [(done.returncode, done.stdout[-600:], done.stderr)] if done.returncode not in (0, 4) else []  # 4: as a kill leaves it
    files = [*map(str, sealed(gate)), str(gate.audit_path)]
    done = subprocess.run([sys.executable, str(PAPER), "--trail", *key, *(["--checkpoints", outside] if outside else []), *files],
                          capture_output=True, text=True, timeout=600)
    return [] if done.returncode in (0, 4) and done.stdout.count("\n") == len(files) else [done.stdout + done.stderr]
