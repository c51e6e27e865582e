#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other. usage: fuzz.sh BUDGET [SECONDS]
# BUDGET is go test's -fuzztime: inputs a target (4000x), or a duration (10m). A target that takes over SECONDS hangs.
#
# Inputs are counted where a result must be relied on: at the end of a duration, Go before 1.27 may report
# "context deadline exceeded" as a failure of the target (golang/go#75804).
set -euo pipefail
budget=${1:?usage: fuzz.sh BUDGET [SECONDS]}
limit=${2:-0}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

count=0
while IFS=: read -r file target; do
  package=./$(dirname "$file")
  status=0
  timeout --kill-after=5 "$limit" "${GO:-go}" test -run '^$' -fuzz "^$target\$" -fuzztime "$budget" -fuzzminimizetime 100x \
    "$package" >"$log" 2>&1 </dev/null || status=$?
  if ((status)); then
    cat "$log"
    ((status != 124 && status != 137)) || echo "fuzz: not done after $limit s: an input that takes long or for ever" >&2
    echo "fuzz: $package $target failed" >&2
    exit 1
  fi
  echo "fuzz: $package $target: $(grep -oE 'execs: [0-9]+' "$log" | tail -n 1)"
  count=$((count + 1))
done < <(grep -rHoE --include='*_test.go' '^func Fuzz\w+' . | sed -E 's#^\./(.*):func (Fuzz\w+)#\1:\2#' | sort)
echo "fuzz: $count targets, $budget each"
