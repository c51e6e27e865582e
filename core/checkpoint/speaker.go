package checkpoint

import (
	"fmt"
	"slices"
)

// speaker is the geometry of the speaker encoder, an ECAPA-TDNN.
type speaker struct {
	embedding, sampleRate int
	mel                   int
	channels, kernels     []int // of the stem, the SE-Res2Net blocks and the aggregation
	scale                 int   // Res2Net: how many parts a block's channels are split into
	attention, squeeze    int
}

// readSpeaker reads speaker_encoder_config. Published files give only the embedding width and the sample rate; the
// rest then has the defaults of the reference implementation.
func readSpeaker(c object, talkerHidden int) *speaker {
	width := func(field string, def int) int {
		if !c.has(field) {
			return def
		}
		return c.width(field)
	}
	list := func(field string, def ...int) []int {
		if !c.has(field) {
			return def
		}
		got := c.ints(field)
		if len(got) != len(def) {
			c.failf(field, "%d elements, %d expected", len(got), len(def))
			return def
		}
		return got
	}
	s := &speaker{
		embedding: c.width("enc_dim"), sampleRate: width("sample_rate", 24000), mel: width("mel_dim", 128),
		channels: list("enc_channels", 512, 512, 512, 512, 1536), kernels: list("enc_kernel_sizes", 5, 3, 3, 3, 1),
		scale: width("enc_res2net_scale", 8), attention: width("enc_attention_channels", 128), squeeze: width("enc_se_channels", 128),
	}
	// The GGUF layout has no room for other dilations than these.
	if want := []int{1, 2, 3, 4, 1}; !slices.Equal(list("enc_dilations", want...), want) {
		c.failf("enc_dilations", "only %v is supported", want)
	}
	if s.embedding != talkerHidden {
		c.failf("enc_dim", "%d, but the talker's width is %d", s.embedding, talkerHidden)
	}
	if s.scale < 2 || s.scale > maxCount || s.channels[1]%s.scale != 0 {
		c.failf("enc_res2net_scale", "%d does not split %d channels", s.scale, s.channels[1])
		s.scale = 2
	}
	return s
}

// layout lists the tensors.
func (s *speaker) layout(l *layout) {
	conv := func(src, name string, out, in, kernel int) {
		l.conv("speaker_encoder."+src, "spk_enc."+name, out, in, kernel)
	}
	last := len(s.channels) - 1
	conv("blocks.0.conv", "conv0", s.channels[0], s.mel, s.kernels[0])
	blocks := 0
	for i := 1; i < last; i++ {
		src, name, c := fmt.Sprintf("blocks.%d.", i), fmt.Sprintf("blk.%d.", i), s.channels[i]
		conv(src+"tdnn1.conv", name+"tdnn1", c, s.channels[i-1], 1)
		for j := range s.scale - 1 { // the first part passes unchanged
			conv(fmt.Sprintf("%sres2net_block.blocks.%d.conv", src, j), fmt.Sprintf("%sres2net.%d", name, j), c/s.scale, c/s.scale, s.kernels[i])
		}
		conv(src+"tdnn2.conv", name+"tdnn2", c, c, 1)
		conv(src+"se_block.conv1", name+"se.conv1", s.squeeze, c, 1)
		conv(src+"se_block.conv2", name+"se.conv2", c, s.squeeze, 1)
		blocks += c
	}
	out := s.channels[last]
	conv("mfa.conv", "mfa", out, blocks, s.kernels[last])
	conv("asp.tdnn.conv", "asp.tdnn", s.attention, 3*out, 1) // of x, its mean and its deviation
	conv("asp.conv", "asp.conv", out, s.attention, 1)
	conv("fc", "fc", s.embedding, 2*out, 1)
}
