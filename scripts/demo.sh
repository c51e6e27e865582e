#!/usr/bin/env bash
# Speaks TEXT to demo.wav; called by `make demo`, which sets the variables. MODEL and CODEC name real GGUF files;
# without them the tiny random-weight models speak.
set -euo pipefail
tts=build/bin/qwen-tts

if [[ -n $MODEL || -n $CODEC ]]; then
  if [[ -z $MODEL || -z $CODEC ]]; then
    echo "make demo: MODEL and CODEC belong together: MODEL=talker.gguf CODEC=tokenizer.gguf" >&2
    exit 2
  fi
  if [[ -z $SPEAKER ]]; then # the first one, if the model has any
    SPEAKER=$("$tts" --model "$MODEL" --codec "$CODEC" --list-speakers | sed -n 1p)
  fi
  "$tts" --model "$MODEL" --codec "$CODEC" --speaker "$SPEAKER" --lang "$LANG_" --instruct "$INSTRUCT" \
    --verbose -o demo.wav --text "$TEXT"
  echo "demo.wav: \"$TEXT\""
  exit
fi

"$tts" --model "$TINY_MODEL" --codec "$TINY_CODEC" --speaker "${SPEAKER:-vivian}" --lang "$LANG_" --instruct "$INSTRUCT" \
  --seed 1 --max-new 50 -o demo.wav --text "$TEXT" 2>build/demo/log || { cat build/demo/log >&2; exit 1; }
cat <<END

demo.wav is written: $(($(wc -c <demo.wav) / 48000)) s of 24 kHz audio.

It is NOISE, and that is right: the model of this demo is tiny and has random weights. All of the machinery has run,
but nothing was ever learnt. For speech, point it at real Qwen3-TTS files:

  make demo MODEL=qwen-talker-0.6b-customvoice-Q8_0.gguf CODEC=qwen-tokenizer-12hz-F32.gguf
            [TEXT="…"] [SPEAKER=name] [LANG_=english] [INSTRUCT="style"]

build/bin/qwen-convert makes such files from the published checkpoints; README.md says how.
END
