#!/usr/bin/env bash
# Runs a command that downloads something, and if it fails, again after a pause, up to four times: retry.sh COMMAND…
# A registry that does not answer for a moment is no fault of what is tested. Only for downloads and what lays them in
# place: builds and tests run once.
set -uo pipefail

for pause in 3 10 30; do
  "$@" && exit
  status=$?
  ((status < 128)) || exit $status # a signal: somebody wants it to end
  echo "retry: exit status $status, once more in $pause s: $*" >&2
  sleep $pause
done
exec "$@"
