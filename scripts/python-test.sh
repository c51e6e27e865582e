#!/usr/bin/env bash
# Tests the Python wheel: scripts/python-test.sh BUILD DIST MODELS, the folders of what was built, of the wheel and of the
# tiny models. The first environment has what the tests need, the second the wheel alone, as a new user's has.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath "$1") models=$(realpath "$3")
wheel=$(echo "$(realpath "$2")"/libqwen-*.whl)
[[ -f $wheel ]] || { echo "python-test: $2 holds no wheel, or several; run \`make wheel\`" >&2; exit 1; }
unset QWEN_LIBRARY QWEN_GGML_DIR PYTHONPATH # the wheel has all it needs
export QWEN_THREADS=1 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 LIBQWEN_TEST_MODELS="$models"

venv=$build/python/test
bash "$root/scripts/python-venv.sh" "$venv" pytest==9.2.0 pytest-timeout==2.4.0 numpy mypy==2.4.1 ruff==0.17.6
"$venv/bin/python" -m pip install --quiet --no-deps --force-reinstall "$wheel"
cd "$root/bindings/python"
"$venv/bin/ruff" check --quiet .
"$venv/bin/ruff" format --quiet --check .
"$venv/bin/mypy" --cache-dir "$build/python/mypy"
"$venv/bin/pytest" -p no:cacheprovider --timeout 900

# On Ray: two workers of this machine, in an environment of its own, since Ray brings much along.
ray=2.60.0
has_ray() { # whether there is a wheel for this Python; once there was one, nobody is asked again
  [[ -e $build/python/ray/made-of ]] || bash "$root/scripts/retry.sh" \
    "$venv/bin/python" -m pip install --quiet --dry-run --no-deps --only-binary :all: "ray==$ray" >"$build/python/ray.log" 2>&1
}
export RAY_raylet_start_wait_time_s=300 RAY_memory_monitor_refresh_ms=0 # on a busy machine it starts late, and others use memory
if has_ray; then
  bash "$root/scripts/python-venv.sh" "$build/python/ray" "ray[data]==$ray" pytest==9.2.0 pytest-timeout==2.4.0
  "$build/python/ray/bin/python" -m pip install --quiet --no-deps --force-reinstall "$wheel"
  RAY_USAGE_STATS_ENABLED=0 "$build/python/ray/bin/pytest" -p no:cacheprovider -W default --timeout 900 tests/test_ray.py
elif grep -q 'No matching distribution' "$build/python/ray.log"; then
  echo "python-test: SKIPPED libqwen.ray: ray $ray has no wheel for $(python3 --version)" >&2
else
  cat "$build/python/ray.log" >&2
  exit 1
fi

# A new user: an empty environment, far from the checkout, without NumPy.
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
cp "$root/tests/golden/audio/speech_24k.wav" "$fresh/clip.wav"
cp -r examples "$fresh/examples"
python3 -m venv "$fresh/venv"
"$fresh/venv/bin/python" -m pip install --quiet --no-index "$wheel"
[[ $("$fresh/venv/bin/python" -m pip list --format freeze | grep -civ '^\(pip\|setuptools\)==') == 1 ]] ||
  { echo "python-test: something but libqwen was installed" >&2; exit 1; }
cd "$fresh"
python=venv/bin/python codec=$models/tiny-tokenizer-12hz.gguf
ours() { $python "$@" >"$fresh/log" 2>&1 || { cat "$fresh/log"; exit 1; }; }
ours -c "
import libqwen
with libqwen.TTS('$models/tiny-customvoice-17.gguf', '$codec') as tts:
    audio = tts.synthesize('Good morning!', speaker=tts.speakers[0], max_new_tokens=25)
    audio.save('morning.wav')
    print(audio)
"
$python -c "import numpy" 2>/dev/null && { echo "python-test: the empty environment has NumPy" >&2; exit 1; }
ours examples/hello.py "$models/tiny-customvoice-17.gguf" "$codec" "Hello." vivian hello.wav 1 9
$python examples/stream.py "$models/tiny-customvoice-17.gguf" "$codec" "Hello." vivian 1 9 >stream.pcm
ours examples/clone.py "$models/tiny-base-17.gguf" "$codec" "Hello." clip.wav "" clone.wav 1 9
ours examples/design.py "$models/tiny-voicedesign-17.gguf" "$codec" "Hello." "A calm voice." design.wav 1 9
cmp <(tail -c +45 hello.wav) stream.pcm # without NumPy, the same bytes, streamed or not
for file in hello clone design; do
  [[ $(wc -c <"$file.wav") == $((44 + 9 * 1920 * 2)) ]] || { echo "python-test: $file.wav has a wrong length" >&2; exit 1; }
done
"$build/bin/qwen-tts" --model "$models/tiny-customvoice-17.gguf" --codec "$codec" --text "Hello." --speaker vivian \
  --seed 1 --max-new 9 -o command.wav 2>/dev/null
cmp hello.wav command.wav # as the command's
echo "python-test: $(basename "$wheel") works in an empty environment"
