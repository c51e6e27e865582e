package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func utf16Bytes(text string, bigEndian bool) string {
	var b []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		if bigEndian {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return string(b)
}

func TestReadText(t *testing.T) {
	const text = "Grüße, 世界 \U0001F600\n second line"
	for name, in := range map[string]string{
		"plain":                  text,
		"line end stripped":      text + "\n",
		"CRLF stripped":          text + "\r\n\r\n",
		"UTF-8 mark":             "\ufeff" + text,
		"UTF-16 little endian":   utf16Bytes(text, false),
		"UTF-16 big endian":      utf16Bytes(text+"\r\n", true),
		"UTF-8 mark and newline": "\ufeff" + text + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadText(context.Background(), iotest.OneByteReader(strings.NewReader(in)))
			require.NoError(t, err)
			assert.Equal(t, text, got)
		})
	}
}

func TestReadTextKeepsWhatIsNotALineEnd(t *testing.T) {
	for _, text := range []string{"", " ", "\n\nstart", "\ufeffx\ufeffy", "\u3000", "a\tb", "\xef\xbb"} {
		got, err := ReadText(context.Background(), strings.NewReader("\ufeff"+text))
		if text == "\xef\xbb" {
			assert.ErrorContains(t, err, "byte 0")
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, text, got)
	}
}

func TestReadTextRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"broken UTF-8":        {"abc\xffdef", "text: invalid UTF-8 at byte 3 (0xff)"},
		"cut UTF-8":           {"gr\xc3", "text: invalid UTF-8 at byte 2 (0xc3)"},
		"surrogate in UTF-8":  {"\xed\xa0\x80", "invalid UTF-8 at byte 0"},
		"Latin-1":             {"Gr\xfc\xdfe", "invalid UTF-8 at byte 2 (0xfc)"},
		"UTF-16 without mark": {"H\x00i\x00", "NUL at byte 1; is it UTF-16"},
		"too long":            {strings.Repeat("x", maxText+1), "longer than 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadText(context.Background(), strings.NewReader(tc.in))
			assert.ErrorContains(t, err, tc.want)
			assert.Equal(t, ExitUsage, ExitCode(context.Background(), err))
		})
	}
}

func TestReadTextReportsFailingReader(t *testing.T) {
	broken := errors.New("disk on fire")
	_, err := ReadText(context.Background(), iotest.ErrReader(broken))
	assert.ErrorIs(t, err, broken)
	assert.Equal(t, ExitIO, ExitCode(context.Background(), err))
	_, err = ReadText(context.Background(), io.MultiReader(strings.NewReader("some text"), iotest.ErrReader(broken)))
	assert.ErrorIs(t, err, broken)
}

func TestReadTextStopsWithTheContext(t *testing.T) {
	silent, write := io.Pipe()
	defer write.Close()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err := ReadText(ctx, silent)
	assert.ErrorIs(t, err, context.Canceled)
}

func lines(t *testing.T, r io.Reader) ([]string, error) {
	t.Helper()
	var got []string
	err := EachLine(context.Background(), r, func(line string) error {
		got = append(got, line)
		return nil
	})
	return got, err
}

func TestEachLine(t *testing.T) {
	want := []string{"one", "  two ", "Ünï 世界"}
	for name, in := range map[string]string{
		"unix":            "one\n  two \nÜnï 世界\n",
		"no end":          "one\n  two \nÜnï 世界",
		"windows":         "one\r\n  two \r\nÜnï 世界\r\n",
		"blank lines":     "\n\none\n \t\n  two \n\u3000\nÜnï 世界\n\n",
		"UTF-8 mark":      "\ufeffone\n  two \nÜnï 世界\n",
		"UTF-16":          utf16Bytes("one\n  two \nÜnï 世界\n", false),
		"UTF-16 big, \\r": utf16Bytes("one\r\n  two \r\nÜnï 世界", true),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := lines(t, strings.NewReader(in))
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
	got, err := lines(t, strings.NewReader(""))
	require.NoError(t, err)
	assert.Empty(t, got)

	long := strings.Repeat("long ", 10000) // longer than the reader's buffer
	got, err = lines(t, strings.NewReader(long+"\nshort\n"))
	require.NoError(t, err)
	assert.Equal(t, []string{long, "short"}, got)
}

// A line must be spoken when it ends, not when the next one begins, also the first and shortest.
func TestEachLineDoesNotWaitForMore(t *testing.T) {
	r, w := io.Pipe()
	spoken := make(chan string)
	done := make(chan error)
	go func() {
		done <- EachLine(context.Background(), r, func(line string) error {
			spoken <- line
			return nil
		})
	}()
	for _, line := range []string{"a", "好", "next"} {
		_, err := io.WriteString(w, line+"\n")
		require.NoError(t, err)
		assert.Equal(t, line, <-spoken)
	}
	w.Close()
	assert.NoError(t, <-done)
}

func TestEachLineErrors(t *testing.T) {
	_, err := lines(t, strings.NewReader("good\nb\xffd\n"))
	assert.ErrorContains(t, err, "text: line 2: invalid UTF-8 at byte 1")
	assert.Equal(t, ExitUsage, ExitCode(context.Background(), err))

	_, err = lines(t, bytes.NewReader(bytes.Repeat([]byte{'x'}, maxText+1)))
	assert.ErrorContains(t, err, "line 1: longer than")
	assert.Equal(t, ExitUsage, ExitCode(context.Background(), err))

	broken := errors.New("cable pulled")
	_, err = lines(t, io.MultiReader(strings.NewReader("one\ntwo"), iotest.ErrReader(broken)))
	assert.ErrorIs(t, err, broken)
	assert.Equal(t, ExitIO, ExitCode(context.Background(), err))

	err = EachLine(context.Background(), strings.NewReader("one\n"), func(string) error { return broken })
	assert.ErrorContains(t, err, "line 1: cable pulled")
}

func FuzzReadText(f *testing.F) {
	f.Add([]byte("plain\n"))
	f.Add([]byte("\xff\xfeh\x00i\x00"))
	f.Add([]byte("\xfe\xff\xd8\x00"))
	f.Add([]byte("\xef\xbb\xbf\xc3"))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := ReadText(context.Background(), bytes.NewReader(in))
		if err != nil {
			return
		}
		require.NoError(t, checkText([]byte(got)))
		require.False(t, strings.HasSuffix(got, "\n"))
	})
}
