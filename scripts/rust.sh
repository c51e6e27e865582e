#!/usr/bin/env bash
# Tests the Rust crates against a library: scripts/rust.sh BUILD MODELS, the folders of libqwen.so and the tiny models.
# `scripts/rust.sh --bindings` renews bindings/rust/libqwen-sys/src/bindings.rs after a change of include/qwen.h.
# Where there is no cargo, or no libclang for bindgen, it says so and skips that part; in CI that is a failure.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root/bindings/rust"
export CARGO_TARGET_DIR="$root/build/rust"

missing() { # WHAT: says what is skipped; a failure in CI
  echo "rust: SKIPPED: $1" >&2
  [[ ${CI:-} != true ]] || exit 1
}

have_libclang() {
  compgen -G "${LIBCLANG_PATH:-/nothing}*" || compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' ||
    compgen -G '/usr/lib*/libclang*.so*' || compgen -G '/usr/lib/*/libclang*.so*'
} >/dev/null

if [[ ${1:-} == --bindings ]]; then
  out=$(DOCS_RS=1 cargo build --locked -p libqwen-sys --features buildtime-bindgen --message-format json |
    sed -n 's/.*"reason":"build-script-executed".*libqwen-sys.*"out_dir":"\([^"]*\)".*/\1/p')
  cp "$out/bindings.rs" libqwen-sys/src/bindings.rs
  exit
fi

command -v cargo >/dev/null || { missing "no cargo"; exit 0; }
QWEN_LIB_DIR=$(cd "$root" && realpath "$1") QWEN_TEST_MODELS=$(cd "$root" && realpath "$2")
export QWEN_LIB_DIR QWEN_TEST_MODELS RUSTDOCFLAGS="-D warnings" QWEN_THREADS=1
export QWEN_GGML_DIR="${QWEN_GGML_DIR:-$root/.ggml}"

mkdir -p "$CARGO_TARGET_DIR"
bash "$root/scripts/retry.sh" cargo fetch --quiet --locked || { missing "the crates that ours depend on cannot be fetched"; exit 0; }

quietly() { # COMMAND…: shows what it says only if it fails
  "$@" >"$CARGO_TARGET_DIR/log" 2>&1 || { cat "$CARGO_TARGET_DIR/log"; exit 1; }
}

cargo fmt --all --check
cargo clippy --quiet --locked --all-targets -- -D warnings
quietly cargo test --locked
cargo doc --quiet --locked --no-deps
if have_libclang; then
  cargo clippy --quiet --locked -p libqwen-sys --all-targets --features buildtime-bindgen -- -D warnings
  quietly cargo test --locked -p libqwen-sys --features buildtime-bindgen
else
  missing "no libclang: whether bindings.rs is what bindgen makes of qwen.h (apt-get install libclang-dev)"
fi
# As who downloads them gets them, without the repository around. (cargo's own check would take a libqwen-sys of the
# same version out of its cache.)
rm -f "$CARGO_TARGET_DIR"/package/*.crate
cargo package --quiet --locked --workspace --allow-dirty --no-verify
packages=$CARGO_TARGET_DIR/packages
rm -rf "$packages" && mkdir -p "$packages"
for crate in "$CARGO_TARGET_DIR"/package/*.crate; do tar xzf "$crate" -C "$packages"; done
cd "$packages"/libqwen-[0-9]*
patch=(--config "patch.crates-io.libqwen-sys.path='$(echo "$packages"/libqwen-sys-*)'")
bash "$root/scripts/retry.sh" cargo fetch --quiet "${patch[@]}"
cargo build --quiet --all-targets "${patch[@]}"
DOCS_RS=1 QWEN_LIB_DIR='' cargo doc --quiet --no-deps "${patch[@]}" # as docs.rs does, where there is no libqwen
echo "rust: the crates pass"
