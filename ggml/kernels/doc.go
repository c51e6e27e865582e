// Package kernels has operations of our own for the CPU, written in C: the causal convolution of rows of channels, with
// the bias, a residual and the Snake activation of the layer that follows; and products with Q8_0, Q4_K and Q6_K matrices.
//
// The convolution's instruction set is chosen when a model is loaded, since it decides how weights are packed. A build without cgo
// has no kernels: Best is None, and what uses this package computes with ggml's operations, as on other devices.
//
// Each sum runs over its terms in the same order whatever the number of rows, columns and threads, so results are the
// same to the last bit however a signal is divided. Levels differ in rounding.
package kernels
