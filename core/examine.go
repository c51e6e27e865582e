package core

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libqwen/libqwen/core/checkpoint"
	"github.com/libqwen/libqwen/core/codec"
	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/core/model"
	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/core/speaker"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Examination tells what a model file is, what it needs, and why it would not load.
type Examination struct {
	Path      string      `json:"path"`
	Kind      string      `json:"kind"`                 // "talker", "speech tokenizer", or "unknown"
	Format    string      `json:"format,omitempty"`     // "GGUF", "checkpoint directory"
	Name      string      `json:"name,omitempty"`       // what the model calls itself
	ModelType string      `json:"model_type,omitempty"` // of a talker: "base", "custom_voice" or "voice_design"
	Bytes     int64       `json:"bytes,omitempty"`      // of the tensors
	Geometry  []Fact      `json:"geometry,omitempty"`
	Speakers  []string    `json:"speakers,omitempty"`
	Languages []string    `json:"languages,omitempty"`
	Types     []TypeCount `json:"types,omitempty"` // of the tensors, the largest share first
	Memory    *Needs      `json:"memory,omitempty"`
	Notes     []string    `json:"notes,omitempty"`
	Problems  []string    `json:"problems"` // all that would keep it from being loaded; none: it would be
}

// Fact is a number or list that describes a model.
type Fact struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// TypeCount is how much of a file has a type.
type TypeCount struct {
	Type    string `json:"type"`
	Tensors int    `json:"tensors"`
	Bytes   int64  `json:"bytes"`
}

// Needs are bytes of memory. What lies in the mapped file takes memory only as far as it is read, and all processes that
// use the file share it; a device with memory of its own holds all weights as copies.
type Needs struct {
	Mapped   uint64         `json:"weights_mapped"`            // on a CPU
	Copied   uint64         `json:"weights_copied"`            // on a CPU, besides
	Device   uint64         `json:"weights_on_device"`         // on any other device
	Encoders uint64         `json:"encoders"`                  // for recordings as references, once one is used; a copy on any device
	State    uint64         `json:"state,omitempty"`           // of a speech tokenizer's stream
	Graphs   uint64         `json:"graphs_estimate,omitempty"` // of a speech tokenizer
	Contexts []ContextNeeds `json:"contexts,omitempty"`        // of a talker, by the length of a synthesis
}

// ContextNeeds is what a synthesis takes besides weights.
type ContextNeeds struct {
	Positions int     `json:"positions"` // of prompt and frames
	Seconds   float64 `json:"seconds"`   // of that many frames
	Cache     uint64  `json:"cache"`     // keys and values
	Graphs    uint64  `json:"graphs_estimate"`
}

// Examine looks at a model file or checkpoint directory without loading it; what is wrong is told in the result. With
// values it also reads all weights for wrong ones.
func Examine(path string, values bool) *Examination {
	in := &Examination{Path: path, Kind: "unknown", Problems: []string{}}
	f, err := in.open(path)
	if err != nil {
		in.problem(err)
		return in
	}
	defer f.Close()
	in.Name = model.Name(f)
	in.types(f)
	if in.Kind == "talker" {
		in.talker(f, values)
	} else {
		in.tokenizer(f, values)
	}
	return in
}

// open opens a file as what it says that it is.
func (in *Examination) open(path string) (*gguf.File, error) {
	in.Format = "GGUF"
	if checkpoint.Is(path) {
		in.Format = "checkpoint directory"
		f, err := checkpoint.Open(path)
		if err == nil {
			in.Kind = kindOf(f)
			if in.Kind == "talker" && model.HasCodec(path) {
				in.Notes = append(in.Notes, "the speech tokenizer is in "+filepath.Join(path, checkpoint.TokenizerDir))
			}
		}
		return f, err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		in.Format = "folder"
	} else {
		f, err := gguf.Open(path)
		if err != nil {
			if !startsWith(path, "GGUF") {
				in.Format = ""
			}
			return nil, err
		}
		if in.Kind = kindOf(f); in.Kind != "talker" {
			return f, nil
		}
		f.Close()
	}
	f, notes, err := (&Options{TalkerPath: path}).openLM()
	if err == nil {
		in.Kind, in.Notes = "talker", append(in.Notes, notes...)
	}
	return f, err
}

func startsWith(path, magic string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	start := make([]byte, len(magic))
	_, err = io.ReadFull(f, start)
	return err == nil && string(start) == magic
}

func kindOf(f *gguf.File) string {
	switch arch, _ := f.String("general.architecture"); arch {
	case lm.Architecture:
		return "talker"
	case codec.Architecture:
		return "speech tokenizer"
	}
	return "unknown"
}

// problem adds an error, or all that it stands for, unless it is there already.
func (in *Examination) problem(err error) {
	if err == nil {
		return
	}
	all := gguf.Errors{}
	if !errors.As(err, &all) {
		if text := err.Error(); !slices.Contains(in.Problems, text) {
			in.Problems = append(in.Problems, text)
		}
		return
	}
	for _, e := range all {
		in.problem(e)
	}
}

// types counts the tensors' types.
func (in *Examination) types(f *gguf.File) {
	for _, t := range f.Tensors() {
		in.Bytes += t.Size
		i := slices.IndexFunc(in.Types, func(c TypeCount) bool { return c.Type == t.Type.String() })
		if i < 0 {
			i = len(in.Types)
			in.Types = append(in.Types, TypeCount{Type: t.Type.String()})
		}
		in.Types[i].Tensors++
		in.Types[i].Bytes += t.Size
	}
	slices.SortStableFunc(in.Types, func(a, b TypeCount) int { return int(min(max(b.Bytes-a.Bytes, -1), 1)) })
}

func (in *Examination) fact(name string, value any) {
	in.Geometry = append(in.Geometry, Fact{name, value})
}

func (in *Examination) talker(f *gguf.File, values bool) {
	vocab, _, err := model.ReadVocab(f)
	in.problem(err)
	if err == nil {
		in.ModelType, in.Speakers, in.Languages = vocab.ModelType, vocab.SpeakerNames(), vocab.LanguageNames()
	}
	_, err = model.ReadGeneration(f)
	in.problem(err)
	weights, err := lm.Check(f, values)
	in.problem(err)
	encoder := in.speaker(f, vocab, values)
	c, err := lm.ReadConfig(f)
	if err != nil {
		return // it is among the problems
	}
	in.stack("talker", c.Talker)
	in.stack("code predictor", c.Predictor)
	in.fact("text vocabulary", c.TextVocab)
	in.fact("codec vocabulary", c.CodecVocab)
	in.fact("codebooks", c.Codebooks)
	in.fact("codebook size", c.CodebookSize)
	in.fact("context", c.Context)
	in.Memory = needs(weights, encoder)
	for positions := 512; ; positions *= 4 {
		n := min(positions, c.Context)
		in.Memory.Contexts = append(in.Memory.Contexts, ContextNeeds{n, float64(n) / framesPerSecond, lm.CacheBytes(f, c, n, nil), lm.GraphBytes(c, n)})
		if n == c.Context {
			return
		}
	}
}

// framesPerSecond is the rate of the 12 Hz codec.
const framesPerSecond = 12.5

// speaker looks at the speaker encoder, which only base models have.
func (in *Examination) speaker(f *gguf.File, vocab *prompt.Vocab, values bool) nn.Footprint {
	size, err := speaker.Check(f, values)
	if errors.Is(err, speaker.ErrAbsent) {
		if vocab != nil && vocab.ModelType == prompt.Base {
			in.Notes = append(in.Notes, "it cannot clone from recordings: "+err.Error())
		}
		return size
	}
	in.problem(err)
	if c, err := speaker.ReadConfig(f); err == nil {
		in.fact("x-vector width", c.Width)
	}
	return size
}

func (in *Examination) stack(what string, s lm.StackConfig) {
	in.fact(what+" layers", s.Layers)
	in.fact(what+" width", s.Width)
	in.fact(what+" feed-forward", s.FFN)
	in.fact(what+" heads", fmt.Sprintf("%d query, %d key-value, of %d", s.Heads, s.KVHeads, s.HeadDim))
}

func (in *Examination) tokenizer(f *gguf.File, values bool) {
	needed, err := codec.Check(f, codec.DefaultWidth, values)
	in.problem(err)
	c, err := codec.ReadConfig(f)
	if err != nil {
		in.problem(err)
		return
	}
	d := c.Decoder
	in.fact("sample rate", codec.SampleRate)
	in.fact("samples a frame", c.Hop)
	in.fact("codebooks", d.Codebooks)
	in.fact("semantic codebooks", d.Semantic)
	in.fact("codebook size", d.CodebookSize)
	in.fact("decoder layers", d.Layers)
	in.fact("decoder width", d.Width)
	in.fact("decoder window", d.Window)
	in.fact("decoder channels", d.Channels)
	in.fact("decoder strides", append(slices.Clone(d.Upsampling), d.Strides...))
	if e, err := codec.ReadEncoderConfig(f); err != nil {
		in.Notes = append(in.Notes, "it cannot encode: "+strings.TrimPrefix(err.Error(), "codec: "))
	} else {
		in.fact("encoder layers", e.Layers)
		in.fact("encoder width", e.Width)
		in.fact("encoder channels", e.Channels)
		in.fact("encoder strides", e.Strides)
	}
	in.Memory = needs(needed.Decoder, needed.Encoder)
	in.Memory.Device = needed.Plain.Device
	in.Memory.State, in.Memory.Graphs = needed.State, needed.Graphs
}

func needs(weights, encoder nn.Footprint) *Needs {
	return &Needs{Mapped: weights.InPlace, Copied: weights.Copied, Device: weights.Device, Encoders: encoder.Device}
}
