package core

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// cachedVoices is the number of extracted voices that an engine remembers: at most some 100 KiB each.
const cachedVoices = 64

// voiceCache remembers the voices of the clips seen last, by their samples.
type voiceCache struct {
	order list.List // of voiceEntry, the one used last at the front
	byKey map[[sha256.Size]byte]*list.Element
}

type voiceEntry struct {
	key   [sha256.Size]byte
	voice *Voice
}

// voiceKey identifies what is extracted from a clip.
func voiceKey(pcm []float32, codes bool) (key [sha256.Size]byte) {
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

func (c *voiceCache) get(key [sha256.Size]byte) *Voice {
	e := c.byKey[key]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(voiceEntry).voice.clone()
}

// put remembers a voice and forgets the one that was not used for longest.
func (c *voiceCache) put(key [sha256.Size]byte, v *Voice) {
	if c.byKey == nil {
		c.byKey = map[[sha256.Size]byte]*list.Element{}
	}
	c.byKey[key] = c.order.PushFront(voiceEntry{key, v.clone()})
	if c.order.Len() > cachedVoices {
		oldest := c.order.Remove(c.order.Back()).(voiceEntry)
		delete(c.byKey, oldest.key)
	}
}

// clone copies a voice, so that what callers do to theirs is not remembered.
func (v *Voice) clone() *Voice {
	out := &Voice{XVector: append([]float32(nil), v.XVector...)}
	for _, frame := range v.Codes {
		out.Codes = append(out.Codes, append([]int32(nil), frame...))
	}
	return out
}
