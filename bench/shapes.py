"""The published Qwen3-TTS 12 Hz models as data: every tensor and every metadata key of their GGUF files.

Shapes are in checkpoint order, rows first: (out, in), (out, in, kernel), and (in, out, kernel) for a transposed
convolution. GGUF stores them reversed.
"""

import json
import math
from dataclasses import dataclass

WIDTHS = {"0.6b": (1024, 3072), "1.7b": (2048, 6144)}  # Talker: hidden, feed-forward
MODES = {"base": "base", "customvoice": "custom_voice", "voicedesign": "voice_design"}

TALKER_LAYERS, PREDICTOR_LAYERS, CODEC_LAYERS = 28, 5, 8
PREDICTOR_WIDTH, PREDICTOR_FF = 1024, 3072
HEADS, KV_HEADS, HEAD_DIM = 16, 8, 128
TEXT_VOCAB, TEXT_WIDTH = 151936, 2048
CODEC_VOCAB, CODEBOOK = 3072, 2048  # ids of the Talker: codes and special ids; codes of one codebook
CODEBOOKS, CODEBOOK_DIM = 16, 256
CODEC_EOS = 2150

LATENT, CODEC_WIDTH, DAC_WIDTH = 1024, 512, 1536
DAC_STRIDES, SEANET_STRIDES = (8, 5, 4, 3), (4, 5, 6, 8)

LANGUAGES = {
    "chinese": 2055, "english": 2050, "german": 2053, "italian": 2070, "portuguese": 2071, "spanish": 2054,
    "japanese": 2058, "korean": 2064, "french": 2061, "russian": 2069, "beijing_dialect": 2074,
    "sichuan_dialect": 2062,
}
SPEAKERS = {
    "serena": 3066, "vivian": 3065, "uncle_fu": 3010, "ryan": 3061, "aiden": 2861, "ono_anna": 2873, "sohee": 2864,
    "eric": 2875, "dylan": 2878,
}
DIALECTS = {"eric": "sichuan_dialect", "dylan": "beijing_dialect"}
TTS_TOKENS = {
    151665: "<tool_response>", 151666: "</tool_response>", 151667: "<think>", 151668: "</think>",
    151669: "<|audio_start|>", 151670: "<|audio_end|>", 151671: "<tts_pad>", 151672: "<tts_text_bos>",
    151673: "<tts_text_eod>", 151674: "<tts_text_bos_single>", 151675: "<|audio_pad|>",
}
NORMAL, CONTROL, UNUSED = 1, 4, 5  # tokenizer.ggml.token_type as these files use it


@dataclass(frozen=True)
class Tensor:
    """A tensor filled with noise of standard deviation std, or with the constant fill."""

    name: str
    shape: tuple
    std: float = 0.0
    fill: float | None = None
    zero_row: int | None = None

    @property
    def size(self):
        return math.prod(self.shape)


def matrix(name, *shape, gain=1.0, fan_in=None):
    """Noise that keeps the activations' scale: std = gain / sqrt(fan-in)."""
    return Tensor(name, shape, gain / math.sqrt(fan_in or math.prod(shape[1:])))


def noise(name, *shape, std):
    return Tensor(name, shape, std)


def const(name, size, value):
    return Tensor(name, (size,), fill=value)


def affine(name, *shape, gain=1.0, fan_in=None, outputs=None):
    """A weight and its bias: a linear layer, a convolution or, with outputs given, a transposed convolution."""
    return [matrix(f"{name}.weight", *shape, gain=gain, fan_in=fan_in),
            noise(f"{name}.bias", outputs or shape[0], std=0.01)]


# ---- Talker file


def qwen3_layer(p, width, ff):
    """One Qwen3 decoder layer. The 0.5 on the way back to the residual stream keeps 28 layers of noise tame."""
    q, kv = HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM
    return [
        const(f"{p}.attn_norm.weight", width, 1),
        matrix(f"{p}.attn_q.weight", q, width),
        matrix(f"{p}.attn_k.weight", kv, width),
        matrix(f"{p}.attn_v.weight", kv, width),
        matrix(f"{p}.attn_output.weight", width, q, gain=0.5),
        const(f"{p}.attn_q_norm.weight", HEAD_DIM, 1),
        const(f"{p}.attn_k_norm.weight", HEAD_DIM, 1),
        const(f"{p}.ffn_norm.weight", width, 1),
        matrix(f"{p}.ffn_gate.weight", ff, width),
        matrix(f"{p}.ffn_up.weight", ff, width),
        matrix(f"{p}.ffn_down.weight", width, ff, gain=0.5),
    ]


def speaker_encoder(width):
    """The ECAPA-TDNN of the base checkpoints."""
    p = "spk_enc"
    t = affine(f"{p}.conv0", 512, 128, 5)
    for b in (1, 2, 3):
        t += affine(f"{p}.blk.{b}.tdnn1", 512, 512, 1)
        for j in range(7):
            t += affine(f"{p}.blk.{b}.res2net.{j}", 64, 64, 3)
        t += affine(f"{p}.blk.{b}.tdnn2", 512, 512, 1)
        t += affine(f"{p}.blk.{b}.se.conv1", 128, 512, 1)
        t += affine(f"{p}.blk.{b}.se.conv2", 512, 128, 1)
    t += affine(f"{p}.mfa", 1536, 1536, 1)
    t += affine(f"{p}.asp.tdnn", 128, 4608, 1)
    t += affine(f"{p}.asp.conv", 1536, 128, 1)
    return t + affine(f"{p}.fc", width, 3072, 1)


def talker_tensors(size, mode):
    """The Talker and its CodePredictor. No run ends early: the head's row of the end-of-speech id is zero, so that
    its logit lies in the middle of 2049 and neither the argmax nor the top 50 ever hold it."""
    width, ff = WIDTHS[size]
    t = [noise("talker.text_embd.weight", TEXT_VOCAB, TEXT_WIDTH, std=0.5),
         noise("talker.codec_embd.weight", CODEC_VOCAB, width, std=0.5)]
    t += affine("talker.text_proj.fc1", TEXT_WIDTH, TEXT_WIDTH) + affine("talker.text_proj.fc2", width, TEXT_WIDTH)
    for i in range(TALKER_LAYERS):
        t += qwen3_layer(f"talker.blk.{i}", width, ff)
    t += [const("talker.output_norm.weight", width, 1),
          Tensor("talker.codec_head.weight", (CODEC_VOCAB, width), 3 / math.sqrt(width), zero_row=CODEC_EOS)]
    for i in range(PREDICTOR_LAYERS):
        t += qwen3_layer(f"code_pred.blk.{i}", PREDICTOR_WIDTH, PREDICTOR_FF)
    t.append(const("code_pred.output_norm.weight", PREDICTOR_WIDTH, 1))
    for g in range(CODEBOOKS - 1):
        t += [noise(f"code_pred.codec_embd.{g}.weight", CODEBOOK, width, std=0.5),
              matrix(f"code_pred.lm_head.{g}.weight", CODEBOOK, PREDICTOR_WIDTH, gain=3)]
    if width != PREDICTOR_WIDTH:
        t += affine("code_pred.mtp_proj", PREDICTOR_WIDTH, width)
    return t + (speaker_encoder(width) if mode == "base" else [])


def qwen3_metadata(p, width, ff, layers, vocab, context):
    return {
        f"{p}.embedding_length": width, f"{p}.feed_forward_length": ff, f"{p}.block_count": layers,
        f"{p}.attention.head_count": HEADS, f"{p}.attention.head_count_kv": KV_HEADS,
        f"{p}.attention.key_length": HEAD_DIM, f"{p}.attention.layer_norm_rms_epsilon": 1e-6,
        f"{p}.rope.freq_base": 1e6, f"{p}.vocab_size": vocab, f"{p}.context_length": context,
    }


def talker_metadata(size, mode, tokenizer_json):
    a = "qwen3-tts"
    width, ff = WIDTHS[size]
    m = {
        "general.architecture": a, "general.name": f"random-{size}-{mode}",
        f"{a}.tokenizer_type": "qwen3_tts_tokenizer_12hz", f"{a}.model_size": size, f"{a}.model_type": MODES[mode],
        f"{a}.num_code_groups": CODEBOOKS,
    }
    m |= qwen3_metadata(f"{a}.talker", width, ff, TALKER_LAYERS, CODEC_VOCAB, 32768)
    m |= {
        f"{a}.talker.text_vocab_size": TEXT_VOCAB, f"{a}.talker.text_hidden_size": TEXT_WIDTH,
        f"{a}.talker.position_id_per_seconds": 13, f"{a}.talker.rope.mrope_section": [24, 20, 20],
        f"{a}.talker.mrope_interleaved": False,
    }
    m |= qwen3_metadata(f"{a}.code_pred", PREDICTOR_WIDTH, PREDICTOR_FF, PREDICTOR_LAYERS, CODEBOOK, 65536)
    if mode == "base":
        m |= {f"{a}.spk_enc.embedding_length": width, f"{a}.spk_enc.sample_rate": 24000}
    codec_ids = {"pad": 2148, "bos": 2149, "eos": CODEC_EOS, "think": 2154, "nothink": 2155, "think_bos": 2156,
                 "think_eos": 2157}
    text_ids = {"im_start": 151644, "im_end": 151645, "tts_pad": 151671, "tts_bos": 151672, "tts_eos": 151673}
    m |= {f"{a}.codec.{k}_id": v for k, v in codec_ids.items()} | {f"{a}.text.{k}_id": v for k, v in text_ids.items()}
    m |= {f"{a}.codec.language_names": list(LANGUAGES), f"{a}.codec.language_ids": list(LANGUAGES.values())}
    if mode == "customvoice":
        m |= {f"{a}.codec.speaker_names": list(SPEAKERS), f"{a}.codec.speaker_ids": list(SPEAKERS.values()),
              f"{a}.codec.speaker_dialects": [DIALECTS.get(s, "") for s in SPEAKERS]}
    m |= {
        "generation.do_sample": True, "generation.top_k": 50, "generation.top_p": 1.0, "generation.temperature": 0.9,
        "generation.repetition_penalty": 1.05, "generation.subtalker_do_sample": True,
        "generation.subtalker_top_k": 50, "generation.subtalker_top_p": 1.0, "generation.subtalker_temperature": 0.9,
        "generation.max_new_tokens": 8192,
    }
    return m | tokenizer_metadata(tokenizer_json)


def tokenizer_metadata(path):
    """The text tokenizer: a Qwen3 tokenizer.json with the tokens that Qwen3-TTS adds."""
    with open(path, encoding="utf-8") as f:
        j = json.load(f)
    special = {a["id"]: a["content"] for a in j["added_tokens"]} | TTS_TOKENS
    names = {i: s for s, i in j["model"]["vocab"].items()} | special
    ids = range(max(names) + 1)
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": [names.get(i, f"<|unused-{i}|>") for i in ids],
        "tokenizer.ggml.token_type": [CONTROL if i in special else NORMAL if i in names else UNUSED for i in ids],
        "tokenizer.ggml.merges": [m if isinstance(m, str) else " ".join(m) for m in j["model"]["merges"]],
        "tokenizer.ggml.eos_token_id": 151643,
    }


# ---- speech tokenizer (codec) file


def seanet_encoder():
    """SEANet from 24 kHz to 25 Hz; the names carry the index in the module list."""
    t, width = affine("tok_enc.conv.0", 64, 1, 7), 64
    for n, stride in enumerate(SEANET_STRIDES):
        i = 1 + 3 * n
        t += affine(f"tok_enc.res.{i}.blk.1", width // 2, width, 3)
        t += affine(f"tok_enc.res.{i}.blk.3", width, width // 2, 1)
        t += affine(f"tok_enc.conv.{i + 2}", 2 * width, width, 2 * stride)
        width *= 2
    return t + affine("tok_enc.conv.14", CODEC_WIDTH, width, 3)


def mimi_layer(p):
    """One layer of the encoder's transformer: LayerNorm with bias, GELU, layer scale."""
    w, ff = CODEC_WIDTH, 2048
    t = []
    for norm in ("attn_norm", "ffn_norm"):
        t += [const(f"{p}.{norm}.weight", w, 1), const(f"{p}.{norm}.bias", w, 0)]
    t += [matrix(f"{p}.attn_{x}.weight", w, w) for x in ("q", "k", "v", "output")]
    t += [matrix(f"{p}.ffn_up.weight", ff, w), matrix(f"{p}.ffn_down.weight", w, ff)]
    return t + [const(f"{p}.attn_scale", w, 0.1), const(f"{p}.ffn_scale", w, 0.1)]


def codec_encoder():
    t = seanet_encoder()
    for i in range(CODEC_LAYERS):
        t += mimi_layer(f"tok_enc.blk.{i}")
    t.append(matrix("tok_enc.downsample.weight", CODEC_WIDTH, CODEC_WIDTH, 4))
    for side, books in (("semantic", 1), ("acoustic", CODEBOOKS - 1)):
        p = f"tok_enc.vq_{side}"
        t += [matrix(f"{p}.input_proj.weight", CODEBOOK_DIM, CODEC_WIDTH, 1),
              matrix(f"{p}.output_proj.weight", CODEC_WIDTH, CODEBOOK_DIM, 1)]
        t += [noise(f"{p}.{k}.codebook", CODEBOOK, CODEBOOK_DIM, std=0.7**k) for k in range(books)]
    return t


def transformer_layer(p):
    """One layer of the decoder's transformer: RMSNorm, SwiGLU, layer scale."""
    w, inner = CODEC_WIDTH, 1024
    return [
        const(f"{p}.attn_norm.weight", w, 1), const(f"{p}.ffn_norm.weight", w, 1),
        matrix(f"{p}.attn_q.weight", inner, w), matrix(f"{p}.attn_k.weight", inner, w),
        matrix(f"{p}.attn_v.weight", inner, w), matrix(f"{p}.attn_output.weight", w, inner),
        matrix(f"{p}.ffn_gate.weight", inner, w), matrix(f"{p}.ffn_up.weight", inner, w),
        matrix(f"{p}.ffn_down.weight", w, inner),
        const(f"{p}.attn_scale", w, 0.1), const(f"{p}.ffn_scale", w, 0.1),
    ]


def convnext_upsample(p):
    """A transposed convolution of stride 2 and a ConvNeXt block."""
    w = LATENT
    t = affine(f"{p}.conv", w, w, 2, gain=0.8, fan_in=w, outputs=w)
    t += affine(f"{p}.dwconv", w, 1, 7)
    t += [const(f"{p}.norm.weight", w, 1), const(f"{p}.norm.bias", w, 0)]
    t += affine(f"{p}.pwconv1", 4 * w, w) + affine(f"{p}.pwconv2", w, 4 * w)
    return t + [const(f"{p}.gamma", w, 0.1)]


def snake(p, width):
    """SnakeBeta's parameters, in the log domain."""
    return [noise(f"{p}.alpha", width, std=0.2), noise(f"{p}.beta", width, std=0.2)]


def dac_decoder():
    """The DAC decoder: 4 blocks of snake, transposed convolution and 3 residual units."""
    t, width = affine("tok_dec.dec.0.conv", DAC_WIDTH, LATENT, 7), DAC_WIDTH
    for b, stride in enumerate(DAC_STRIDES, 1):
        p, out = f"tok_dec.dec.{b}", width // 2
        t += snake(f"{p}.snake", width)
        t += affine(f"{p}.conv_t", width, out, 2 * stride, gain=0.8, fan_in=2 * width, outputs=out)
        for r in range(3):
            t += snake(f"{p}.res.{r}.act1", out) + affine(f"{p}.res.{r}.conv1", out, out, 7, gain=0.7)
            t += snake(f"{p}.res.{r}.act2", out) + affine(f"{p}.res.{r}.conv2", out, out, 1, gain=0.3)
        width = out
    return t + snake("tok_dec.dec.5.snake", width) + affine("tok_dec.dec.6.conv", 1, width, 7, gain=0.1)


def codec_decoder():
    t = []
    for side, books in (("first", 1), ("rest", CODEBOOKS - 1)):
        p = f"tok_dec.vq_{side}"
        t.append(matrix(f"{p}.output_proj.weight", CODEC_WIDTH, CODEBOOK_DIM, 1))
        t += [noise(f"{p}.{k}.codebook", CODEBOOK, CODEBOOK_DIM, std=0.25) for k in range(books)]
    t += affine("tok_dec.pre_conv", LATENT, CODEC_WIDTH, 3) + affine("tok_dec.pre_tfm.input_proj", CODEC_WIDTH, LATENT)
    for i in range(CODEC_LAYERS):
        t += transformer_layer(f"tok_dec.pre_tfm.blk.{i}")
    t.append(const("tok_dec.pre_tfm.norm.weight", CODEC_WIDTH, 1))
    t += affine("tok_dec.pre_tfm.output_proj", LATENT, CODEC_WIDTH)
    for i in range(2):
        t += convnext_upsample(f"tok_dec.upsample.{i}")
    return t + dac_decoder()


def codec_tensors():
    return codec_encoder() + codec_decoder()


def codec_metadata():
    a = "qwen3-tts-tokenizer"
    decoder = {
        "latent_dim": LATENT, "codebook_dim": 512, "codebook_dim_internal": CODEBOOK_DIM, "codebook_size": CODEBOOK,
        "decoder_dim": DAC_WIDTH, "hidden_size": CODEC_WIDTH, "intermediate_size": 1024, "head_dim": 64,
        "num_attention_heads": 16, "num_key_value_heads": 16, "num_hidden_layers": CODEC_LAYERS,
        "num_quantizers": CODEBOOKS, "num_semantic_quantizers": 1, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "sliding_window": 72, "layer_scale_initial_scale": 0.01, "upsample_rates": list(DAC_STRIDES),
        "upsampling_ratios": [2, 2], "vector_quantization_hidden_dim": 512,
    }
    encoder = {
        "num_filters": 64, "kernel_size": 7, "last_kernel_size": 3, "residual_kernel_size": 3,
        "num_residual_layers": 1, "dilation_growth_rate": 2, "compress": 2,
        "upsampling_ratios": list(reversed(SEANET_STRIDES)), "hidden_size": CODEC_WIDTH, "intermediate_size": 2048,
        "num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": 64, "num_hidden_layers": CODEC_LAYERS,
        "norm_eps": 1e-5, "rope_theta": 10000.0, "layer_scale_initial_scale": 0.01, "codebook_dim": CODEBOOK_DIM,
        "codebook_size": CODEBOOK, "num_quantizers": CODEBOOKS, "num_semantic_quantizers": 1,
        "vector_quantization_hidden_dim": CODEBOOK_DIM,
    }
    m = {
        "general.architecture": a, "general.name": "random-tokenizer-12hz", f"{a}.input_sample_rate": 24000,
        f"{a}.output_sample_rate": 24000, f"{a}.decode_upsample_rate": 1920, f"{a}.encode_downsample_rate": 1920,
        f"{a}.encoder_valid_num_quantizers": CODEBOOKS,
    }
    m |= {f"{a}.decoder.{k}": v for k, v in decoder.items()}
    return m | {f"{a}.encoder.{k}": v for k, v in encoder.items()}


# ---- which type a tensor has in a file of a given type


def tensor_type(t, wanted):
    """What the published quantised files do: vectors and all that codes are looked up in stay F32, embeddings of a
    4-bit file are Q6_K, convolution kernels and rows that do not divide into blocks are F16."""
    if wanted == "F32" or len(t.shape) < 2 or ".vq_" in t.name or t.name == "spk_enc.fc.weight":
        return "F32"
    if len(t.shape) > 2:
        return "F16"
    kind = wanted
    if wanted == "Q4_K_M":
        kind = "Q6_K" if "_embd." in t.name else "Q4_K"
    return kind if t.shape[-1] % BLOCKS[kind][0] == 0 else "F16"


BLOCKS = {"F32": (1, 4), "F16": (1, 2), "BF16": (1, 2), "Q8_0": (32, 34), "Q4_K": (256, 144), "Q6_K": (256, 210)}
FILE_TYPES = {"F32": 0, "F16": 1, "Q8_0": 7, "Q4_K_M": 15, "BF16": 32}  # and their general.file_type


def file_metadata(wanted):
    blocks = {"general.quantization_version": 2} if wanted.startswith("Q") else {}
    return {"general.file_type": FILE_TYPES[wanted]} | blocks


def tensor_bytes(t, wanted):
    elements, size = BLOCKS[tensor_type(t, wanted)]
    return t.size // elements * size
