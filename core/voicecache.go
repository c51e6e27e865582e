package core

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// cachedVoices is the number of extracted voices that an engine remembers: at most some 100 KiB each.
const cachedVoices = 64

// voiceID identifies what is extracted from a clip: a hash of its samples, and of whether codes are wanted.
type voiceID [sha256.Size]byte

func voiceKey(pcm []float32, codes bool) (key voiceID) {
	h := sha256.New()
	var block [4096]byte
	if codes {
		block[0] = 1
	}
	n := 4
	for _, x := range pcm {
		if n == len(block) {
			h.Write(block[:])
			n = 0
		}
		binary.LittleEndian.PutUint32(block[n:], math.Float32bits(x))
		n += 4
	}
	h.Write(block[:n])
	h.Sum(key[:0])
	return key
}

// clone copies a voice, so that what callers do to theirs is not remembered.
func (v *Voice) clone() *Voice {
	out := &Voice{XVector: append([]float32(nil), v.XVector...)}
	for _, frame := range v.Codes {
		out.Codes = append(out.Codes, append([]int32(nil), frame...))
	}
	return out
}
