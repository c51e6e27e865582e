#!/usr/bin/env bash
# Makes a virtual environment and installs packages, once: scripts/python-venv.sh DIR PACKAGE...
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=$1
shift
want="$(python3 --version) $* $(sha256sum <"$here/constraints.txt")"
if [[ $(cat "$dir/made-of" 2>/dev/null) != "$want" ]]; then
  rm -rf "$dir"
  python3 -m venv "$dir"
  bash "$here/retry.sh" "$dir/bin/python" -m pip install --quiet --disable-pip-version-check \
    --constraint "$here/constraints.txt" "$@"
  printf '%s\n' "$want" >"$dir/made-of"
fi
