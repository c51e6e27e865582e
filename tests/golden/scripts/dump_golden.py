#!/usr/bin/env python3
"""dump_golden.py MODELS_DIR AUDIO_DIR OUT_DIR [group ...]
Runs the OFFICIAL qwen-tts 0.1.1 PyTorch classes in float32 (greedy) on the tiny checkpoints and dumps .npz goldens.
groups: codec_dec codec_enc spk lm sampler   (default: all; the repository keeps a part of what they make)
Only forward hooks / call-through wrappers on instances are used; the package is not modified.
"""
import json, os, sys, time
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
import soundfile as sf
import torch
torch.set_num_threads(1)
torch.backends.mkldnn.enabled = False      # oneDNN re-JITs per sequence length (100x slower here) and is not needed
torch.use_deterministic_algorithms(False)
from texts import T
from transformers import Qwen2TokenizerFast
from qwen_tts import Qwen3TTSModel
from qwen_tts.inference.qwen3_tts_tokenizer import Qwen3TTSTokenizer
import qwen_tts.core.models.modeling_qwen3_tts as MQ

MODELS, AUDIO, OUT = sys.argv[1:4]
GROUPS = sys.argv[4:] or ["codec_dec", "codec_enc", "spk", "sampler", "lm"]
os.makedirs(OUT, exist_ok=True)

def npy(x):
    if isinstance(x, torch.Tensor): x = x.detach().cpu().numpy()
    x = np.asarray(x)
    if x.dtype == np.float64: x = x.astype(np.float32)
    if x.dtype == np.int64: x = x.astype(np.int32)
    return np.ascontiguousarray(x)

def save(name, d):
    d = {k: npy(v) for k, v in d.items()}
    p = os.path.join(OUT, name + ".npz")
    np.savez_compressed(p, **d)
    print(f"{name}: {os.path.getsize(p)/1e3:.0f} kB, {len(d)} arrays", flush=True)

class Hooks:
    """forward hooks that append outputs (optionally inputs) to lists"""
    def __init__(self): self.h, self.d, self.on = [], {}, True
    def out(self, key, mod, first_only=False, inp=False):
        self.d[key] = []
        def f(m, args, kwargs, o):
            if not self.on or (first_only and self.d[key]): return
            x = args[0] if inp else o
            if isinstance(x, tuple): x = x[0]
            if hasattr(x, "last_hidden_state"): x = x.last_hidden_state
            self.d[key].append(x.detach().clone())
        self.h.append(mod.register_forward_hook(f, with_kwargs=True))
    def close(self):
        for h in self.h: h.remove()

def wav(name):
    w, sr = sf.read(os.path.join(AUDIO, name), dtype="float32"); assert sr == 24000
    return w

# ---------------------------------------------------------------- codec decoder
def load_codec():
    return Qwen3TTSTokenizer.from_pretrained(os.path.join(MODELS, "tiny-tokenizer-12hz"), dtype=torch.float32)

def g_codec_dec():
    tk = load_codec(); dec = tk.model.decoder
    K = tk.model.config.decoder_config.codebook_size
    rng = np.random.Generator(np.random.PCG64(1234))
    codes = rng.integers(0, K, size=(310, 16)).astype(np.int64)
    codes[0, :] = 7; codes[1, 0] = 0; codes[1, 1:] = K - 1      # row 7: cluster_usage==0 -> clamp(eps); extremes
    C = lambda n: torch.from_numpy(codes[:n]).t().unsqueeze(0)  # [1,16,T]
    with torch.inference_mode():
        h = Hooks()
        h.out("rvq_first", dec.quantizer.rvq_first.output_proj); h.out("rvq_rest", dec.quantizer.rvq_rest.output_proj)
        h.out("pre_conv", dec.pre_conv)
        pt = dec.pre_transformer
        h.out("pre_tf_input_proj", pt.input_proj)
        for i, l in enumerate(pt.layers):
            h.out(f"pre_tf_layer{i}_attn", l.self_attn); h.out(f"pre_tf_layer{i}_mlp", l.mlp); h.out(f"pre_tf_layer{i}", l)
        h.out("pre_tf_norm", pt.norm); h.out("pre_tf_output_proj", pt.output_proj)
        for i, b in enumerate(dec.upsample):
            h.out(f"upsample{i}_transconv", b[0]); h.out(f"upsample{i}_convnext_dwconv", b[1].dwconv); h.out(f"upsample{i}_convnext", b[1])
        h.out("dac_conv_pre", dec.decoder[0])
        for i in range(4):
            blk = dec.decoder[1 + i].block
            if i == 0:
                h.out("dac_block0_snake", blk[0]); h.out("dac_block0_transconv", blk[1])
                for j in range(3): h.out(f"dac_block0_res{j}", blk[2 + j])
            h.out(f"dac_block{i}", dec.decoder[1 + i])
        h.out("dac_snake_post", dec.decoder[5]); h.out("dac_conv_post", dec.decoder[6])
        n = 4
        q = dec.quantizer.decode(C(n)); h.d["rvq_first"].clear(); h.d["rvq_rest"].clear()
        # raw (pre output_proj) embedding sums
        first_sum = dec.quantizer.rvq_first.vq.decode(C(n)[:, :1].transpose(0, 1))
        rest_sum = dec.quantizer.rvq_rest.vq.decode(C(n)[:, 1:].transpose(0, 1))
        w = dec(C(n))
        d = {k: v[0][0] for k, v in h.d.items()}
        h.close()
        d.update(codes=codes[:n].astype(np.int32), rvq_first_embsum=first_sum[0], rvq_rest_embsum=rest_sum[0], rvq_sum=q[0], wav=w[0, 0])
        save("codec_dec_stages_T4", d)
        # transformer stages over a long sequence (sliding window 72 matters from position 72 on)
        h = Hooks(); h.out("pre_conv", dec.pre_conv); h.out("pre_tf_layer0", pt.layers[0]); h.out("pre_tf_output_proj", pt.output_proj)
        full230 = dec(C(230))[0, 0].numpy().copy()
        d = {k: v[0][0] for k, v in h.d.items()}; h.close()
        pick = np.r_[0:2, 70:76, 142:147, 220:230]
        sw = pt.config.sliding_window
        # same with the window disabled, to show that it matters
        d2 = {"codes": codes[:230].astype(np.int32), "frames": pick.astype(np.int32),
              "pre_conv": d["pre_conv"][:, pick], "pre_tf_layer0": d["pre_tf_layer0"][pick], "pre_tf_output_proj": d["pre_tf_output_proj"][pick],
              "wav_frames": full230.reshape(230, 1920)[pick]}
        save("codec_dec_T230", d2)
        full310 = dec(C(310))[0, 0].numpy().copy()
        off, sr = tk.decode([{"audio_codes": codes[:310]}])           # official: chunked_decode(300, left 25)
        off = off[0]
        fr = np.r_[0:1, 299:310]
        save("codec_dec_T310_chunked", {"codes": codes.astype(np.int32), "frames": fr.astype(np.int32),
             "wav_frames_official_chunked_300_25": off.reshape(310, 1920)[fr], "wav_frames_single_pass": full310.reshape(310, 1920)[fr],
             "max_abs_diff_per_frame": np.abs(off - full310).reshape(310, 1920).max(1), "rms_diff_tail": np.sqrt(np.mean((off - full310)[300 * 1920:] ** 2))})
        print("chunk diff tail rms", np.sqrt(np.mean((off - full310)[300 * 1920:] ** 2)), "sig rms", np.sqrt(np.mean(full310 ** 2)))
        # window off
        from qwen_tts.core.tokenizer_12hz import modeling_qwen3_tts_tokenizer_v2 as M2
        pt.config.sliding_window = 100000
        for l in pt.layers: l.self_attn.sliding_window = 100000
        nowin = dec(C(230))[0, 0].numpy()
        pt.config.sliding_window = sw
        for l in pt.layers: l.self_attn.sliding_window = sw
        dd = np.abs(nowin - full230).reshape(230, 1920).max(1)
        print("window effect: max diff frames<72:", dd[:72].max(), " frames>=72:", dd[72:].max(), "first differing frame", int(np.argmax(dd > 1e-5)))
        ws = {}
        for n in (1, 2, 7, 72, 100):
            o, _ = tk.decode([{"audio_codes": codes[:n]}]); ws[f"wav_T{n}"] = o[0]
        save("codec_dec_wavs", dict(codes=codes[:100].astype(np.int32), **ws))
        r = dec(C(100))[0, 0].numpy(); r2 = dec(C(100))[0, 0].numpy()
        print("determinism decode", np.abs(r - r2).max(), "prefix property T72 vs T100[:72]:", np.abs(ws["wav_T100"][:72 * 1920] - ws["wav_T72"]).max())
        # batched decode with padding (-1): shorter item is padded with code 0 then cut
        o, _ = tk.decode([{"audio_codes": torch.from_numpy(codes[:7])}, {"audio_codes": torch.from_numpy(codes[7:10])}])
        o1, _ = tk.decode([{"audio_codes": codes[7:10]}])
        print("batch decode len", [len(x) for x in o], "diff vs single", np.abs(o[1] - o1[0]).max())

# ---------------------------------------------------------------- codec encoder
def g_codec_enc():
    tk = load_codec(); enc = tk.model.encoder
    for nm, w, stages in (("speech", wav("speech_24k.wav"), False), ("sweep", wav("sweep_24k.wav"), False),
                          ("clip", wav("speech_24k.wav")[9600:9600 + 1920 * 3 + 123], True), ("half_frame", wav("speech_24k.wav")[12000:12000 + 700], True),
                          ("speech_long", wav("speech_long_24k.wav"), False)):
        h = Hooks()
        if stages:
            for i, l in enumerate(enc.encoder.layers):
                if l.__class__.__name__ != "ELU": h.out(f"seanet_layer{i}", l)
        if nm != "speech_long":
            for i, l in enumerate(enc.encoder_transformer.layers):
                h.out(f"enc_tf_layer{i}", l)
                if stages: h.out(f"enc_tf_layer{i}_attn", l.self_attn); h.out(f"enc_tf_layer{i}_mlp", l.mlp)
        h.out("seanet_out", enc.encoder); h.out("enc_tf_out", enc.encoder_transformer); h.out("downsample", enc.downsample)
        sem, aco = enc.quantizer.semantic_residual_vector_quantizer, enc.quantizer.acoustic_residual_vector_quantizer
        h.out("rvq_semantic_in", sem.input_proj); h.out("rvq_acoustic_in", aco.input_proj)
        gaps, resid, orig = [], [], []
        books = [sem.layers[0].codebook] + [l.codebook for l in aco.layers[:15]]
        for b in books:
            def q(hs, b=b):
                dd = torch.cdist(hs[None].double(), b.embed[None].double())[0]
                s = dd.sort(dim=-1).values; gaps.append((s[:, 1] - s[:, 0]).float())
                return type(b).quantize(b, hs)
            b.quantize = q
        e = tk.encode(w, sr=24000); codes = e.audio_codes[0]
        for b in books: del b.quantize
        e2 = tk.encode(w, sr=24000).audio_codes[0]; assert torch.equal(codes, e2)
        d = {k: v[0][0] for k, v in h.d.items()}; h.close()
        if nm == "speech_long":     # keep it small
            for k in ("seanet_out", "rvq_semantic_in", "rvq_acoustic_in"): d.pop(k)
            d["enc_tf_out"] = d["enc_tf_out"][np.r_[0:2, 248:254, 300:302, -4:0]]; d["enc_tf_positions"] = np.r_[0:2, 248:254, 300:302, 321:325]
            d["downsample"] = d["downsample"][:, -8:]
        if nm == "speech_long":     # what flash-attention (window 250) would give; sdpa/eager apply NO window
            import transformers.models.mimi.modeling_mimi as MM
            from transformers.masking_utils import create_sliding_window_causal_mask as csw
            o = MM.create_causal_mask; MM.create_causal_mask = csw
            try: cw = tk.encode(w, sr=24000).audio_codes[0]
            finally: MM.create_causal_mask = o
            d["codes_if_window_250"] = cw
            print("   window-250 variant: frames that differ", int((cw != codes).any(1).sum()), "first", int(np.argmax((cw != codes).any(1).numpy())))
        d.update(codes=codes, rvq_gap=torch.stack(gaps))
        if nm in ("clip", "half_frame"): d["wav"] = w
        save("codec_enc_" + nm, d)
        print("   T", tuple(codes.shape), "samples", len(w), "min argmin gap", float(torch.stack(gaps).min()), flush=True)

# ---------------------------------------------------------------- speaker encoder
def load_tts(name):
    p = os.path.join(MODELS, name)
    tts = Qwen3TTSModel.from_pretrained(p, dtype=torch.float32, attn_implementation="eager")
    tts.processor.tokenizer = Qwen2TokenizerFast.from_pretrained(p)     # Qwen2 pre-tokenizer regex (see README)
    tts.model.eval()
    return tts

def g_spk():
    for name in ("tiny-base-17", "tiny-base-06"):
        tts = load_tts(name); se = tts.model.speaker_encoder
        for nm in ("speech", "sweep"):
            if name == "tiny-base-06" and nm == "sweep": continue
            w = wav(nm + "_24k.wav")
            h = Hooks(); h.out("mel", se, inp=True)
            if name == "tiny-base-17" and nm == "speech":
                h.out("blk0_tdnn", se.blocks[0])
                for i in (1, 2, 3):
                    b = se.blocks[i]
                    if i == 1: h.out("blk1_tdnn1", b.tdnn1); h.out("blk1_res2net", b.res2net_block); h.out("blk1_tdnn2", b.tdnn2)
                    h.out(f"blk{i}_se_gate", b.se_block.sigmoid); h.out(f"blk{i}", b)
                h.out("mfa", se.mfa); h.out("asp_tdnn", se.asp.tdnn); h.out("asp_conv_logits", se.asp.conv)
            h.out("asp_pooled", se.asp)
            x = tts.model.extract_speaker_embedding(audio=w, sr=24000)
            x2 = tts.model.extract_speaker_embedding(audio=w, sr=24000); assert torch.equal(x, x2)
            d = {k: v[0][0] for k, v in h.d.items()}; h.close()
            d["xvector"] = x
            save(f"spk_{name}_{nm}", d)
            print("   mel", tuple(d["mel"].shape), float(d["mel"].min()), float(d["mel"].max()), "xvec rms", float(x.pow(2).mean().sqrt()))

# ---------------------------------------------------------------- sampler
def g_sampler():
    from transformers import LogitsProcessorList
    tts = load_tts("tiny-customvoice-06"); tk = tts.model.talker
    V, K = tk.config.vocab_size, tk.config.vocab_size - 1024
    eos = tk.config.codec_eos_token_id
    rng = np.random.Generator(np.random.PCG64(99))
    base = rng.normal(0, 4, V).astype(np.float32); base[eos] = 9.0; base[K + 300] = 30.0   # reserved id with a huge logit: must be suppressed
    ties = np.round(rng.normal(0, 2, V) * 2).astype(np.float32) / 2                       # many exact ties
    LOG = {"normal": base, "ties": ties}
    supp = [i for i in range(V - 1024, V) if i != eos]
    hist = {"none": [], "three": [3, 100, 200], "rep": [int(np.argsort(base[:K])[-1])] * 5 + [int(np.argsort(base[:K])[-2]), int(np.argsort(base[:K])[0]), 7]}
    combos = []
    for lg in LOG:
        for hs in hist:
            combos += [(lg, hs, 1.05, 0.9, 50, 1.0), (lg, hs, 1.0, 1.0, 0, 1.0), (lg, hs, 1.3, 0.7, 10, 0.8), (lg, hs, 1.05, 0.9, 0, 0.95), (lg, hs, 1.1, 1.5, 5, 0.5), (lg, hs, 1.05, 0.9, 1, 1.0)]
    d, rows, order = {}, [], None
    for n, (lg, hs, rp, temp, topk, topp) in enumerate(combos):
        from transformers import GenerationConfig
        gc = GenerationConfig(do_sample=True, repetition_penalty=rp, temperature=temp, top_k=topk, top_p=topp, min_new_tokens=2,
                              suppress_tokens=supp, eos_token_id=eos, pad_token_id=eos, max_new_tokens=100)
        gc._eos_token_tensor = torch.tensor([eos])
        gc._pad_token_tensor = torch.tensor(eos)
        pl = tk._get_logits_processor(generation_config=gc, input_ids_seq_length=0, encoder_input_ids=None, prefix_allowed_tokens_fn=None,
                                      logits_processor=LogitsProcessorList(), device="cpu", model_kwargs={})
        o = [p.__class__.__name__ for p in pl]
        if order is None or len(o) > len(order): order = o
        ids = torch.tensor([hist[hs]], dtype=torch.long)
        sc = pl(ids, torch.from_numpy(LOG[lg]).clone()[None])
        pr = torch.softmax(sc, -1)[0].numpy()
        nz = np.nonzero(pr)[0]
        d[f"case{n}_ids"] = nz.astype(np.int32); d[f"case{n}_probs"] = pr[nz]
        rows.append(dict(case=n, logits=lg, history=hist[hs], rep_penalty=rp, temperature=temp, top_k=topk, top_p=topp, n_nonzero=int(len(nz)), eos_prob=float(pr[eos]), argmax=int(pr.argmax())))
    print(order)
    d["logits_normal"], d["logits_ties"] = base, ties
    save("sampler", d)
    json.dump(dict(processor_order=order, vocab=V, eos=eos, suppress="[vocab-1024, vocab) except eos", min_new_tokens=2, cases=rows), open(os.path.join(OUT, "sampler.json"), "w"), indent=1)

# ---------------------------------------------------------------- talker + code predictor
def make_cases():
    C = []
    def cv(id, model="tiny-customvoice-17", **k): C.append(dict(id=id, model=model, kind="custom_voice", **k))
    cv("cv17_en_vivian", text="en", speaker="Vivian", language="English", T=24, deep=1, wav=1)
    cv("cv17_en_vivian_stream", text="en", speaker="Vivian", language="English", ns=False, T=24, layers=1)
    cv("cv17_short_stream", text="en_short", speaker="Serena", language="English", ns=False, T=6)
    cv("cv17_instruct_en", text="en", speaker="Ryan", language="English", instruct="instr_en", T=8, layers=1)
    cv("cv17_instruct_zh", text="zh", speaker="Uncle_Fu", language="Chinese", instruct="instr_zh", T=6)
    cv("cv17_auto_ryan", text="en", speaker="Ryan", language="Auto", T=6)
    cv("cv17_auto_dylan", text="zh", speaker="Dylan", language="Auto", T=6)
    cv("cv17_auto_eric", text="zh", speaker="Eric", language=None, T=6)
    cv("cv17_chinese_dylan", text="zh", speaker="dylan", language="Chinese", T=6)
    cv("cv17_english_dylan", text="en", speaker="Dylan", language="English", T=6)
    for lang, t, s in (("Chinese", "zh", "Vivian"), ("Japanese", "ja", "Ono_Anna"), ("Korean", "ko", "Sohee"), ("German", "de", "Aiden"), ("French", "fr", "Serena"),
                       ("Russian", "ru", "Ryan"), ("Portuguese", "pt", "Aiden"), ("Spanish", "es", "Ryan"), ("Italian", "it", "Aiden")):
        cv("cv17_lang_" + lang.lower(), text=t, speaker=s, language=lang, T=6)
    cv("cv17_one_token_stream", text="one", speaker="Vivian", language="English", ns=False, T=4)
    cv("cv17_empty_text_stream", text="empty", speaker="Vivian", language="English", ns=False, T=4)
    cv("cv17_empty_text_nonstream", text="empty", speaker="Vivian", language="English", T=4)
    cv("cv17_leading_newlines", text="newline", speaker="Vivian", language="English", T=4)
    cv("cv17_norep", text="en", speaker="Vivian", language="English", T=12, rp=1.0)
    cv("cv06_en_vivian", model="tiny-customvoice-06", text="en", speaker="Vivian", language="English", T=24, deep=1, wav=1)
    cv("cv06_instruct_ignored", model="tiny-customvoice-06", text="en", speaker="Vivian", language="English", instruct="instr_en", T=6)
    cv("cv06_until_eos", model="tiny-customvoice-06", text="de", speaker="Ryan", language="German", T=60)
    cv("cv06_zh_stream", model="tiny-customvoice-06", text="zh", speaker="Dylan", language="Auto", ns=False, T=12)
    def vd(id, **k): C.append(dict(id=id, model="tiny-voicedesign-17", kind="voice_design", **k))
    vd("vd17_en", text="en", instruct="design", language="English", T=24, layers=1)
    vd("vd17_auto_stream", text="zh", instruct="design", language="Auto", ns=False, T=12)
    vd("vd17_empty_instruct", text="en", instruct="", language="English", T=6)
    def ba(id, model="tiny-base-17", **k): C.append(dict(id=id, model=model, kind="base", **k))
    ba("base17_xvec_stream", text="en", language="English", xvec=True, T=12, layers=1)
    ba("base17_xvec_nonstream", text="en", language="Auto", xvec=True, ns=True, T=8)
    ba("base17_icl_textshort_stream", text="en_short", ref="ref", language="English", T=12, layers=1, wav=1)
    ba("base17_icl_textlong_stream", text="en_long", ref="ref_long", language="English", T=12)
    ba("base17_icl_nonstream", text="en", ref="ref", language="English", ns=True, T=8)
    ba("base17_plain", text="en", language="English", plain=True, T=6)
    ba("base06_xvec_stream", model="tiny-base-06", text="zh", language="Chinese", xvec=True, T=8)
    ba("base06_icl_stream", model="tiny-base-06", text="en_short", ref="ref", language="Auto", T=8, layers=1)
    cv("cv17_long220", text="en_long", speaker="Aiden", language="English", T=220, long=1)
    return C

def run_case(tts, c, meta):
    m, tk = tts.model, tts.model.talker; cp = tk.code_predictor
    h, cap = Hooks(), {}
    deep, layers = c.get("deep"), c.get("layers") or c.get("deep")
    if layers:
        for i, l in enumerate(tk.model.layers): h.out(f"prefill_layer{i}", l, first_only=True)
    if deep:
        l0 = tk.model.layers[0]; a = l0.self_attn
        for k, mod in (("attn_norm", l0.input_layernorm), ("q_proj", a.q_proj), ("k_proj", a.k_proj), ("v_proj", a.v_proj), ("q_norm", a.q_norm), ("k_norm", a.k_norm),
                       ("attn_out", a.o_proj), ("ffn_norm", l0.post_attention_layernorm), ("mlp_out", l0.mlp)): h.out("L0_" + k, mod, first_only=True)
        h.out("L0_attn_heads_concat", a.o_proj, first_only=True, inp=True)
    h.out("norm", tk.model.norm); h.out("logits", tk.codec_head)
    h.out("mtp_in", cp.small_to_mtp_projection, inp=True); h.out("mtp_out", cp.small_to_mtp_projection); h.out("cp_norm", cp.model.norm)
    if deep:
        for i, l in enumerate(cp.model.layers): h.out(f"cp_layer{i}", l)
    for i, l in enumerate(cp.lm_head): h.out(f"lm{i}", l)
    og, otg, ott = m.generate, tk.generate, tts._tokenize_texts
    toks = []
    def tg(**k): cap.update(embeds=k["inputs_embeds"].clone(), trailing=k["trailing_text_hidden"].clone(), pad=k["tts_pad_embed"].clone(), mask=k["attention_mask"].clone()); r = otg(**k); cap["seq"] = r.sequences; return r
    def gg(**k): cap["gen_in"] = k; r = og(**k); cap["codes"], cap["hid"] = r[0][0], r[1][0]; return r
    def tt(texts): r = ott(texts); toks.extend(zip(texts, r)); return r
    rope = []
    orope = MQ.apply_multimodal_rotary_pos_emb
    if deep:
        def rp(*a, **k):
            r = orope(*a, **k)
            if not rope: rope.append((r[0].clone(), r[1].clone()))
            return r
        MQ.apply_multimodal_rotary_pos_emb = rp
    tk.generate, m.generate, tts._tokenize_texts = tg, gg, tt
    kw = dict(do_sample=False, subtalker_dosample=False, max_new_tokens=c["T"] + 1)
    if "rp" in c: kw["repetition_penalty"] = c["rp"]
    if "ns" in c: kw["non_streaming_mode"] = c["ns"]
    text = T[c["text"]]; wavs = None; extra = {}
    try:
        if c["kind"] == "custom_voice":
            wavs, sr = tts.generate_custom_voice(text=text, speaker=c["speaker"], language=c["language"], instruct=T[c["instruct"]] if c.get("instruct") else None, **kw)
        elif c["kind"] == "voice_design":
            wavs, sr = tts.generate_voice_design(text=text, language=c["language"], instruct=T.get(c["instruct"], ""), **kw)
        elif c.get("plain"):
            ids = tts._tokenize_texts([tts._build_assistant_text(text)])
            gk = tts._merge_generate_kwargs(**kw); m.generate(input_ids=ids, languages=[c["language"]], **gk)
        else:
            w = wav("speech_24k.wav")
            items = tts.create_voice_clone_prompt(ref_audio=(w, 24000), ref_text=T[c["ref"]] if c.get("ref") else None, x_vector_only_mode=bool(c.get("xvec")))
            extra["ref_xvector"] = items[0].ref_spk_embedding
            if items[0].ref_code is not None: extra["ref_codes"] = items[0].ref_code
            h.on = True
            wavs, sr = tts.generate_voice_clone(text=text, language=c["language"], voice_clone_prompt=items, **kw)
    finally:
        del tk.generate, m.generate, tts._tokenize_texts
        MQ.apply_multimodal_rotary_pos_emb = orope
    d, H = {}, h.d; h.close()
    codes = cap["codes"]; n = codes.shape[0]
    d["codes"] = codes; d["codec0_sequence"] = cap["seq"][0]
    d["prefill_embeds"] = cap["embeds"][0]; d["trailing_text_hidden"] = cap["trailing"][0]; d["tts_pad_embed"] = cap["pad"][0, 0]
    assert int(cap["mask"].sum()) == cap["mask"].numel()
    if layers:
        for k in list(H):
            if k.startswith("prefill_layer") or k.startswith("L0_"): d[k] = H[k][0][0]
        d["prefill_norm"] = H["norm"][0][0]
    if rope: d["L0_q_rope"], d["L0_k_rope"] = rope[0][0][0], rope[0][1][0]     # [heads, T, head_dim]
    d["prefill_logits_last"] = H["logits"][0][0, -1]
    allh = torch.cat([x[0, -1:] for x in H["norm"]]); d["talker_hidden"] = allh[: n + 1]     # row t = hidden that frame t is generated from
    assert torch.allclose(allh[:n], cap["hid"][:n])
    lg = torch.cat([x[0, -1:] for x in H["logits"]])
    if deep or c.get("logits"): d["step_logits"] = lg[: n + 1]
    # code predictor, frame 0: call k=0 is the 2-position prefill, k=1..14 single steps
    d["cp_f0_logits"] = torch.stack([H[f"lm{i}"][0][0, -1] for i in range(15)])
    d["cp_f0_mtp_out"] = torch.cat([x[0] for x in H["mtp_out"][:15]]); d["cp_f0_norm"] = torch.cat([x[0] for x in H["cp_norm"][:15]])
    if layers: d["cp_f0_in"] = torch.cat([x[0] for x in H["mtp_in"][:15]])
    if deep:
        for i in range(len(cp.model.layers)): d[f"cp_f0_layer{i}"] = torch.cat([x[0] for x in H[f"cp_layer{i}"][:15]])
        fl = n - 1
        d["cp_lastframe_logits"] = torch.stack([H[f"lm{i}"][fl][0, -1] for i in range(15)])
    for i, (t, ids) in enumerate(toks): d[f"prompt{i}_ids"] = ids[0]
    # decision margins (after processors would be applied): raw gaps
    K = tk.config.vocab_size - 1024; eos = tk.config.codec_eos_token_id
    sub = torch.cat([lg[:, :K], lg[:, eos:eos + 1]], 1).sort(-1, descending=True).values
    cpg = [float((s := x[0, -1].sort(descending=True).values)[0] - s[1]) for i in range(15) for x in H[f"lm{i}"]]
    d.update(extra)
    if wavs is not None:
        x = wavs[0]
        if c.get("wav"): d["wav"] = x
        meta_w = dict(wav_samples=int(len(x)), wav_rms=float(np.sqrt((x ** 2).mean())), wav_peak=float(abs(x).max()))
    else: meta_w = {}
    save(c["id"], d)
    meta[c["id"]] = dict(model=c["model"], text=text, speaker=c.get("speaker"), language=c["language"] or "Auto (None passed)", instruct=T.get(c.get("instruct") or "", None), ref_text=T.get(c.get("ref") or "", None),
        x_vector_only_mode=bool(c.get("xvec")) if c["kind"] == "base" else None, non_streaming_mode=c.get("ns", c["kind"] != "base"), max_new_tokens=c["T"] + 1, repetition_penalty=c.get("rp", 1.05), frames=int(n),
        stopped_by_eos=bool(cap["seq"][0, -1] == eos), prompts=[t for t, _ in toks], prefill_len=int(cap["embeds"].shape[1]), trailing_len=int(cap["trailing"].shape[1]),
        min_raw_gap_codec0=float((sub[:, 0] - sub[:, 1]).min()), min_gap_acoustic=min(cpg), unique_codec0=len(set(codes[:, 0].tolist())), **meta_w)
    print("   frames", n, "prefill", cap["embeds"].shape[1], "eos", meta[c["id"]]["stopped_by_eos"], "uniq c0", meta[c["id"]]["unique_codec0"], "gaps %.4f %.4f" % (meta[c["id"]]["min_raw_gap_codec0"], min(cpg)), meta_w, flush=True)
    return codes

def g_lm():
    only = os.environ.get("CASES"); cases = make_cases()
    if only: cases = [c for c in cases if any(c["id"].startswith(p) for p in only.split(","))]
    mp = os.path.join(OUT, "lm_cases.json")
    meta = json.load(open(mp)) if os.path.exists(mp) else {}
    cur, tts = None, None
    for c in cases:
        if c["model"] != cur: tts, cur = load_tts(c["model"]), c["model"]
        t0 = time.time(); print("==", c["id"], flush=True)
        run_case(tts, c, meta); print("   %.1fs" % (time.time() - t0), flush=True)
        json.dump(meta, open(mp, "w"), ensure_ascii=False, indent=1)

for g in GROUPS: print("#", g, flush=True); globals()["g_" + g]()
