# SPDX-License-Identifier: Apache-2.0
"""A certificate authority for one scenario, by the openssl command: real certificates, made anew each time."""

import pathlib
import subprocess
import time


class Authority:
    def __init__(self, folder, name="Test CA"):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.key, self.certificate = self.folder / "ca.key", self.folder / "ca.pem"
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                      "-subj", f"/CN={name}", "-keyout", self.key, "-out", self.certificate,
                      "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        self.key.chmod(0o600)
        self.number = 0

    def issue(self, name, alternatives=(), subject=None, days=30, until=None, authority=False, since=None):
        """Returns (certificate, key) paths. `alternatives`: 'DNS:x', 'IP:127.0.0.1'; `until`: its end, as time.time() has it; `since` its
        beginning, with `until`."""
        self.number += 1
        stem = self.folder / f"{self.number}-{name.replace('*', 'any')}"
        key, request, certificate = stem.with_suffix(".key"), stem.with_suffix(".csr"), stem.with_suffix(".pem")
        self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                      subject or f"/CN={name}", "-keyout", key, "-out", request)
        extensions = stem.with_suffix(".ext")
        names = ",".join(alternatives or [f"DNS:{name}"])
        extensions.write_text("basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n" if authority else
                              f"subjectAltName={names}\nbasicConstraints=CA:FALSE\n")
        if until is None:
            self._openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial",
                          "-days", str(days), "-extfile", extensions, "-out", certificate)
        else:
            self._ca("-batch", "-in", request, "-extfile", extensions, "-out", certificate, "-notext",
                     "-startdate", self._stamp(since or time.time() - 3600), "-enddate", self._stamp(until))
        key.chmod(0o600)
        return certificate, key

    def intermediate(self, name):
        """An authority that this one has certified; `chained` puts its certificate behind those it issues."""
        below = Authority.__new__(Authority)
        below.folder, below.number = self.folder / name, 0
        below.folder.mkdir()
        below.certificate, below.key = self.issue(name, authority=True)
        return below

    def chained(self, issued):
        certificate, key = issued
        certificate.write_text(certificate.read_text() + self.certificate.read_text())
        return certificate, key

    def crl(self, *revoked, until=None, form="PEM", name="revoked.crl"):
        """Writes the list of what this authority has revoked, with these certificates in it from now on; returns its path.
        `until`: its nextUpdate, as time.time() has it."""
        for certificate, _ in revoked:
            self._ca("-revoke", certificate)
        path = self.folder / name
        made = path.with_suffix(".new")
        until = until or time.time() + 86400
        self._ca("-gencrl", "-out", made, "-crl_lastupdate", self._stamp(min(time.time(), until) - 3600), "-crl_nextupdate",
                 self._stamp(until))
        if form == "DER":
            self._openssl("crl", "-in", made, "-outform", "DER", "-out", made)
        made.replace(path)
        return path

    @staticmethod
    def _stamp(seconds):
        return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(seconds))

    def _ca(self, *arguments):
        """`openssl ca` with a book of its own, made at its first use."""
        conf = self.folder / "ca.cnf"
        if not conf.exists():
            (self.folder / "index.txt").write_text("")
            (self.folder / "serial").write_text("C0DE00\n")
            conf.write_text(f"[ca]\ndefault_ca=own\n[own]\ndatabase={self.folder}/index.txt\nserial={self.folder}/serial\n"
                            f"new_certs_dir={self.folder}\ndefault_md=sha256\npolicy=any\nunique_subject=no\n"
                            "[any]\ncommonName=supplied\norganizationName=optional\n")
        self._openssl("ca", "-config", conf, "-cert", self.certificate, "-keyfile", self.key, *arguments)

    @staticmethod
    def _openssl(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
