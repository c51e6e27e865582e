#!/usr/bin/env python3
"""Puts ONNX Runtime's shared library into a folder.

usage: fetch-onnxruntime.py [DIR]        (default: .onnxruntime beside the go.mod)

The library comes out of a wheel that scripts/onnxruntime-wheels.txt pins by version and SHA-256; pip downloads it and
checks the hash, nothing is installed and nothing of the wheel is run. A folder that already holds that very wheel's
library is left alone. With QWEN_ONNXRUNTIME set, nothing is downloaded.

Needs python3 (>= 3.8) with pip and no other module.
"""

import os
import platform
import re
import shutil
import sys
import zipfile
from pathlib import Path

import wheel

HERE = Path(__file__).resolve().parent
WHEELS = HERE / "onnxruntime-wheels.txt"
LIBRARY = re.compile(r"^(lib)?onnxruntime(_providers_shared)?(\.\d+)*\.(so(\.\d+)*|dylib|dll)$")

# The wheel is of this Python, whatever Python runs here: only its library is used.
PYTHON = ["--python-version=3.12", "--implementation=cp", "--abi=cp312"]
PLATFORMS = {
    ("linux", "x86_64"): "manylinux_2_28_x86_64",
    ("linux", "aarch64"): "manylinux_2_28_aarch64",
    ("darwin", "arm64"): "macosx_14_0_arm64",
    ("windows", "amd64"): "win_amd64",
}

TWO_WAYS = """There are two ways to give libqwen its ONNX Runtime, which only ONNX vocoders need:
  1. have python3 with pip and the network, and run `make onnxruntime`;
  2. unpack a release of ONNX Runtime (1.17 or later) and set QWEN_ONNXRUNTIME to the library or its folder."""


def unpack(path, folder):
    with zipfile.ZipFile(path) as z:
        for entry in z.infolist():
            name = Path(entry.filename).name
            if LIBRARY.match(name) or entry.filename in ("onnxruntime/LICENSE", "onnxruntime/ThirdPartyNotices.txt"):
                with z.open(entry) as src, open(Path(folder) / name, "wb") as dst:
                    shutil.copyfileobj(src, dst)


def check(folder):
    if not any(re.match(r"(lib)?onnxruntime\.", p.name) for p in Path(folder).iterdir()):
        raise wheel.Failure(f"{folder} has no ONNX Runtime library")


def main(args):
    if len(args) > 1 or any(a.startswith("-") for a in args):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        if own := os.environ.get("QWEN_ONNXRUNTIME", ""):
            print(f"onnxruntime: QWEN_ONNXRUNTIME={own}; nothing is downloaded")
            return 0
        here = platform.system().lower(), platform.machine().lower()
        if here not in PLATFORMS:
            raise wheel.Failure(f"no wheel is known for {' '.join(here)}")
        wheel.install(args[0] if args else HERE.parent / ".onnxruntime", "onnxruntime", WHEELS, 25, unpack, check,
                      *PYTHON, "--platform=" + PLATFORMS[here])
    except (wheel.Failure, OSError, zipfile.BadZipFile) as err:
        print(f"fetch-onnxruntime: {err}\n{TWO_WAYS}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
