package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/core/voicefile"
	"github.com/libqwen/libqwen/internal/cli"
)

// check tells what a recording or a voice file is worth. It is an error if it cannot be used.
func (a *app) check() error {
	if extension(a.options.check) == ".qvoice" {
		return a.checkVoiceFile()
	}
	transcript, err := a.readTranscript()
	if err != nil {
		return err
	}
	path := a.options.check
	clip, err := audio.Load(path)
	if err != nil {
		return cli.FileError(err)
	}
	r := cli.Examine(clip, transcript)
	if a.options.trim && r.Err() == nil {
		r.Steps = append([]string{trimStep(clip)}, r.Steps...)
	}
	if a.options.json {
		err = a.printJSON(newClipReport(path, r))
	} else {
		err = a.tell("%s\n%s", path, strings.TrimSpace(r.String()))
	}
	if err == nil && r.Err() != nil {
		err = cli.Inputf("%s: %w", path, r.Err())
	}
	return err
}

// trimStep tells what --trim-ref would do.
func trimStep(clip *audio.Clip) string {
	pcm, _, err := clip.Mono24k()
	if err != nil {
		return "trim nothing"
	}
	return fmt.Sprintf("trim %.2f s off the ends (then the numbers of samples below are less)", seconds(len(pcm)-len(audio.TrimSilence(pcm, audio.ReferenceRate))))
}

// clipReport is audio.Report in JSON. Levels of digital silence are null.
type clipReport struct {
	File       string   `json:"file"`
	Usable     bool     `json:"usable"`
	Container  string   `json:"container"`
	Encoding   string   `json:"encoding"`
	Rate       int      `json:"rate_hz"`
	Channels   int      `json:"channels"`
	Samples    int      `json:"samples"`
	Seconds    float64  `json:"seconds"`
	Peak       *float64 `json:"peak_dbfs"`
	RMS        *float64 `json:"rms_dbfs"`
	Clipped    int      `json:"clipped_samples"`
	Runs       int      `json:"clipped_runs"`
	NonFinite  int      `json:"nonfinite_samples"`
	MixLoss    *float64 `json:"mix_loss_db"`
	Offset     float64  `json:"dc_offset"`
	Lead       float64  `json:"leading_silence_s"`
	Tail       float64  `json:"trailing_silence_s"`
	Sound      float64  `json:"sound_s"`
	Samples24k int      `json:"samples_24k"`
	Frames     int      `json:"frames"`
	Steps      []string `json:"steps"`
	Transcript string   `json:"transcript,omitempty"`
	Warnings   []string `json:"warnings"`
	Errors     []string `json:"errors"`
}

func newClipReport(path string, r *audio.Report) clipReport {
	return clipReport{
		File: path, Usable: r.Err() == nil, Container: r.Container, Encoding: r.Encoding,
		Rate: r.Rate, Channels: r.Channels, Samples: r.Frames, Seconds: r.Seconds,
		Peak: finite(r.Peak), RMS: finite(r.RMS), Clipped: r.Clipped, Runs: r.ClippedRuns, NonFinite: r.NonFinite,
		MixLoss: finite(r.MixLoss), Offset: r.DC, Lead: r.Lead, Tail: r.Tail, Sound: r.Sound,
		Samples24k: r.Samples24k, Frames: r.Codes, Steps: list(r.Steps), Transcript: r.Transcript,
		Warnings: list(r.Warnings), Errors: list(r.Errors),
	}
}

// finite is nil for what JSON has no number for.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// list is never null in JSON.
func list(s []string) []string { return append([]string{}, s...) }

func (a *app) printJSON(v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return a.tell("%s", data)
}

// checkVoiceFile tells what is in a voice file and, if models are given, whether it fits them.
func (a *app) checkVoiceFile() error {
	path := a.options.check
	v, err := voicefile.ReadVoice(path)
	if err != nil {
		return cli.FileError(err)
	}
	if a.options.json {
		err = a.printJSON(newVoiceReport(path, v))
	} else {
		err = a.tell("%s: %s\nmade by %s", path, describeVoice(v), v.Tool)
	}
	if err != nil || a.options.models.CodecPath == "" {
		return err
	}
	c, err := a.open()
	if err != nil {
		return err
	}
	defer c.Close()
	return checkVoice(path, v, c)
}

// checkVoice wants a voice to fit what is open.
func checkVoice(path string, v *voicefile.Voice, c *core.Codec) error {
	if err := v.Check(voicefile.Identity(c.Identity())); err != nil {
		return cli.ModeError{Err: fmt.Errorf("%s: %w", path, err)}
	}
	return nil
}

// voiceReport is a voice in JSON, without its numbers.
type voiceReport struct {
	File         string  `json:"file"`
	Model        string  `json:"model"`
	Size         string  `json:"model_size"`
	Width        int     `json:"width"`
	Codebooks    int     `json:"codebooks"`
	CodebookSize int     `json:"codebook_size"`
	Speaker      string  `json:"speaker_fingerprint"`
	Codec        string  `json:"codec_fingerprint"`
	Frames       int     `json:"frames"`
	Seconds      float64 `json:"seconds"`
	Transcript   string  `json:"transcript"`
	Tool         string  `json:"tool"`
}

func newVoiceReport(path string, v *voicefile.Voice) voiceReport {
	m := v.Model
	return voiceReport{
		File: path, Model: m.Name, Size: m.Size, Width: m.Width, Codebooks: m.Codebooks, CodebookSize: m.CodebookSize,
		Speaker: hex.EncodeToString(m.Speaker[:]), Codec: hex.EncodeToString(m.Codec[:]),
		Frames: len(v.Codes), Seconds: float64(len(v.Codes)) / framesPerSecond, Transcript: v.Transcript, Tool: v.Tool,
	}
}
