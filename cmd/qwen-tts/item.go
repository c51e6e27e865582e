package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/internal/cli"
)

// An item is one text of --batch and how it is spoken: what its line says, else what the flags say.
type item struct {
	line    int
	id      string
	name    string // of its files, without their endings
	options options
	set     map[string]bool // the flags that the line sets
	format  audio.Format
	layout  core.Layout
	hash    string // of all that its audio depends on
}

// itemFields are the fields of a line of --batch, besides id: their names, those of the C ABI and those of the flags,
// and the flag whose part each takes.
var itemFields = map[string]string{
	"text": "text", "lang": "lang", "language": "lang", "instruct": "instruct", "speaker": "speaker", "text_layout": "text-layout",
	"long": "long", "piece_chars": "piece-chars",
	"voice": "voice", "ref_audio": "ref-wav", "ref_wav": "ref-wav", "ref_text": "ref-text", "trim_ref": "trim-ref",
	"x_vector_only": "x-vector-only", "ref_spk": "ref-spk", "ref_rvq": "ref-rvq",
	"format": "format", "speed": "speed", "max_new": "max-new", "max_new_tokens": "max-new",
	"seed": "seed", "greedy": "greedy", "temp": "temp", "temperature": "temp", "top_k": "top-k", "top_p": "top-p",
	"rep_pen": "rep-pen", "repetition_penalty": "rep-pen", "sub_temp": "sub-temp", "subtalker_temperature": "sub-temp",
	"sub_top_k": "sub-top-k", "subtalker_top_k": "sub-top-k", "sub_top_p": "sub-top-p", "subtalker_top_p": "sub-top-p",
}

// sourceFlags name files that hold a voice, voiceFlags all that says which voice speaks.
var (
	sourceFlags = []string{"voice", "ref-wav", "ref-spk"}
	fileFlags   = append([]string{"ref-rvq"}, sourceFlags...)
	voiceFlags  = append([]string{"ref-text", "trim-ref", "x-vector-only"}, fileFlags...)
)

// form is options and the flags that set them.
type form struct {
	options options
	flags   *pflag.FlagSet
}

func newForm() *form {
	f := &form{}
	f.flags = newFlags(&f.options).Set()
	return f
}

// An itemReader makes items of lines.
type itemReader struct {
	defaults options
	folder   string // that paths in items are relative to
	form     *form
	seen     map[string]int // line by folded name
}

func newItemReader(defaults *options, folder string) *itemReader {
	return &itemReader{defaults: *defaults, folder: folder, form: newForm(), seen: map[string]int{}}
}

// read makes an item of a line. With an error it has what is known of it.
func (r *itemReader) read(line int, text string) (*item, error) {
	it := &item{line: line, set: map[string]bool{}}
	fields, err := jsonFields(text)
	if err != nil {
		return it, err
	}
	raw, ok := fields["id"]
	if !ok {
		return it, errors.New("id: missing")
	}
	if err := json.Unmarshal(raw, &it.id); err != nil || it.id == "" {
		return it, fmt.Errorf("id: want a string that is not empty, found %s", raw)
	}
	delete(fields, "id")
	if err := r.fill(it, fields); err != nil {
		return it, asFields(err)
	}
	return it, r.claim(it)
}

// fill sets the options of an item.
func (r *itemReader) fill(it *item, fields map[string]json.RawMessage) (err error) {
	r.form.options = r.defaults
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		flag, known := itemFields[name]
		switch {
		case !known:
			return fmt.Errorf("unknown field %q; there are id, %s", name, strings.Join(slices.Sorted(maps.Keys(itemFields)), ", "))
		case it.set[flag]:
			return fmt.Errorf("%s: given twice, by another name too", name)
		}
		value, err := flagValue(r.form.flags.Lookup(flag), fields[name])
		if err == nil {
			err = r.form.flags.Set(flag, value)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, reason(err))
		}
		it.set[flag] = true
	}
	it.options = r.form.options
	r.settleVoice(it)
	return it.check()
}

// reason is what pflag says without the repetition of flag and value.
func reason(err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		return value.Unwrap()
	}
	return err
}

// settleVoice drops the voice of the flags where the item has one, and finds the item's files.
func (r *itemReader) settleVoice(it *item) {
	o := &it.options
	own := slices.ContainsFunc(sourceFlags, func(f string) bool { return it.set[f] })
	for flag, value := range map[string]*string{
		"voice": &o.voice, "ref-wav": &o.refWAV, "ref-spk": &o.refSpk, "ref-rvq": &o.refRVQ, "ref-text": &o.refText,
	} {
		switch {
		case it.set[flag] && flag == "ref-text":
			o.inline = true
		case it.set[flag] && *value != "" && !filepath.IsAbs(*value):
			*value = filepath.Join(r.folder, *value)
		case !it.set[flag] && own:
			*value = ""
		}
	}
	if own {
		o.design, o.base, o.anchor = "", "", ""
		o.trimRef = o.trimRef && it.set["trim-ref"]
		o.xvectorOnly = o.xvectorOnly && it.set["x-vector-only"]
	}
}

// check refuses what needs no model to be seen wrong.
func (it *item) check() (err error) {
	o := &it.options
	if strings.TrimSpace(o.text) == "" {
		return errors.New("text: missing")
	}
	if it.format, err = cli.OutputFormat(o.format, ""); err != nil {
		return err
	}
	if err := audio.CheckSpeed(float64(o.speed)); err != nil {
		return err
	}
	if it.layout, err = parseLayout(o.layout); err != nil {
		return fmt.Errorf("text_layout: %w", err)
	}
	if err := o.checkPieces(); err != nil {
		return err
	}
	return o.checkVoice()
}

// claim gives the item the names of its files, which no other one may have.
func (r *itemReader) claim(it *item) (err error) {
	if it.name, err = fileName(it.id); err != nil {
		return fmt.Errorf("id: %w", err)
	}
	key := foldName(it.name)
	if other, taken := r.seen[key]; taken {
		return fmt.Errorf("id: %q would have the files of line %d", it.id, other)
	}
	r.seen[key] = it.line
	return nil
}

// ownVoice tells whether the line says something of the voice.
func (it *item) ownVoice() bool {
	return slices.ContainsFunc(voiceFlags, func(f string) bool { return it.set[f] })
}

// jsonFields are the members of an object that are not null; none may be there twice.
func jsonFields(text string) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(strings.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("not a JSON object: %w", cmp.Or(err, errors.New("it does not begin with {")))
	}
	fields, names := map[string]json.RawMessage{}, map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("not a JSON object: %w", err)
		}
		name := t.(string) // what else would be a key is a syntax error
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("%s: not JSON: %w", name, err)
		}
		if names[name] {
			return nil, fmt.Errorf("%s: given twice", name)
		}
		names[name] = true
		if !bytes.Equal(value, []byte("null")) {
			fields[name] = value
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON object")
	}
	return fields, nil
}

// flagValue is a JSON value as a flag is given it, if it is of the flag's type.
func flagValue(flag *pflag.Flag, raw json.RawMessage) (string, error) {
	var value any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return "", err
	}
	want := "a number"
	switch flag.Value.Type() {
	case "string":
		if s, ok := value.(string); ok {
			return s, nil
		}
		want = "a string"
	case "bool":
		if b, ok := value.(bool); ok {
			return fmt.Sprint(b), nil
		}
		want = "true or false"
	default:
		if n, ok := value.(json.Number); ok {
			return n.String(), nil
		}
	}
	return "", fmt.Errorf("want %s, found %s", want, raw)
}

var flagPattern = regexp.MustCompile(`--[a-z][a-z-]*[a-z]`)

// asFields makes a message name the fields of an item instead of flags.
func asFields(err error) error {
	message := flagPattern.ReplaceAllStringFunc(err.Error(), func(flag string) string {
		field := strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "-", "_")
		if _, known := itemFields[field]; known {
			return field
		}
		return flag
	})
	if message == err.Error() {
		return err
	}
	return renamed{message, err}
}

// renamed is an error with another message.
type renamed struct {
	message string
	error
}

func (r renamed) Error() string { return r.message }
func (r renamed) Unwrap() error { return r.error }
