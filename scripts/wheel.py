"""What the scripts that fetch shared libraries have in common: a wheel, pinned by version and SHA-256 in a pip
requirements file, is downloaded by pip and unpacked into a folder. Nothing is installed and nothing of it is run."""

import hashlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

STAMP = "stamp"


class Failure(Exception):
    """The reason, in one line; the script adds what can be done about it."""


def download(into, requirements, *options):
    """Lets pip fetch the pinned wheel of this platform; returns its path."""
    command = [sys.executable, "-m", "pip"]
    if subprocess.run(command + ["--version"], capture_output=True).returncode != 0:
        raise Failure(f"{sys.executable} has no pip (Debian, Ubuntu: apt-get install python3-pip)")
    retry = ["bash", str(Path(__file__).with_name("retry.sh"))] if shutil.which("bash") else []
    result = subprocess.run(
        retry + command + ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
                   "--require-hashes", *options, "--dest", into, "--requirement", str(requirements)],
        capture_output=True, text=True)
    wheels = sorted(Path(into).glob("*.whl"))
    if result.returncode != 0 or len(wheels) != 1:
        errors = (line.strip() for line in result.stderr.splitlines() if line.startswith("ERROR"))
        reason = " / ".join(dict.fromkeys(errors))
        raise Failure(f"pip could not download the wheel for {platform.system()} {platform.machine()}: "
                      f"{reason or result.stderr.strip() or 'no wheel came'}")
    return wheels[0]


def check_hash(wheel, requirements):
    """pip has checked it; this does not trust that every pip out there did."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if digest not in re.findall(r"--hash=sha256:([0-9a-f]{64})", requirements.read_text()):
        raise Failure(f"{wheel.name} has SHA-256 {digest}, which {requirements.name} does not list")


def install(folder, name, requirements, size, unpack, check, *options):
    """Fills the folder with what unpack(wheel, folder) makes of the pinned wheel; it appears whole or not at all. One
    that holds that very wheel's files, and passes the check, is left alone."""
    folder = Path(folder)
    pins = hashlib.sha256(requirements.read_bytes()).hexdigest()
    stamp = folder / STAMP
    if stamp.is_file() and stamp.read_text().strip() == pins:
        check(folder)
        print(f"{name}: {folder} is up to date")
        return
    if folder.exists() and any(folder.iterdir()) and not stamp.is_file():
        raise Failure(f"{folder} exists and was not made by this script; remove it or name it in the environment")
    print(f"{name}: downloading the pinned wheel ({size} MB)", flush=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{name}-") as tmp:
        wheel = download(tmp, requirements, *options)
        check_hash(wheel, requirements)
        fresh = Path(tmp) / "fresh"
        fresh.mkdir()
        unpack(wheel, fresh)
        check(fresh)
        (fresh / STAMP).write_text(pins + "\n")
        if folder.exists():
            shutil.rmtree(folder)
        fresh.rename(folder)
    print(f"{name}: {len(list(folder.iterdir())) - 1} files in {folder}")
