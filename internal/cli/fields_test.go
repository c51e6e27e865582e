package cli

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFieldsBecomeFlags(t *testing.T) {
	n := newFieldNames(map[string]string{"ref_text": "--ref-text", "ref_text_file": "--file", "speaker": "--speaker", "lang": "--lang"})
	for message, want := range map[string]string{
		"speaker: excludes a reference (ref_text)":    "--speaker: excludes a reference (--ref-text)",
		"the speaker: no":                             "the speaker: no",
		"line 3: lang: \"xx\" is no language":         "line 3: --lang: \"xx\" is no language",
		"ref_text_file, ref_texts, my_ref_text: text": "--file, ref_texts, my_ref_text: text",
		"speaker":              "speaker",
		"slang: unknown":       "slang: unknown",
		"ref_text: speaker: x": "--ref-text: --speaker: x",
		"":                     "",
	} {
		assert.Equal(t, want, n.translate(message))
	}
	assert.Equal(t, "ref_text: x", fieldNames{}.translate("ref_text: x"))
}

func TestWarningsNameFlags(t *testing.T) {
	var out bytes.Buffer
	c := NewConsole(&out, "x")
	c.NameFields(map[string]string{"ref_audio_24k": "--ref-wav", "instruct": "--instruct"})
	c.Logger().Warn("ref_audio_24k: silence")
	assert.Equal(t, "x: warning: --ref-wav: silence\n", out.String())
}
