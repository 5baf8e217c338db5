# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian's packages, unpacked into build/interop and not installed."""

import subprocess

from integration.lib.gate import Failed, skip
from interop.lib.interop import INTO, LIB


def unpacked(name):
    """The folder with the files of what lib/unpack knows by that name. Ends the scenario as skipped where they cannot be had."""
    done = subprocess.run([str(LIB / "unpack"), name], capture_output=True, text=True, check=False)
    if done.returncode == 3:
        skip(done.stderr.strip())
    if done.returncode != 0:
        raise Failed(f"{name} cannot be unpacked: {done.stderr}")
    return INTO / name
