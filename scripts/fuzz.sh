#!/usr/bin/env bash
# Runs every fuzz target of the module for a while, one after the other. usage: fuzz.sh DURATION (3s, 10m, …)
set -euo pipefail
duration=${1:?usage: fuzz.sh DURATION}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

count=0
while IFS=: read -r file target; do
  package=./$(dirname "$file")
  if ! "${GO:-go}" test -run '^$' -fuzz "^$target\$" -fuzztime "$duration" -fuzzminimizetime 2s "$package" >"$log" 2>&1; then
    cat "$log"
    echo "fuzz: $package $target failed" >&2
    exit 1
  fi
  echo "fuzz: $package $target: $(grep -oE 'execs: [0-9]+' "$log" | tail -n 1)"
  count=$((count + 1))
done < <(grep -rHoE --include='*_test.go' '^func Fuzz\w+' . | sed -E 's#^\./(.*):func (Fuzz\w+)#\1:\2#' | sort)
echo "fuzz: $count targets, $duration each"
