#!/usr/bin/env python3
"""Writes the decoder of a 12 Hz speech tokenizer as an ONNX model.

usage: export-onnx.py [--whole] [--beside] CHECKPOINT OUT.onnx

CHECKPOINT is the speech_tokenizer folder of a checkpoint (config.json, model.safetensors). The model computes in
float32, with operations of opset 17:

  audio_codes  int64   [1, frames, codebooks]        codes of the next frames
  past.*       float32, int64; fixed shapes          what was remembered after the frames before; zeros at the start
  audio_values float32 [1, frames * hop]             samples, not limited: full scale is 1
  present.*    like past.*                           what to hand in as past.* with the next frames

so that any division of a signal into calls gives the samples of one call.

  --whole   no past, no present: every call is a signal of its own. audio_codes may then be a batch, and audio_lengths,
            int64 [batch], tells the samples of each. This is the form in which such models are published.
  --beside  the weights stay in model.safetensors, and OUT.onnx, a few KB, must lie beside it

Needs python3 (>= 3.9) with the packages numpy and onnx.
"""

import argparse
import json
import struct
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
DILATIONS = (1, 3, 9)
CONVNEXT_EPS = 1e-6
TYPES = {"F32": (TensorProto.FLOAT, 4), "F16": (TensorProto.FLOAT16, 2), "BF16": (TensorProto.BFLOAT16, 2)}


class Checkpoint:
    """The tensors of a safetensors file, by name."""

    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        self.path = folder / "model.safetensors"
        with open(self.path, "rb") as f:
            size = struct.unpack("<Q", f.read(8))[0]
            self.entries = json.loads(f.read(size))
        self.start = 8 + size

    def place(self, name):
        """(type, bytes per element, shape, offset, bytes) of a tensor."""
        e = self.entries[name]
        begin, end = e["data_offsets"]
        return (*TYPES[e["dtype"]], e["shape"], self.start + begin, end - begin)

    def bytes(self, name):
        _, _, _, offset, size = self.place(name)
        with open(self.path, "rb") as f:
            f.seek(offset)
            return f.read(size)


class Graph:
    """A graph under construction: each method adds nodes and returns the name of their result. Rows of channels in
    time are [batch, channels, time] in convolutions and [batch, time, channels] in the transformer."""

    def __init__(self, checkpoint, whole, beside):
        self.ckpt, self.whole, self.beside = checkpoint, whole, beside
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []
        self.known = {}  # of weights and constants, to their names

    def op(self, kind, *inputs, outputs=None, **attributes):
        out = outputs or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], name=f"{kind}_{len(self.nodes)}", **attributes))
        return out

    def const(self, value, dtype=np.float32):
        array = np.asarray(value, dtype)
        key = (array.tobytes(), str(array.dtype), array.shape)
        if key not in self.known:
            self.known[key] = f"const_{len(self.initializers)}"
            self.initializers.append(numpy_helper.from_array(array, self.known[key]))
        return self.known[key]

    def ints(self, *values):
        return self.const(list(values), np.int64)

    def weight(self, name):
        """A tensor of the checkpoint, as float32."""
        if name in self.known:
            return self.known[name]
        kind, _, shape, offset, size = self.ckpt.place(name)
        t = TensorProto(name=name, data_type=kind, dims=shape)
        if self.beside:
            t.data_location = TensorProto.EXTERNAL
            for key, value in (("location", self.ckpt.path.name), ("offset", offset), ("length", size)):
                t.external_data.add(key=key, value=str(value))
        else:
            t.raw_data = self.ckpt.bytes(name)
        self.initializers.append(t)
        self.known[name] = name if kind == TensorProto.FLOAT else self.op("Cast", name, to=TensorProto.FLOAT)
        return self.known[name]

    def shape(self, name):
        return self.ckpt.place(name)[2]

    def after(self, x, name, shape, axis):
        """What a state remembers of x along an axis, followed by x."""
        kind = TensorProto.FLOAT
        self.inputs.append(helper.make_tensor_value_info("past." + name, kind, shape))
        self.outputs.append(helper.make_tensor_value_info("present." + name, kind, shape))
        x = self.op("Concat", "past." + name, x, axis=axis)
        self.op("Slice", x, self.ints(-shape[axis]), self.ints(2**62), self.ints(axis), outputs="present." + name)
        return x

    def extended(self, x, name, channels, rows):
        """x [B, C, T] after the rows before it: remembered ones, or zeros. Returns it and how much padding is left to do."""
        if rows == 0 or self.whole:
            return x, rows
        return self.after(x, name, [1, channels, rows], 2), 0

    def conv(self, x, name, dilation=1, group=1):
        """y[t] = b + sum over k of W[k] x[t - (K-1-k) d]"""
        out, per_group, taps = self.shape(name + ".weight")
        x, pad = self.extended(x, name, per_group * group, (taps - 1) * dilation)
        inputs = [x, self.weight(name + ".weight")]
        if name + ".bias" in self.ckpt.entries:
            inputs.append(self.weight(name + ".bias"))
        return self.op("Conv", *inputs, kernel_shape=[taps], dilations=[dilation], group=group, pads=[pad, 0])

    def trans_conv(self, x, name, stride):
        """Transposed convolution whose kernel is one or two strides, cut to the length stride * T."""
        channels, _, taps = self.shape(name + ".weight")
        x, missing = self.extended(x, name, channels, taps // stride - 1)
        y = self.op("ConvTranspose", x, self.weight(name + ".weight"), self.weight(name + ".bias"), kernel_shape=[taps], strides=[stride])
        if taps == stride:
            return y
        first = 0 if missing else taps - stride
        return self.op("Slice", y, self.ints(first), self.ints(stride - taps), self.ints(2))

    def snake(self, x, name):
        """x + sin(a x)^2 / (b + 1e-9); the checkpoint has ln a and ln b."""
        column = self.ints(-1, 1)
        a = self.op("Reshape", self.op("Exp", self.weight(name + ".alpha")), column)
        b = self.op("Reshape", self.op("Add", self.op("Exp", self.weight(name + ".beta")), self.const(1e-9)), column)
        s = self.op("Sin", self.op("Mul", x, a))
        return self.op("Add", x, self.op("Div", self.op("Mul", s, s), b))

    def linear(self, x, name):
        y = self.op("MatMul", x, self.op("Transpose", self.weight(name + ".weight"), perm=[1, 0]))
        return self.op("Add", y, self.weight(name + ".bias")) if name + ".bias" in self.ckpt.entries else y

    def rms_norm(self, x, name, eps):
        mean = self.op("ReduceMean", self.op("Mul", x, x), axes=[-1], keepdims=1)
        root = self.op("Sqrt", self.op("Add", mean, self.const(eps)))
        return self.op("Mul", self.op("Div", x, root), self.weight(name + ".weight"))

    def gelu(self, x):
        erf = self.op("Erf", self.op("Div", x, self.const(2**0.5)))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.const(1))), self.const(0.5))

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def swapped(self, x):
        return self.op("Transpose", x, perm=[0, 2, 1])


class Decoder:
    """Qwen3TTSTokenizerV2Decoder: its blocks, in the order of the computation."""

    def __init__(self, graph, config):
        self.g, self.c = graph, config
        self.past = 0 if graph.whole else config["sliding_window"] - 1  # positions whose keys and values are remembered

    def forward(self):
        g, c = self.g, self.c
        self.frames = g.op("Gather", g.op("Shape", "audio_codes"), g.const(1, np.int64))
        x = g.op("Add", self.quantizer("rvq_first", 0, self.semantic()), self.quantizer("rvq_rest", self.semantic(), c["num_quantizers"]))
        x = g.conv(x, "decoder.pre_conv.conv")
        x = g.swapped(self.transformer(g.swapped(x)))
        for i, ratio in enumerate(c["upsampling_ratios"]):
            x = self.upsample(x, f"decoder.upsample.{i}.", ratio)
        x = g.conv(x, "decoder.decoder.0.conv")
        for i, stride in enumerate(c["upsample_rates"], 1):
            x = self.dac_block(x, f"decoder.decoder.{i}.block.", stride)
        last = len(c["upsample_rates"]) + 1
        x = g.conv(g.snake(x, f"decoder.decoder.{last}"), f"decoder.decoder.{last + 1}.conv")
        g.op("Squeeze", x, g.ints(1), outputs="audio_values")

    def semantic(self):
        return self.c.get("num_semantic_quantizers", 1)

    def quantizer(self, name, first, end):
        """The sum of one entry of each codebook, projected: [B, RVQ, T]."""
        g, total = self.g, None
        for k in range(first, end):
            book = f"decoder.quantizer.{name}.vq.layers.{k - first}._codebook."
            usage = g.op("Max", g.weight(book + "cluster_usage"), g.const(1e-5))
            entries = g.op("Div", g.weight(book + "embedding_sum"), g.op("Unsqueeze", usage, g.ints(1)))
            ids = g.op("Gather", "audio_codes", g.const(k, np.int64), axis=2)
            entry = g.op("Gather", entries, ids, axis=0)  # [B, T, C]
            total = entry if total is None else g.op("Add", total, entry)
        return g.conv(g.swapped(total), f"decoder.quantizer.{name}.output_proj")

    def transformer(self, x):
        g, c, name = self.g, self.c, "decoder.pre_transformer."
        x = g.linear(x, name + "input_proj")
        self.positions()
        for i in range(c["num_hidden_layers"]):
            layer, eps = f"{name}layers.{i}.", c["rms_norm_eps"]
            y = self.attention(g.rms_norm(x, layer + "input_layernorm", eps), layer + "self_attn")
            x = g.op("Add", x, g.op("Mul", y, g.weight(layer + "self_attn_layer_scale.scale")))
            y = self.swiglu(g.rms_norm(x, layer + "post_attention_layernorm", eps), layer + "mlp.")
            x = g.op("Add", x, g.op("Mul", y, g.weight(layer + "mlp_layer_scale.scale")))
        return g.linear(g.rms_norm(x, name + "norm", c["rms_norm_eps"]), name + "output_proj")

    def swiglu(self, x, name):
        g = self.g
        return g.linear(g.op("Mul", g.silu(g.linear(x, name + "gate_proj")), g.linear(x, name + "up_proj")), name + "down_proj")

    def positions(self):
        """Rotation angles and mask of queries [T] over keys [past+T]. Keys are remembered before they are rotated, and
        positions are counted from the oldest remembered one: only differences matter."""
        g, c = self.g, self.c
        zero, one = g.const(0, np.int64), g.const(1, np.int64)
        keys = g.op("Range", zero, g.op("Add", self.frames, g.const(self.past, np.int64)), one)
        queries = g.op("Add", g.op("Range", zero, self.frames, one), g.const(self.past, np.int64))
        behind = g.op("Sub", g.op("Unsqueeze", queries, g.ints(1)), g.op("Unsqueeze", keys, g.ints(0)))  # [T, past+T]
        seen = g.op("And", g.op("GreaterOrEqual", behind, zero), g.op("Less", behind, g.const(c["sliding_window"], np.int64)))
        if self.past:
            seen = g.op("And", seen, g.op("GreaterOrEqual", keys, self.vacant()))
        self.mask = g.op("Where", seen, g.const(0), g.const(-1e30))
        half = c["head_dim"] // 2
        inverse = np.float64(c["rope_theta"]) ** (-np.arange(half) / half)
        self.rotations = {}
        for what, at in (("q", queries), ("k", keys)):
            angle = g.op("Mul", g.op("Unsqueeze", g.op("Cast", at, to=TensorProto.FLOAT), g.ints(1)), g.const(inverse[None]))
            self.rotations[what] = g.op("Cos", angle), g.op("Sin", angle)  # [positions, head_dim/2]

    def vacant(self):
        """How many of the remembered positions are before the first frame."""
        g = self.g
        info = TensorProto.INT64, [1]
        g.inputs.append(helper.make_tensor_value_info("past.frames", *info))
        g.outputs.append(helper.make_tensor_value_info("present.frames", *info))
        most = g.ints(self.past)
        g.op("Min", g.op("Add", "past.frames", self.frames), most, outputs="present.frames")
        return g.op("Sub", most, "past.frames")

    def heads(self, x, n):
        """[B, T, n*D] -> [B, n, T, D]"""
        g = self.g
        return g.op("Transpose", g.op("Reshape", x, g.ints(0, 0, n, self.c["head_dim"])), perm=[0, 2, 1, 3])

    def rotated(self, x, what):
        """RoPE, the halves of a head paired."""
        g, half = self.g, self.c["head_dim"] // 2
        cos, sin = self.rotations[what]
        a = g.op("Slice", x, g.ints(0), g.ints(half), g.ints(3))
        b = g.op("Slice", x, g.ints(half), g.ints(2 * half), g.ints(3))
        return g.op("Concat", g.op("Sub", g.op("Mul", a, cos), g.op("Mul", b, sin)),
                    g.op("Add", g.op("Mul", b, cos), g.op("Mul", a, sin)), axis=3)

    def attention(self, x, name):
        g, c = self.g, self.c
        n, shared = c["num_attention_heads"], c["num_key_value_heads"]
        q = self.rotated(self.heads(g.linear(x, name + ".q_proj"), n), "q")
        k, v = g.linear(x, name + ".k_proj"), g.linear(x, name + ".v_proj")
        if self.past:
            shape = [1, self.past, shared * c["head_dim"]]
            k, v = g.after(k, name + ".k", shape, 1), g.after(v, name + ".v", shape, 1)
        k, v = self.rotated(self.heads(k, shared), "k"), self.heads(v, shared)
        if n != shared:
            which = g.ints(*(i * shared // n for i in range(n)))
            k, v = g.op("Gather", k, which, axis=1), g.op("Gather", v, which, axis=1)
        scores = g.op("Mul", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), g.const(c["head_dim"] ** -0.5))
        y = g.op("MatMul", g.op("Softmax", g.op("Add", scores, self.mask), axis=-1), v)
        y = g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), g.ints(0, 0, n * c["head_dim"]))
        return g.linear(y, name + ".o_proj")

    def upsample(self, x, name, ratio):
        """A transposed convolution and a ConvNeXt block."""
        g = self.g
        x = g.trans_conv(x, name + "0.conv", ratio)
        y = g.swapped(g.conv(x, name + "1.dwconv.conv", group=g.shape(name + "1.dwconv.conv.weight")[0]))
        y = g.op("LayerNormalization", y, g.weight(name + "1.norm.weight"), g.weight(name + "1.norm.bias"), axis=-1, epsilon=CONVNEXT_EPS)
        y = g.linear(g.gelu(g.linear(y, name + "1.pwconv1")), name + "1.pwconv2")
        return g.op("Add", x, g.swapped(g.op("Mul", y, g.weight(name + "1.gamma"))))

    def dac_block(self, x, name, stride):
        g = self.g
        x = g.trans_conv(g.snake(x, name + "0"), name + "1.conv", stride)
        for i, dilation in enumerate(DILATIONS, 2):
            y = g.conv(g.snake(x, f"{name}{i}.act1"), f"{name}{i}.conv1.conv", dilation)
            x = g.op("Add", x, g.conv(g.snake(y, f"{name}{i}.act2"), f"{name}{i}.conv2.conv"))
        return x


def export(folder, whole, beside):
    ckpt = Checkpoint(folder)
    config, hop = ckpt.config["decoder_config"], ckpt.config["decode_upsample_rate"]
    batch = "batch" if whole else 1
    g = Graph(ckpt, whole, beside)
    g.inputs.append(helper.make_tensor_value_info("audio_codes", TensorProto.INT64, [batch, "frames", config["num_quantizers"]]))
    g.outputs.append(helper.make_tensor_value_info("audio_values", TensorProto.FLOAT, [batch, "samples"]))
    d = Decoder(g, config)
    d.forward()
    if whole:
        g.outputs.append(helper.make_tensor_value_info("audio_lengths", TensorProto.INT64, [batch]))
        samples = g.op("Mul", d.frames, g.const(hop, np.int64))
        g.op("Expand", samples, g.op("Slice", g.op("Shape", "audio_codes"), g.ints(0), g.ints(1)), outputs="audio_lengths")
    graph = helper.make_graph(g.nodes, "qwen3-tts-tokenizer-12hz-decoder", g.inputs, g.outputs, g.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8, producer_name="libqwen export-onnx")
    helper.set_model_props(model, {
        "num_quantizers": str(config["num_quantizers"]), "codebook_size": str(config["codebook_size"]),
        "decode_upsample_rate": str(hop), "output_sample_rate_hz": str(ckpt.config["output_sample_rate"]),
        "input_layout": "batch,frames,quantizers", "output_layout": "batch,samples",
    })
    return model


def main():
    parser = argparse.ArgumentParser(usage="export-onnx.py [--whole] [--beside] CHECKPOINT OUT.onnx",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("out", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--whole", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--beside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    try:
        model = export(args.checkpoint, args.whole, args.beside)
        if not args.beside:
            onnx.checker.check_model(model)
        args.out.write_bytes(model.SerializeToString(deterministic=True))
    except KeyError as err:
        sys.exit(f"export-onnx: {args.checkpoint}: {err} is missing: this is no 12 Hz speech tokenizer")
    except (OSError, ValueError, onnx.checker.ValidationError) as err:
        sys.exit(f"export-onnx: {err}")
    print(f"{args.out}: {len(model.graph.node)} nodes, {args.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
