"""Speaks to stdout while it computes, with a CustomVoice model: 16-bit little-endian samples, mono, 24 kHz.

Try it with `… | aplay -f S16_LE -r 24000`.
"""

import argparse
import sys

import libqwen

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("talker")
parser.add_argument("codec")
parser.add_argument("text")
parser.add_argument("speaker")
parser.add_argument("seed", type=int, nargs="?", default=-1, help="-1 draws one at random")
parser.add_argument("frames", type=int, nargs="?", help="most frames, 80 ms each")
args = parser.parse_args()

try:
    with libqwen.TTS(args.talker, args.codec) as tts:
        for chunk in tts.stream(args.text, speaker=args.speaker, seed=args.seed, max_new_tokens=args.frames):
            sys.stdout.buffer.write(libqwen.to_pcm16(chunk))
            sys.stdout.buffer.flush()
except (libqwen.QwenError, OSError) as err:
    sys.exit(f"stream: {err}")
