package server

import (
	"encoding/json"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/prompt"
)

// speechRequest is the body of POST /v1/audio/speech: OpenAI's fields and what engines like this one add to them.
type speechRequest struct {
	input, model, voice, instructions string
	responseFormat, streamFormat      string
	language, refAudio, refText, task string
	stream, xvectorOnly               *bool
	speed                             *float64
	seed, maxFrames                   *int64
	talker, predictor                 samplingFields
}

// samplingFields are those of one stack; nil leaves the model's default.
type samplingFields struct {
	temperature, topP, repetition *float64
	topK                          *int64
}

// readSpeech parses the body; what it may mean to this model is not looked at.
func readSpeech(body []byte, strict bool) (*speechRequest, error) {
	r := &speechRequest{}
	if err := readObject(body, r.fields(), strict); err != nil {
		return nil, err
	}
	return r, r.check()
}

// fields are all that is known.
func (r *speechRequest) fields() []field {
	return []field{
		{[]string{"input"}, toText(&r.input)},
		{[]string{"model"}, toText(&r.model)},
		{[]string{"voice", "speaker"}, r.setVoice},
		{[]string{"instructions", "instruct"}, toText(&r.instructions)},
		{[]string{"response_format"}, toText(&r.responseFormat)},
		{[]string{"stream_format"}, toText(&r.streamFormat)},
		{[]string{"stream"}, toBool(&r.stream)},
		{[]string{"speed"}, toNumber(&r.speed)},
		{[]string{"language", "lang_code", "lang"}, toText(&r.language)},
		{[]string{"seed"}, toInteger(&r.seed)},
		{[]string{"max_new_tokens", "max_tokens"}, toInteger(&r.maxFrames)},
		{[]string{"temperature"}, toNumber(&r.talker.temperature)},
		{[]string{"top_k"}, toInteger(&r.talker.topK)},
		{[]string{"top_p"}, toNumber(&r.talker.topP)},
		{[]string{"repetition_penalty"}, toNumber(&r.talker.repetition)},
		{[]string{"subtalker_temperature"}, toNumber(&r.predictor.temperature)},
		{[]string{"subtalker_top_k"}, toInteger(&r.predictor.topK)},
		{[]string{"subtalker_top_p"}, toNumber(&r.predictor.topP)},
		{[]string{"ref_audio"}, toText(&r.refAudio)},
		{[]string{"ref_text"}, toText(&r.refText)},
		{[]string{"x_vector_only_mode"}, toBool(&r.xvectorOnly)},
		{[]string{"task_type"}, toText(&r.task)},
	}
}

// setVoice takes a name, or an object with it.
func (r *speechRequest) setVoice(raw json.RawMessage) error {
	switch jsonKind(raw) {
	case "a string":
		return toText(&r.voice)(raw)
	case "an object":
		return readObject(raw, []field{{[]string{"id", "name"}, toText(&r.voice)}}, false)
	}
	return wants("a string or an object with an id", raw)
}

// check refuses what no model could do.
func (r *speechRequest) check() error {
	if r.input == "" {
		return refuse("input", "missing_required_field", "input: missing: the text to speak")
	}
	if prompt.IsBlank(r.input) {
		return refuse("input", "invalid_value", "input: blank: nothing but white space")
	}
	switch r.streamFormat {
	case "", "audio", "sse":
	default:
		return refuse("stream_format", "invalid_value", "stream_format: %q is neither audio nor sse", r.streamFormat)
	}
	if r.streamFormat == "sse" && r.stream != nil && !*r.stream {
		return refuse("stream", "invalid_value", "stream: false contradicts stream_format sse")
	}
	return nil
}

// checkLength refuses texts that are longer than the server allows, in characters.
func (r *speechRequest) checkLength(most int) error {
	if n := utf8.RuneCountInString(r.input); n > most {
		return refuse("input", "input_too_long", "input: %d characters, at most %d are taken", n, most)
	}
	return nil
}

// checkTask refuses a request that says it is for another family of models.
func (r *speechRequest) checkTask(modelType string) error {
	want := map[string]string{"": modelType, "customvoice": customVoice, "voicedesign": voiceDesign, "base": baseModel}
	task := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(r.task))
	switch family, known := want[task]; {
	case !known:
		return refuse("task_type", "invalid_value", "task_type: %q is not one of CustomVoice, VoiceDesign, Base", r.task)
	case family != modelType:
		return refuse("task_type", "mode_invalid", "task_type: %s, but this is a %s model", r.task, modelType)
	}
	return nil
}

// apply overrides a request's sampling. The CodePredictor follows the Talker unless it has fields of its own.
func (r *speechRequest) apply(req *core.Request) error {
	if r.seed != nil {
		req.Seed = *r.seed
	}
	if r.maxFrames != nil {
		if *r.maxFrames < 1 || *r.maxFrames > math.MaxInt32 {
			return refuse("max_new_tokens", "invalid_value", "max_new_tokens: %d is not in 1..%d", *r.maxFrames, math.MaxInt32)
		}
		req.MaxFrames = int(*r.maxFrames)
	}
	if err := r.talker.apply("", &req.Talker); err != nil {
		return err
	}
	follow := r.talker
	follow.repetition = nil
	if err := follow.apply("", &req.Predictor); err != nil {
		return err
	}
	return r.predictor.apply("subtalker_", &req.Predictor)
}

// apply sets what is given; ranges are checked by core, which also takes the name of a field to be that.
func (f samplingFields) apply(prefix string, p *core.Sampling) error {
	if f.topK != nil {
		if *f.topK < 0 || *f.topK > math.MaxInt32 {
			return refuse(prefix+"top_k", "invalid_value", "%stop_k: %d is out of range", prefix, *f.topK)
		}
		p.TopK = int(*f.topK)
	}
	for _, number := range []struct {
		from *float64
		to   *float32
	}{{f.temperature, &p.Temperature}, {f.topP, &p.TopP}, {f.repetition, &p.RepetitionPenalty}} {
		if number.from != nil {
			*number.to = float32(*number.from)
		}
	}
	return nil
}
