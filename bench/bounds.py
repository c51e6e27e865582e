"""What a machine allows: the work of a frame over the machine's measured bandwidth and arithmetic.

Bounds are of one frame (prefill: of the prompt) and assume that every weight is read once per use, at the bandwidth of
reading alone, that every multiply-add runs at the peak rate, and that all threads work all the time. Nothing reaches
them quite; how far something is from them says how much there is left to gain.
"""

import os
import re
import struct
import subprocess

import shapes

FRAME_MS = 80.0
GROUPS = {
    "talker": ("talker.blk.", "talker.codec_head."),  # read once a frame
    "predictor": ("code_pred.blk.", "code_pred.mtp_proj."),  # read 15 times
    "heads": ("code_pred.lm_head.",),  # one of the 15 in each of the steps
}


# ---- the machine


def parse_membw(text):
    """What membw prints: {"read": {MiB: GB/s}, "f32": GFLOP/s, "bf16": …, "int8": GOP/s}; absent what it lacks."""
    found = {"read": {int(size): float(rate)
                      for size, rate in re.findall(r"read +(\d+) MiB, \d+ threads: +([\d.]+) GB/s", text)}}
    for key, name in (("f32", "F32"), ("bf16", "BF16"), ("int8", "int8")):
        if m := re.search(rf"^{name} [^:]*: +([\d.]+) G", text, re.M):
            found[key] = float(m.group(1))
    return found


def measure_machine(membw, threads):
    """Runs membw with each number of threads; {threads: what parse_membw gives}."""
    rates = {}
    for n in threads:
        done = subprocess.run([os.path.abspath(membw)], env=dict(os.environ, OMP_NUM_THREADS=str(n)), check=True,
                              stdout=subprocess.PIPE, text=True, timeout=300)
        rates[n] = parse_membw(done.stdout)
    return rates


def best(one, other):
    """The higher of two measurements of the same things, each: other load only takes away."""
    if not isinstance(one, dict):
        return max(one, other)
    return {k: best(v, other[k]) for k, v in one.items()}


def read_rate(machine, nbytes):
    """GB/s of reading that much again and again: of the smallest measured size that holds it, else the largest."""
    sizes = sorted(machine["read"])
    if not sizes:
        return None
    return machine["read"][next((s for s in sizes if s << 20 >= nbytes), sizes[-1])]


# ---- the model


SCALARS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # GGUF value type: bytes
STRING, ARRAY = 8, 9


def gguf_tensors(path):
    """Names of a GGUF file's tensors with their dimensions and bytes: [(name, dims, bytes)], padding included."""
    with open(path, "rb") as f:
        def number(form):
            return struct.unpack("<" + form, f.read(struct.calcsize("<" + form)))[0]

        def skip(kind):
            if kind == STRING:
                f.seek(number("Q"), os.SEEK_CUR)
            elif kind == ARRAY:
                element, n = number("I"), number("Q")
                if element in SCALARS:
                    f.seek(n * SCALARS[element], os.SEEK_CUR)
                else:
                    for _ in range(n):
                        skip(element)
            else:
                f.seek(SCALARS[kind], os.SEEK_CUR)

        if f.read(4) != b"GGUF":
            raise ValueError(f"{path}: not a GGUF file")
        number("I")
        n_tensors, n_keys, alignment = number("Q"), number("Q"), 32
        for _ in range(n_keys):
            key, kind = f.read(number("Q")), number("I")
            if key == b"general.alignment":
                alignment = number("I")
            else:
                skip(kind)
        infos = []
        for _ in range(n_tensors):
            name = f.read(number("Q")).decode()
            dims = [number("Q") for _ in range(number("I"))]
            number("I")
            infos.append((number("Q"), name, dims))
        data = -(-f.tell() // alignment) * alignment
    infos.sort()
    ends = [at for at, _, _ in infos[1:]] + [os.path.getsize(path) - data]
    return [(name, dims, end - at) for (at, name, dims), end in zip(infos, ends, strict=True)]


def weights(tensors):
    """Bytes and elements of the matrices of each group: {group: (bytes, elements)}."""
    work = {}
    for group, prefixes in GROUPS.items():
        mine = [(dims, size) for name, dims, size in tensors if len(dims) > 1 and name.startswith(prefixes)]
        work[group] = sum(size for _, size in mine), sum(dims[0] * dims[1] for dims, _ in mine)
    return work


def codec_macs():
    """Multiply-adds of the codec's decoder for one frame, by stage."""
    w, latent, window = shapes.CODEC_WIDTH, shapes.LATENT, 72
    layer = 7 * w * 1024 + 2 * window * 1024  # q, k, v, output, gate, up, down; scores and their sum
    macs = {"codebooks": 2 * shapes.CODEBOOK_DIM * w, "pre_conv": 3 * w * latent,
            "transformer": shapes.CODEC_LAYERS * layer + 2 * w * latent}
    rows, width = 1, shapes.DAC_WIDTH
    for i in range(2):
        macs[f"upsample {i}"] = rows * 2 * latent**2 + 2 * rows * (7 * latent + 8 * latent**2)
        rows *= 2
    macs["DAC in"] = rows * 7 * latent * width
    for b, stride in enumerate(shapes.DAC_STRIDES, 1):
        out = width // 2
        macs[f"DAC {b} transposed"] = rows * width * out * 2 * stride
        rows, width = rows * stride, out
        macs[f"DAC {b} residual units"] = rows * 3 * 8 * width**2
    macs["DAC out"] = rows * 7 * width
    return macs


# ---- the bounds


def arithmetic(work, machine):
    """The peak rate that suits the weights' type, in 10^9 operations a second."""
    size, elements = work["talker"]
    per_element = size / elements
    return machine.get("int8" if per_element < 1.5 else "bf16" if per_element < 3 else "f32")


def frame_bounds(work, machine, positions=None):
    """Milliseconds that a frame, or the prompt of so many positions, takes at least: {metric: ms}. Metrics whose rate
    was not measured are absent."""
    b = {}
    (talker, elements), (predictor, _), (heads, _) = (work[g] for g in GROUPS)
    if machine["read"] and predictor:
        b["talker"] = talker / read_rate(machine, talker) / 1e6
        b["predictor"] = 15 * predictor / read_rate(machine, predictor) / 1e6 + heads / read_rate(machine, talker) / 1e6
        b["lm"] = b["talker"] + b["predictor"]
    flop = 2e3 * sum(codec_macs().values()) / 1e9  # so that GFLOP/s divide it to ms
    for key, metric in (("f32", "codec"), ("bf16", "codec_bf16")):
        if key in machine:
            b[metric] = flop / machine[key]
    if "lm" in b and "codec" in b:
        b["frame"] = b["lm"] + b["codec"]
        b["xrt"] = FRAME_MS / b["frame"]
    rate = arithmetic(work, machine) if elements else None
    if positions and rate and "talker" in b:
        b["prefill"] = max(b["talker"], 2e3 * elements * positions / 1e9 / rate)
        if "codec" in b:
            b["first"] = b["prefill"] + b["predictor"] + b["codec"]
    return b
