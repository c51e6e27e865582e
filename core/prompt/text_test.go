package prompt

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckText(t *testing.T) {
	const blank, mute = "blank: nothing but white space", "nothing to speak: no letter or digit in it"
	for text, want := range map[string]string{
		"":                            "empty",
		"\ufeff":                      "empty",
		" ":                           blank,
		"   \t\n  ":                   blank,
		"\u00a0":                      blank,
		"\u3000":                      blank,
		"\u200b":                      blank,
		" \u2060\u200d\ufeff\x00\r\n": blank,
		"...":                         mute,
		"。":                           mute,
		"?!":                          mute,
		"———":                         mute,
		"***":                         mute,
		"🙂🙂":                          mute,
		"👍🏽":                          mute,
		"👨\u200d👩\u200d👧 🇺🇸 ❤️": mute,
		"\u3164\u115f":    mute,
		"\ufffd":          mute,
		"\u0301":          mute,
		"\xff\xfe\xc0":    "invalid UTF-8 at byte 0 (0xff)",
		"\ufeffab\xe4":    "invalid UTF-8 at byte 5 (0xe4)",
		"H\x00i\x00 \xd8": "invalid UTF-8 at byte 5 (0xd8)",
	} {
		_, err := CheckText(text)
		var e *Error
		require.True(t, errors.As(err, &e), "%q", text)
		assert.ErrorIs(t, err, ErrText)
		assert.NotErrorIs(t, err, ErrRefText)
		assert.Equal(t, "text", e.Field())
		assert.EqualError(t, err, "text: "+want, "%q", text)
	}
	for _, text := range []string{"A", "1", "嗯？", "Huh?", "½", "สวัสดี", "🍺 Ma non eravamo in cucina!", "\n\nHi\n", "a\ufffdb", "1️⃣"} {
		got, err := CheckText(text)
		assert.NoError(t, err, "%q", text)
		assert.Equal(t, text, got)
	}
	got, err := CheckText("\ufeff\ufeffHi")
	require.NoError(t, err)
	assert.Equal(t, "\ufeffHi", got) // one mark, at the start
}
