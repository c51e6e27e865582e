#!/usr/bin/env python3
"""Puts ggml's shared libraries into a folder.

usage: fetch-ggml.py [DIR]        (default: .ggml beside the go.mod)

The libraries come out of a wheel that scripts/ggml-wheels.txt pins by version and SHA-256; pip downloads it and checks
the hash, nothing is installed and nothing of the wheel is run. A folder that already holds that very wheel's libraries
is left alone. With QWEN_GGML_DIR set, nothing is downloaded: that folder is only checked to hold ggml.

Needs python3 (>= 3.8) with pip and no other module.
"""

import os
import re
import shutil
import sys
import zipfile
from pathlib import Path

import wheel

HERE = Path(__file__).resolve().parent
WHEELS = HERE / "ggml-wheels.txt"

# A ggml library is libggml.so, libggml-base.so.0, libggml-cpu-haswell.so, libggml-metal.dylib, ggml-vulkan.dll, ...
LIBRARY = re.compile(r"^(lib)?ggml(-[\w.-]+)?\.(so(\.\d+)*|dylib|dll)$")

TWO_WAYS = """There are two ways to give libqwen its ggml:
  1. have python3 with pip and the network, and run `make ggml`;
  2. build or unpack ggml (0.20 to 0.26) yourself as shared libraries, and set QWEN_GGML_DIR to the folder that holds
     libggml-base, libggml and libggml-cpu (.so, .dylib or .dll)."""


def libraries(folder):
    """The ggml libraries of a folder, by file name."""
    return sorted(p for p in Path(folder).iterdir() if LIBRARY.match(p.name))


def require_complete(folder):
    """Fails unless the folder has the three parts that every ggml consists of."""
    if not Path(folder).is_dir():
        raise wheel.Failure(f"{folder} is no folder")
    names = [p.name for p in libraries(folder)]
    for part, pattern in (("ggml-base", r"ggml-base\."), ("ggml", r"ggml\."), ("ggml-cpu", r"ggml-cpu[-.]")):
        if not any(re.match("(lib)?" + pattern, n) for n in names):
            raise wheel.Failure(f"{folder} has no {part} library (found: {', '.join(names) or 'nothing of ggml'})")
    return names


def unpack(path, folder):
    """Copies ggml's libraries, and only those, flat into the folder, with ggml's licence beside them."""
    with zipfile.ZipFile(path) as z:
        for entry in z.infolist():
            name = Path(entry.filename).name
            if entry.filename.endswith("licenses/ggml/LICENSE"):
                name = "LICENSE"
            elif not LIBRARY.match(name):
                continue
            with z.open(entry) as src, open(Path(folder) / name, "wb") as dst:
                shutil.copyfileobj(src, dst)


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
            wheel.install(args[0] if args else HERE.parent / ".ggml", "ggml", WHEELS, 20, unpack, require_complete)
    except (wheel.Failure, OSError, zipfile.BadZipFile) as err:
        print(f"fetch-ggml: {err}\n{TWO_WAYS}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
