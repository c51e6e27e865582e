// Package codec is the 12 Hz speech tokenizer of Qwen3-TTS: 16 codes a frame to 1920 samples of 24 kHz audio.
//
// The Decoder looks the codes up in residual vector quantisation codebooks, passes the frames through a small
// sliding-window transformer, doubles their rate twice in ConvNeXt stages and brings them to the sample rate in a
// DAC chain of Snake activations, transposed and dilated convolutions. Every layer is causal. A Stream carries what
// each of them remembers (rows of convolution context, keys and values), so decoding in pieces gives the samples of a
// single pass: there is one forward, for whole utterances and for frame by frame.
//
// Reference: Qwen3TTSTokenizerV2Model of the official qwen-tts package; the parts are described in "High-Fidelity
// Audio Compression with Improved RVQGAN" (DAC, Kumar et al. 2023), "A ConvNet for the 2020s" (ConvNeXt, Liu et al.
// 2022) and "Neural Networks Fail to Learn Periodic Functions and How to Fix It" (Snake, Ziyin et al. 2020).
//
// Axes, ggml order (ne[0] first): C channels, T new rows in time (a frame becomes more and more of them), K taps of a
// convolution. Activations are rows of channels, [C, T]. In that layout a causal convolution is one matrix product
// over overlapping windows of rows, dilation is a distance of rows, and upsampling needs no overlap-add.
package codec
