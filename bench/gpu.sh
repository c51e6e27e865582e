#!/usr/bin/env bash
# Speed and memory on a GPU, ours and on NVIDIA's the peer's CUDA build in the same run:
#
#   bench/gpu.sh models          random-weight models for it, into .bench (git-ignored): 10 GB for everything
#   bench/gpu.sh [DEVICE]        measures; DEVICE as qwen-tts --device has it (default auto)
#
# Less than all: SIZES=0.6b TYPES="Q8_0 Q4_K_M" FRAMES=50 REPS=1. Other files: TALKER=FILE CODEC=FILE. QWEN_GGML_DIR names a build of ggml that has the GPU's
# backend (docs/devices.md). The measuring takes under 10 minutes on a GPU; MINUTES ends it, and what has not been
# measured by then is left out and said so. Results: tables on stdout and in .bench/results/gpu-*.md and .json; of each
# run, what its stages took and the memory in use on the device.
set -euo pipefail
cd "$(dirname "$0")/.."

SIZES=${SIZES:-0.6b 1.7b}
TYPES=${TYPES:-BF16 Q8_0 Q4_K_M}
FRAMES=${FRAMES:-150}
REPS=${REPS:-2}
MINUTES=${MINUTES:-10}
WORK=.bench
LOGS=$WORK/logs/gpu
CODEC=${CODEC:-$WORK/qwen-tokenizer-12hz-Q8_0.gguf}
PEER=realtimetts-qwen-native==0.2.0 # qwentts.cpp with CUDA 12.8
PEER_LIB=$WORK/peer-cuda/qwentts_cpp/lib/libqwen.so
PYTHON=$WORK/venv/bin/python
export PYTHONDONTWRITEBYTECODE=1

models() {
  local type
  for type in $TYPES; do
    # shellcheck disable=SC2086 # sizes are words
    TYPE=$type bench/run.sh models $SIZES
  done
}

peer() { # the arguments of bench.py for it, none where it does not run
  nvidia-smi >/dev/null 2>&1 || return 0
  [[ -e $PEER_LIB ]] || python3 -m pip install --quiet --no-deps --target $WORK/peer-cuda "$PEER" >&2 || return 0
  echo --lib "peer=$PEER_LIB"
}

measure() { # SIZE TYPE
  local model=${TALKER:-$WORK/qwen-talker-$1-customvoice-$2.gguf} name=gpu-$1-$2
  if [[ ! -e $model || ! -e $CODEC ]]; then
    echo "gpu: $1 $2: left out, no $model: bench/gpu.sh models"
    return
  fi
  if ((SECONDS >= MINUTES * 60)); then
    echo "gpu: $1 $2: left out, the $MINUTES minutes are over"
    return
  fi
  echo "== $1 $2"
  # shellcheck disable=SC2086 # PEER_ARGS are words
  timeout "$((MINUTES * 60 - SECONDS + 30))" $PYTHON bench/bench.py --lib "ours=build/libqwen.so" $PEER_ARGS \
    --env "ours:QWEN_DEVICE=$DEVICE" --env "ours:QWEN_GGML_DIR=$QWEN_GGML_DIR" --model "$model" --codec "$CODEC" \
    --threads "${THREADS:-2}" --frames "$FRAMES" --warmup 2 --short 4 --reps "$REPS" --mode streaming --timeout 300 \
    --logs "$LOGS/$1-$2" --out $WORK/results --name "$name" || echo "gpu: $1 $2: failed, see $LOGS/$1-$2"
  grep -rhoE 'device: .*|\[Perf\] DeviceMemory .*|falls back.*|has no operation.*' "$LOGS/$1-$2" 2>/dev/null | sort | uniq -c | sort -rn | head -8
}

case ${1:-} in
  models) models; exit ;;
esac
DEVICE=${1:-auto}
[[ -z ${TALKER:-} ]] || { SIZES=$(basename "$TALKER" .gguf) TYPES=given; }
export QWEN_GGML_DIR=${QWEN_GGML_DIR:-$PWD/.ggml}
make -s lib commands
[[ -x $PYTHON ]] || { python3 -m venv $WORK/venv && $PYTHON -m pip install --quiet numpy; }
build/bin/qwen-tts --list-devices
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || true
PEER_ARGS=$(peer)
[[ -n $PEER_ARGS ]] || echo "gpu: no NVIDIA GPU, so the peer's CUDA build is not measured"
for size in $SIZES; do
  for type in $TYPES; do
    rm -rf "${LOGS:?}/$size-$type"
    measure "$size" "$type"
  done
done
echo "gpu: $((SECONDS / 60)) min $((SECONDS % 60)) s"
