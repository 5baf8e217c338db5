# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL of a scenario's own, and a fleet of gates on it.

    from integration.lib.fleet import Database, Fleet, Wire, needs_postgresql
    needs_postgresql()
    with Database() as database:
        database.sql("SELECT 1")                     # as its superuser, over its Unix socket: [["1"]]
        standby = database.standby()                 # streams from it; standby.promote()
        wire = Wire(database.port)                   # what stands between a gate and it: wire.cut(), wire.slow(0.2), wire.mend()
        fleet = Fleet(database)                      # `callgate fleet init`
        member = fleet.join("gate-a")                # the path of its membership file

PostgreSQL refuses to run as root, so root's server runs as `postgres`, in a folder that is this user's. It has TLS with a certificate of its own
authority (database.authority.certificate) for `localhost` and 127.0.0.1, and takes scram-sha-256 over TLS alone; over its Unix socket, which only its
user's folder has, whoever is the superuser needs no password. As a program, `fleet.py FOLDER` starts one, prints what a client needs
in one line of JSON, and ends it when stdin ends."""

import contextlib
import glob
import json
import os
import pathlib
import pwd
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from integration.lib.gate import CALLGATE, Failed, Gate, eventually, free_port, skip
from integration.lib.pki import Authority

SUPERUSER = "root_of_all"


def programs():
    """The folder of the newest PostgreSQL's programs, or None."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"), key=lambda path: int(path.split("/")[4]))
    return pathlib.Path(found[-1]).parent if found else None


def needs_postgresql():
    if programs() is None:
        skip("there is no PostgreSQL here; tools/install-deps --tests installs it")


class Database:
    """A running server. `folder`: one that has a database goes on. `settings`: more lines of postgresql.conf; `tls=False`: a plain server. `alternatives`: whom its certificate names."""

    def __init__(self, folder=None, settings=None, tls=True, alternatives=("DNS:localhost", "IP:127.0.0.1"), authority=None, port=None,
                 environment=None, start=True, base=None):
        self.bin = programs()
        self.own_folder = folder is None
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="callgate-pg-"))
        self.user = pwd.getpwnam("postgres") if os.getuid() == 0 else None
        self.environment = dict(environment or {})
        self.port = port or free_port()
        self.tls, self.process, self.standbys = tls, None, []
        self.folder.chmod(0o755)
        for above in self.folder.resolve().parents if self.user else ():  # a scenario's own folder, through which its user must get
            if above.stat().st_uid == os.getuid() and not above.stat().st_mode & 0o001:
                above.chmod(above.stat().st_mode | 0o011)
        self.authority = authority or Authority(self.folder / "authority", "Database CA")
        self.data, self.socket = self.folder / "data", self.folder / "s"
        if base is None and not self.data.exists(): # else it is one that was here before, with what it has
            self._make()
        elif base is not None:
            self._follow(base)
        self._configure(settings or {}, alternatives)
        if start:
            self.start()

    # what it is made of -----------------------------------------------------------------------------------------
    def _as_user(self, *words, **options):
        """Runs a program of PostgreSQL as its user, in C's language, and without what this process's environment says of others."""
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", **self.environment, **options.pop("environment", {})}
        if self.user is not None:
            options.update(user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[])
        return subprocess.Popen([str(word) for word in words], cwd=str(self.folder), env=environment, **options)

    def _ran(self, *words, text=None, environment=None):
        process = self._as_user(*words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, environment=environment or {})
        said, _ = process.communicate(text, timeout=300)
        if process.returncode != 0:
            raise Failed(f"{pathlib.Path(words[0]).name}: {said}")
        return said

    def _own(self, path):
        if self.user is not None:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def _folders(self):
        for folder in (self.data, self.socket):
            folder.mkdir(mode=0o700)
            self._own(folder)

    def _make(self):
        self._folders()
        self._ran(self.bin / "initdb", "-D", self.data, "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")

    def _follow(self, base):
        """A standby of another server, with everything that it has until now."""
        self._folders()
        self._ran(self.bin / "pg_basebackup", "-D", self.data, "-h", base.socket, "-p", str(base.port), "-U", SUPERUSER, "-R", "--no-sync", "-c", "fast",
                  "-X", "stream")

    def _configure(self, settings, alternatives):
        conf = {"listen_addresses": "'127.0.0.1'", "port": self.port, "unix_socket_directories": f"'{self.socket}'", "max_connections": 60,
                "fsync": "off", "shared_buffers": "'64MB'", "password_encryption": "'scram-sha-256'", "max_wal_senders": 4, "hot_standby": "on",
                "log_min_messages": "warning", "dynamic_shared_memory_type": "posix", "autovacuum_naptime": "'10s'"}
        if self.tls:
            certificate, key = self.authority.issue("database", list(alternatives))
            for path, name in ((certificate, "server.pem"), (key, "server.key")):
                shutil.copy(path, self.data / name)
                (self.data / name).chmod(0o600)
                self._own(self.data / name)
            conf.update(ssl="on", ssl_cert_file="'server.pem'", ssl_key_file="'server.key'")
        conf.update(settings)
        with open(self.data / "postgresql.conf", "a", encoding="utf-8") as file:
            file.write("".join(f"{name} = {value}\n" for name, value in conf.items()))
        kind = "hostssl" if self.tls else "host"
        (self.data / "pg_hba.conf").write_text(f"local all {SUPERUSER} trust\nlocal replication {SUPERUSER} trust\nlocal all all scram-sha-256\n"
                                               f"{kind} all all 127.0.0.1/32 scram-sha-256\n")
        for name in ("postgresql.conf", "pg_hba.conf"):
            self._own(self.data / name)

    # life -------------------------------------------------------------------------------------------------------
    def start(self):
        self.log = open(self.folder / "postgres.log", "ab")
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        self.process = self._as_user(self.bin / "postgres", "-D", self.data, stdout=self.log, stderr=self.log)
        self.wait()
        return self

    def wait(self, seconds=120):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise Failed("PostgreSQL ended: " + (self.folder / "postgres.log").read_text(errors="replace")[-2000:])
            done = subprocess.run([self.bin / "psql", *self._where(), "-c", "SELECT 1"], capture_output=True, check=False, env={"LC_ALL": "C.UTF-8"})
            if done.returncode == 0:
                return
            time.sleep(0.05)
        raise Failed("PostgreSQL did not get ready")

    def stop(self, signo=signal.SIGINT):
        """SIGINT: fast: whoever is connected is put out; SIGQUIT: at once, without a checkpoint."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signo)
            self.process.wait(120)

    def kill(self):
        """The server and all that it started, at once, as a machine without power."""
        parent = self.process.pid
        children = [int(word) for word in pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
        self.process.kill()
        self.process.wait(60)
        for child in children:
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
        eventually(lambda: not any(os.path.exists(f"/proc/{child}") for child in children), "all of the database's processes are gone")

    def pause(self):
        """As a machine that hangs: it answers nobody, and no connection ends. `resume` ends that."""
        self._signal_all(signal.SIGSTOP)

    def resume(self):
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, signo):
        parent = self.process.pid
        for pid in [parent, *map(int, pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split())]:
            try:
                os.kill(pid, signo)
            except ProcessLookupError:
                pass

    def restart(self):
        self.stop()
        return self.start()

    def close(self):
        for standby in self.standbys:
            standby.close()
        if self.process is not None and self.process.poll() is None:
            self.resume()
            self.stop(signal.SIGQUIT)
        if self.own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None and (self.folder / "postgres.log").exists():
            print("postgres.log:", (self.folder / "postgres.log").read_text(errors="replace")[-3000:], file=sys.stderr)
        self.close()

    # asking -----------------------------------------------------------------------------------------------------
    def _where(self, database="postgres"):
        return ["-X", "-q", "-w", "-h", str(self.socket), "-p", str(self.port), "-U", SUPERUSER, "-d", database, "-v", "ON_ERROR_STOP=1"]

    def psql(self, sql, database="callgate"):
        """Runs SQL as the superuser; returns the finished process."""
        return subprocess.run([self.bin / "psql", *self._where(database), "-A", "-t", "-F", "\x1f"], input=sql, capture_output=True, text=True, check=False,
                              env={"LC_ALL": "C.UTF-8"}, timeout=300)

    def sql(self, sql, database="callgate"):
        """Likewise; returns its rows, each a list of texts."""
        done = self.psql(sql, database)
        if done.returncode != 0:
            raise Failed(f"{sql}: {done.stderr}")
        return [line.split("\x1f") for line in done.stdout.splitlines()]

    def value(self, sql, database="callgate"):
        rows = self.sql(sql, database)
        return rows[0][0] if rows else None

    def create(self, name="callgate"):
        self.sql(f"CREATE DATABASE {name}", "postgres")

    def url(self, port=None, host="127.0.0.1", user=None, name="callgate", root=None):
        """As `fleet:` has it; with `user` as `--admin` takes it."""
        return (f"postgresql://{user + '@' if user else ''}{host}:{port or self.port}/{name}?sslmode=verify-full"
                f"&sslrootcert={root or self.authority.certificate}")

    def local_url(self, name="callgate", user=SUPERUSER):
        """The superuser's, over the Unix socket, without a password."""
        return f"postgresql://{user}@{str(self.socket).replace('/', '%2F')}:{self.port}/{name}"

    # others -----------------------------------------------------------------------------------------------------
    def standby(self, settings=None):
        """A second server that streams from this one. A standby's own has no longer name: a socket's path has 107 bytes."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="standby-", dir=self.folder.parent))
        folder.chmod(0o755)
        made = Database(folder, settings, self.tls, authority=self.authority, base=self)
        made.own_folder = True
        self.standbys.append(made)
        return made

    def has_caught_up(self):
        """Whether a standby has replayed all that its primary has written."""
        return self.value("SELECT pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()", "postgres") == "t"

    def promote(self):
        self.sql("SELECT pg_promote(true, 60)", "postgres")

    def backup(self, to):
        """A copy of all that it has, for `restore`."""
        self.stop()
        shutil.copytree(self.data, to, copy_function=shutil.copy2)
        return self.start()

    def restore(self, copy):
        """Yesterday's backup takes its place."""
        self.stop()
        shutil.rmtree(self.data)
        shutil.copytree(copy, self.data, copy_function=shutil.copy2)
        for folder, _, files in os.walk(self.data):
            for path in (folder, *(os.path.join(folder, name) for name in files)):
                self._own(path)
        return self.start()


class Wire:
    """A TCP proxy on a port of its own, before a server's: it can be cut (nothing goes on, no connection ends), closed, or slow."""

    def __init__(self, to_port, port=None):
        self.to_port, self.delay, self.is_cut, self.pairs = to_port, 0.0, threading.Event(), []
        self.lock = threading.Lock()
        self.server = socket.create_server(("127.0.0.1", port or 0), backlog=64)
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def _carry(self, near):
        while self.is_cut.is_set():
            time.sleep(0.02)
        try:
            far = socket.create_connection(("127.0.0.1", self.to_port), 5)
        except OSError:
            near.close()
            return
        with self.lock:
            self.pairs.append((near, far))
        try:
            while self._carry_once(near, far):
                pass
        except (OSError, ValueError):
            pass
        with self.lock:
            if (near, far) in self.pairs:
                self.pairs.remove((near, far))
        near.close()
        far.close()

    def _carry_once(self, near, far):
        ready = select.select([near, far], [], [], 0.1)[0]
        while self.is_cut.is_set():
            time.sleep(0.02)
        for end in ready:
            piece = end.recv(65536)
            if not piece:
                return False
            if self.delay:
                time.sleep(self.delay)
            (far if end is near else near).sendall(piece)
        return True

    def cut(self):
        """As a cable that is out: bytes go nowhere, and nobody is told."""
        self.is_cut.set()

    def mend(self):
        self.delay = 0.0
        self.is_cut.clear()

    def slow(self, seconds):
        """So long for each piece, one way."""
        self.delay = seconds

    def drop(self):
        """Ends all connections; new ones are taken."""
        with self.lock:
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def to(self, port):
        """From the next connection on: another server."""
        self.to_port = port

    def close(self):
        self.server.close()
        self.mend()
        self.drop()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Fleet:
    """A fleet on a database: its key, and what `callgate fleet` makes by it. Its folder has one for each node."""

    def __init__(self, database, folder=None, **environment):
        self.database = database
        self.own_folder = folder is None
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="callgate-fleet-"))
        self.environment = dict(os.environ, **environment)
        self.key = self.folder / "fleet.key"
        self.id = json.loads(self.must("init", "--database", database.url(), "--output", self.key, "--json"))["fleet"]

    def run(self, *words):
        """`callgate fleet WORDS` as who owns the centre; returns the finished process."""
        return subprocess.run([CALLGATE, "fleet", *map(str, words), "--admin", self.database.local_url()], capture_output=True, text=True, check=False,
                              timeout=240, cwd=self.folder, env=self.environment)

    def must(self, *words):
        done = self.run(*words)
        if done.returncode != 0:
            raise Failed(f"fleet {' '.join(map(str, words))}: {done.returncode}: {done.stderr}{done.stdout}")
        return done.stdout

    def join(self, name, *options):
        """The path of its new membership."""
        place = self.folder / name
        place.mkdir(exist_ok=True)
        path = place / f"{name}.member"
        self.must("join", name, "--key-file", self.key, "--output", path, *options)
        return path

    def leave(self, name, *options):
        self.must("leave", name, "--key-file", self.key, *options)

    def gate(self, name, routes, url=None, fleet=None, conf=None, **more):
        """A gate that is this node of it, which joins where it has not. `url`: another way to the centre, through a Wire, say; `fleet`: more
        of that part of its configuration."""
        path = self.folder / name / f"{name}.member"
        if not path.exists():
            self.join(name)
        part = {"membership": path.name, **({"database": url} if url else {}), **(fleet or {})}
        return Gate(routes, conf={"fleet": part, **(conf or {})}, folder=path.parent, **more)

    def status(self, membership):
        """What `callgate fleet status` tells: (its exit status, the document or its sentence)."""
        done = subprocess.run([CALLGATE, "fleet", "status", "--membership", str(membership), "--json"], capture_output=True, text=True, check=False,
                              timeout=60, env=self.environment)
        return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr

    def session(self, membership):
        """A session at the centre by a membership's role and password: psql, which takes SQL until its stdin ends."""
        has = json.loads(pathlib.Path(membership).read_text())
        return subprocess.Popen([self.database.bin / "psql", "-X", "-q", "-A", "-t", self.database.url(user=has["role"])], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1, env={"LC_ALL": "C.UTF-8", "PGPASSWORD": has["password"]})

    def asks(self, membership, sql):
        """What that role is answered: (whether it was, text)."""
        process = self.session(membership)
        said, _ = process.communicate("\\set ON_ERROR_STOP on\n" + sql + "\n", timeout=60)
        return process.returncode == 0, said.strip()

    def close(self):
        if self.own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def below(pid):
    """All processes that it started, and they."""
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:  # it has ended meanwhile
            continue
        for child in map(int, children):
            yield child
            yield from below(child)


def courier_of(gate):
    """The process that goes between a gate and its centre; None: there is none now."""
    def name_of(pid):
        with contextlib.suppress(OSError):
            return pathlib.Path(f"/proc/{pid}/comm").read_text().rstrip("\n")  # cut after 15 bytes; of what a confined process shows, others see little more
        return None

    process = gate.process
    # The first is the gate's own that starts it again: both call themselves so once they run
    beside = [pid for pid in below(process.pid) if name_of(pid) in ("courier", "callgate-courie")] if process is not None else []
    return beside[1] if len(beside) > 1 else None


def serve(folder):
    """For a unit test: a server for as long as stdin is open."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Database(folder) as database:
        database.create()
        database.sql("CREATE ROLE tester LOGIN PASSWORD 'secret words'; GRANT ALL ON DATABASE callgate TO tester; GRANT ALL ON SCHEMA public TO tester")
        print(json.dumps({"url": database.url(), "port": str(database.port), "local": database.local_url(), "root": str(database.authority.certificate)}),
              flush=True)
        for line in sys.stdin:
            word = line.strip()
            {"kill": database.kill, "start": database.start, "pause": database.pause, "resume": database.resume}[word]()
            print("done", flush=True)


if __name__ == "__main__":
    serve(pathlib.Path(sys.argv[1]))
