#!/usr/bin/env python3
"""Puts ggml's shared libraries into a folder.

usage: fetch-ggml.py [DIR]        (default: .ggml beside the go.mod)

The libraries come out of a wheel that scripts/ggml-wheels.txt pins by version and SHA-256; pip downloads it and checks
the hash, nothing is installed and nothing of the wheel is run. A folder that already holds that very wheel's libraries
is left alone. With QWEN_GGML_DIR set, nothing is downloaded: that folder is only checked to hold ggml.

Needs python3 (>= 3.8) with pip and no other module.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
WHEELS = HERE / "ggml-wheels.txt"
STAMP = "stamp"

# A ggml library is libggml.so, libggml-base.so.0, libggml-cpu-haswell.so, libggml-metal.dylib, ggml-vulkan.dll, ...
LIBRARY = re.compile(r"^(lib)?ggml(-[\w.-]+)?\.(so(\.\d+)*|dylib|dll)$")

TWO_WAYS = """There are two ways to give libqwen its ggml:
  1. have python3 with pip and the network, and run `make ggml`;
  2. build or unpack ggml (0.20 to 0.26) yourself as shared libraries, and set QWEN_GGML_DIR to the folder that holds
     libggml-base, libggml and libggml-cpu (.so, .dylib or .dll)."""


class Failure(Exception):
    """The reason, in one line; main adds what can be done about it."""


def libraries(folder):
    """The ggml libraries of a folder, by file name."""
    return sorted(p for p in Path(folder).iterdir() if LIBRARY.match(p.name))


def require_complete(folder):
    """Fails unless the folder has the three parts that every ggml consists of."""
    if not Path(folder).is_dir():
        raise Failure(f"{folder} is no folder")
    names = [p.name for p in libraries(folder)]
    for part, pattern in (("ggml-base", r"ggml-base\."), ("ggml", r"ggml\."), ("ggml-cpu", r"ggml-cpu[-.]")):
        if not any(re.match("(lib)?" + pattern, n) for n in names):
            raise Failure(f"{folder} has no {part} library (found: {', '.join(names) or 'nothing of ggml'})")
    return names


def pip_download(into):
    """Lets pip fetch the pinned wheel of this platform; returns its path."""
    command = [sys.executable, "-m", "pip"]
    if subprocess.run(command + ["--version"], capture_output=True).returncode != 0:
        raise Failure(f"{sys.executable} has no pip (Debian, Ubuntu: apt-get install python3-pip)")
    result = subprocess.run(
        command + ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
                   "--require-hashes", "--dest", into, "--requirement", str(WHEELS)],
        capture_output=True, text=True)
    wheels = sorted(Path(into).glob("*.whl"))
    if result.returncode != 0 or len(wheels) != 1:
        reason = " / ".join(line.strip() for line in result.stderr.splitlines() if line.startswith("ERROR"))
        raise Failure(f"pip could not download the wheel for {platform.system()} {platform.machine()}: "
                      f"{reason or result.stderr.strip() or 'no wheel came'}")
    return wheels[0]


def check_hash(wheel):
    """pip has checked it; this does not trust that every pip out there did."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if digest not in re.findall(r"--hash=sha256:([0-9a-f]{64})", WHEELS.read_text()):
        raise Failure(f"{wheel.name} has SHA-256 {digest}, which {WHEELS.name} does not list")
    return digest


def unpack(wheel, folder):
    """Copies ggml's libraries, and only those, flat into the folder, with ggml's licence beside them."""
    with zipfile.ZipFile(wheel) as z:
        for entry in z.infolist():
            name = Path(entry.filename).name
            if entry.filename.endswith("licenses/ggml/LICENSE"):
                name = "LICENSE"
            elif not LIBRARY.match(name):
                continue
            with z.open(entry) as src, open(Path(folder) / name, "wb") as dst:
                shutil.copyfileobj(src, dst)
    require_complete(folder)


def install(folder):
    """Fills the folder; it appears whole or not at all."""
    folder = Path(folder)
    pins = hashlib.sha256(WHEELS.read_bytes()).hexdigest()
    stamp = folder / STAMP
    if stamp.is_file() and stamp.read_text().strip() == pins:
        require_complete(folder)
        print(f"ggml: {folder} is up to date")
        return
    if folder.exists() and any(folder.iterdir()) and not stamp.is_file():
        raise Failure(f"{folder} exists and was not made by this script; remove it or name it in QWEN_GGML_DIR")
    print("ggml: downloading the pinned wheel (20 MB)", flush=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".ggml-") as tmp:
        wheel = pip_download(tmp)
        check_hash(wheel)
        fresh = Path(tmp) / "fresh"
        fresh.mkdir()
        unpack(wheel, fresh)
        (fresh / STAMP).write_text(pins + "\n")
        if folder.exists():
            shutil.rmtree(folder)
        fresh.rename(folder)
    print(f"ggml: {len(libraries(folder))} libraries in {folder}")


def main(args):
    if len(args) > 1 or any(a.startswith("-") for a in args):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        own = os.environ.get("QWEN_GGML_DIR", "")
        if own:
            names = require_complete(own)
            print(f"ggml: QWEN_GGML_DIR={own} ({len(names)} libraries); nothing is downloaded")
        else:
            install(args[0] if args else HERE.parent / ".ggml")
    except (Failure, OSError, zipfile.BadZipFile) as err:
        print(f"fetch-ggml: {err}\n{TWO_WAYS}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
