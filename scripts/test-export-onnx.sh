#!/usr/bin/env bash
# usage: test-export-onnx.sh CHECKPOINT GOLDEN: export-onnx.py writes the graphs in GOLDEN again, byte for byte, and
# models with weights that the package onnx finds well-formed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
checkpoint=$1 golden=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

export_onnx() { python3 "$here/export-onnx.py" "$@" >/dev/null; }

for form in "" --whole; do
  name=tiny-vocoder${form/--/-}.onnx
  export_onnx $form --beside "$checkpoint" "$tmp/$name"
  cmp "$tmp/$name" "$golden/$name"
  export_onnx $form "$checkpoint" "$tmp/full.onnx" # checked by onnx.checker
done
if export_onnx "$golden" "$tmp/none.onnx" 2>"$tmp/err"; then
  echo "export-onnx.py: a folder that is no checkpoint was exported" >&2
  exit 1
fi
grep -q '^export-onnx: ' "$tmp/err"
echo "export-onnx: both forms are as committed"
