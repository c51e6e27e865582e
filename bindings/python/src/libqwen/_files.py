"""Files that appear under their names only when they are complete."""

from __future__ import annotations

import secrets
from pathlib import Path


def write_file(path: Path, data: bytes) -> None:
    """Writes a file; until it is complete, and if that fails, what was there stays.

    Links are followed; pipes and devices are written to directly.
    """
    path = path.resolve()
    there = path.stat() if path.exists() else None
    if there is not None and not path.is_file():
        path.write_bytes(data)
        return
    partial = path.with_name(f".libqwen-{secrets.token_hex(8)}.partial")
    try:
        partial.write_bytes(data)
        if there is not None:
            partial.chmod(there.st_mode & 0o7777)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
