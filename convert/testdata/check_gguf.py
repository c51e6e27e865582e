#!/usr/bin/env python3
"""check_gguf.py EXPECTED.json: reads GGUF files with the gguf package and compares them with what is expected.

EXPECTED.json: [{"file": path, "keys": {key: value}, "tensors": {name: {"type": "F32", "shape": [ggml order],
"values": [the first values as floats], "source": [the same before quantisation]}}}, ...].
Prints a line per file; exits with 1 at a difference.
"""
import json
import sys

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader
from gguf.quants import dequantize, quantize


def value(field):
    return field.contents() if hasattr(field, "contents") else field.parts[field.data[0]][0]


def floats(t):
    """the tensor as a flat float32 array"""
    if t.tensor_type == GGMLQuantizationType.F32:
        return np.asarray(t.data, np.float32).reshape(-1)
    if t.tensor_type == GGMLQuantizationType.F16:
        return np.asarray(t.data).view(np.float16).astype(np.float32).reshape(-1)
    return dequantize(t.data, t.tensor_type).reshape(-1)


def check(want):
    r = GGUFReader(want["file"])
    got = {t.name: t for t in r.tensors}
    assert len(r.tensors) == len(got), "a name occurs twice"
    assert list(got) == list(want["tensors"]), "tensor names or their order differ"
    for key, v in want["keys"].items():
        have = value(r.fields[key])
        have = have.tolist() if isinstance(have, np.ndarray) else have
        same = abs(have - v) <= 1e-6 * abs(v) if isinstance(v, float) else have == v
        assert same, f"{key}: {have!r:.200}, expected {v!r:.200}"
    for name, w in want["tensors"].items():
        t = got[name]
        assert t.tensor_type.name == w["type"], f"{name}: {t.tensor_type.name}, expected {w['type']}"
        assert [int(n) for n in t.shape] == w["shape"], f"{name}: shape {t.shape}, expected {w['shape']}"
        x = floats(t)
        assert x.size == np.prod(w["shape"]), f"{name}: {x.size} values"
        y = np.array(w["values"], np.float32)
        assert np.array_equal(x[: y.size], y), f"{name}: values differ"
        if t.tensor_type == GGMLQuantizationType.Q8_0 and "source" in w:
            mine = np.asarray(t.data).reshape(-1)[: len(w["source"]) // 32 * 34]
            theirs = quantize(np.array(w["source"], np.float32), GGMLQuantizationType.Q8_0).reshape(-1)
            assert np.array_equal(mine, theirs), f"{name}: not quantised as the gguf package does"
    print(f"{want['file']}: {len(got)} tensors, {len(want['keys'])} keys agree")


for entry in json.load(open(sys.argv[1])):
    try:
        check(entry)
    except AssertionError as e:
        sys.exit(f"{entry['file']}: {e}")
