package core

import (
	"fmt"
	"strings"
)

// Profile is what a synthesis cost, in the form that is shown and kept: durations in milliseconds. Stages overlap, so
// that they need not add up to the total.
type Profile struct {
	Frames     int     `json:"frames"`
	AudioSec   float64 `json:"audio_s"` // length of the speech
	TextTokens int     `json:"text_tokens"`
	Prompt     int     `json:"prompt"` // positions
	Seed       int64   `json:"seed"`
	Finish     Finish  `json:"finish"`

	Load       float64 `json:"load_ms"`      // opening the model, once for all syntheses
	Tokenise   float64 `json:"tokenise_ms"`  // text to prompt
	Reference  float64 `json:"reference_ms"` // voice of a reference clip
	Prefill    float64 `json:"prefill_ms"`
	Talker     float64 `json:"talker_ms"`
	Predictor  float64 `json:"predictor_ms"` // with the drawing of its codes
	Sampling   float64 `json:"sampling_ms"`  // drawing the codes of all codebooks
	Codec      float64 `json:"codec_ms"`
	FirstAudio float64 `json:"first_audio_ms"`
	Total      float64 `json:"total_ms"`
	RTF        float64 `json:"rtf"` // total over the length of the speech; 0 without any
}

// Profile sums a result up.
func (r *Result) Profile() Profile {
	t := r.Timings
	return Profile{
		Frames: r.Frames, AudioSec: r.seconds(), TextTokens: r.TextTokens, Prompt: r.Prompt, Seed: r.Seed, Finish: r.Finish,
		Load: ms(t.Load), Tokenise: ms(t.Tokenise), Reference: ms(t.Reference), Prefill: ms(t.Prefill), Talker: ms(t.Talker),
		Predictor: ms(t.Predictor), Sampling: ms(t.Sampling), Codec: ms(t.Codec), FirstAudio: ms(t.FirstAudio), Total: ms(t.Total),
		RTF: r.RTF(),
	}
}

// RTF is the real-time factor: the time that the synthesis took over the length of its speech, 0 if there is none.
// Below 1 it is faster than it is heard.
func (r *Result) RTF() float64 {
	if r.Samples == 0 {
		return 0
	}
	return r.Timings.Total.Seconds() / r.seconds()
}

// seconds is the length of the speech.
func (r *Result) seconds() float64 { return float64(r.Samples) / SampleRate }

// String is a table: of each stage its time, its time a frame where it works by frames, and how much of the total it
// was under way. Decoding goes on beside other stages, and drawing codes is part of the predictor's, so that the shares
// do not add up; a line below the table says so.
func (p Profile) String() string {
	var b strings.Builder
	row := func(stage string, t float64, byFrame, share bool) {
		frame, part := "", ""
		if byFrame && p.Frames > 0 {
			frame = fmt.Sprintf("%.2f", t/float64(p.Frames))
		}
		if share && p.Total > 0 {
			part = fmt.Sprintf("%.0f %%", 100*t/p.Total)
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-18s %10.1f %10s %10s", stage, t, frame, part), " ") + "\n")
	}
	fmt.Fprintf(&b, "%-18s %10s %10s %10s\n", "stage", "ms", "ms/frame", "of total")
	row("tokenise", p.Tokenise, false, true)
	row("encode reference", p.Reference, false, true)
	row("prefill", p.Prefill, false, true)
	row("talker", p.Talker, true, true)
	row("predictor", p.Predictor, true, true)
	row("  sampling", p.Sampling, true, true)
	row("decode", p.Codec, true, true)
	row("total", p.Total, true, true)
	b.WriteString("stages overlap, so that they need not add up: decode runs beside the others, predictor has most of sampling\n")
	fmt.Fprintf(&b, "first audio after %.1f ms; before all this, loading took %.1f ms\n", p.FirstAudio, p.Load)
	fmt.Fprintf(&b, "%d frames, %.2f s of audio, RTF %.3f\n", p.Frames, p.AudioSec, p.RTF)
	return b.String()
}
