package core

import (
	"fmt"
	"hash/fnv"
	"slices"
)

// primedBytes is the memory for what the codec knows after the references heard last: at full size some 7 MiB each.
const primedBytes = 64 << 20

// primed is the codec's memory after the frames of a reference.
type primed struct {
	codes    [][]int32
	snapshot vocoderSnapshot
}

// primeFrames is the most reference frames that are taken between two looks at the context.
const primeFrames = 64

// prime readies the codec to go on from a reference's frames. The second time it only has to remember.
func (d *decoding) prime(u *utterance) error {
	d.stream.Reset()
	codes := u.prompt.RefCodes
	if len(codes) == 0 {
		return nil
	}
	key := hashCodes(codes)
	if p, ok := d.engine.primed.get(key); ok && slices.EqualFunc(p.codes, codes, slices.Equal) {
		d.stream.restore(p.snapshot)
		return nil
	}
	for part := range slices.Chunk(codes, primeFrames) {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		if err := d.primePart(part); err != nil {
			return fmt.Errorf("reference: %w", err)
		}
	}
	p := primed{(&Voice{Codes: codes}).clone().Codes, d.stream.snapshot()}
	d.engine.primed.put(key, p, p.snapshot.Bytes())
	return nil
}

func (d *decoding) primePart(codes [][]int32) error {
	d.worker.turns.take(1)
	defer d.worker.turns.give(1)
	return d.stream.Prime(codes)
}

// hashCodes is the FNV-1a hash of the codes of some frames.
func hashCodes(codes [][]int32) uint64 {
	h := fnv.New64a()
	var b [4]byte
	for _, frame := range codes {
		for _, c := range frame {
			b = [4]byte{byte(c), byte(c >> 8), byte(c >> 16), byte(c >> 24)}
			h.Write(b[:])
		}
	}
	return h.Sum64()
}
