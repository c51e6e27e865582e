#!/usr/bin/env bash
# Installs into empty and into used folders and uses what is there as a stranger would: pkg-config, CMake, Cargo, man,
# completions, the commands; then uninstalls. tests/install/run.sh MODELS, the folder of the tiny models.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
models=$(cd "$1" && pwd)
work=$root/build/install-test
rm -rf "$work" && mkdir -p "$work"
cd "$work"
unset QWEN_GGML_DIR QWEN_LIB_DIR QWEN_INCLUDE_DIR LD_LIBRARY_PATH PKG_CONFIG_PATH
export QWEN_THREADS=1

fail() {
  echo "not ok - $*" >&2
  exit 1
}
ok() { echo "ok - $*"; }
need() { # COMMAND PACKAGE WHAT: whether there is the command; in CI there must be
  command -v "$1" >/dev/null && return
  echo "skipped - $3: no $1 (apt-get install $2)"
  [[ ${CI:-} != true ]] || exit 1
  return 1
}
make_() { # TARGET VARIABLE…
  make --no-print-directory -C "$root" "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "make $*"; }
}
refused() { # MESSAGE make-arguments…
  local message=$1
  shift
  ! make --no-print-directory -C "$root" "$@" >"$work/log" 2>&1 || fail "make $*: must be refused"
  grep -q -- "$message" "$work/log" || { cat "$work/log" >&2; fail "make $*: must say: $message"; }
}
tree() { (cd "$1" && find . | LC_ALL=C sort); }
hello() { # PROGRAM NAME: runs an example
  "$1" "$models/tiny-customvoice-17.gguf" "$models/tiny-tokenizer-12hz.gguf" "Hello." vivian "$work/$2.wav" 7 4 2>"$work/log" ||
    { cat "$work/log" >&2; fail "$2"; }
  [[ $(stat -c %s "$work/$2.wav") == $((44 + 4 * 1920 * 2)) ]] || fail "$2: its WAV has another size"
}

# ---- Install and uninstall ----

mkdir -p used/opt/q/lib used/opt/q/share/man/man1
echo "not ours" | tee used/opt/q/lib/other.so used/opt/q/share/man/man1/other.1 >/dev/null
tree used >before
make_ install PREFIX=/opt/q DESTDIR="$work/used"
tree used >installed
sort "used/opt/q/share/libqwen/manifest" | sed -n 's/^file \/opt\/q/.\/opt\/q/p' >listed
(cd used && find . ! -type d | LC_ALL=C sort) | grep -v other >there
diff <(LC_ALL=C sort listed) there || fail "the manifest does not list what was installed"
make_ install PREFIX=/opt/q DESTDIR="$work/used" # over itself
diff installed <(tree used) || fail "installing again changes what is there"
make_ uninstall PREFIX=/opt/q DESTDIR="$work/used"
diff before <(tree used) || fail "uninstalling leaves something, or takes too much"
ok "make install and uninstall"

refused "nothing is installed there" uninstall PREFIX=/opt/q DESTDIR="$work/used"
refused "must be absolute" install PREFIX=opt
refused "no ggml in" install PREFIX=/opt/q DESTDIR="$work/used" GGML="$work"
diff before <(tree used) || fail "a refused installation leaves something"
ok "wrong uses are refused"

make_ install PREFIX=/opt/q DESTDIR="$work/used" GGML=
[[ ! -e used/opt/q/lib/libqwen ]] || fail "GGML= must install no ggml"
make_ uninstall PREFIX=/opt/q DESTDIR="$work/used"
diff before <(tree used) || fail "uninstalling leaves something, or takes too much"
ok "GGML= leaves ggml to the system"

# What is installed with DESTDIR, and moved again, still works: nothing in it knows where it is.
make_ install PREFIX=/opt/q DESTDIR="$work/stage"
mv stage/opt/q "$work/moved"
prefix=$work/moved
cp -r "$root/examples" examples
rm -f examples/c/hello

[[ $(readlink "$prefix/lib/libqwen.so") == libqwen.so.0 ]] || fail "libqwen.so is no link to libqwen.so.0"
grep -q 'SONAME.*\[libqwen\.so\.0\]' <<<"$(readelf -d "$prefix/lib/libqwen.so.0")" || fail "SONAME"
! grep -rqI "$root\|$work" "$prefix" || fail "a file names a folder of the build: $(grep -rlI "$root\|$work" "$prefix")"
! grep -q "$root" "$prefix/lib/libqwen.so.0" "$prefix/bin/"* || fail "a binary names a folder of the build"
ok "links, SONAME, nothing of the build's folders"

# ---- The commands ----

"$prefix/bin/qwen-tts" --list-devices >log || fail "the command does not find ggml"
"$prefix/bin/qwen-tts" --model "$models/tiny-customvoice-17.gguf" --codec "$models/tiny-tokenizer-12hz.gguf" --speaker vivian \
  --text "Hello." --seed 7 --max-new 4 -o command.wav 2>log
for command in "$prefix/bin/"*; do
  name=${command##*/}
  [[ -f $prefix/share/man/man1/$name.1 ]] || fail "$name: no manual page"
  if command -v man >/dev/null; then
    # groff tells of mistakes; a system that leaves out the pages themselves has a man that only says so.
    warnings=$(man --warnings -E UTF-8 -l "$prefix/share/man/man1/$name.1" 2>&1 >/dev/null | grep -v minimized || true)
    [[ -z $warnings ]] || fail "$name.1: $warnings"
  fi
  bash -n "$prefix/share/bash-completion/completions/$name"
done
# As the shell does it: what may follow `qwen-tts --list-s`?
complete=$(PATH="$prefix/bin:$PATH" bash -c '
  source "$1"
  _get_comp_words_by_ref() { cur=--list-s prev=qwen-tts words=(qwen-tts --list-s) cword=1; }
  COMP_WORDS=(qwen-tts --list-s) COMP_CWORD=1 COMP_LINE="qwen-tts --list-s" COMP_POINT=17 COMP_TYPE=9
  compopt() { :; }
  __start_qwen-tts && echo "${COMPREPLY[*]}"' bash "$prefix/share/bash-completion/completions/qwen-tts")
[[ $complete == --list-speakers* ]] || fail "bash completion: $complete"
ok "commands, manual pages, completions"

# ---- pkg-config ----

if need pkg-config pkg-config "the C examples"; then
  [[ $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --modversion libqwen) == \
    $(sed -n 's/^#define QT_VERSION_[A-Z]* *\([0-9]*\)$/\1/p' "$root/include/qwen.h" | paste -sd.) ]] ||
    fail "the version of libqwen.pc is not that of qwen.h"
  make -s -C examples/c PKG_CONFIG_PATH="$prefix/lib/pkgconfig" CFLAGS="-O1 -Wall -Wextra -Werror -pedantic"
  hello examples/c/hello c
  ok "C by pkg-config"

  make_ install PREFIX=/usr DESTDIR="$work/multi" LIBDIR=lib/x86_64-linux-gnu INCLUDEDIR=include/qwen
  flags=$(PKG_CONFIG_PATH=$work/multi/usr/lib/x86_64-linux-gnu/pkgconfig pkg-config --cflags --libs libqwen)
  mkdir multi-c
  cc -std=c99 "$root/examples/c/hello.c" $flags -Wl,-rpath,"$work/multi/usr/lib/x86_64-linux-gnu" -o multi-c/hello
  hello multi-c/hello multi
  rm -rf multi
  ok "LIBDIR and INCLUDEDIR of their own"

  if need cargo cargo "the Rust example"; then
    (cd "$root/bindings/rust" && PKG_CONFIG_PATH=$prefix/lib/pkgconfig CARGO_TARGET_DIR=$root/build/rust-installed \
      cargo build --quiet --locked --example hello)
    hello "$root/build/rust-installed/debug/examples/hello" rust
    ok "Rust by pkg-config"

    builds() { # VARIABLE=VALUE…: whether the build script of libqwen-sys is content
      (cd "$root/bindings/rust" && env CARGO_TARGET_DIR="$root/build/rust-installed" "$@" \
        cargo check --quiet --locked -p libqwen-sys) >log 2>&1
    }
    ! builds PKG_CONFIG_LIBDIR=/none || fail "libqwen-sys must see that there is no libqwen"
    grep -q "libqwen was not found. Install it" log || { cat log >&2; fail "what libqwen-sys says where there is no libqwen"; }
    ! builds QWEN_LIB_DIR=/none || fail "libqwen-sys must see that QWEN_LIB_DIR does not exist"
    grep -q "QWEN_LIB_DIR=/none: no such directory" log || { cat log >&2; fail "what libqwen-sys says of QWEN_LIB_DIR"; }
    builds PKG_CONFIG_LIBDIR=/none QWEN_LIB_DIR="$prefix/lib" || { cat log >&2; fail "QWEN_LIB_DIR"; }
    builds PKG_CONFIG_LIBDIR=/none QWEN_NO_PKG_CONFIG=1 || { cat log >&2; fail "QWEN_NO_PKG_CONFIG"; }
    builds PKG_CONFIG_LIBDIR=/none DOCS_RS=1 || { cat log >&2; fail "DOCS_RS"; }
    ok "libqwen-sys: what it looks at, and what it says"
  fi
fi

# ---- CMake ----

if need cmake cmake "CMake"; then
  cmake -S examples/cmake -B cmake -DCMAKE_PREFIX_PATH="$prefix" >log 2>&1 && cmake --build cmake >>log 2>&1 ||
    { cat log >&2; fail "the CMake project"; }
  hello cmake/hello cmake

  version_found() { # VERSION…: whether find_package takes it
    mkdir -p version
    printf 'cmake_minimum_required(VERSION 3.19)\nproject(v NONE)\nfind_package(libqwen %s REQUIRED)\n' "$*" >version/CMakeLists.txt
    rm -rf version-build
    cmake -S version -B version-build -DCMAKE_PREFIX_PATH="$prefix" >log 2>&1
  }
  for version in "" 0 0.0.1 0.1 0.1.0 "0.1.0 EXACT" 0.1...0.9 0.1...1; do
    version_found "$version" || { cat log >&2; fail "find_package(libqwen $version)"; }
  done
  for version in 1 0.2 0.1.1 99 "0.0.9 EXACT" 0.2...0.9 "0.0...<0.1.0"; do
    ! version_found "$version" || fail "find_package(libqwen $version) must not be content"
  done
  mv "$prefix/include/qwen.h" kept
  ! version_found "" || fail "find_package must see that the header is missing"
  grep -q "libqwen is incomplete" log || { cat log >&2; fail "the message of find_package"; }
  mv kept "$prefix/include/qwen.h"
  ok "find_package(libqwen), its versions"
fi

for wav in *.wav; do
  cmp -s "$wav" command.wav || cmp -s <(tail -c +45 "$wav") <(tail -c +45 command.wav) || fail "$wav differs from command.wav"
done
ok "all of them speak the same"
cd "$root"
rm -rf "$work"
