"""Speaks a sentence to a file, with a CustomVoice model."""

import argparse
import sys

import libqwen

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("talker")
parser.add_argument("codec")
parser.add_argument("text")
parser.add_argument("speaker")
parser.add_argument("out", help="the WAV file")
parser.add_argument("seed", type=int, nargs="?", default=-1, help="-1 draws one at random")
parser.add_argument("frames", type=int, nargs="?", help="most frames, 80 ms each")
args = parser.parse_args()

try:
    with libqwen.TTS(args.talker, args.codec) as tts:
        audio = tts.synthesize(args.text, speaker=args.speaker, seed=args.seed, max_new_tokens=args.frames)
        audio.save(args.out)
except (libqwen.QwenError, OSError) as err:
    sys.exit(f"hello: {err}")
print(f"{args.out}: {audio.duration:.2f} s, seed {audio.seed}")
