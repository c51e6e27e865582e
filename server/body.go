package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// readBody reads a request's body, which must come in time and have at most so many bytes.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) (body []byte, err error) {
	err = s.withBody(w, r, func() (err error) {
		body, err = io.ReadAll(r.Body)
		return err
	})
	return body, err
}

// withBody lets read take r.Body, and takes what that leaves of it: only then the connection is read further, to see
// whether the client goes away, for as long as the answer takes. The server's end ends the reading.
func (s *Server) withBody(w http.ResponseWriter, r *http.Request, read func() error) error {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		e := refuse("", "unsupported_media_type", "the body is encoded as %q; only plain bodies are taken", coding)
		e.status = http.StatusUnsupportedMediaType
		return e
	}
	c := http.NewResponseController(w)
	over := make(chan struct{})
	stop := context.AfterFunc(s.base, func() {
		_ = c.SetReadDeadline(time.Now())
		close(over)
	})
	r.Body = &bodyReader{ReadCloser: http.MaxBytesReader(w, r.Body, s.opts.MaxBody), server: s, request: r, control: c}
	err := read()
	if err == nil {
		_, err = io.Copy(io.Discard, r.Body)
	}
	if !stop() {
		<-over // the controller is not to be used when the request is over
	}
	switch {
	case err == nil:
		_ = c.SetReadDeadline(time.Time{})
		return nil
	case s.base.Err() != nil:
		return unavailable("shutting_down", errShutdown.Error(), time.Second)
	}
	return bodyError(err)
}

// bodyReader reads a body. What exceeds smallBody waits until it is one of the few large ones: clients decide how many
// bodies come at once, and the server's memory must be enough for all that are in it.
type bodyReader struct {
	io.ReadCloser
	server  *Server
	request *http.Request
	control *http.ResponseController
	count   int
}

// A body of more than smallBody bytes is large; that many of these are in memory at a time.
const (
	smallBody   = 1 << 20
	largeBodies = 4
)

func (b *bodyReader) Read(p []byte) (int, error) {
	if b.count >= smallBody {
		if err := b.server.holdLarge(b.request, b.control); err != nil {
			return 0, err
		}
	} else if room := smallBody - b.count; len(p) > room {
		p = p[:room]
	}
	n, err := b.ReadCloser.Read(p)
	b.count += n
	return n, err
}

// holdLarge makes a request's body a large one, which it is until freeBody; the client has BodyTimeout from then on.
func (s *Server) holdLarge(r *http.Request, c *http.ResponseController) error {
	x := exchangeOf(r.Context())
	if x.large {
		return nil
	}
	late := time.NewTimer(s.opts.BodyTimeout)
	defer late.Stop()
	select {
	case s.large <- struct{}{}:
		x.large = true
	case <-late.C:
		return unavailable("queue_timeout", "too many large bodies are being read; try again later", s.opts.BodyTimeout)
	case <-s.base.Done():
		return s.base.Err()
	}
	_ = c.SetReadDeadline(time.Now().Add(s.opts.BodyTimeout))
	if s.base.Err() != nil {
		_ = c.SetReadDeadline(time.Now())
	}
	return nil
}

// freeBody says that nothing of a request's body is kept any more.
func (x *exchange) freeBody() {
	if x.large {
		x.large = false
		<-x.server.large
	}
}

// bodyError tells why a body could not be read.
func bodyError(err error) error {
	var known *apiError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &tooLarge):
		e := refuse("", "body_too_large", "the body has more than %d bytes", tooLarge.Limit)
		e.status, e.cause = http.StatusRequestEntityTooLarge, err
		return e
	case errors.Is(err, os.ErrDeadlineExceeded):
		e := refuse("", "body_timeout", "the body did not arrive in time")
		e.status, e.cause = http.StatusRequestTimeout, err
		return e
	}
	e := refuse("", "invalid_body", "the body cannot be read: %v", err)
	e.cause = err
	return e
}

// field is what a JSON object may have: the names it goes by, the first for messages, and where its value goes.
type field struct {
	names []string
	set   func(raw json.RawMessage) error
}

// readObject takes a JSON object apart. Null counts as absent. A field that is not known is ignored, or refused if so asked.
func readObject(body []byte, fields []field, refuseUnknown bool) error {
	object, err := parseObject(body)
	if err != nil {
		return err
	}
	for _, f := range fields {
		given := ""
		for _, name := range f.names {
			raw, ok := object[name]
			delete(object, name)
			if !ok || string(raw) == "null" {
				continue
			}
			if given != "" {
				return refuse(name, "invalid_value", "%s: the same as %s; send one of them", name, given)
			}
			given = name
			if err := f.set(raw); err != nil {
				return fieldError(name, err)
			}
		}
	}
	if unknown := slices.Sorted(maps.Keys(object)); len(unknown) > 0 && refuseUnknown {
		return refuse(unknown[0], "unknown_field", "%s: there is no such field", unknown[0])
	}
	return nil
}

// fieldError is the answer to a value that cannot be taken.
func fieldError(name string, err error) error {
	var known *apiError
	if errors.As(err, &known) {
		return known
	}
	return refuse(name, "invalid_type", "%s: %v", name, err)
}

// parseObject wants an object in UTF-8. The standard library would put U+FFFD in place of what is not, and that would
// then be spoken.
func parseObject(body []byte) (map[string]json.RawMessage, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, refuse("", "invalid_json", "the body is empty; a JSON object is wanted")
	}
	if at := invalidUTF8(body); at >= 0 {
		return nil, refuse("", "invalid_json", "the body is not UTF-8 at byte %d (0x%02x)", at, body[at])
	}
	if at := loneSurrogate(body); at >= 0 {
		return nil, refuse("", "invalid_json", "the body has half of a surrogate pair at byte %d", at)
	}
	var object map[string]json.RawMessage
	err := json.Unmarshal(body, &object)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, refuse("", "invalid_json", "the body is not JSON: byte %d: %v", syntax.Offset, syntax)
	case err != nil || object == nil:
		return nil, refuse("", "invalid_json", "the body must be a JSON object, not %s", jsonKind(bytes.TrimSpace(body)))
	}
	return object, nil
}

func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// loneSurrogate finds an escape \uD800 … \uDFFF that is not one half of a pair, -1 if there is none.
func loneSurrogate(b []byte) int {
	for i := 0; i+1 < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		switch high, ok := unicodeEscape(b[i:]); {
		case !ok:
			i++ // the character that is escaped
		case high >= 0xd800 && high < 0xdc00:
			if low, ok := unicodeEscape(b[i+6:]); !ok || low < 0xdc00 || low > 0xdfff {
				return i
			}
			i += 11
		case high >= 0xdc00 && high <= 0xdfff:
			return i
		}
	}
	return -1
}

// unicodeEscape reads \uXXXX.
func unicodeEscape(b []byte) (uint64, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return v, err == nil
}

// jsonKind names the kind of a JSON value.
func jsonKind(raw []byte) string {
	switch {
	case len(raw) == 0:
		return "nothing"
	case raw[0] == '{':
		return "an object"
	case raw[0] == '[':
		return "an array"
	case raw[0] == '"':
		return "a string"
	case raw[0] == 't', raw[0] == 'f':
		return "a boolean"
	case raw[0] == 'n':
		return "null"
	}
	return "a number"
}

// wants is the error of a value of the wrong kind.
func wants(kind string, raw json.RawMessage) error {
	return fmt.Errorf("must be %s, not %s", kind, jsonKind(raw))
}

func toText(dst *string) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if json.Unmarshal(raw, dst) != nil {
			return wants("a string", raw)
		}
		return nil
	}
}

func toBool(dst **bool) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if json.Unmarshal(raw, dst) != nil {
			return wants("true or false", raw)
		}
		return nil
	}
}

func toNumber(dst **float64) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if jsonKind(raw) != "a number" {
			return wants("a number", raw)
		}
		v, err := strconv.ParseFloat(string(raw), 64)
		if err != nil {
			return fmt.Errorf("%s is out of range", raw)
		}
		*dst = &v
		return nil
	}
}

// toInteger takes also 5.0 and 1e3, as some languages write whole numbers.
func toInteger(dst **int64) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if jsonKind(raw) != "a number" {
			return wants("a whole number", raw)
		}
		if v, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			*dst = &v
			return nil
		}
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return fmt.Errorf("%s is not a whole number in range", raw)
		}
		v := int64(f)
		*dst = &v
		return nil
	}
}

// mediaType is a request's content type without parameters.
func mediaType(r *http.Request) string {
	t, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // what is not understood is not what is looked for
	return strings.ToLower(t)
}

// wantJSON refuses bodies that are said to be another thing that this place does not take. A missing or careless type,
// such as curl's, is forgiven.
func wantJSON(r *http.Request) error {
	if t := mediaType(r); strings.HasPrefix(t, "multipart/") || strings.HasPrefix(t, "audio/") {
		e := refuse("", "unsupported_media_type", "the body must be JSON, not %s", t)
		e.status = http.StatusUnsupportedMediaType
		return e
	}
	return nil
}
