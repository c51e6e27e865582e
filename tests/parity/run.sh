#!/usr/bin/env bash
# The examples of every language and the command speak the same bytes. tests/parity/run.sh BUILD MODELS: the folders of
# libqwen.so with the commands, and of the tiny models. A language whose tools are missing is skipped, and said to be; in
# CI that is a failure.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd) models=$(cd "$2" && pwd)
work=$build/parity
rm -rf "$work" && mkdir -p "$work"
export QWEN_THREADS=1 QWEN_GGML_DIR="${QWEN_GGML_DIR:-$root/.ggml}"
codec=$models/tiny-tokenizer-12hz.gguf
text="The same words, again." transcript="What was said before." description="a calm old sailor" seed=7 frames=10

fail() {
  echo "not ok - $*" >&2
  exit 1
}
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "$*"; }; }

# ---- One program of each language: P_LANGUAGE PROGRAM ARGUMENT… ----

p_c() { "$work/c/$1" "${@:2}"; }
p_go() { "$work/go/$1" "${@:2}"; }
p_rust() { "$CARGO_TARGET_DIR/debug/examples/$1" "${@:2}"; }
p_python() {
  PYTHONPATH=$root/bindings/python/src QWEN_LIBRARY=$build/libqwen.so PYTHONDONTWRITEBYTECODE=1 \
    python3 "$root/bindings/python/examples/$1.py" "${@:2}"
}

languages=(c go)
mkdir -p "$work/c"
for program in hello stream clone design; do
  quietly "${CC:-cc}" -std=c99 -I"$root/include" "$root/examples/c/$program.c" -L"$build" -lqwen -Wl,-rpath,"$build" \
    -o "$work/c/$program"
done
# The Go programs are built as a module of their own that imports this one, as a user's does (README.md, From Go).
cp -r "$root/examples/go" "$work/module"
(
  cd "$work/module"
  sed -i 's|github.com/libqwen/libqwen/examples/go/|example.org/speak/|' */main.go
  quietly "${GO:-go}" mod init example.org/speak
  quietly "${GO:-go}" mod edit -replace "github.com/libqwen/libqwen=$root"
  quietly bash "$root/scripts/retry.sh" "${GO:-go}" mod tidy
  quietly "${GO:-go}" build -o "$work/go/" ./...
)
if command -v cargo >/dev/null; then
  export CARGO_TARGET_DIR=$build/rust QWEN_LIB_DIR=$build
  (cd "$root/bindings/rust" && quietly cargo build --locked --examples)
  languages+=(rust)
else
  echo "skipped - Rust: no cargo"
  [[ ${CI:-} != true ]] || exit 1
fi
if [[ -d $root/bindings/python ]]; then
  languages+=(python)
else
  echo "skipped - Python: there is no bindings/python"
fi

# ---- What the command says is what all have to say ----

command=("$build/bin/qwen-tts" --codec "$codec" --text "$text" --seed $seed --max-new $frames)
printf %s "$transcript" >"$work/transcript.txt"
clip=$work/clip.wav
quietly "$build/bin/qwen-tts" --codec "$codec" --model "$models/tiny-customvoice-17.gguf" --speaker vivian --text "A clip." \
  --seed 1 --max-new 20 -o "$clip"
quietly "${command[@]}" --model "$models/tiny-customvoice-17.gguf" --speaker vivian -o "$work/hello.wav"
quietly "${command[@]}" --model "$models/tiny-base-17.gguf" --ref-wav "$clip" --ref-text "$work/transcript.txt" -o "$work/clone.wav"
quietly "${command[@]}" --model "$models/tiny-base-17.gguf" --ref-wav "$clip" -o "$work/alone.wav"
quietly "${command[@]}" --model "$models/tiny-voicedesign-17.gguf" --instruct "$description" -o "$work/design.wav"
# A model whose authors recommend other sampling: it holds in every language that is told nothing else.
own=$work/tiny-customvoice-own.gguf
cp -r "$models/checkpoints/tiny-customvoice-17" "$work/checkpoint"
cat >"$work/checkpoint/generation_config.json" <<'JSON'
{"do_sample": true, "temperature": 0.4, "top_k": 7, "top_p": 0.8, "repetition_penalty": 1.3,
 "subtalker_dosample": true, "subtalker_temperature": 0.6, "subtalker_top_k": 5, "subtalker_top_p": 0.9}
JSON
quietly "$build/bin/qwen-convert" --type F32 "$work/checkpoint" "$own"
quietly "${command[@]}" --model "$own" --speaker vivian -o "$work/own.wav"
tail -c +45 "$work/hello.wav" >"$work/stream.pcm"
for a in hello clone alone design own; do # each says something of its own
  [[ $(stat -c %s "$work/$a.wav") -gt 4000 ]] || fail "$a.wav is too short"
  for b in hello clone alone design own; do
    [[ $a == "$b" ]] || ! cmp -s "$work/$a.wav" "$work/$b.wav" || fail "$a.wav and $b.wav are the same"
  done
done

same() { # LANGUAGE FILE
  cmp "$work/$2" "$work/$1-$2" || fail "$1: $2 is not what the command speaks"
}
refuses() { # LANGUAGE STATUS PROGRAM ARGUMENT…: fails with the status and says why
  local language=$1 status=$2 got=0
  shift 2
  "p_$language" "$@" >"$work/out" 2>"$work/err" || got=$?
  [[ $got == "$status" && ! -s $work/out && -s $work/err ]] ||
    fail "$language: $*: exit status $got (want $status), stderr: $(cat "$work/err")"
}
for l in "${languages[@]}"; do
  p() { "p_$l" "$@" 2>"$work/log" >"$work/stdout" || { cat "$work/log" >&2; fail "$l: $1"; }; }
  p hello "$models/tiny-customvoice-17.gguf" "$codec" "$text" vivian "$work/$l-hello.wav" $seed $frames
  p hello "$own" "$codec" "$text" vivian "$work/$l-own.wav" $seed $frames
  p clone "$models/tiny-base-17.gguf" "$codec" "$text" "$clip" "$transcript" "$work/$l-clone.wav" $seed $frames
  p clone "$models/tiny-base-17.gguf" "$codec" "$text" "$clip" "" "$work/$l-alone.wav" $seed $frames
  p design "$models/tiny-voicedesign-17.gguf" "$codec" "$text" "$description" "$work/$l-design.wav" $seed $frames
  p stream "$models/tiny-customvoice-17.gguf" "$codec" "$text" vivian $seed $frames
  mv "$work/stdout" "$work/$l-stream.pcm"
  for file in hello.wav own.wav clone.wav alone.wav design.wav stream.pcm; do same "$l" $file; done

  refuses "$l" 2 hello
  refuses "$l" 2 hello "$models/tiny-customvoice-17.gguf" "$codec" "$text" vivian "$work/x.wav" seven
  refuses "$l" 1 hello "$work/none.gguf" "$codec" "$text" vivian "$work/x.wav" 7 4
  refuses "$l" 1 hello "$models/tiny-customvoice-17.gguf" "$codec" "$text" nobody "$work/x.wav" 7 4
  refuses "$l" 1 hello "$models/tiny-customvoice-17.gguf" "$codec" "$text" vivian "$work/x.wav" 7 0
  refuses "$l" 1 clone "$models/tiny-base-17.gguf" "$codec" "$text" "$codec" "" "$work/x.wav" 7 4
  [[ ! -e $work/x.wav ]] || fail "$l: a failed run leaves a file"
  refuses "$l" 1 hello "$models/tiny-customvoice-17.gguf" "$codec" "$text" vivian "$work/no/folder.wav" 7 4
  echo "ok - $l speaks what the command speaks"
done
rm -rf "$work"
