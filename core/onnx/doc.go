// Package onnx decodes codes to audio by ONNX Runtime, with an ONNX model of the 12 Hz speech tokenizer's decoder: the
// vocoder of the model family that keeps it apart from the GGUF files.
//
// Models come in two forms. In both, the input audio_codes is int64 [batch, frames, codebooks] and the output
// audio_values float32 [batch, samples], a fixed number of samples a frame.
//
//   - With state: every other input past.NAME has an output present.NAME of the same type and fixed shape, zero at the
//     start, which goes in with the next frames. Any division of a signal into calls gives the samples of one call.
//   - Whole: there is no other input, and a call is a signal of its own. A signal longer than a call is decoded with
//     the frames before it as context (see Stream); that is exact where the context is all that came before.
//
// scripts/export-onnx.py writes both; the second is how such models are published.
//
// ONNX Runtime is a C library that is opened at run time. Its functions are in a table whose order never changes, so
// one binding serves every version from MinVersion on.
package onnx
