#!/usr/bin/env python3
"""verify_codec.py MODELS_DIR AUDIO_DIR GOLDEN_DIR
numpy(+scipy erf/wavfile) re-implementation of the codec decoder, codec encoder, mel front end and ECAPA speaker encoder; executable spec."""
import json, os, sys
import numpy as np
from scipy.special import erf
from scipy.io import wavfile
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import struct
MODELS, AUDIO, G = sys.argv[1:4]
def st(path):
    f = open(path, "rb"); n = struct.unpack("<Q", f.read(8))[0]; h = json.loads(f.read(n)); h.pop("__metadata__", None); b = f.read(); o = {}
    for k, v in h.items():
        s, e = v["data_offsets"]
        a = (np.frombuffer(b[s:e], "<u2").astype(np.uint32) << 16).view(np.float32) if v["dtype"] == "BF16" else np.frombuffer(b[s:e], "<f4")
        o[k] = a.reshape(v["shape"]).astype(np.float64)
    return o
worst = {}
def chk(what, a, b):
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64); assert a.shape == b.shape, (what, a.shape, b.shape)
    e = float(np.abs(a - b).max()); worst[what] = e
    if e > 1e-3: print("!! ", what, e)
def conv(x, w, b=None, stride=1, dil=1, groups=1, pad=(0, 0), mode="constant"):   # x [C,T], w [O,I/g,K]
    x = np.pad(x, ((0, 0), pad), mode=mode); K = w.shape[2]; span = (K - 1) * dil + 1
    To = (x.shape[1] - span) // stride + 1; O = w.shape[0]; y = np.zeros((O, To)); Ig = w.shape[1]
    for k in range(K):
        xs = x[:, k * dil: k * dil + (To - 1) * stride + 1: stride]
        if groups == 1: y += w[:, :, k] @ xs
        else: y += w[:, 0, k][:, None] * xs       # depthwise
    return y if b is None else y + b[:, None]
def ccv(W, p, x, stride=1, dil=1, groups=1, mode="constant"):                       # causal conv (left pad k_eff-stride, right pad up to a whole step)
    w = W[p + ".weight"]; ke = (w.shape[2] - 1) * dil + 1; pt = ke - stride; L = x.shape[1]
    nf = int(np.ceil((L - ke + pt) / stride + 1)) - 1; extra = nf * stride + ke - pt - L
    return conv(x, w, W.get(p + ".bias"), stride, dil, groups, (pt, extra), mode)
def tconv(W, p, x, s):                                                              # ConvTranspose1d w [I,O,K], trim right K-s
    w, b = W[p + ".weight"], W[p + ".bias"]; T = x.shape[1]; K = w.shape[2]; y = np.zeros((w.shape[1], (T - 1) * s + K))
    for k in range(K): y[:, k: k + (T - 1) * s + 1: s] += w[:, :, k].T @ x
    y += b[:, None]
    return y[:, : y.shape[1] - (K - s)] if K > s else y
def lin(W, p, x): y = x @ W[p + ".weight"].T; return y + W[p + ".bias"] if p + ".bias" in W else y
gelu = lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2)))
silu = lambda x: x / (1 + np.exp(-x))
rms = lambda x, w, e: x / np.sqrt((x * x).mean(-1, keepdims=True) + e) * w
def ln(W, p, x, e): m = x.mean(-1, keepdims=True); v = ((x - m) ** 2).mean(-1, keepdims=True); return (x - m) / np.sqrt(v + e) * W[p + ".weight"] + W[p + ".bias"]
def snake(W, p, x): a, b = np.exp(W[p + ".alpha"])[:, None], np.exp(W[p + ".beta"])[:, None]; return x + np.sin(x * a) ** 2 / (b + 1e-9)
def attn(W, p, h, nh, hd, theta, window=None):
    T = len(h); pos = np.arange(T); inv = theta ** (-np.arange(0, hd, 2) / hd); ang = pos[:, None] * inv; c, s = np.cos(ang)[:, None], np.sin(ang)[:, None]
    q, k, v = [lin(W, f"{p}.{n}_proj", h).reshape(T, nh, hd) for n in "qkv"]
    def rp(x): a, b = x[..., : hd // 2], x[..., hd // 2:]; return np.concatenate([a * c - b * s, b * c + a * s], -1)
    sc = np.einsum("thd,shd->hts", rp(q), rp(k)) / np.sqrt(hd); ok = pos[None] <= pos[:, None]
    if window: ok &= pos[None] > pos[:, None] - window
    sc = np.where(ok[None], sc, -np.inf); e = np.exp(sc - sc.max(-1, keepdims=True)); e /= e.sum(-1, keepdims=True)
    return lin(W, p + ".o_proj", np.einsum("hts,shd->thd", e, v).reshape(T, nh * hd))
W = st(MODELS + "/tiny-tokenizer-12hz/model.safetensors"); C = json.load(open(MODELS + "/tiny-tokenizer-12hz/config.json")); D, E = C["decoder_config"], C["encoder_config"]
# ---------------------------------------------------------------- decoder
def emb(p): return W[p + ".embedding_sum"] / np.maximum(W[p + ".cluster_usage"], 1e-5)[:, None]
CB = [emb("decoder.quantizer.rvq_first.vq.layers.0._codebook")] + [emb(f"decoder.quantizer.rvq_rest.vq.layers.{i}._codebook") for i in range(15)]
def decode(codes, t):
    t["rvq_first_embsum"] = CB[0][codes[:, 0]].T; t["rvq_rest_embsum"] = sum(CB[i][codes[:, i]] for i in range(1, 16)).T
    t["rvq_first"] = conv(t["rvq_first_embsum"], W["decoder.quantizer.rvq_first.output_proj.weight"]); t["rvq_rest"] = conv(t["rvq_rest_embsum"], W["decoder.quantizer.rvq_rest.output_proj.weight"])
    t["rvq_sum"] = t["rvq_first"] + t["rvq_rest"]
    t["pre_conv"] = ccv(W, "decoder.pre_conv.conv", t["rvq_sum"])
    P = "decoder.pre_transformer."; x = t["pre_tf_input_proj"] = lin(W, P + "input_proj", t["pre_conv"].T)
    for i in range(D["num_hidden_layers"]):
        L = f"{P}layers.{i}."; e = D["rms_norm_eps"]
        a = t[f"pre_tf_layer{i}_attn"] = attn(W, L + "self_attn", rms(x, W[L + "input_layernorm.weight"], e), D["num_attention_heads"], D["head_dim"], D["rope_theta"], D["sliding_window"])
        x = x + a * W[L + "self_attn_layer_scale.scale"]; h = rms(x, W[L + "post_attention_layernorm.weight"], e)
        m = t[f"pre_tf_layer{i}_mlp"] = lin(W, L + "mlp.down_proj", silu(lin(W, L + "mlp.gate_proj", h)) * lin(W, L + "mlp.up_proj", h))
        x = t[f"pre_tf_layer{i}"] = x + m * W[L + "mlp_layer_scale.scale"]
    x = t["pre_tf_norm"] = rms(x, W[P + "norm.weight"], D["rms_norm_eps"]); x = t["pre_tf_output_proj"] = lin(W, P + "output_proj", x); x = x.T
    for i, r in enumerate(D["upsampling_ratios"]):
        U = f"decoder.upsample.{i}."; x = t[f"upsample{i}_transconv"] = tconv(W, U + "0.conv", x, r)
        y = t[f"upsample{i}_convnext_dwconv"] = ccv(W, U + "1.dwconv.conv", x, groups=x.shape[0]); y = ln(W, U + "1.norm", y.T, 1e-6)
        y = lin(W, U + "1.pwconv2", gelu(lin(W, U + "1.pwconv1", y))) * W[U + "1.gamma"]; x = t[f"upsample{i}_convnext"] = x + y.T
    x = t["dac_conv_pre"] = ccv(W, "decoder.decoder.0.conv", x)
    for i, r in enumerate(D["upsample_rates"]):
        B = f"decoder.decoder.{i+1}.block."; x = t[f"dac_block{i}_snake"] = snake(W, B + "0", x); x = t[f"dac_block{i}_transconv"] = tconv(W, B + "1.conv", x, r)
        for j, dl in enumerate((1, 3, 9)):
            R = f"{B}{j+2}."; y = ccv(W, R + "conv1.conv", snake(W, R + "act1", x), dil=dl); y = ccv(W, R + "conv2.conv", snake(W, R + "act2", y)); x = t[f"dac_block{i}_res{j}"] = x + y
        t[f"dac_block{i}"] = x
    x = t["dac_snake_post"] = snake(W, "decoder.decoder.5", x); x = t["dac_conv_post"] = ccv(W, "decoder.decoder.6.conv", x)
    t["wav"] = np.clip(x[0], -1, 1); return t["wav"]
z = np.load(G + "/codec_dec_stages_T4.npz"); t = {}; decode(z["codes"], t)
for k in z.files:
    if k != "codes": chk("dec." + k, t[k], z[k])
z = np.load(G + "/codec_dec_wavs.npz")
for n in (1, 2, 7, 100): chk(f"dec.wav_T{n}", decode(z["codes"][:n], {}), z[f"wav_T{n}"])
z = np.load(G + "/codec_dec_T230.npz"); t = {}; w = decode(z["codes"], t); fr = z["frames"]
chk("dec230.pre_tf_layer0", t["pre_tf_layer0"][fr], z["pre_tf_layer0"]); chk("dec230.pre_tf_output_proj", t["pre_tf_output_proj"][fr], z["pre_tf_output_proj"]); chk("dec230.wav", w.reshape(-1, 1920)[fr], z["wav_frames"])
# ---------------------------------------------------------------- encoder
elu = lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
def ebook(p): return W[p + ".embed_sum"] / np.maximum(W[p + ".cluster_usage"], 1e-5)[:, None]
Q = "encoder.quantizer."; EB = [ebook(Q + "semantic_residual_vector_quantizer.layers.0.codebook")] + [ebook(Q + f"acoustic_residual_vector_quantizer.layers.{i}.codebook") for i in range(15)]
def encode(wav, t):
    x = wav[None]; P = "encoder.encoder.layers."; n = 0
    x = t["seanet_layer0"] = ccv(W, P + "0.conv", x)
    for r in reversed(E["upsampling_ratios"]):
        n += 1; y = ccv(W, f"{P}{n}.block.1.conv", elu(x)); y = ccv(W, f"{P}{n}.block.3.conv", elu(y)); x = t[f"seanet_layer{n}"] = x + y
        n += 2; x = t[f"seanet_layer{n}"] = ccv(W, f"{P}{n}.conv", elu(x), stride=r)
    n += 2; x = t[f"seanet_layer{n}"] = ccv(W, f"{P}{n}.conv", elu(x)); t["seanet_out"] = x; x = x.T
    for i in range(E["num_hidden_layers"]):
        L = f"encoder.encoder_transformer.layers.{i}."; e = E["norm_eps"]
        a = t[f"enc_tf_layer{i}_attn"] = attn(W, L + "self_attn", ln(W, L + "input_layernorm", x, e), E["num_attention_heads"], E["head_dim"], E["rope_theta"])   # causal, NO window
        x = x + a * W[L + "self_attn_layer_scale.scale"]
        m = t[f"enc_tf_layer{i}_mlp"] = lin(W, L + "mlp.fc2", gelu(lin(W, L + "mlp.fc1", ln(W, L + "post_attention_layernorm", x, e)))); x = t[f"enc_tf_layer{i}"] = x + m * W[L + "mlp_layer_scale.scale"]
    t["enc_tf_out"] = x                                                                # no final norm
    x = t["downsample"] = ccv(W, "encoder.downsample.conv", x.T, stride=2, mode="edge")   # replicate padding!
    codes = []
    for b, nm in ((EB[:1], "semantic"), (EB[1:], "acoustic")):                         # both start from the same un-quantised latent
        r = conv(x, W[Q + nm + "_residual_vector_quantizer.input_proj.weight"]); t[f"rvq_{nm}_in"] = r; r = r.T.copy()
        for cb in b:
            d = (r * r).sum(1)[:, None] - 2 * r @ cb.T + (cb * cb).sum(1)[None]; i = d.argmin(1); codes.append(i); r = r - cb[i]
    return np.array(codes).T[: -(-len(wav) // 1920)]
def rd(n): sr, w = wavfile.read(f"{AUDIO}/{n}_24k.wav"); return w.astype(np.float64) / 32768
for nm in ("clip", "half_frame", "speech", "sweep", "speech_long"):
    if not os.path.exists(f"{G}/codec_enc_{nm}.npz"): continue                         # clip is not kept in the repository
    z = np.load(f"{G}/codec_enc_{nm}.npz"); t = {}; w = z["wav"].astype(np.float64) if "wav" in z.files else rd(nm)
    c = encode(w, t)
    if nm == "speech_long": t["enc_tf_out"] = t["enc_tf_out"][z["enc_tf_positions"]]; t["downsample"] = t["downsample"][:, -8:]
    for k in z.files:
        if k in t: chk(f"enc_{nm}." + k, t[k], z[k])
    safe = np.minimum.accumulate(z["rvq_gap"], 0).T > 1e-3; print(nm, "codes", c.shape, "mismatch all/safe", int((c != z["codes"]).sum()), int(((c != z["codes"]) & safe).sum()), "unsafe", int((~safe).sum()))
# ---------------------------------------------------------------- mel + ECAPA
def mel_fb(sr=24000, nfft=1024, nm=128, fmin=0.0, fmax=12000.0):                        # librosa slaney scale + slaney norm
    def h2m(f): f = np.asarray(f, float); return np.where(f < 1000, f / (200 / 3), 15 + np.log(np.maximum(f, 1e-9) / 1000) / (np.log(6.4) / 27))
    def m2h(m): return np.where(m < 15, m * 200 / 3, 1000 * np.exp((np.log(6.4) / 27) * (m - 15)))
    f = m2h(np.linspace(h2m(fmin), h2m(fmax), nm + 2)); ff = np.linspace(0, sr / 2, nfft // 2 + 1); r = f[:, None] - ff[None]; d = np.diff(f)
    w = np.maximum(0, np.minimum(-r[:-2] / d[:-1, None], r[2:] / d[1:, None])); return w * (2 / (f[2:] - f[:-2]))[:, None]
def mel(w):
    p = (1024 - 256) // 2; w = np.pad(w, p, mode="reflect"); win = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(1024) / 1024)   # periodic Hann
    n = (len(w) - 1024) // 256 + 1; fr = np.stack([w[i * 256: i * 256 + 1024] for i in range(n)]) * win
    s = np.sqrt(np.abs(np.fft.rfft(fr)) ** 2 + 1e-9); return np.log(np.maximum(s @ mel_fb().T, 1e-5))                          # magnitude, natural log, [T,128]
relu = lambda x: np.maximum(x, 0)
for name, nm in (("tiny-base-17", "speech"), ("tiny-base-17", "sweep"), ("tiny-base-06", "speech")):
    S = st(f"{MODELS}/{name}/model.safetensors"); c = json.load(open(f"{MODELS}/{name}/config.json"))["speaker_encoder_config"]; z = np.load(f"{G}/spk_{name}_{nm}.npz"); t = {}
    def rc(p, x, dil=1): w = S[p + ".weight"]; pd = dil * (w.shape[2] - 1) // 2; return conv(x, w, S[p + ".bias"], dil=dil, pad=(pd, pd), mode="reflect") if pd else conv(x, w, S[p + ".bias"])
    t["mel"] = mel(rd(nm)); x = t["blk0_tdnn"] = relu(rc("speaker_encoder.blocks.0.conv", t["mel"].T)); outs = []
    for b in (1, 2, 3):
        P = f"speaker_encoder.blocks.{b}."; h = t[f"blk{b}_tdnn1"] = relu(rc(P + "tdnn1.conv", x)); parts = np.split(h, 8); o = [parts[0]]
        for i in range(1, 8): o.append(relu(rc(f"{P}res2net_block.blocks.{i-1}.conv", parts[i] if i == 1 else parts[i] + o[-1], c["enc_dilations"][b])))
        h = t[f"blk{b}_res2net"] = np.concatenate(o); h = t[f"blk{b}_tdnn2"] = relu(rc(P + "tdnn2.conv", h))
        g = t[f"blk{b}_se_gate"] = 1 / (1 + np.exp(-rc(P + "se_block.conv2", relu(rc(P + "se_block.conv1", h.mean(1, keepdims=True)))))); x = t[f"blk{b}"] = h * g + x; outs.append(x)
    h = t["mfa"] = relu(rc("speaker_encoder.mfa.conv", np.concatenate(outs))); m = h.mean(1, keepdims=True); sd = np.sqrt(np.maximum(((h - m) ** 2).mean(1, keepdims=True), 1e-12))
    a = t["asp_tdnn"] = relu(rc("speaker_encoder.asp.tdnn.conv", np.concatenate([h, np.repeat(m, h.shape[1], 1), np.repeat(sd, h.shape[1], 1)]))); a = t["asp_conv_logits"] = rc("speaker_encoder.asp.conv", np.tanh(a))
    a = np.exp(a - a.max(1, keepdims=True)); a /= a.sum(1, keepdims=True); m = (a * h).sum(1, keepdims=True); sd = np.sqrt(np.maximum((a * (h - m) ** 2).sum(1, keepdims=True), 1e-12))
    p = t["asp_pooled"] = np.concatenate([m, sd]); t["xvector"] = rc("speaker_encoder.fc", p)[:, 0]
    for k in z.files: chk(f"spk_{name}_{nm}." + k, t[k], z[k])
top = sorted(worst.items(), key=lambda kv: -kv[1])[:14]; print(len(worst), "arrays compared; worst:", [(k, float("%.2g" % v)) for k, v in top])
