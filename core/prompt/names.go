package prompt

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const auto = "auto"

// languages lists, for each language's name in model files, the other names it
// goes by: ISO 639 codes and what its speakers call it.
var languages = []struct{ name, aliases string }{
	{"chinese", "zh zho chi cmn mandarin mandarin_chinese 中文 汉语 漢語 普通话 普通話 国语 國語"},
	{"english", "en eng"},
	{"french", "fr fra fre français francais"},
	{"german", "de deu ger deutsch"},
	{"italian", "it ita italiano"},
	{"japanese", "ja jpn 日本語 にほんご"},
	{"korean", "ko kor 한국어 한국말"},
	{"portuguese", "pt por português portugues"},
	{"russian", "ru rus русский"},
	{"spanish", "es spa español espanol castellano"},
	{"beijing_dialect", "beijing beijing_chinese 北京话 北京話"},
	{"sichuan_dialect", "sichuan sichuanese 四川话 四川話"},
}

// key folds a name so that case, normalisation, and the choice of space, '-' or
// '_' between words do not matter.
func key(name string) string {
	words := strings.FieldsFunc(norm.NFC.String(strings.ToLower(name)), func(r rune) bool {
		return r == '-' || r == '_' || unicode.IsSpace(r)
	})
	return strings.Join(words, "_")
}

// language returns the language that takes effect, nil if the model is to decide.
// A speaker's dialect stands in for Chinese and for no language, but not for
// another one.
func (v *Vocab) language(name string, speaker *Speaker) (*Language, error) {
	k := key(name)
	var asked *Language
	if k != "" && k != auto {
		if asked = v.findLanguage(k); asked == nil {
			return nil, &Error{ErrLanguage, unknown(name, "language", append([]string{auto}, v.LanguageNames()...))}
		}
	}
	if speaker != nil && speaker.Dialect != "" && (asked == nil || key(asked.Name) == "chinese") {
		if dialect := v.languageNamed(key(speaker.Dialect)); dialect != nil {
			return dialect, nil
		}
	}
	return asked, nil
}

// findLanguage looks k up among the file's own names, then among aliases, then as
// a BCP 47 tag.
func (v *Vocab) findLanguage(k string) *Language {
	if l := v.languageNamed(k); l != nil {
		return l
	}
	if name, ok := languageAlias(k); ok {
		return v.languageNamed(name)
	}
	primary, rest, _ := strings.Cut(k, "_")
	if name, ok := languageAlias(primary); ok && len(primary) <= 3 && scriptOrRegion(rest) {
		return v.languageNamed(name)
	}
	return nil
}

// CanonicalLanguage returns the English name, as model files have it, of a language given by a name, alias, ISO code or
// BCP 47 tag; "" if it is none of those that are known here, "auto" included.
func CanonicalLanguage(name string) string {
	v := &Vocab{}
	for _, l := range languages {
		v.Languages = append(v.Languages, Language{Name: l.name})
	}
	if l := v.findLanguage(key(name)); l != nil {
		return l.Name
	}
	return ""
}

func (v *Vocab) languageNamed(k string) *Language {
	for i := range v.Languages {
		if key(v.Languages[i].Name) == k {
			return &v.Languages[i]
		}
	}
	return nil
}

func languageAlias(k string) (string, bool) {
	for _, l := range languages {
		for alias := range strings.FieldsSeq(l.aliases) {
			if alias == k {
				return l.name, true
			}
		}
	}
	return "", false
}

// scriptOrRegion tells whether the tail of a BCP 47 tag holds but a script and a
// region ("hans_cn", "us", "419"), which do not change the language.
func scriptOrRegion(tail string) bool {
	for i, sub := range strings.Split(tail, "_") {
		script := len(sub) == 4 && i == 0 && all(sub, 'a', 'z')
		region := len(sub) == 2 && all(sub, 'a', 'z') || len(sub) == 3 && all(sub, '0', '9')
		if !script && !region {
			return false
		}
	}
	return true
}

func all(s string, first, last byte) bool {
	for i := range len(s) {
		if s[i] < first || s[i] > last {
			return false
		}
	}
	return true
}

// speaker returns the speaker of that name, nil for no name.
func (v *Vocab) speaker(name string) (*Speaker, error) {
	k := key(name)
	if k == "" {
		return nil, nil
	}
	for i := range v.Speakers {
		if key(v.Speakers[i].Name) == k {
			return &v.Speakers[i], nil
		}
	}
	if len(v.Speakers) == 0 {
		return nil, &Error{ErrSpeaker, fmt.Sprintf("%s: this model has no named speakers", quote(name))}
	}
	return nil, &Error{ErrSpeaker, unknown(name, "speaker", v.SpeakerNames())}
}

// unknown words an error about a name that is not in the list, with the nearest
// name if there is one close by.
func unknown(name, what string, list []string) string {
	hint := ""
	if near := nearest(name, list); near != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", near)
	}
	return fmt.Sprintf("%s is not a %s of this model%s; it has %s", quote(name), what, hint, strings.Join(list, ", "))
}

// quote quotes a user's name for a message, cut to a readable length.
func quote(name string) string {
	if r := []rune(name); len(r) > maxName {
		name = string(r[:maxName]) + "…"
	}
	return fmt.Sprintf("%q", name)
}

// maxName is the length, in characters, up to which names are compared and shown.
const maxName = 40

// nearest returns the entry of list that takes the fewest edits to become name,
// "" if even that takes more than a third of its letters.
func nearest(name string, list []string) string {
	if len(name) > 4*maxName {
		return ""
	}
	best, bestDistance := "", 0
	k := []rune(key(name))
	for _, entry := range list {
		e := []rune(key(entry))
		d := editDistance(k, e)
		if d <= max(1, len(e)/3) && (best == "" || d < bestDistance) {
			best, bestDistance = entry, d
		}
	}
	return best
}

// editDistance is the Levenshtein distance.
func editDistance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			substitute := diagonal
			if x != y {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
