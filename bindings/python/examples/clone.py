"""Speaks with the voice of a recording, with a Base model. An empty transcript takes the speaker's vector alone."""

import argparse
import sys

import libqwen

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("talker")
parser.add_argument("codec")
parser.add_argument("text")
parser.add_argument("clip", help="the recording: WAV, FLAC, MP3, Ogg …")
parser.add_argument("transcript", help="what is spoken in it; may be empty")
parser.add_argument("out", help="the WAV file")
parser.add_argument("seed", type=int, nargs="?", default=-1, help="-1 draws one at random")
parser.add_argument("frames", type=int, nargs="?", help="most frames, 80 ms each")
args = parser.parse_args()

try:
    with libqwen.TTS(args.talker, args.codec) as tts:
        # Taken once; voice.save("anna.qvoice") and libqwen.Voice.load(tts, "anna.qvoice") keep it for later.
        voice = libqwen.Voice.from_wav(tts, args.clip, text=args.transcript or None)
        audio = tts.synthesize(args.text, voice=voice, seed=args.seed, max_new_tokens=args.frames)
        audio.save(args.out)
except (libqwen.QwenError, OSError) as err:
    sys.exit(f"clone: {err}")
print(f"{args.out}: {audio.duration:.2f} s, seed {audio.seed}")
