#!/usr/bin/env bash
# Makes a virtual environment and installs packages, once: scripts/python-venv.sh DIR PACKAGE...
set -euo pipefail
dir=$1
shift
want="$(python3 --version) $*"
if [[ $(cat "$dir/made-of" 2>/dev/null) != "$want" ]]; then
  rm -rf "$dir"
  python3 -m venv "$dir"
  "$dir/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
  printf '%s\n' "$want" >"$dir/made-of"
fi
