package core

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/libqwen/libqwen/core/lm"
	"github.com/libqwen/libqwen/internal/npy"
)

// dump gathers the stages of one synthesis and writes a NumPy file for each, named and shaped like the reference
// data. All methods do nothing on a nil dump.
type dump struct {
	dir    string
	stages map[string]*stage
	frames int // frames whose codes are known
	probed int // frame that cp_lastframe_logits is of
}

// stage is an array whose first dimension grows.
type stage struct {
	inner  []int // the other dimensions
	values []float32
	ids    []int32 // instead of values, for ids
}

// newDump makes the directory.
func newDump(dir string) (*dump, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fail(ErrInvalid, "dump_dir: %w", err)
	}
	return &dump{dir: dir, stages: map[string]*stage{}, probed: -1}, nil
}

func (d *dump) stage(name string, inner ...int) *stage {
	s := d.stages[name]
	if s == nil {
		s = &stage{inner: inner}
		d.stages[name] = s
	}
	return s
}

// talkerProbe receives the stages of the prefill.
func (d *dump) talkerProbe() lm.Probe {
	if d == nil {
		return nil
	}
	return func(name string, shape []int, values []float32) {
		d.append(name, shape, values)
	}
}

// predictorProbe receives the stages of all frames and keeps the first frame's, and the last one's logits.
func (d *dump) predictorProbe() lm.Probe {
	if d == nil {
		return nil
	}
	return func(name string, shape []int, values []float32) {
		name = strings.TrimPrefix(name, "cp_")
		if d.frames == 0 {
			d.append("cp_f0_"+name, shape, values)
		}
		if name == "logits" {
			if s := d.stage("cp_lastframe_logits", shape[0]); d.probed != d.frames {
				s.values, d.probed = s.values[:0], d.frames
			}
			d.append("cp_lastframe_logits", shape, values)
		}
	}
}

// append adds values of a ggml shape: its last dimension is the one that grows, unless the array has only one.
func (d *dump) append(name string, shape []int, values []float32) {
	inner := slices.Clone(shape)
	if len(inner) > 1 {
		inner = inner[:len(inner)-1]
	}
	slices.Reverse(inner)
	s := d.stage(name, inner...)
	s.values = append(s.values, values...)
}

// hidden keeps the state that a frame's code 0 was drawn from.
func (d *dump) hidden(t *lm.Talker, logits []float32, c0 int32) {
	if d == nil {
		return
	}
	h := make([]float32, t.Hidden().Elements())
	t.Hidden().GetF32(h)
	d.append("talker_hidden", []int{len(h)}, h)
	d.append("step_logits", []int{len(logits)}, logits)
	d.stage("codec0_sequence").ids = append(d.stage("codec0_sequence").ids, c0)
}

// frame keeps a frame's codes.
func (d *dump) frame(codes []int32) {
	if d == nil {
		return
	}
	s := d.stage("codes", len(codes))
	s.ids = append(s.ids, codes...)
	d.frames++
}

// audio keeps decoded samples.
func (d *dump) audio(pcm []float32) {
	if d != nil {
		s := d.stage("wav")
		s.values = append(s.values, pcm...)
	}
}

// single are the stages of one row, which have no dimension for it.
var single = []string{"prefill_logits_last", "tts_pad_embed"}

// write makes the files.
func (d *dump) write(u *utterance) error {
	for i, ids := range u.prompt.IDs {
		d.stage("prompt" + strconv.Itoa(i) + "_ids").ids = ids
	}
	for name, s := range d.stages {
		if err := s.write(filepath.Join(d.dir, name+".npy"), slices.Contains(single, name)); err != nil {
			return fail(ErrGenerate, "dump_dir: %w", err)
		}
	}
	return nil
}

func (s *stage) write(path string, single bool) error {
	size := 1
	for _, n := range s.inner {
		size *= n
	}
	shape := s.inner
	if !single {
		shape = append([]int{(len(s.values) + len(s.ids)) / size}, s.inner...)
	}
	if s.ids != nil {
		return npy.WriteInt32(path, shape, s.ids)
	}
	return npy.Write(path, shape, s.values)
}
