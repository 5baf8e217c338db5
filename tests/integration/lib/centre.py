# SPDX-License-Identifier: Apache-2.0
"""Rows of gates' own files, put at a fleet's centre as their couriers would, and a reader of it: for tests of what is asked there.

    from integration.lib.centre import Centre
    centre = Centre(database, folder)     # the schema, and a role `auditor` with its membership file
    centre.put("gate-a", gate.live_path)  # all rows of a file, as of a node of that name
    centre.membership                     # for --membership"""

import datetime
import json
import pathlib
import sqlite3

TOP = pathlib.Path(__file__).resolve().parents[3]
TABLES = ("decision", "outcome", "event", "file")
EPOCH = datetime.datetime(1970, 1, 1)


def day_of(time_us):
    return (EPOCH + datetime.timedelta(microseconds=time_us)).date().isoformat()


def cell(value, is_text):
    """As COPY's text format has it."""
    if value is None:
        return b"\\N"
    if isinstance(value, int):
        return str(value).encode()
    if is_text:
        return value.replace(b"\\", b"\\\\").replace(b"\t", b"\\t").replace(b"\n", b"\\n")
    return b"\\\\x" + value.hex().encode()


class Centre:
    def __init__(self, database, folder):
        self.database, self.folder = database, pathlib.Path(folder)
        database.create()
        database.sql((TOP / "schema" / "fleet.sql").read_text())
        database.sql("CREATE ROLE auditor LOGIN PASSWORD 'for-reading' IN ROLE callgate_reader")
        database.sql("ALTER ROLE auditor SET search_path = callgate_audit, pg_temp; ALTER ROLE auditor SET timezone = 'UTC'")
        self.membership = self.folder / "auditor.member"
        self.membership.touch(mode=0o600)
        self.membership.write_text(json.dumps({"format": 1, "fleet": 32 * "0", "name": "auditor", "database": database.url(), "role": "auditor",
                                               "password": "for-reading", "root": 64 * "0"}))

    def types_of(self, table):
        return dict(self.database.sql("SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'callgate' "
                                      f"AND table_name = '{table}'"))

    def put(self, node, path):
        file = sqlite3.connect(path)
        file.text_factory = bytes
        days = {}
        for table in TABLES:
            self.put_table(file, node, table, days)
        seq, digest = file.execute("SELECT seq, hash FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
        self.database.sql(f"INSERT INTO callgate.trail_cursor (node, seq, hash) VALUES ('{node}', {seq}, '\\x{digest.hex()}')")
        file.close()

    def put_table(self, file, node, table, days):
        types = self.types_of(table)
        names = [row[1].decode() for row in file.execute(f"PRAGMA table_info({table})")]
        theirs = ["host" if name == "node" else name for name in names]
        has_day = "day" in types
        lines = []
        for row in file.execute(f"SELECT * FROM {table}"):
            value = dict(zip(names, row))
            line = [node.encode()]
            if has_day:
                day = days[value["decision"]] if table == "outcome" else day_of(value["time_us"])
                days.setdefault(value["seq"] if table == "decision" else None, day)
                line.append(day.encode())
            line += [cell(value[name], types[their] == "text") for name, their in zip(names, theirs)]
            lines.append(b"\t".join(line))
        columns = ", ".join(["node", *(["day"] if has_day else []), *theirs])
        for day in sorted({line.split(b"\t")[1].decode() for line in lines} if has_day else []):
            self.database.sql(f"SELECT callgate.day_make('{day}')")
        text = b"\n".join([f"COPY callgate.{table} ({columns}) FROM STDIN;".encode(), *lines, b"\\.", b""])
        self.database.sql(text.decode())

    def close_days(self):
        """All indices of days that are over, for all days."""
        self.database.sql("DO $$ DECLARE d date; BEGIN FOR d IN SELECT day FROM callgate.trail_day LOOP "
                          "WHILE callgate.day_index(d) IS NOT NULL LOOP END LOOP; END LOOP; END $$")
        self.database.sql("ANALYZE callgate.decision, callgate.outcome, callgate.event")
