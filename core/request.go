package core

import (
	"time"

	"github.com/libqwen/libqwen/core/sample"
)

// Request is one synthesis. The zero value is not useful: start from Engine.DefaultRequest.
type Request struct {
	Mode     Mode   // "": that of the model; another one than that is refused
	Text     string // what to speak, UTF-8
	Language string // a name, alias or ISO code; "" or "auto" lets the model decide
	Speaker  string // custom_voice: one of Engine.Speakers
	Instruct string // voice_design (required) and custom_voice: style in free text

	RefAudio []float32 // base: reference clip, 24 kHz mono; excludes Voice
	Voice    *Voice    // base: reference already extracted
	RefText  string    // base: transcript of the reference; with codes it selects in-context cloning

	SpeakerEmbedding []float32 // base: an x-vector, instead of that of the reference or without one

	Layout Layout // how the text enters the prompt

	Seed      int64    // < 0 draws one at random; Result.Seed reports it
	MaxFrames int      // most audio frames to generate, 12.5 a second
	Talker    Sampling // codebook 0
	Predictor Sampling // codebooks 1.. ; its RepetitionPenalty is not used

	// Stream makes emit receive frames as soon as they are generated, as ChunkFrames says.
	// Otherwise they come a few at a time. The samples are the same.
	Stream bool
	// ChunkFrames is the most frames in one call of emit when streaming. The first call brings one frame, each later one
	// up to twice as many: fewer calls and less work. 0: one frame, and up to 4 (0.32 s) once that is no more than a
	// quarter of what has come, so that whoever plays the audio has it in time from 1.25 times real time on.
	ChunkFrames int

	DumpDir  string         // if set, one <stage>.npy per stage is written here
	Progress func(Progress) // called on the calling goroutine after each frame; may be nil
}

// Sampling says how a stack's codes are drawn.
type Sampling = sample.Params

// Layout is the way the text is laid along the prompt.
type Layout int

const (
	LayoutAuto     Layout = iota // whole, but streamed for a base model with a reference (as the reference implementation does)
	LayoutWhole                  // the whole text before the first audio frame
	LayoutStreamed               // one text token beside each audio frame
)

// Progress tells how far a synthesis is.
type Progress struct {
	Frames    int // generated so far
	MaxFrames int
	Elapsed   time.Duration
}

// Finish says why the generation ended.
type Finish string

const (
	FinishStop      Finish = "stop"      // the model ended the utterance
	FinishLength    Finish = "length"    // MaxFrames was reached first
	FinishCancelled Finish = "cancelled" // by the context or the receiver
	FinishEmpty     Finish = "empty"     // the model ended at once: no frame
)

// Result describes a synthesis; it is filled as far as it got also when an error is returned.
type Result struct {
	Frames     int // audio frames generated
	Samples    int // samples handed to emit
	SampleRate int
	Finish     Finish
	Seed       int64 // the seed used
	TextTokens int   // tokens of the text
	Prompt     int   // prompt positions
	Timings    Timings
	Warnings   []string
}

// Timings are wall-clock durations of the stages. Stages may overlap.
type Timings struct {
	Load       time.Duration // opening the engine's model, once for all its syntheses
	Tokenise   time.Duration // text to prompt
	Reference  time.Duration // extracting the voice of a reference clip
	Prefill    time.Duration
	Talker     time.Duration // all decode steps
	Predictor  time.Duration // all frames, the drawing of their codes included
	Sampling   time.Duration // drawing the codes of all codebooks
	Codec      time.Duration
	FirstAudio time.Duration // from the call to the first emit
	Total      time.Duration
}
