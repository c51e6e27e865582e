package cli

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// fieldNames puts flags in the place of fields in the engine's messages.
type fieldNames struct {
	flags   map[string]string
	pattern *regexp.Regexp // nil: there are none
}

// newFieldNames finds fields of several words (ref_text) anywhere, but those of one word, which may be meant as words,
// only where a message begins with them.
func newFieldNames(flags map[string]string) fieldNames {
	var compound, single []string
	for _, field := range slices.SortedFunc(maps.Keys(flags), longestFirst) {
		if strings.Contains(field, "_") {
			compound = append(compound, regexp.QuoteMeta(field))
		} else {
			single = append(single, regexp.QuoteMeta(field))
		}
	}
	return fieldNames{flags, regexp.MustCompile(`\b(?:` + strings.Join(compound, "|") + `)\b|(?:^|: )(?:` + strings.Join(single, "|") + `): `)}
}

func longestFirst(a, b string) int {
	if len(a) != len(b) {
		return len(b) - len(a)
	}
	return strings.Compare(a, b)
}

// translate returns a message that names flags.
func (n fieldNames) translate(message string) string {
	if n.pattern == nil {
		return message
	}
	return n.pattern.ReplaceAllStringFunc(message, func(found string) string {
		field := strings.TrimSuffix(strings.TrimPrefix(found, ": "), ": ")
		before, after, _ := strings.Cut(found, field)
		return before + n.flags[field] + after
	})
}
