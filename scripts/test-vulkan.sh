#!/usr/bin/env bash
# The tests of GPUs, on ggml's Vulkan backend and Mesa's software device: test-vulkan.sh [go test's flags].
set -euo pipefail
cd "$(dirname "$0")/.."
driver=$(compgen -G '/usr/share/vulkan/icd.d/lvp_icd*.json') || {
  echo "test-vulkan: no software device: apt-get install mesa-vulkan-drivers libvulkan1" >&2
  exit 1
}
driver=${driver%%$'\n'*} # the first, if there are those of several architectures
export VK_DRIVER_FILES=$driver VK_ICD_FILENAMES=$driver # the same, for old and new loaders
export GGML_VK_VISIBLE_DEVICES=0                        # ggml leaves software devices out unless it is told
export QWEN_TEST_DEVICE=vulkan:0 QWEN_THREADS=1
exec "${GO:-go}" test -count=1 -timeout "${GOTIME:-30m}" -p 1 -run Device "$@" ./ggml ./core/nn ./core/lm ./core/codec ./core/speaker ./core
