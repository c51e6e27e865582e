#!/usr/bin/env python3
"""Writes GGUF files of the real models' size with random weights, and what their size means per frame.

Same tensors, shapes, types and metadata as the published files, so the same work per frame; what they speak is noise.
Scales are sane (nothing overflows), and no run ends before max_new_tokens.

  make_fullsize.py talker --size 0.6b|1.7b --mode customvoice|base|voicedesign --type Q8_0 -o OUT.gguf
  make_fullsize.py codec  --type Q8_0 -o OUT.gguf
  make_fullsize.py bound                    bytes and multiply-adds of a frame, as tables

Needs numpy, and for a Talker the tokenizer.json of Qwen3 (bench/run.sh gets both).
"""

import argparse
import os
import struct
import sys

import numpy as np

import bounds
import shapes

POOL = 1 << 21  # elements of noise drawn per type and scale; tensors are tiled from random places in it
ALIGNMENT = 32


# ---- noise in each type's blocks: arrays of bytes, one row a block


def noise_float(rng, std, kind):
    x = rng.standard_normal(POOL, dtype=np.float32) * np.float32(std)
    if kind == "F16":
        x = x.astype(np.float16)
    elif kind == "BF16":  # round to nearest, ties to even
        u = x.view(np.uint32)
        x = ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)
    return x.view(np.uint8).reshape(POOL, -1)


def as_bytes(x):
    """float16 per block -> two bytes per block."""
    return x.astype(np.float16).view(np.uint8).reshape(-1, 2)


def noise_q8_0(rng, std, _):
    n = POOL // 32
    q = np.clip(np.rint(rng.standard_normal((n, 32), dtype=np.float32) * 45), -127, 127).astype(np.int8)
    return np.concatenate([as_bytes(std / 45 * rng.uniform(0.9, 1.1, n)), q.view(np.uint8)], 1)


def noise_q4_k(rng, std, _):
    """Scales equal to mins and dmin = 7.5 d make x = d·scale·(q - 7.5): mean 0. 4.61 is a uniform nibble's deviation
    about it, 32 about the mean of the scales."""
    n = POOL // 256
    d = (np.full(n, std / (32 * 4.61))).astype(np.float16)
    scales = rng.integers(20, 45, (n, 8), dtype=np.uint8)
    low, high = scales[:, :4], scales[:, 4:]
    packed = np.empty((n, 12), np.uint8)  # 8 scales and 8 mins of 6 bits
    packed[:, 0:4] = packed[:, 4:8] = low | (high >> 4) << 6
    packed[:, 8:12] = (high & 15) * 17
    return np.concatenate([as_bytes(d), as_bytes(d * np.float16(7.5)), packed,
                           rng.integers(0, 256, (n, 128), dtype=np.uint8)], 1)


def noise_q6_k(rng, std, _):
    """x = d·scale·(q - 32): 18.5 is a uniform q's deviation, 64 the mean of the scales."""
    n = POOL // 256
    return np.concatenate([rng.integers(0, 256, (n, 192), dtype=np.uint8),
                           rng.integers(40, 88, (n, 16), dtype=np.uint8),
                           as_bytes(np.full(n, std / (64 * 18.5)))], 1)


NOISE = {"F32": noise_float, "F16": noise_float, "BF16": noise_float, "Q8_0": noise_q8_0, "Q4_K": noise_q4_k,
         "Q6_K": noise_q6_k}


class Noise:
    """Writes tensors from small pools of noise, so that memory stays small whatever the model's size."""

    def __init__(self, seed):
        self.rng, self.pools = np.random.default_rng(seed), {}

    def pool(self, kind, std):
        key = kind, f"{std:.6g}"
        if key not in self.pools:
            self.pools[key] = np.ascontiguousarray(NOISE[kind](self.rng, std, kind))
        return self.pools[key]

    def blocks(self, f, kind, std, n):
        pool = self.pool(kind, std)
        while n > 0:
            at = int(self.rng.integers(0, len(pool)))
            piece = pool[at:at + n]
            f.write(piece)
            n -= len(piece)

    def write(self, f, t, kind):
        elements, size = shapes.BLOCKS[kind]
        total = t.size // elements
        if t.fill is not None:
            f.write(np.full(t.size, t.fill, np.float32))  # constants are vectors, and vectors are F32 in every file
        elif t.zero_row is None:
            self.blocks(f, kind, t.std, total)
        else:
            row = t.shape[-1] // elements
            self.blocks(f, kind, t.std, t.zero_row * row)
            f.write(bytes(row * size))  # all zero bytes are the value 0 in every type here
            self.blocks(f, kind, t.std, total - (t.zero_row + 1) * row)


# ---- GGUF version 3

UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
TENSOR_TYPES = {"F32": 0, "F16": 1, "Q8_0": 8, "Q4_K": 12, "Q6_K": 14, "BF16": 30}
FORMATS = {UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}


def string(s):
    b = s.encode()
    return struct.pack("<Q", len(b)) + b


def value_type(v, in_array=False):
    if isinstance(v, bool):
        return BOOL
    if isinstance(v, int):
        return INT32 if in_array else UINT32
    return FLOAT32 if isinstance(v, float) else STRING


def plain(kind, v):
    return string(v) if kind == STRING else struct.pack(FORMATS[kind], v)


def value(v):
    if isinstance(v, list):
        kind = value_type(v[0], in_array=True)
        return struct.pack("<IIQ", ARRAY, kind, len(v)) + b"".join(plain(kind, x) for x in v)
    return struct.pack("<I", value_type(v)) + plain(value_type(v), v)


def aligned(n):
    return -(-n // ALIGNMENT) * ALIGNMENT


def header(metadata, tensors, wanted):
    out = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(metadata))]
    out += [string(k) + value(v) for k, v in metadata.items()]
    at = 0
    for t in tensors:
        dims = struct.pack(f"<I{len(t.shape)}Q", len(t.shape), *reversed(t.shape))
        out += [string(t.name), dims, struct.pack("<IQ", TENSOR_TYPES[shapes.tensor_type(t, wanted)], at)]
        at += aligned(shapes.tensor_bytes(t, wanted))
    b = b"".join(out)
    return b + bytes(aligned(len(b)) - len(b))


def write_gguf(path, metadata, tensors, wanted, seed):
    """Writes the file under another name and renames it once complete."""
    noise, part = Noise(seed), f"{path}.part"
    metadata = metadata | shapes.file_metadata(wanted)
    with open(part, "wb") as f:
        f.write(header(metadata, tensors, wanted))
        for t in tensors:
            noise.write(f, t, shapes.tensor_type(t, wanted))
            n = shapes.tensor_bytes(t, wanted)
            f.write(bytes(aligned(n) - n))
        size = f.tell()
    os.replace(part, path)
    print(f"{path}: {len(tensors)} tensors, {size / 1e6:.0f} MB")


# ---- the work of a frame


def megabytes(tensors, wanted, *prefixes):
    """Size of the matrices with those names, in 10^6 bytes."""
    return sum(shapes.tensor_bytes(t, wanted) for t in tensors
               if len(t.shape) > 1 and t.name.startswith(prefixes)) / 1e6


def weight_table():
    print("| model | type | talker, head MB | predictor MB (15 times) | its heads MB | MB a frame |")
    print("|---" * 6 + "|")
    for size in shapes.WIDTHS:
        tensors = shapes.talker_tensors(size, "customvoice")
        for wanted in ("BF16", "Q8_0", "Q4_K_M"):
            talker = megabytes(tensors, wanted, "talker.blk.", "talker.codec_head.")
            predictor = megabytes(tensors, wanted, "code_pred.blk.", "code_pred.mtp_proj.")
            heads = megabytes(tensors, wanted, "code_pred.lm_head.")
            print(f"| {size} | {wanted} | {talker:.0f} | {predictor:.1f} | {heads:.1f} "
                  f"| {talker + 15 * predictor + heads:.0f} |")


def bound():
    weight_table()
    macs = bounds.codec_macs()
    total = sum(macs.values())
    print("\n| codec decoder stage | million multiply-adds a frame | |\n|---|---|---|")
    for stage, n in (macs | {"total": total}).items():
        print(f"| {stage} | {n / 1e6:.1f} | {100 * n / total:.0f} % |")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("what", choices=("talker", "codec", "bound"))
    ap.add_argument("--size", default="0.6b", choices=shapes.WIDTHS)
    ap.add_argument("--mode", default="customvoice", choices=shapes.MODES)
    ap.add_argument("--type", default="Q8_0", choices=shapes.FILE_TYPES)
    ap.add_argument("--tokenizer", default=".bench/package/models/tokenizer.json", help="a Qwen3 tokenizer.json")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("-o", "--out")
    a = ap.parse_args()
    if a.what == "bound":
        return bound()
    if not a.out:
        ap.error("-o OUT.gguf is missing")
    if a.what == "codec":
        return write_gguf(a.out, shapes.codec_metadata(), shapes.codec_tensors(), a.type, a.seed)
    if not os.path.exists(a.tokenizer):
        sys.exit(f"make_fullsize: no {a.tokenizer}: run bench/run.sh models, or name one with --tokenizer")
    metadata = shapes.talker_metadata(a.size, a.mode, a.tokenizer)
    write_gguf(a.out, metadata, shapes.talker_tensors(a.size, a.mode), a.type, a.seed)


if __name__ == "__main__":
    main()
