#!/usr/bin/env bash
# Installs Python packages into a folder for PYTHONPATH, once: scripts/pip-target.sh DIR PACKAGE...
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=$1
shift
want="$(python3 --version) $* $(sha256sum <"$here/constraints.txt")"
if [[ $(cat "$dir/made-of" 2>/dev/null) != "$want" ]]; then
  rm -rf "$dir"
  bash "$here/retry.sh" python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts \
    --upgrade --target "$dir" --constraint "$here/constraints.txt" "$@"
  printf '%s\n' "$want" >"$dir/made-of"
fi
