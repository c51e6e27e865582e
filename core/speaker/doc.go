// Package speaker computes the x-vector of a speaker from a reference clip: a vector as wide as the Talker, which takes
// the place of an embedding in the prompt of a base model.
//
// The Encoder is an ECAPA-TDNN over a mel spectrogram: a convolution, three SE-Res2Net blocks of growing dilation, the
// aggregation of their results, attentive statistics pooling over time and a linear layer. There is no normalisation
// in it, nor of its result. It computes in float32 whatever type the file has.
//
// Reference: Qwen3TTSSpeakerEncoder of the official qwen-tts package; the parts are described in "ECAPA-TDNN"
// (Desplanques et al. 2020), "Res2Net" (Gao et al. 2019), "Squeeze-and-Excitation Networks" (Hu et al. 2018) and
// "Attentive Statistics Pooling for Deep Speaker Embedding" (Okabe et al. 2018).
//
// Axes, ggml order (ne[0] first): C channels, T frames of 256 samples, K taps of a convolution. Activations are rows of
// channels, [C, T]; where something is summed over time they are turned to [T, C].
package speaker
