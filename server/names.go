package server

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// openAIVoices are the names that OpenAI's clients know; some can send no other.
var openAIVoices = []string{"alloy", "ash", "ballad", "coral", "echo", "fable", "onyx", "nova", "sage", "shimmer", "verse", "marin", "cedar"}

// defaultVoice is the name to send for none, where a client must send one.
const defaultVoice = "default"

// voiceName is what the name of a registered voice must look like: it becomes the name of a file.
var voiceName = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._ -]{0,62}[A-Za-z0-9_-])?$`)

// deviceName is what Windows takes for a device, whatever follows the first point.
var deviceName = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$`)

// checkName refuses names that a registered voice cannot have.
func checkName(name string) error {
	switch {
	case name == "":
		return refuse("name", "missing_required_field", "name: missing")
	case !voiceName.MatchString(name) || deviceName.MatchString(name) || strings.Contains(name, ".."):
		return refuse("name", "invalid_value",
			"name: %q cannot be the name of a voice: 1 to 64 letters, digits, spaces and . _ - of ASCII, a letter or digit first", name)
	case foldName(name) == defaultVoice:
		return refuse("name", "invalid_value", "name: %q means no voice in particular", name)
	}
	return nil
}

// foldName makes names equal that differ in case only.
func foldName(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// ParseAlias reads "alloy=vivian".
func ParseAlias(s string) (alias, voice string, err error) {
	alias, voice, ok := strings.Cut(s, "=")
	alias, voice = strings.TrimSpace(alias), strings.TrimSpace(voice)
	if !ok || alias == "" || voice == "" {
		return "", "", fmt.Errorf("%q: NAME=VOICE is wanted", s)
	}
	return alias, voice, nil
}

// aliases gives each of OpenAI's names a voice: the one that the operator chose, else one of those there are, in turn.
func aliases(chosen map[string]string, voices []string) map[string]string {
	all := map[string]string{}
	for i, name := range openAIVoices {
		if len(voices) > 0 {
			all[name] = voices[i%len(voices)]
		}
	}
	for alias, voice := range chosen {
		all[foldName(alias)] = voice
	}
	return all
}

func isOpenAIVoice(name string) bool { return slices.Contains(openAIVoices, foldName(name)) }
