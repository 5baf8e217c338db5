# SPDX-License-Identifier: Apache-2.0
"""A small disk of a scenario's own, which it can fill to the last byte.

    with small_disk("4m") as disk:      # a folder; the scenario is skipped where nobody may mount
        filler = fill(disk)             # not a byte is left; filler.unlink() makes room"""

import contextlib
import os
import pathlib
import subprocess
import sys

from integration.lib.gate import skip


@contextlib.contextmanager
def small_disk(size):
    disk = pathlib.Path(os.environ["SCENARIO_TMP"]) / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)], capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        if "DISK_FULL_TRIED" not in os.environ:  # a namespace of its own gives the right where the kernel lets it
            os.environ["DISK_FULL_TRIED"] = "1"
            disk.rmdir()
            alone = ["unshare", "--map-root-user", "--mount"]
            if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode == 0:
                os.execvp(alone[0], [*alone, sys.executable, *sys.argv])
        skip("a small disk of its own needs the right to mount: " + mounted.stderr.split("\n")[0])
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


def fill(disk):
    filler = disk / "filler"
    with open(filler, "wb", buffering=0) as out:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while out.write(b"\0" * size) == size:
                    pass
            except OSError:
                pass
    return filler
