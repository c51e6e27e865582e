#!/usr/bin/env bash
# Lints all packages: golangci-lint (.golangci.yml) where it is installed, else staticcheck STATICCHECK, installed into
# TOOLS. Where that cannot be downloaded either, it says so, and fails only in CI; there the version is always that one.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

if [[ ${CI:-} != true ]] && command -v golangci-lint >/dev/null; then
  exec golangci-lint run
fi
bin=$TOOLS/staticcheck-$STATICCHECK
if [[ ! -x $bin ]]; then
  if ! GOFLAGS='' GOBIN=$TOOLS bash "$here/retry.sh" "$GO" install "honnef.co/go/tools/cmd/staticcheck@$STATICCHECK"; then
    echo "lint: SKIPPED: neither golangci-lint nor staticcheck is to be had here" >&2
    [[ ${CI:-} != true ]]
    exit
  fi
  mv "$TOOLS/staticcheck" "$bin"
fi
echo "lint: staticcheck $STATICCHECK"
exec "$bin" ./...
