package checkpoint

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// realShapes are the names and shapes of the state dicts of the official classes at the published sizes.
func realShapes(t *testing.T, model string) map[string][]int64 {
	data, err := os.ReadFile("../../tests/golden/data/real_tensor_shapes.json")
	require.NoError(t, err)
	var all map[string]map[string][]int64
	require.NoError(t, json.Unmarshal(data, &all))
	require.Contains(t, all, model)
	return all[model]
}

const (
	talkerFile = "config-talker-1b7.json"
	codecFile  = "config-tokenizer-12hz.json"
)

var small = map[string]any{
	"tts_model_size": "0b6", "talker_config.hidden_size": 1024, "talker_config.intermediate_size": 3072,
	"speaker_encoder_config.enc_dim": 1024,
}

func with(changes map[string]any, key string, value any) map[string]any {
	out := maps.Clone(changes)
	if out == nil {
		out = map[string]any{}
	}
	out[key] = value
	return out
}

// The layouts must agree with the official state dicts, tensor by tensor.
func TestRealShapes(t *testing.T) {
	for _, c := range []struct {
		shapes, file string
		changes      map[string]any
		tensors      int
	}{
		{"1b7-custom_voice", talkerFile, nil, 404},
		{"1b7-custom_voice", talkerFile, map[string]any{"tts_model_type": "voice_design", "talker_config.spk_id": map[string]int{}}, 404},
		{"1b7-base", talkerFile, map[string]any{"tts_model_type": "base"}, 480},
		{"0b6-custom_voice", talkerFile, small, 402},
		{"0b6-base", talkerFile, with(small, "tts_model_type", "base"), 478},
		{"tokenizer-12hz", codecFile, nil, 398},
	} {
		m, err := describe(readConfig(t, c.file, c.changes))
		require.NoError(t, err, c.shapes)
		require.NoError(t, m.match(realShapes(t, c.shapes)), c.shapes)
		assert.Len(t, m.weights, c.tensors, c.shapes)

		names := map[string]bool{}
		for _, w := range m.weights {
			assert.False(t, names[w.name], "%s twice", w.name)
			names[w.name] = true
		}
	}
}

// What is unused must be unused for a reason.
func TestUnused(t *testing.T) {
	m, err := describe(readConfig(t, codecFile, nil))
	require.NoError(t, err)
	shapes := realShapes(t, "tokenizer-12hz")
	for name := range m.unused {
		delete(shapes, name)
	}
	assert.Equal(t, 496-16*2-32-2, len(shapes), "16 codebooks of sum and usage, 32 flags, 2 projections")
	m, err = describe(readConfig(t, talkerFile, nil))
	require.NoError(t, err)
	assert.Empty(t, m.unused)
}

// A sample of names, as GGUF files of this family have them.
func TestNames(t *testing.T) {
	names := map[string]string{}
	for _, c := range []struct {
		file    string
		changes map[string]any
	}{{talkerFile, map[string]any{"tts_model_type": "base"}}, {codecFile, nil}} {
		m, err := describe(readConfig(t, c.file, c.changes))
		require.NoError(t, err)
		for _, w := range m.weights {
			names[w.src] = w.name
		}
	}
	for src, want := range map[string]string{
		"talker.model.text_embedding.weight":                                                "talker.text_embd.weight",
		"talker.text_projection.linear_fc2.bias":                                            "talker.text_proj.fc2.bias",
		"talker.model.layers.27.self_attn.o_proj.weight":                                    "talker.blk.27.attn_output.weight",
		"talker.model.layers.3.post_attention_layernorm.weight":                             "talker.blk.3.ffn_norm.weight",
		"talker.code_predictor.model.layers.4.self_attn.k_norm.weight":                      "code_pred.blk.4.attn_k_norm.weight",
		"talker.code_predictor.model.codec_embedding.14.weight":                             "code_pred.codec_embd.14.weight",
		"talker.code_predictor.lm_head.0.weight":                                            "code_pred.lm_head.0.weight",
		"talker.code_predictor.small_to_mtp_projection.bias":                                "code_pred.mtp_proj.bias",
		"speaker_encoder.blocks.0.conv.weight":                                              "spk_enc.conv0.weight",
		"speaker_encoder.blocks.2.res2net_block.blocks.6.conv.bias":                         "spk_enc.blk.2.res2net.6.bias",
		"speaker_encoder.blocks.3.se_block.conv2.weight":                                    "spk_enc.blk.3.se.conv2.weight",
		"speaker_encoder.asp.tdnn.conv.weight":                                              "spk_enc.asp.tdnn.weight",
		"speaker_encoder.fc.bias":                                                           "spk_enc.fc.bias",
		"encoder.encoder.layers.14.conv.weight":                                             "tok_enc.conv.14.weight",
		"encoder.encoder.layers.10.block.3.conv.bias":                                       "tok_enc.res.10.blk.3.bias",
		"encoder.encoder_transformer.layers.7.mlp.fc2.weight":                               "tok_enc.blk.7.ffn_down.weight",
		"encoder.encoder_transformer.layers.0.mlp_layer_scale.scale":                        "tok_enc.blk.0.ffn_scale",
		"encoder.downsample.conv.weight":                                                    "tok_enc.downsample.weight",
		"encoder.quantizer.acoustic_residual_vector_quantizer.layers.14.codebook.embed_sum": "tok_enc.vq_acoustic.14.codebook",
		"encoder.quantizer.semantic_residual_vector_quantizer.output_proj.weight":           "tok_enc.vq_semantic.output_proj.weight",
		"decoder.quantizer.rvq_first.vq.layers.0._codebook.embedding_sum":                   "tok_dec.vq_first.0.codebook",
		"decoder.pre_transformer.layers.7.self_attn_layer_scale.scale":                      "tok_dec.pre_tfm.blk.7.attn_scale",
		"decoder.upsample.1.1.pwconv1.bias":                                                 "tok_dec.upsample.1.pwconv1.bias",
		"decoder.upsample.0.0.conv.weight":                                                  "tok_dec.upsample.0.conv.weight",
		"decoder.decoder.4.block.4.act2.beta":                                               "tok_dec.dec.4.res.2.act2.beta",
		"decoder.decoder.1.block.1.conv.weight":                                             "tok_dec.dec.1.conv_t.weight",
		"decoder.decoder.5.alpha":                                                           "tok_dec.dec.5.snake.alpha",
		"decoder.decoder.6.conv.bias":                                                       "tok_dec.dec.6.conv.bias",
	} {
		assert.Equal(t, want, names[src], src)
	}
	assert.NotContains(t, names, "encoder.quantizer.acoustic_residual_vector_quantizer.layers.15.codebook.embed_sum")
	assert.NotContains(t, names, "decoder.quantizer.rvq_rest.input_proj.weight")
}

func TestMatchNamesTheCulprit(t *testing.T) {
	m, err := describe(readConfig(t, talkerFile, nil))
	require.NoError(t, err)
	const norm = "talker.model.norm.weight"
	for want, break_ := range map[string]func(map[string][]int64){
		norm + ": missing, needed for talker.output_norm.weight":                   func(s map[string][]int64) { delete(s, norm) },
		norm + ": shape [1024], but [2048] expected for talker.output_norm.weight": func(s map[string][]int64) { s[norm] = []int64{1024} },
		norm + ": shape [2048 1], but [2048] expected":                             func(s map[string][]int64) { s[norm] = []int64{2048, 1} },
		"talker.extra: surplus, no part of this model":                             func(s map[string][]int64) { s["talker.extra"] = []int64{1} },
		"surplus, no part of this model; and 2 more": func(s map[string][]int64) {
			for _, n := range strings.Fields("a b c d e") {
				s[n] = nil
			}
		},
	} {
		shapes := realShapes(t, "1b7-custom_voice")
		break_(shapes)
		err := m.match(shapes)
		assert.ErrorIs(t, err, ErrInput)
		assert.ErrorContains(t, err, want)
	}
	c, err := describe(readConfig(t, codecFile, nil))
	require.NoError(t, err)
	const usage = "decoder.quantizer.rvq_first.vq.layers.0._codebook.cluster_usage"
	shapes := realShapes(t, "tokenizer-12hz")
	shapes[usage] = []int64{2047}
	assert.ErrorContains(t, c.match(shapes), usage+": shape [2047], but [2048] expected for tok_dec.vq_first.0.codebook")
}

// Wrong configurations name the field with its path.
func TestConfigErrors(t *testing.T) {
	for _, c := range []struct {
		file, path string
		value      any
		want       string
	}{
		{talkerFile, "model_type", "llama", `model_type: "llama" is not a Qwen3-TTS model`},
		{talkerFile, "model_type", 7, "model_type: a string expected, but it is 7"},
		{talkerFile, "model_type", "qwen3_tts_tokenizer_25hz", "25 Hz tokenizer is not supported"},
		{talkerFile, "talker_config", nil, "talker_config: missing"},
		{talkerFile, "talker_config", []int{1}, "talker_config: not a JSON object"},
		{talkerFile, "talker_config.hidden_size", nil, "talker_config.hidden_size: missing"},
		{talkerFile, "talker_config.hidden_size", "big", `talker_config.hidden_size: an integer expected, but it is "big"`},
		{talkerFile, "talker_config.hidden_size", 0, "talker_config.hidden_size: 0 is not within 1..16777216"},
		{talkerFile, "talker_config.hidden_size", 1e300, "talker_config.hidden_size: an integer expected, but it is 1e+300"},
		{talkerFile, "talker_config.hidden_size", 10.5, "an integer expected, but it is 10.5"},
		{talkerFile, "talker_config.num_hidden_layers", 1000000000, "talker_config.num_hidden_layers: 1000000000 is not within 1..1024"},
		{talkerFile, "talker_config.num_hidden_layers", -1, "talker_config.num_hidden_layers: -1 is not within"},
		{talkerFile, "talker_config.num_key_value_heads", 3, "talker_config.num_attention_heads: 16 is not a multiple of num_key_value_heads, 3"},
		{talkerFile, "talker_config.hidden_act", "gelu", `talker_config.hidden_act: "gelu" is not supported`},
		{talkerFile, "talker_config.attention_bias", true, "talker_config.attention_bias: true is not supported"},
		{talkerFile, "talker_config.rope_theta", "x", "talker_config.rope_theta: a number expected"},
		{talkerFile, "talker_config.rope_theta", 1e99, "talker_config.rope_theta: a number expected, but it is 1e+99"},
		{talkerFile, "talker_config.rope_scaling.mrope_section", "x", "talker_config.rope_scaling.mrope_section: an array of integers expected"},
		{talkerFile, "talker_config.rope_scaling.mrope_section", []any{1, "x"}, "talker_config.rope_scaling.mrope_section: an array of integers expected"},
		{talkerFile, "talker_config.rope_scaling.mrope_section", []any{24, -1}, "mrope_section[1]: -1 is not within"},
		{talkerFile, "talker_config.code_predictor_config.vocab_size", nil, "talker_config.code_predictor_config.vocab_size: missing"},
		{talkerFile, "talker_config.code_predictor_config.num_code_groups", 8, "code_predictor_config.num_code_groups: 8, but the talker has 16"},
		{talkerFile, "talker_config.codec_pad_id", 3072, "talker_config.codec_pad_id: 3072 is not within 0..3071"},
		{talkerFile, "talker_config.codec_language_id.chinese", -1, "talker_config.codec_language_id.chinese: -1 is not within"},
		{talkerFile, "talker_config.spk_id.vivian", 4000, "talker_config.spk_id.vivian: 4000 is not within"},
		{talkerFile, "talker_config.spk_is_dialect.eric", "klingon", `talker_config.spk_is_dialect.eric: "klingon" is not in codec_language_id`},
		{talkerFile, "talker_config.spk_is_dialect.eric", true, "talker_config.spk_is_dialect.eric: a string expected, but it is true"},
		{talkerFile, "tts_model_type", "clone", `tts_model_type: "clone" is not base, custom_voice or voice_design`},
		{talkerFile, "tts_pad_token_id", 151936, "tts_pad_token_id: 151936 is not within 0..151935"},
		{codecFile, "encoder_valid_num_quantizers", 33, "encoder_valid_num_quantizers: 33 is not within 2..32"},
		{codecFile, "decoder_config.num_semantic_quantizers", 16, "decoder_config.num_semantic_quantizers: 16 of 16"},
		{codecFile, "encoder_config.use_conv_shortcut", true, "encoder_config.use_conv_shortcut: true is not supported"},
		{codecFile, "decoder_config.upsample_rates", []int{8, 5, 4, 100000}, "decoder_config.upsample_rates: [8 5 4 100000] is out of range"},
		{codecFile, "encoder_config.upsampling_ratios", []int{2, 2, 2, 2, 2, 2, 2, 2, 2}, "encoder_config.upsampling_ratios"},
		{codecFile, "decoder_config.layer_scale_initial_scale", []int{}, "decoder_config.layer_scale_initial_scale: a number expected, but it is []"},
	} {
		_, err := describe(readConfig(t, c.file, map[string]any{c.path: c.value}))
		assert.ErrorIs(t, err, ErrInput, c.path)
		assert.ErrorContains(t, err, "config.json: ", c.path)
		assert.ErrorContains(t, err, c.want)
	}
	for path, c := range map[string]struct {
		value any
		want  string
	}{
		"enc_dim":           {1024, "speaker_encoder_config.enc_dim: 1024, but the talker's width is 2048"},
		"enc_res2net_scale": {7, "speaker_encoder_config.enc_res2net_scale: 7 does not split 512 channels"},
		"enc_channels":      {[]int{1, 2}, "speaker_encoder_config.enc_channels: 2 elements, 5 expected"},
		"enc_dilations":     {[]int{1, 2, 4, 8, 1}, "speaker_encoder_config.enc_dilations: only [1 2 3 4 1] is supported"},
	} {
		_, err := describe(readConfig(t, talkerFile, map[string]any{"tts_model_type": "base", "speaker_encoder_config." + path: c.value}))
		assert.ErrorContains(t, err, c.want)
	}
	_, err := describe(readConfig(t, talkerFile, map[string]any{"tts_model_type": "base", "speaker_encoder_config": nil}))
	assert.ErrorContains(t, err, "config.json: speaker_encoder_config: missing")
}

func TestModelTypeFromArchitectures(t *testing.T) {
	m, err := describe(readConfig(t, codecFile, map[string]any{"model_type": nil}))
	require.NoError(t, err)
	assert.Len(t, m.weights, 398)
	_, err = describe(readConfig(t, codecFile, map[string]any{"model_type": nil, "architectures": nil}))
	assert.ErrorContains(t, err, "model_type: missing")
	_, err = describe(readConfig(t, codecFile, map[string]any{"model_type": nil, "architectures": []string{"LlamaForCausalLM"}}))
	assert.ErrorContains(t, err, `"LlamaForCausalLM" is not a Qwen3-TTS model`)
}

// A description must not have keys twice, and only keys of the known namespaces.
func TestMetadataKeys(t *testing.T) {
	known := regexp.MustCompile(`^(general|qwen3-tts|qwen3-tts-tokenizer|generation|tokenizer)\.[a-z0-9_.]+$`)
	for _, file := range []string{talkerFile, codecFile} {
		m, err := describe(readConfig(t, file, nil))
		require.NoError(t, err)
		seen := map[string]bool{}
		for _, e := range m.metadata {
			assert.False(t, seen[e.Key], e.Key)
			assert.Regexp(t, known, e.Key)
			seen[e.Key] = true
		}
	}
}

func TestModelSize(t *testing.T) {
	for in, want := range map[string]string{"0b6": "0.6b", "1b7": "1.7b", "0.6b": "0.6b", "25hz": "25hz", "7b": "7b"} {
		assert.Equal(t, want, modelSize(readConfig(t, talkerFile, map[string]any{"tts_model_size": in})))
	}
}
