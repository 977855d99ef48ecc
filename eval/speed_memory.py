"""Peak memory of this process."""

from __future__ import annotations

import resource
from pathlib import Path


def peak_mb() -> int:
    """Most memory that this process has taken, in megabytes.

    On Linux from the account of the process itself: ``ru_maxrss`` begins with what the parent had.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
