# SPDX-License-Identifier: Apache-2.0
"""A gate with `people:`, and other accounts of the machine who give it commands."""
import grp
import json
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

from integration.lib.gate import CALLGATE, Gate, call, mcp_route, skip

POLICY = """\
policy: pay
rules:
  - {id: pay.protocol, effect: permit, match: {methods: [protocol]}}
  - {id: pay.held, effect: require_approval, match: {tools: [pay]}}
"""


def accounts(count):
    """Accounts of the machine with a group of their own; what they are for does not matter here."""
    found = []
    for user in pwd.getpwall():
        try:
            group = grp.getgrgid(user.pw_gid)
        except KeyError:
            continue
        if user.pw_uid not in (0, 65534) and user.pw_gid not in (0, 65534, *(one.pw_gid for one in found)) and group.gr_mem == []:
            found.append(user)
    if len(found) < count:
        skip(f"the machine has not {count} accounts with groups of their own")
    return found[:count]


class People:
    """A gate with `people:`, and commands as one of them would give them."""

    def __init__(self, policy=POLICY, routes=None, people=None, conf=None, **groups):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="callgate-people-"))
        self.folder.chmod(0o711)
        place = self.folder / "run"
        place.mkdir(mode=0o755)
        self.socket = str(place / "control.sock")
        # The programs where everybody may run them, whatever folder this repository lies in.
        for name in ("callgate", "callgate-gate", "callgate-runner", "callgate-courier"):
            shutil.copy(pathlib.Path(CALLGATE).with_name(name), place / name)
            (place / name).chmod(0o755)
        self.program = str(place / "callgate")
        home = self.folder / "home"
        home.mkdir(mode=0o700)
        self.conf = {"people": {"socket": self.socket, **{role: [one] for role, one in groups.items()}, **(people or {})}, **(conf or {})}
        self.gate = Gate(routes or [mcp_route("http://127.0.0.1:1")], conf=self.conf, folder=home, start=False)
        self.gate.program = self.program
        self.gate.load({"pay.yaml": policy})
        self.home = home

    def run(self, *words, typed=None, **who):
        process = self.begin(*words, stdin=subprocess.DEVNULL if typed is None else subprocess.PIPE, **who)
        out, err = process.communicate(typed, timeout=120)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def begin(self, user, *words, login=None, groups=(), environment=None, stdin=subprocess.DEVNULL):
        def become():
            if login is not None:
                pathlib.Path("/proc/self/loginuid").write_text(str(login.pw_uid))
            os.setgroups([grp.getgrnam(name).gr_gid for name in groups])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)

        return subprocess.Popen([self.program, *words], cwd="/", text=True, stdin=stdin, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, preexec_fn=become, env={"CALLGATE_SOCKET": self.socket, **(environment or {})})

    def end(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def held(people, **arguments):
    """Makes a call that is held. Returns the number by which a person finds it, once it does."""
    return people.gate.held(json.loads(people.gate.post("/mcp", call("pay", arguments))[2])["result"])
