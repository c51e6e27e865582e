package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// maxText bounds the text of one synthesis, bytes. The context of the model ends long before it.
const maxText = 16 << 20

// textReader strips a UTF-8 byte order mark and decodes UTF-16 that has one; everything else passes as it is.
// It looks at no more bytes than a mark has, so that a line typed at a terminal is seen at once.
func textReader(r io.Reader) (*bufio.Reader, error) {
	br := bufio.NewReader(r)
	start, err := br.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.Equal(start, []byte{0xff, 0xfe}):
		br = bufio.NewReader(unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Reader(br))
	case bytes.Equal(start, []byte{0xfe, 0xff}):
		br = bufio.NewReader(unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM).NewDecoder().Reader(br))
	case bytes.Equal(start, []byte{0xef, 0xbb}):
		if start, _ = br.Peek(3); bytes.Equal(start, []byte{0xef, 0xbb, 0xbf}) {
			_, err = br.Discard(3)
			return br, err
		}
	}
	return br, nil
}

// ReadText reads all of r as one text, without the line breaks at its end. It returns early if ctx is cancelled.
func ReadText(ctx context.Context, r io.Reader) (string, error) {
	data, err := await(ctx, func() ([]byte, error) {
		br, err := textReader(r)
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(br, maxText+1))
	})
	if err != nil {
		return "", fmt.Errorf("text: %w", err)
	}
	if len(data) > maxText {
		return "", Inputf("text: longer than %d MiB", maxText>>20)
	}
	if err := checkText(data); err != nil {
		return "", Inputf("text: %w", err)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// ReadTextFile reads a small text file, such as a transcript.
func ReadTextFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", IOError{err}
	}
	defer f.Close()
	return ReadText(context.Background(), f)
}

// EachLine calls speak with each line of r that is not blank, as soon as it is complete.
func EachLine(ctx context.Context, r io.Reader, speak func(line string) error) error {
	return Lines(ctx, r, func(n int, line string, err error) error {
		if err != nil {
			return Inputf("text: line %d: %w", n, err)
		}
		if err := speak(line); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		return nil
	})
}

// Lines calls yield with each line of r that is not blank and its number, from 1, as soon as it is complete; with an
// error in its place if it is not text. What yield returns ends it.
func Lines(ctx context.Context, r io.Reader, yield func(n int, line string, err error) error) error {
	br, err := await(ctx, func() (*bufio.Reader, error) { return textReader(r) })
	if err != nil {
		return fmt.Errorf("text: %w", err)
	}
	for n := 1; ; n++ {
		line, err := await(ctx, func() ([]byte, error) { return readLine(br) })
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("text: line %d: %w", n, err)
		}
		text := strings.TrimRight(string(line), "\r\n")
		if strings.TrimSpace(text) == "" {
			continue
		}
		if err := yield(n, text, checkText(line)); err != nil {
			return err
		}
	}
}

// readLine returns the next line with its end, or io.EOF where there is none. The last line may lack an end.
func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxText {
			return nil, Inputf("longer than %d MiB", maxText>>20)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		}
		return line, err
	}
}

// checkText wants UTF-8. NUL is valid UTF-8, but in a text it is the other half of a UTF-16 letter.
func checkText(data []byte) error {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return fmt.Errorf("invalid UTF-8 at byte %d (0x%02x)", i, data[i])
		}
		if r == 0 {
			return fmt.Errorf("NUL at byte %d; is it UTF-16 without a byte order mark?", i)
		}
		i += size
	}
	return nil
}

// await runs a blocking read, but does not outlast ctx: the read is then left behind, which is fine as the process
// is about to end. A failing read is an IOError.
func await[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		var input InputError
		if r.err != nil && !errors.Is(r.err, io.EOF) && !errors.As(r.err, &input) {
			r.err = IOError{r.err}
		}
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
