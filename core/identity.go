package core

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/libqwen/libqwen/core/model"
	"github.com/libqwen/libqwen/core/speaker"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Identity tells the voices of one model from those of another: x-vectors fit a speaker encoder and the Talker trained
// with it, codes a speech tokenizer. Files of one model have the same identity at any precision. Voice files keep it.
type Identity struct {
	Name         string // what the model calls itself (general.name)
	Size         string // "0.6b" or "1.7b"
	Width        int    // of the Talker and so of x-vectors; 0 if no talker is open
	Codebooks    int    // codes a frame
	CodebookSize int    // entries of a codebook

	Speaker [32]byte // fingerprint of the speaker encoder; zero: there is none, or it cannot be told
	Codec   [32]byte // fingerprint of the speech tokenizer's codebooks; zero: it cannot be told
}

// Identity tells whose voices the engine speaks with; it is zero once the engine is closed.
func (e *Engine) Identity() Identity {
	if e.begin() != nil {
		return Identity{}
	}
	defer e.running.Done()
	id := identify(e.extractor.talker, e.extractor.tokenizer, e.decoder)
	id.Width = e.lm.Talker.Width
	return id
}

// Identity tells whose voices the codec makes. Without the file of a base model, it is that of codes only.
func (c *Codec) Identity() Identity {
	id := identify(c.extractor.talker, c.extractor.tokenizer, c.decoder)
	if c.extractor.talker != nil {
		if config, err := speaker.ReadConfig(c.extractor.talker); err == nil {
			id.Width = config.Width
		}
	}
	return id
}

// identify fills all but the width; there may be no talker.
func identify(talker, tokenizer *gguf.File, d vocoder) Identity {
	id := Identity{Codebooks: d.Codebooks(), CodebookSize: d.CodebookSize()}
	if tokenizer != nil { // an ONNX vocoder's cannot be told
		id.Codec = fingerprint(tokenizer, isCodebook)
	}
	if talker == nil {
		return id
	}
	id.Name = model.Name(talker)
	id.Size, _ = talker.String("qwen3-tts.model_size") // files may lack it
	id.Speaker = fingerprint(talker, isSpeaker)
	return id
}

// isSpeaker chooses the speaker encoder's vectors and its last projection; isCodebook chooses the codebooks that codes
// are looked up in. Files of every precision hold these as F32 or as BF16.
func isSpeaker(t gguf.TensorInfo) bool {
	return strings.HasPrefix(t.Name, "spk_enc.") && (len(t.Shape) == 1 || t.Name == "spk_enc.fc.weight")
}

func isCodebook(t gguf.TensorInfo) bool {
	return strings.HasPrefix(t.Name, "tok_dec.vq_") && strings.HasSuffix(t.Name, ".codebook")
}

// sampled is how many values of each tensor a fingerprint looks at: enough to tell any two trainings apart, and
// little enough to take milliseconds.
const sampled = 1 << 14

// fingerprint is a SHA-256 of the chosen tensors, ordered by name: their names, their shapes, and their first values
// rounded to bfloat16, so that a file at that precision has the fingerprint of one at F32. It is zero if there are no
// such tensors or one is of another type.
func fingerprint(f *gguf.File, chosen func(gguf.TensorInfo) bool) (sum [sha256.Size]byte) {
	var tensors []gguf.TensorInfo
	for _, t := range f.Tensors() {
		if !chosen(t) {
			continue
		}
		if t.Type != gguf.F32 && t.Type != gguf.BF16 {
			return sum
		}
		tensors = append(tensors, t)
	}
	if len(tensors) == 0 {
		return sum
	}
	slices.SortFunc(tensors, func(a, b gguf.TensorInfo) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	for i := range tensors {
		t := &tensors[i]
		fmt.Fprintf(h, "%s %s\n", t.Name, gguf.FormatShape(t.Shape))
		h.Write(bfloat16s(f.Data(t), t.Type, int(min(t.Elements(), sampled))))
	}
	h.Sum(sum[:0])
	return sum
}

// bfloat16s returns the first n values of a tensor as bfloat16.
func bfloat16s(data []byte, typ gguf.Type, n int) []byte {
	if typ == gguf.BF16 {
		return data[:2*n]
	}
	out := make([]byte, 0, 2*n)
	for i := range n {
		bits := binary.LittleEndian.Uint32(data[4*i:])
		if x := math.Float32frombits(bits); x == x { // a NaN could be rounded to infinity
			bits += 0x7fff + bits>>16&1 // to nearest, ties to even
		}
		out = binary.LittleEndian.AppendUint16(out, uint16(bits>>16))
	}
	return out
}
