package checkpoint

import (
	"fmt"
	"slices"
	"strings"
)

// qwen is the geometry of a Qwen3 decoder: the Talker and the CodePredictor.
type qwen struct {
	hidden, ffn, layers      int
	heads, kvHeads, headDim  int
	vocab, positions, groups int
	theta, eps               float32
}

func readQwen(c object) qwen {
	c.expect("hidden_act", `"silu"`)
	c.expect("attention_bias", "false")
	c.expect("use_sliding_window", "false")
	q := qwen{
		hidden: c.width("hidden_size"), ffn: c.width("intermediate_size"), layers: c.count("num_hidden_layers"),
		heads: c.count("num_attention_heads"), kvHeads: c.count("num_key_value_heads"), headDim: c.width("head_dim"),
		vocab: c.width("vocab_size"), positions: c.width("max_position_embeddings"), groups: c.count("num_code_groups"),
		theta: c.float("rope_theta"), eps: c.float("rms_norm_eps"),
	}
	if q.kvHeads > 0 && q.heads%q.kvHeads != 0 {
		c.failf("num_attention_heads", "%d is not a multiple of num_key_value_heads, %d", q.heads, q.kvHeads)
	}
	return q
}

// metadata stores the geometry under the prefix.
func (q qwen) metadata(m *model, prefix string) {
	m.setInt(prefix+".embedding_length", q.hidden)
	m.setInt(prefix+".feed_forward_length", q.ffn)
	m.setInt(prefix+".block_count", q.layers)
	m.setInt(prefix+".attention.head_count", q.heads)
	m.setInt(prefix+".attention.head_count_kv", q.kvHeads)
	m.setInt(prefix+".attention.key_length", q.headDim)
	m.setInt(prefix+".vocab_size", q.vocab)
	m.setInt(prefix+".context_length", q.positions)
	m.set(prefix+".rope.freq_base", q.theta)
	m.set(prefix+".attention.layer_norm_rms_epsilon", q.eps)
}

// blocks adds the decoder layers.
func (q qwen) blocks(l *layout, src, name string) {
	for i := range q.layers {
		src, name := fmt.Sprintf("%s.layers.%d.", src, i), fmt.Sprintf("%s.blk.%d.", name, i)
		l.add(src+"input_layernorm.weight", name+"attn_norm.weight", q.hidden)
		l.add(src+"self_attn.q_proj.weight", name+"attn_q.weight", q.heads*q.headDim, q.hidden)
		l.add(src+"self_attn.k_proj.weight", name+"attn_k.weight", q.kvHeads*q.headDim, q.hidden)
		l.add(src+"self_attn.v_proj.weight", name+"attn_v.weight", q.kvHeads*q.headDim, q.hidden)
		l.add(src+"self_attn.o_proj.weight", name+"attn_output.weight", q.hidden, q.heads*q.headDim)
		l.add(src+"self_attn.q_norm.weight", name+"attn_q_norm.weight", q.headDim)
		l.add(src+"self_attn.k_norm.weight", name+"attn_k_norm.weight", q.headDim)
		l.add(src+"post_attention_layernorm.weight", name+"ffn_norm.weight", q.hidden)
		l.add(src+"mlp.gate_proj.weight", name+"ffn_gate.weight", q.ffn, q.hidden)
		l.add(src+"mlp.up_proj.weight", name+"ffn_up.weight", q.ffn, q.hidden)
		l.add(src+"mlp.down_proj.weight", name+"ffn_down.weight", q.hidden, q.ffn)
	}
}

// talker is the configuration of a talker checkpoint.
type talker struct {
	qwen
	kind                  string // base, custom_voice or voice_design
	size                  string // 0.6b or 1.7b
	textVocab, textHidden int
	predictor             qwen
	speaker               *speaker // base only
}

// describeTalker reads the configuration of a talker checkpoint: Talker, CodePredictor and speaker encoder.
func describeTalker(c object) *model {
	const arch = "qwen3-tts"
	tc := c.object("talker_config")
	t := talker{
		qwen: readQwen(tc), kind: c.string("tts_model_type"), size: modelSize(c),
		textVocab: tc.width("text_vocab_size"), textHidden: tc.width("text_hidden_size"),
	}
	pc := tc.object("code_predictor_config")
	t.predictor = readQwen(pc)
	if t.predictor.groups != t.groups {
		pc.failf("num_code_groups", "%d, but the talker has %d", t.predictor.groups, t.groups)
	}
	title, ok := map[string]string{"base": "Base", "custom_voice": "CustomVoice", "voice_design": "VoiceDesign"}[t.kind]
	if !ok {
		c.failf("tts_model_type", "%q is not base, custom_voice or voice_design", t.kind)
	}
	if t.kind == "base" {
		t.speaker = readSpeaker(c.object("speaker_encoder_config"), t.hidden)
	}

	m := &model{textVocab: t.textVocab}
	m.set("general.architecture", arch)
	m.set("general.name", fmt.Sprintf("Qwen3-TTS-12Hz-%s-%s", strings.ToUpper(t.size), title))
	m.set(arch+".tokenizer_type", c.string("tokenizer_type"))
	m.set(arch+".model_size", t.size)
	m.set(arch+".model_type", t.kind)
	m.setInt(arch+".num_code_groups", t.groups)
	t.metadata(m, arch+".talker")
	m.setInt(arch+".talker.text_vocab_size", t.textVocab)
	m.setInt(arch+".talker.text_hidden_size", t.textHidden)
	m.setInt(arch+".talker.position_id_per_seconds", tc.count("position_id_per_seconds"))
	if tc.has("rope_scaling") {
		rope := tc.object("rope_scaling")
		m.setInts(arch+".talker.rope.mrope_section", rope.ints("mrope_section"))
		m.set(arch+".talker.mrope_interleaved", rope.has("interleaved") && rope.bool("interleaved"))
	}
	t.predictor.metadata(m, arch+".code_pred")
	if t.speaker != nil {
		m.setInt(arch+".spk_enc.embedding_length", t.speaker.embedding)
		m.setInt(arch+".spk_enc.sample_rate", t.speaker.sampleRate)
	}
	codecIDs(m, tc, arch+".codec.", t.vocab)
	for _, name := range []string{"im_start", "im_end", "tts_pad", "tts_bos", "tts_eos"} {
		field := name + "_token_id"
		id := c.int(field, 0, t.textVocab-1)
		m.setInt(arch+".text."+name+"_id", id)
		m.textIDs = append(m.textIDs, textID{field, id})
	}
	if *c.err == nil {
		t.layout(&m.layout)
	}
	return m
}

// modelSize is tts_model_size with a point: 1.7b for 1b7.
func modelSize(c object) string {
	s := c.string("tts_model_size")
	if whole, part, ok := strings.Cut(s, "b"); ok && part != "" {
		return whole + "." + part + "b"
	}
	return s
}

// codecIDs stores the ids within the codec vocabulary, and the tables of languages and speakers.
func codecIDs(m *model, tc object, prefix string, vocab int) {
	for _, f := range []struct{ key, field string }{
		{"pad_id", "codec_pad_id"}, {"bos_id", "codec_bos_id"}, {"eos_id", "codec_eos_token_id"},
		{"think_id", "codec_think_id"}, {"nothink_id", "codec_nothink_id"},
		{"think_bos_id", "codec_think_bos_id"}, {"think_eos_id", "codec_think_eos_id"},
	} {
		m.setInt(prefix+f.key, tc.int(f.field, 0, vocab-1))
	}
	languages := tc.object("codec_language_id")
	m.set(prefix+"language_names", slices.Clone(languages.names))
	m.setInts(prefix+"language_ids", ids(languages, vocab))
	if !tc.has("spk_id") {
		return
	}
	speakers := tc.object("spk_id")
	if len(speakers.names) == 0 {
		return
	}
	m.set(prefix+"speaker_names", slices.Clone(speakers.names))
	m.setInts(prefix+"speaker_ids", ids(speakers, vocab))
	m.set(prefix+"speaker_dialects", dialects(tc, speakers.names, languages))
}

// ids are the values of a table from names to codec ids.
func ids(table object, vocab int) []int {
	list := make([]int, len(table.names))
	for i, name := range table.names {
		list[i] = table.int(name, 0, vocab-1)
	}
	return list
}

// dialects are the speakers' dialects, "" for those who have none. A dialect is one of the languages.
func dialects(tc object, speakers []string, languages object) []string {
	list := make([]string, len(speakers))
	if !tc.has("spk_is_dialect") {
		return list
	}
	table := tc.object("spk_is_dialect")
	for i, speaker := range speakers {
		if raw, ok := table.values[speaker]; !ok || string(raw) == "false" || string(raw) == "null" {
			continue
		}
		list[i] = table.string(speaker)
		if !languages.has(list[i]) {
			table.failf(speaker, "%q is not in codec_language_id", list[i])
		}
	}
	return list
}

// layout lists the tensors.
func (t *talker) layout(l *layout) {
	l.add("talker.model.text_embedding.weight", "talker.text_embd.weight", t.textVocab, t.textHidden)
	l.add("talker.model.codec_embedding.weight", "talker.codec_embd.weight", t.vocab, t.hidden)
	l.linear("talker.text_projection.linear_fc1", "talker.text_proj.fc1", t.textHidden, t.textHidden)
	l.linear("talker.text_projection.linear_fc2", "talker.text_proj.fc2", t.hidden, t.textHidden)
	t.blocks(l, "talker.model", "talker")
	l.add("talker.model.norm.weight", "talker.output_norm.weight", t.hidden)
	l.add("talker.codec_head.weight", "talker.codec_head.weight", t.vocab, t.hidden)

	const src = "talker.code_predictor"
	p := t.predictor
	if p.hidden != t.hidden { // otherwise the predictor reads the talker's vectors as they are
		l.linear(src+".small_to_mtp_projection", "code_pred.mtp_proj", p.hidden, t.hidden)
	}
	p.blocks(l, src+".model", "code_pred")
	l.add(src+".model.norm.weight", "code_pred.output_norm.weight", p.hidden)
	for g := range t.groups - 1 { // codebook 0 is the talker's
		l.add(fmt.Sprintf("%s.model.codec_embedding.%d.weight", src, g), fmt.Sprintf("code_pred.codec_embd.%d.weight", g), p.vocab, t.hidden)
	}
	for g := range t.groups - 1 {
		l.add(fmt.Sprintf("%s.lm_head.%d.weight", src, g), fmt.Sprintf("code_pred.lm_head.%d.weight", g), p.vocab, p.hidden)
	}
	if t.speaker != nil {
		t.speaker.layout(l)
	}
}
