# SPDX-License-Identifier: Apache-2.0
"""A certificate authority for one scenario, by the openssl command: real certificates, made anew each time."""

import pathlib
import subprocess


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

    def issue(self, name, alternatives=(), subject=None, days=30):
        """Returns (certificate, key) paths. `alternatives`: 'DNS:x', 'IP:127.0.0.1'."""
        self.number += 1
        stem = self.folder / f"{self.number}-{name.replace('*', 'any')}"
        key, request, certificate = stem.with_suffix(".key"), stem.with_suffix(".csr"), stem.with_suffix(".pem")
        self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                      subject or f"/CN={name}", "-keyout", key, "-out", request)
        extensions = stem.with_suffix(".ext")
        names = ",".join(alternatives or [f"DNS:{name}"])
        extensions.write_text(f"subjectAltName={names}\nbasicConstraints=CA:FALSE\n")
        self._openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial",
                      "-days", str(days), "-extfile", extensions, "-out", certificate)
        key.chmod(0o600)
        return certificate, key

    @staticmethod
    def _openssl(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
