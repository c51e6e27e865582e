package onnx

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/libqwen/libqwen/core/codec"
)

const (
	// ContextFrames is the number of frames before a piece that a model without state decodes again with it. A frame's
	// samples depend on the frames before: at once through the window of attention, 72 frames, and beyond it from layer
	// to layer, less and less.
	ContextFrames = 72
	// DefaultWidth of a stream is the number of frames that are decoded at once.
	DefaultWidth = 16
	// MaxWidth of a stream.
	MaxWidth = 1 << 13
)

// Stream decodes one signal in pieces. With a model that has state, they are joined without a seam. Otherwise each is
// decoded together with up to ContextFrames frames before it: exact until so many frames have gone by, and from there
// on as exact as the model forgets. It is not safe for concurrent use; several streams of a decoder are.
type Stream struct {
	d       *Decoder
	width   int // most frames a call
	context int // most frames that are decoded again; 0 with state
	runner  *runner
	codes   *tensor
	ids     []int64 // what codes refers to: frames before, then new ones
	before  int     // frames before, in ids
	audio   *tensor
	samples []float32 // what audio refers to
	pos     int       // frames since Reset
}

// NewStream makes a stream that decodes at most width new frames at once; 0 is the default.
func (d *Decoder) NewStream(width int) (*Stream, error) {
	if width <= 0 {
		width = DefaultWidth
	}
	context := ContextFrames
	if d.Stateful() {
		context = 0
	}
	return d.newStream(min(width, MaxWidth), context)
}

func (d *Decoder) newStream(width, context int) (*Stream, error) {
	r, err := d.newRunner()
	if err != nil {
		return nil, fmt.Errorf("vocoder: %w", err)
	}
	n := width + context
	s := &Stream{d: d, width: width, context: context, runner: r, ids: make([]int64, n*d.cfg.Codebooks), samples: make([]float32, n*d.cfg.Hop)}
	s.codes, s.audio = newTensor(d.lib, s.ids), newTensor(d.lib, s.samples)
	return s, nil
}

// Close releases the stream.
func (s *Stream) Close() {
	s.codes.free()
	s.audio.free()
	s.runner.free()
}

// Reset forgets all frames: the next one is the first of another signal.
func (s *Stream) Reset() {
	s.before, s.pos = 0, 0
	s.runner.clear()
}

// Frames decoded since the stream was made or reset.
func (s *Stream) Frames() int { return s.pos }

// Decode decodes the next frames, codes [frames][Codebooks], into pcm, frames·Hop samples within [-1, 1]. The codes
// are checked first (codec.ErrCodes). After any other error the stream must be Reset before it is used again.
func (s *Stream) Decode(codes [][]int32, pcm []float32) error {
	hop := s.d.cfg.Hop
	if len(pcm) != len(codes)*hop {
		return fmt.Errorf("vocoder: room for %d samples, %d frames have %d", len(pcm), len(codes), len(codes)*hop)
	}
	if err := s.d.CheckCodes(codes); err != nil {
		return err
	}
	for len(codes) > 0 {
		n := min(len(codes), s.width)
		if err := s.step(codes[:n], pcm[:n*hop]); err != nil {
			return err
		}
		codes, pcm = codes[n:], pcm[n*hop:]
	}
	return nil
}

// Prime takes the next frames for what they do to the ones that follow, which are the same as after Decode. Without
// state they are only remembered. As with Decode, codes are checked first.
func (s *Stream) Prime(codes [][]int32) error {
	if err := s.d.CheckCodes(codes); err != nil {
		return err
	}
	for len(codes) > 0 {
		n := min(len(codes), s.width)
		if s.d.Stateful() {
			if err := s.step(codes[:n], nil); err != nil {
				return err
			}
		} else {
			s.take(codes[:n])
			s.keep(n)
		}
		codes = codes[n:]
	}
	return nil
}

// step decodes at most width frames and reads the samples if there is room for them.
func (s *Stream) step(codes [][]int32, pcm []float32) error {
	total := s.take(codes)
	if err := s.run(total); err != nil {
		return fmt.Errorf("vocoder: %w", err)
	}
	if pcm != nil {
		copy(pcm, s.samples[s.before*s.d.cfg.Hop:])
		if err := codec.Limit(pcm, s.d.cfg.Hop, s.pos); err != nil {
			return err
		}
	}
	s.keep(len(codes))
	return nil
}

// take puts the codes behind the frames before and returns how many frames these are together.
func (s *Stream) take(codes [][]int32) int {
	at := s.before * s.d.cfg.Codebooks
	for _, frame := range codes {
		for _, c := range frame {
			s.ids[at] = int64(c)
			at++
		}
	}
	return s.before + len(codes)
}

// keep counts n frames taken and keeps the last ones as context.
func (s *Stream) keep(n int) {
	k, total := s.d.cfg.Codebooks, s.before+n
	s.before = min(total, s.context)
	copy(s.ids, s.ids[(total-s.before)*k:total*k])
	s.pos += n
}

func (s *Stream) run(frames int) error {
	c := &s.d.cfg
	if err := s.codes.reshape(1, int64(frames), int64(c.Codebooks)); err != nil {
		return err
	}
	shape := [maxRank]int64{1, 1, 1}
	shape[c.audioRank-1] = int64(frames * c.Hop)
	if err := s.audio.reshape(shape[:c.audioRank]...); err != nil {
		return err
	}
	s.runner.call.in[0], s.runner.call.out[0] = s.codes.value, s.audio.value
	return s.runner.run()
}

// Snapshot is what a stream remembers at some point, to go on from there again. It belongs to streams of the same
// Decoder.
type Snapshot struct {
	ids    []int64
	states []byte
	pos    int
}

// Snapshot copies the stream's memory.
func (s *Stream) Snapshot() *Snapshot {
	return &Snapshot{ids: slices.Clone(s.ids[:s.before*s.d.cfg.Codebooks]), states: s.runner.save(), pos: s.pos}
}

// Restore makes the stream go on from a snapshot as if the frames before it had just been decoded.
func (s *Stream) Restore(p *Snapshot) {
	s.before, s.pos = copy(s.ids, p.ids)/s.d.cfg.Codebooks, p.pos
	s.runner.restore(p.states)
}

// Bytes that the snapshot takes.
func (p *Snapshot) Bytes() int { return 8*len(p.ids) + len(p.states) }

// runner runs the model and carries its states from run to run.
type runner struct {
	call   *call        // inputs: codes, states; outputs: samples, states
	states [2][]*tensor // what the next run reads, and writes
}

func (d *Decoder) newRunner() (*runner, error) {
	inputs, outputs := []string{d.cfg.codes.name}, []string{d.cfg.audio.name}
	r := &runner{}
	for _, st := range d.cfg.states {
		inputs, outputs = append(inputs, st.past), append(outputs, st.present)
		for i := range r.states {
			t := st.zeros(d.lib)
			r.states[i] = append(r.states[i], t)
			if err := t.reshape(st.shape...); err != nil {
				r.free()
				return nil, err
			}
		}
	}
	r.call = d.session.newCall(inputs, outputs)
	return r, nil
}

// zeros is the state at the start of a signal.
func (st *state) zeros(l *library) *tensor {
	if st.typ == typeInt64 {
		return newTensor(l, make([]int64, st.elements))
	}
	return newTensor(l, make([]float32, st.elements))
}

// run computes the samples of the codes and the states after them.
func (r *runner) run() error {
	for i := range r.states[0] {
		r.call.in[i+1], r.call.out[i+1] = r.states[0][i].value, r.states[1][i].value
	}
	err := r.call.run()
	r.states[0], r.states[1] = r.states[1], r.states[0]
	return err
}

func (r *runner) clear() {
	for _, t := range r.states[0] {
		clear(t.memory())
	}
}

func (r *runner) save() (all []byte) {
	for _, t := range r.states[0] {
		all = append(all, t.memory()...)
	}
	return all
}

func (r *runner) restore(all []byte) {
	for _, t := range r.states[0] {
		all = all[copy(t.memory(), all):]
	}
}

func (r *runner) free() {
	for _, list := range r.states {
		for _, t := range list {
			t.free()
		}
	}
	r.call.free()
}

// memory is the tensor's bytes.
func (t *tensor) memory() []byte { return unsafe.Slice((*byte)(t.data), t.bytes) }
