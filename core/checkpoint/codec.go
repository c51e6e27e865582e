package checkpoint

import (
	"fmt"
	"slices"
)

// codec is the configuration of the 12 Hz speech tokenizer.
type codec struct {
	valid int // codebooks in use, of those that the encoder has
	enc   codecEncoder
	dec   codecDecoder
}

// transformer is the geometry of the encoder's or the decoder's transformer.
type transformer struct {
	hidden, ffn, layers     int
	heads, kvHeads, headDim int
	eps, theta, scale       float32
}

// rvq is the geometry of the residual vector quantisers.
type rvq struct {
	size, dim, proj    int
	quantizers, coarse int // all, and the semantic ones among them
}

// codecEncoder is the geometry of the encoder: SEANet, transformer, downsampling convolution and quantisers.
type codecEncoder struct {
	transformer
	rvq
	filters, kernel, lastKernel, resKernel int
	resLayers, compress, growth            int
	ratios                                 []int // of the decoder; the encoder's are the reverse
}

// codecDecoder is the geometry of the decoder: quantisers, transformer, ConvNeXt upsampling and DAC chain.
type codecDecoder struct {
	transformer
	rvq
	latent, width int
	rates, ratios []int
	window        int
}

// downsampleKernel is the kernel of the convolution that halves the encoder's frame rate, for a stride of 2.
const downsampleKernel = 4

func readTransformer(c object, eps string) transformer {
	c.expect("attention_bias", "false")
	return transformer{
		hidden: c.width("hidden_size"), ffn: c.width("intermediate_size"), layers: c.count("num_hidden_layers"),
		heads: c.count("num_attention_heads"), kvHeads: c.count("num_key_value_heads"), headDim: c.width("head_dim"),
		eps: c.float(eps), theta: c.float("rope_theta"), scale: c.float("layer_scale_initial_scale"),
	}
}

func readRVQ(c object) rvq {
	q := rvq{
		size: c.width("codebook_size"), dim: c.width("codebook_dim"), proj: c.width("vector_quantization_hidden_dimension"),
		quantizers: c.count("num_quantizers"), coarse: c.count("num_semantic_quantizers"),
	}
	if q.coarse >= q.quantizers {
		c.failf("num_semantic_quantizers", "%d of %d", q.coarse, q.quantizers)
	}
	return q
}

func readCodecEncoder(c object) codecEncoder {
	c.expect("hidden_act", `"gelu"`)
	c.expect("audio_channels", "1")
	c.expect("use_causal_conv", "true")
	c.expect("use_conv_shortcut", "false")
	c.expect("pad_mode", `"constant"`)
	e := codecEncoder{
		transformer: readTransformer(c, "norm_eps"), rvq: readRVQ(c),
		filters: c.width("num_filters"), kernel: c.count("kernel_size"), lastKernel: c.count("last_kernel_size"),
		resKernel: c.count("residual_kernel_size"), resLayers: c.count("num_residual_layers"), compress: c.count("compress"),
		growth: c.count("dilation_growth_rate"), ratios: c.ints("upsampling_ratios"),
	}
	checkSteps(c, "upsampling_ratios", e.ratios)
	return e
}

func readCodecDecoder(c object) codecDecoder {
	c.expect("hidden_act", `"silu"`)
	d := codecDecoder{
		transformer: readTransformer(c, "rms_norm_eps"), rvq: readRVQ(c),
		latent: c.width("latent_dim"), width: c.width("decoder_dim"), window: c.width("sliding_window"),
		rates: c.ints("upsample_rates"), ratios: c.ints("upsampling_ratios"),
	}
	checkSteps(c, "upsample_rates", d.rates)
	checkSteps(c, "upsampling_ratios", d.ratios)
	return d
}

// checkSteps bounds the stages of up- or downsampling, each of which doubles or halves a width.
func checkSteps(c object, field string, steps []int) {
	if len(steps) > 8 || slices.ContainsFunc(steps, func(n int) bool { return n > maxCount }) {
		c.failf(field, "%v is out of range", steps)
	}
}

// CodecArchitecture is general.architecture of a speech tokenizer.
const CodecArchitecture = "qwen3-tts-tokenizer"

// describeCodec reads the configuration of a speech tokenizer.
func describeCodec(c object) *model {
	const arch = CodecArchitecture
	k := codec{valid: c.count("encoder_valid_num_quantizers"), enc: readCodecEncoder(c.object("encoder_config")), dec: readCodecDecoder(c.object("decoder_config"))}
	if k.valid <= k.enc.coarse || k.valid > k.enc.quantizers {
		c.failf("encoder_valid_num_quantizers", "%d is not within %d..%d", k.valid, k.enc.coarse+1, k.enc.quantizers)
	}
	m := &model{}
	m.set("general.architecture", arch)
	m.set("general.name", "Qwen3-TTS-Tokenizer-12Hz")
	for _, field := range []string{"input_sample_rate", "output_sample_rate", "decode_upsample_rate", "encode_downsample_rate"} {
		m.setInt(arch+"."+field, c.width(field))
	}
	m.setInt(arch+".encoder_valid_num_quantizers", k.valid)
	k.dec.metadata(m, arch+".decoder.")
	k.enc.metadata(m, arch+".encoder.", k.valid)
	if *c.err == nil {
		k.encoder(&m.layout)
		k.decoder(&m.layout)
	}
	return m
}

// metadata stores the geometry; eps is the name that the model gives it.
func (t transformer) metadata(m *model, prefix, eps string) {
	m.setInt(prefix+"hidden_size", t.hidden)
	m.setInt(prefix+"intermediate_size", t.ffn)
	m.setInt(prefix+"num_hidden_layers", t.layers)
	m.setInt(prefix+"num_attention_heads", t.heads)
	m.setInt(prefix+"num_key_value_heads", t.kvHeads)
	m.setInt(prefix+"head_dim", t.headDim)
	m.set(prefix+eps, t.eps)
	m.set(prefix+"rope_theta", t.theta)
	m.set(prefix+"layer_scale_initial_scale", t.scale)
}

// metadata stores the geometry of the quantizers codebooks that are in the file.
func (q rvq) metadata(m *model, prefix string, quantizers int) {
	m.setInt(prefix+"codebook_size", q.size)
	m.setInt(prefix+"codebook_dim", q.dim)
	m.setInt(prefix+"num_quantizers", quantizers)
	m.setInt(prefix+"num_semantic_quantizers", q.coarse)
	m.setInt(prefix+"vector_quantization_hidden_dim", q.proj)
}

func (e codecEncoder) metadata(m *model, prefix string, valid int) {
	e.transformer.metadata(m, prefix, "norm_eps")
	e.rvq.metadata(m, prefix, valid)
	m.setInt(prefix+"num_filters", e.filters)
	m.setInt(prefix+"kernel_size", e.kernel)
	m.setInt(prefix+"last_kernel_size", e.lastKernel)
	m.setInt(prefix+"residual_kernel_size", e.resKernel)
	m.setInt(prefix+"num_residual_layers", e.resLayers)
	m.setInt(prefix+"dilation_growth_rate", e.growth)
	m.setInt(prefix+"compress", e.compress)
	m.setInts(prefix+"upsampling_ratios", e.ratios)
}

// inner is the length of the decoder's codebook vectors.
func (d codecDecoder) inner() int { return d.dim / 2 }

func (d codecDecoder) metadata(m *model, prefix string) {
	d.transformer.metadata(m, prefix, "rms_norm_eps")
	d.rvq.metadata(m, prefix, d.quantizers)
	m.setInt(prefix+"codebook_dim_internal", d.inner())
	m.setInt(prefix+"latent_dim", d.latent)
	m.setInt(prefix+"decoder_dim", d.width)
	m.setInt(prefix+"sliding_window", d.window)
	m.setInts(prefix+"upsample_rates", d.rates)
	m.setInts(prefix+"upsampling_ratios", d.ratios)
}

// encoder lists the encoder's tensors.
func (k *codec) encoder(l *layout) {
	e := k.enc
	e.seanet(l)
	for i := range e.layers {
		src, name := fmt.Sprintf("encoder.encoder_transformer.layers.%d.", i), fmt.Sprintf("tok_enc.blk.%d.", i)
		l.affine(src+"input_layernorm", name+"attn_norm", e.hidden, e.hidden)
		l.affine(src+"post_attention_layernorm", name+"ffn_norm", e.hidden, e.hidden)
		e.attention(l, src, name)
		l.add(src+"mlp.fc1.weight", name+"ffn_up.weight", e.ffn, e.hidden)
		l.add(src+"mlp.fc2.weight", name+"ffn_down.weight", e.hidden, e.ffn)
		e.scales(l, src, name)
	}
	l.add("encoder.downsample.conv.weight", "tok_enc.downsample.weight", e.hidden, e.hidden, downsampleKernel)
	l.skip("encoder.downsample.conv.bias")
	k.encoderRVQ(l, "semantic", e.coarse, e.coarse)
	k.encoderRVQ(l, "acoustic", k.valid-e.coarse, e.quantizers-e.coarse)
}

// seanet lists the encoder's convolutions. The numbers are those of the reference's module list, in which each
// activation counts too.
func (e codecEncoder) seanet(l *layout) {
	const src = "encoder.encoder.layers"
	conv := func(i, out, in, kernel int) {
		l.conv(fmt.Sprintf("%s.%d.conv", src, i), fmt.Sprintf("tok_enc.conv.%d", i), out, in, kernel)
	}
	conv(0, e.filters, 1, e.kernel)
	at, channels := 1, e.filters
	for _, ratio := range slices.Backward(e.ratios) {
		for range e.resLayers {
			src, name := fmt.Sprintf("%s.%d.block.", src, at), fmt.Sprintf("tok_enc.res.%d.blk.", at)
			l.conv(src+"1.conv", name+"1", channels/e.compress, channels, e.resKernel)
			l.conv(src+"3.conv", name+"3", channels, channels/e.compress, 1)
			at++
		}
		conv(at+1, 2*channels, channels, 2*ratio)
		at, channels = at+2, 2*channels
	}
	conv(at+1, e.hidden, channels, e.lastKernel)
}

// attention lists the projections of a layer.
func (t transformer) attention(l *layout, src, name string) {
	l.add(src+"self_attn.q_proj.weight", name+"attn_q.weight", t.heads*t.headDim, t.hidden)
	l.add(src+"self_attn.k_proj.weight", name+"attn_k.weight", t.kvHeads*t.headDim, t.hidden)
	l.add(src+"self_attn.v_proj.weight", name+"attn_v.weight", t.kvHeads*t.headDim, t.hidden)
	l.add(src+"self_attn.o_proj.weight", name+"attn_output.weight", t.hidden, t.heads*t.headDim)
}

// scales lists the LayerScale factors of a layer.
func (t transformer) scales(l *layout, src, name string) {
	l.add(src+"self_attn_layer_scale.scale", name+"attn_scale", t.hidden)
	l.add(src+"mlp_layer_scale.scale", name+"ffn_scale", t.hidden)
}

// encoderRVQ lists one of the encoder's two quantisers: used codebooks of all that the checkpoint has.
func (k *codec) encoderRVQ(l *layout, side string, used, all int) {
	e := k.enc
	src, name := "encoder.quantizer."+side+"_residual_vector_quantizer.", "tok_enc.vq_"+side+"."
	l.add(src+"input_proj.weight", name+"input_proj.weight", e.proj, e.hidden, 1)
	l.add(src+"output_proj.weight", name+"output_proj.weight", e.hidden, e.proj, 1)
	for n := range all {
		book := fmt.Sprintf("%slayers.%d.codebook", src, n)
		l.skip(book + ".initialized") // only training asks
		if n < used {
			l.codebook(book, "embed_sum", fmt.Sprintf("%s%d", name, n), e.size, e.dim)
		} else {
			l.skip(book+".embed_sum", book+".cluster_usage")
		}
	}
}

// decoder lists the decoder's tensors.
func (k *codec) decoder(l *layout) {
	d := k.dec
	d.quantisers(l, "first", d.coarse)
	d.quantisers(l, "rest", d.quantizers-d.coarse)
	l.conv("decoder.pre_conv.conv", "tok_dec.pre_conv", d.latent, d.dim, 3)
	d.preTransformer(l)
	for i := range d.ratios {
		d.convNeXt(l, i)
	}
	d.dac(l)
}

// quantisers lists one of the decoder's two quantisers. It only looks up, so its input projection is not needed.
func (d codecDecoder) quantisers(l *layout, side string, n int) {
	src, name := "decoder.quantizer.rvq_"+side+".", "tok_dec.vq_"+side+"."
	l.skip(src + "input_proj.weight")
	l.add(src+"output_proj.weight", name+"output_proj.weight", d.dim, d.inner(), 1)
	for i := range n {
		book := fmt.Sprintf("%svq.layers.%d._codebook", src, i)
		l.codebook(book, "embedding_sum", fmt.Sprintf("%s%d", name, i), d.size, d.inner())
		l.skip(book + ".initialized")
	}
}

func (d codecDecoder) preTransformer(l *layout) {
	const src, name = "decoder.pre_transformer.", "tok_dec.pre_tfm."
	l.linear(src+"input_proj", name+"input_proj", d.hidden, d.latent)
	for i := range d.layers {
		src, name := fmt.Sprintf("%slayers.%d.", src, i), fmt.Sprintf("%sblk.%d.", name, i)
		l.add(src+"input_layernorm.weight", name+"attn_norm.weight", d.hidden)
		l.add(src+"post_attention_layernorm.weight", name+"ffn_norm.weight", d.hidden)
		d.attention(l, src, name)
		l.add(src+"mlp.gate_proj.weight", name+"ffn_gate.weight", d.ffn, d.hidden)
		l.add(src+"mlp.up_proj.weight", name+"ffn_up.weight", d.ffn, d.hidden)
		l.add(src+"mlp.down_proj.weight", name+"ffn_down.weight", d.hidden, d.ffn)
		d.scales(l, src, name)
	}
	l.add(src+"norm.weight", name+"norm.weight", d.hidden)
	l.linear(src+"output_proj", name+"output_proj", d.latent, d.hidden)
}

// convNeXt lists upsampling stage i: a transposed convolution without overlap and a ConvNeXt block.
func (d codecDecoder) convNeXt(l *layout, i int) {
	src, name, c := fmt.Sprintf("decoder.upsample.%d.", i), fmt.Sprintf("tok_dec.upsample.%d.", i), d.latent
	l.convTranspose(src+"0.conv", name+"conv", c, c, d.ratios[i])
	l.conv(src+"1.dwconv.conv", name+"dwconv", c, 1, 7) // depthwise
	l.affine(src+"1.norm", name+"norm", c, c)
	l.linear(src+"1.pwconv1", name+"pwconv1", 4*c, c)
	l.linear(src+"1.pwconv2", name+"pwconv2", c, 4*c)
	l.add(src+"1.gamma", name+"gamma", c)
}

// dac lists the chain from latent vectors to samples: each stage halves the channels and multiplies the rate.
func (d codecDecoder) dac(l *layout) {
	snake := func(src, name string, channels int) {
		l.add(src+".alpha", name+".alpha", channels)
		l.add(src+".beta", name+".beta", channels)
	}
	l.conv("decoder.decoder.0.conv", "tok_dec.dec.0.conv", d.width, d.latent, 7)
	channels := d.width
	for i, rate := range d.rates {
		src, name := fmt.Sprintf("decoder.decoder.%d.block.", i+1), fmt.Sprintf("tok_dec.dec.%d.", i+1)
		snake(src+"0", name+"snake", channels)
		l.convTranspose(src+"1.conv", name+"conv_t", channels, channels/2, 2*rate)
		channels /= 2
		for r := range 3 { // dilations 1, 3 and 9
			src, name := fmt.Sprintf("%s%d.", src, r+2), fmt.Sprintf("%sres.%d.", name, r)
			snake(src+"act1", name+"act1", channels)
			l.conv(src+"conv1.conv", name+"conv1", channels, channels, 7)
			snake(src+"act2", name+"act2", channels)
			l.conv(src+"conv2.conv", name+"conv2", channels, channels, 1)
		}
	}
	n := len(d.rates)
	snake(fmt.Sprintf("decoder.decoder.%d", n+1), fmt.Sprintf("tok_dec.dec.%d.snake", n+1), channels)
	l.conv(fmt.Sprintf("decoder.decoder.%d.conv", n+2), fmt.Sprintf("tok_dec.dec.%d.conv", n+2), 1, channels, 7)
}
