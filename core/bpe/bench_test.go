package bpe_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/bpe"
)

// BenchmarkEncode encodes a few kilobytes of each kind of text by the tiny vocabulary.
func BenchmarkEncode(b *testing.B) {
	tok, err := bpe.New(tinyConfig(b))
	require.NoError(b, err)
	for name, text := range map[string]string{
		"english": "The quick brown fox jumps over the lazy dog. It's 12:30, isn't it?\n",
		"chinese": "今天天气很好，我们一起去公园散步吧。",
		"mixed":   "Wi-Fi 6E für 49,99 € — naïve Straße, 東京タワー №1 🗼\n",
		"spaces":  " \t  \n\n   ",
	} {
		text = strings.Repeat(text, 4096/len(text))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				tok.Encode(text)
			}
		})
	}
}

// BenchmarkNew builds the tables of the tiny vocabulary.
func BenchmarkNew(b *testing.B) {
	c := tinyConfig(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bpe.New(c); err != nil {
			b.Fatal(err)
		}
	}
}
