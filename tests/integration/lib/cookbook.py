# SPDX-License-Identifier: Apache-2.0
"""The questions of schema/cookbook.md, as it has them."""

import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[3]


def by_itself(number):
    """Where psql's question is another one than sqlite3's."""
    return number in ("5", "14")


def questions():
    """(number, as sqlite3 is asked, as psql is): a block `postgresql` stands in the place of the one before it, or by itself."""
    text = (TOP / "schema" / "cookbook.md").read_text(encoding="utf-8")
    for number, body in re.findall(r"^## (\d+)\. (.*?)(?=^## |\Z)", text, re.S | re.M):
        blocks = re.findall(r"^```(sql|postgresql)\n(.*?)^```(.*?)(?=^```|\Z)", body, re.S | re.M)
        for place, (kind, sql, _) in enumerate(blocks):
            follows = blocks[place + 1] if place + 1 < len(blocks) else ("", "", "")
            if kind == "sql" and follows[0] == "postgresql" and not by_itself(number):
                yield int(number), sql, follows[1]
            elif kind == "sql":
                yield int(number), sql, re.sub(r"ORDER BY (c\.)?seq\b", r"ORDER BY \1node, \1seq", sql)
            elif by_itself(number):
                yield int(number), None, sql
