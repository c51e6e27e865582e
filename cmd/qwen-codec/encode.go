package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/voicefile"
	"github.com/libqwen/libqwen/internal/atomicfile"
	"github.com/libqwen/libqwen/internal/cli"
)

// output is a file to be written: its content, and what is told about it, come from the extracted voice.
type output struct {
	path   string
	format func(v *voicefile.Voice) (data []byte, told string, err error)
	file   *atomicfile.File
}

// encode writes the codes of a recording, and with a talker its speaker's vector, as side files or as one voice.
func (a *app) encode(ctx context.Context) error {
	outputs := a.outputs()
	defer func() {
		for _, out := range outputs {
			if out.file != nil {
				out.file.Discard()
			}
		}
	}()
	for i, out := range outputs {
		var err error
		if outputs[i].file, err = a.create(out.path); err != nil {
			return err
		}
	}
	transcript, err := a.readTranscript()
	if err != nil {
		return err
	}
	pcm, err := cli.ReadClip(a.console, a.options.input, transcript, a.options.trim)
	if err != nil {
		return err
	}
	v, err := a.extract(ctx, pcm)
	if err != nil {
		return err
	}
	v.Transcript = transcript
	return a.saveAll(outputs, v)
}

// outputs are the files that the flags ask for.
func (a *app) outputs() []output {
	o := a.options
	if o.voice != "" && o.output == "" {
		return []output{{path: o.voice, format: formatVoice}}
	}
	rvq := o.output
	if rvq == "" {
		rvq = sibling(o.input, ".rvq")
	}
	list := []output{{path: rvq, format: formatCodes}}
	if o.models.TalkerPath != "" {
		list = append(list, output{path: sibling(rvq, ".spk"), format: formatXVector})
	}
	if o.voice != "" {
		list = append(list, output{path: o.voice, format: formatVoice})
	}
	return list
}

// extract encodes a recording; with a talker there is an x-vector.
func (a *app) extract(ctx context.Context, pcm []float32) (*voicefile.Voice, error) {
	c, err := a.open()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	v := &voicefile.Voice{Model: voicefile.Identity(c.Identity()), Tool: cli.Banner(version)}
	if a.options.models.TalkerPath != "" {
		if v.XVector, err = c.Embed(ctx, pcm); err != nil {
			return nil, err
		}
	}
	if v.Codes, err = c.Encode(ctx, pcm); err != nil {
		return nil, err
	}
	if !vary(v.Codes) {
		a.console.Linef("warning: %s: all frames have the same codes: either nothing happens in the recording, or the codec's file is damaged", a.options.input)
	}
	return v, nil
}

// vary tells whether the codes change over time; few frames need not.
func vary(codes [][]int32) bool {
	const few = 4
	return len(codes) < few || slices.ContainsFunc(codes, func(frame []int32) bool { return !slices.Equal(frame, codes[0]) })
}

// saveAll writes the files when all of them have been made.
func (a *app) saveAll(outputs []output, v *voicefile.Voice) error {
	if a.options.voice != "" && v.Transcript == "" {
		a.console.Linef("warning: without --ref-text only the speaker's vector of %s can be used", a.options.voice)
	}
	var data [][]byte
	var told []string
	for _, out := range outputs {
		d, line, err := out.format(v)
		if err != nil {
			return fmt.Errorf("%s: %w", out.path, err)
		}
		data, told = append(data, d), append(told, line)
	}
	for i, out := range outputs {
		if err := save(out.file, data[i]); err != nil {
			return err
		}
		if err := a.tell("%s: %s", out.path, told[i]); err != nil {
			return err
		}
	}
	return nil
}

func formatCodes(v *voicefile.Voice) ([]byte, string, error) {
	data, err := voicefile.FormatCodes(v.Codes, v.Model.Codebooks, v.Model.CodebookSize)
	return data, describeCodes(v.Codes), err
}

func formatXVector(v *voicefile.Voice) ([]byte, string, error) {
	return voicefile.FormatXVector(v.XVector), fmt.Sprintf("vector of %d values", len(v.XVector)), nil
}

func formatVoice(v *voicefile.Voice) ([]byte, string, error) {
	data, err := voicefile.FormatVoice(v)
	return data, describeVoice(v), err
}

// framesPerSecond of codes, those of the 12 Hz speech tokenizer.
const framesPerSecond = core.SampleRate / 1920.0

func describeCodes(codes [][]int32) string {
	if len(codes) == 0 {
		return "no codes"
	}
	return fmt.Sprintf("%d frames of %d codes, %.2f s", len(codes), len(codes[0]), float64(len(codes))/framesPerSecond)
}

func describeVoice(v *voicefile.Voice) string {
	transcript := "no transcript"
	if v.Transcript != "" {
		transcript = fmt.Sprintf("transcript of %d characters", len([]rune(v.Transcript)))
	}
	return fmt.Sprintf("voice for %s: vector of %d values, %s, %s", v.Model, len(v.XVector), describeCodes(v.Codes), transcript)
}
