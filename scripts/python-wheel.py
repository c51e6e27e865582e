#!/usr/bin/env python3
"""Builds the Python wheel: the package, libqwen.so and the ggml libraries that it is tested with.

usage: python-wheel.py LIBQWEN.so GGML_DIR DIST_DIR

The wheel's tag says py3-none-manylinux_A_B_ARCH, where A.B is the newest version of glibc that one of the libraries
needs. Runs in a Python that has setuptools (>= 77); `make wheel` makes one.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "bindings" / "python"
GGML = re.compile(r"^libggml(-[\w.-]+)?\.so(\.\d+)*$")


def ggml_libraries(folder):
    """The files, each once: of libggml.so -> libggml.so.0 the one that ggml's libraries ask for by SONAME."""
    found = sorted(p for p in folder.iterdir() if GGML.match(p.name))
    if not any(p.name.startswith("libggml-base.so") for p in found):
        raise SystemExit(f"wheel: {folder} has no libggml-base.so; run `make ggml`")
    kept = {}
    for path in found:  # sorted: the shortest name comes first, and a wheel has no links
        kept.setdefault(path.resolve(), []).append(path.name)
    return [(real, name) for real, names in kept.items() for name in names]


def needed_glibc(paths):
    """The newest symbol version of glibc in the files, which their dynamic string tables name: (2, 34)."""
    versions = {(2, 17)}
    for path in paths:
        for major, minor in re.findall(rb"\0GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\0)", path.read_bytes()):
            versions.add((int(major), int(minor)))
    return max(versions)


def fill(stage, library, ggml_dir):
    """Copies the package and the libraries into a folder to build in; returns the platform of the tag."""
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "lib", "tests", ".*_cache")
    shutil.copytree(PACKAGE, stage, ignore=ignore)
    lib = stage / "src" / "libqwen" / "lib"
    lib.mkdir()
    (lib / "__init__.py").write_text('"""The shared libraries."""\n')
    files = [(library.resolve(), "libqwen.so"), *ggml_libraries(ggml_dir)]
    for real, name in files:
        shutil.copyfile(real, lib / name)
    shutil.copyfile(ROOT / "LICENSE", stage / "LICENSE")
    if (ggml_dir / "LICENSE").is_file():
        shutil.copyfile(ggml_dir / "LICENSE", lib / "LICENSE.ggml")
    return "manylinux_{}_{}_{}".format(*needed_glibc(real for real, _ in files), platform.machine())


def main(args):
    if len(args) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    library, ggml_dir, dist = (Path(a) for a in args)
    if platform.system() != "Linux":
        print("wheel: libqwen.so is built for Linux only", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as tmp:
        stage = Path(tmp) / "libqwen"
        tag = fill(stage, library, ggml_dir)
        out = Path(tmp) / "dist"
        subprocess.run(
            [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps",
             "--no-build-isolation", "--wheel-dir", str(out), str(stage)],
            check=True, env=dict(os.environ, LIBQWEN_PLATFORM=tag))
        (wheel,) = out.glob("*.whl")
        dist.mkdir(parents=True, exist_ok=True)
        for old in dist.glob("libqwen-*.whl"):
            old.unlink()
        shutil.move(str(wheel), dist / wheel.name)
    print(f"wheel: {dist / wheel.name} ({(dist / wheel.name).stat().st_size / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
