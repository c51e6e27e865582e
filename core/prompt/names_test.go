package prompt

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLanguages(t *testing.T) {
	_, v := toy(t)
	for want, names := range map[string][]string{
		"":                {"", " ", "auto", "Auto", "AUTO"},
		"chinese":         {"chinese", "Chinese", " CHINESE ", "zh", "ZH", "zho", "chi", "cmn", "zh-CN", "zh_TW", "zh-Hans", "zh-Hant-HK", "中文", "普通话", "Mandarin", "mandarin chinese"},
		"english":         {"en", "eng", "en-US", "en_GB", "EN-us", "en 029", "en-Latn-US"},
		"japanese":        {"ja", "jpn", "ja-JP", "日本語"},
		"korean":          {"ko", "kor", "ko-KR", "한국어", "\u1112\u1161\u11ab국어"},
		"german":          {"de", "deu", "ger", "de-AT", "Deutsch"},
		"french":          {"fr", "fra", "fre", "fr-CA", "Français", "franc\u0327ais"},
		"spanish":         {"es", "spa", "es-419", "Español"},
		"portuguese":      {"pt", "por", "pt-BR", "Português"},
		"italian":         {"it", "ita", "italiano"},
		"russian":         {"ru", "rus", "РУССКИЙ"},
		"beijing_dialect": {"beijing_dialect", "Beijing dialect", "beijing-dialect", "Beijing", "北京话"},
		"sichuan_dialect": {"SICHUAN  DIALECT", "sichuanese", "四川話"},
	} {
		for _, name := range names {
			got, err := v.language(name, nil)
			if assert.NoError(t, err, name) && want == "" {
				assert.Nil(t, got, name)
			} else if assert.NotNil(t, got, name) {
				assert.Equal(t, want, got.Name, name)
			}
		}
	}
	for _, name := range []string{"xx", "th", "zh-yue", "zh-sichuan", "en-", "en-x", "english-US", "e", "en-US-posix", "-zh-?"} {
		l, err := v.language(name, nil)
		if name == "en-" { // a separator at the end says nothing
			assert.NoError(t, err)
			continue
		}
		assert.ErrorIs(t, err, ErrLanguage, "%s gave %v", name, l)
	}
}

// TestLanguageOfTheFile: what counts is the file, not the table of aliases.
func TestLanguageOfTheFile(t *testing.T) {
	v := &Vocab{Languages: []Language{{"English", 1}, {"Klingon", 2}, {"de", 3}}}
	l, err := v.language("klingon", nil)
	require.NoError(t, err)
	assert.EqualValues(t, 2, l.ID)
	l, err = v.language("en-US", nil)
	require.NoError(t, err)
	assert.EqualValues(t, 1, l.ID)
	l, err = v.language("DE", nil)
	require.NoError(t, err)
	assert.EqualValues(t, 3, l.ID)
	_, err = v.language("fr", nil)
	assert.EqualError(t, err, `lang: "fr" is not a language of this model; it has auto, English, Klingon, de`)
	_, err = v.language("englsh", nil)
	assert.EqualError(t, err, `lang: "englsh" is not a language of this model (did you mean "English"?); it has auto, English, Klingon, de`)
}

func TestDialects(t *testing.T) {
	_, v := toy(t)
	for _, test := range []struct{ language, speaker, want string }{
		{"", "dylan", "beijing_dialect"},
		{"auto", "Dylan", "beijing_dialect"},
		{"chinese", "dylan", "beijing_dialect"},
		{"zh-CN", "eric", "sichuan_dialect"},
		{"english", "dylan", "english"},
		{"sichuan_dialect", "dylan", "sichuan_dialect"},
		{"chinese", "vivian", "chinese"},
		{"", "vivian", ""},
	} {
		s, err := v.speaker(test.speaker)
		require.NoError(t, err)
		l, err := v.language(test.language, s)
		require.NoError(t, err)
		if test.want == "" {
			assert.Nil(t, l)
			continue
		}
		require.NotNil(t, l)
		assert.Equal(t, test.want, l.Name)
	}
}

func TestSpeakers(t *testing.T) {
	_, v := toy(t)
	for _, name := range []string{"uncle_fu", "Uncle Fu", "UNCLE-FU", " uncle fu "} {
		s, err := v.speaker(name)
		require.NoError(t, err)
		assert.EqualValues(t, 51, s.ID)
	}
	for _, name := range []string{"", " ", "--"} {
		s, err := v.speaker(name)
		assert.NoError(t, err)
		assert.Nil(t, s)
	}
	_, err := v.speaker(strings.Repeat("é", 1<<20))
	assert.ErrorIs(t, err, ErrSpeaker)
	assert.Less(t, len(err.Error()), 300)
	_, err = v.speaker("vivian\xff")
	assert.ErrorIs(t, err, ErrSpeaker)
}

func TestNearest(t *testing.T) {
	list := []string{"vivian", "uncle_fu", "ryan", "Eric", "auto"}
	for name, want := range map[string]string{
		"vivien": "vivian", "vivan": "vivian", "Vvian": "vivian", "unclefu": "uncle_fu", "Ryann": "ryan", "erik": "Eric",
		"rian": "ryan", "bob": "", "cedar": "", "": "", "x": "",
	} {
		assert.Equal(t, want, nearest(name, list), name)
	}
	assert.Equal(t, 3, editDistance([]rune("kitten"), []rune("sitting")))
	assert.Equal(t, 4, editDistance([]rune(""), []rune("abcd")))
}

func TestCanonicalLanguage(t *testing.T) {
	for name, want := range map[string]string{"de": "german", "German": "german", "zh-CN": "chinese", "Español": "spanish", "pt_BR": "portuguese",
		"beijing dialect": "beijing_dialect", "": "", "auto": "", "klingon": "", "rus": "russian"} {
		assert.Equal(t, want, CanonicalLanguage(name), name)
	}
}
