package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxJSON bounds the configuration and vocabulary files, in bytes. Real ones have 3 MB at most.
const maxJSON = 64 << 20

// readSmall reads a whole file of the checkpoint.
func readSmall(dir, name string) ([]byte, error) {
	f, err := openRegular(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxJSON+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxJSON {
		return nil, inputf("%s: larger than %d MiB", name, maxJSON>>20)
	}
	return data, nil
}

// entries are the members of a JSON object in the order of the file.
type entries struct {
	names  []string
	values map[string]json.RawMessage
}

// parseObject reads a JSON object. It refuses a name that occurs twice, which encoding/json lets pass.
func parseObject(data []byte) (entries, error) {
	e := entries{values: map[string]json.RawMessage{}}
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil {
		return e, jsonError(err)
	} else if t != json.Delim('{') {
		return e, errors.New("not a JSON object")
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return e, jsonError(err)
		}
		name := t.(string) // the decoder allows nothing else here
		if _, ok := e.values[name]; ok {
			return e, fmt.Errorf("%s occurs twice", name)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return e, fmt.Errorf("%s: %w", name, jsonError(err))
		}
		e.names = append(e.names, name)
		e.values[name] = raw
	}
	if _, err := d.Token(); err != nil {
		return e, jsonError(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return e, errors.New("something follows the JSON object")
	}
	return e, nil
}

func jsonError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON text is cut off")
	}
	return err
}

// object is a JSON object of a configuration file, with lookups that remember the first failure in err, so that
// a caller can read all fields and check once. Errors name the file and the whole path of the field.
type object struct {
	file, path string
	entries
	err *error
}

// readObject reads a configuration file of the checkpoint.
func readObject(dir, file string) (object, error) {
	o := object{file: file, err: new(error)}
	data, err := readSmall(dir, file)
	if err != nil {
		return o, err
	}
	if o.entries, err = parseObject(data); err != nil {
		return o, inputf("%s: %w", file, err)
	}
	return o, nil
}

// name is the whole path of a field.
func (o object) name(field string) string {
	if o.path == "" {
		return field
	}
	return o.path + "." + field
}

func (o object) failf(field, format string, args ...any) {
	if *o.err == nil {
		*o.err = inputf("%s: %s: %s", o.file, o.name(field), fmt.Sprintf(format, args...))
	}
}

// has reports whether a field is there and not null.
func (o object) has(field string) bool {
	raw, ok := o.values[field]
	return ok && string(raw) != "null"
}

// decode decodes a field into v.
func (o object) decode(field, want string, v any) bool {
	raw, ok := o.values[field]
	if !ok {
		o.failf(field, "missing")
		return false
	}
	if string(raw) == "null" || json.Unmarshal(raw, v) != nil {
		o.failf(field, "%s expected, but it is %s", want, excerpt(raw))
		return false
	}
	return true
}

// excerpt is the start of a JSON text in one line.
func excerpt(raw []byte) string {
	return fmt.Sprintf("%.40s", strings.Join(strings.Fields(string(raw[:min(len(raw), 200)])), " "))
}

func (o object) object(field string) object {
	sub := object{file: o.file, path: o.name(field), err: o.err}
	var raw json.RawMessage
	if o.decode(field, "an object", &raw) {
		var err error
		if sub.entries, err = parseObject(raw); err != nil {
			o.failf(field, "%v", err)
		}
	}
	return sub
}

func (o object) string(field string) string {
	var s string
	o.decode(field, "a string", &s)
	return s
}

func (o object) bool(field string) bool {
	var b bool
	o.decode(field, "true or false", &b)
	return b
}

// int returns an integer within low..high; 1e6 and 24000.0 are integers too.
func (o object) int(field string, low, high int) int {
	var n json.Number
	if !o.decode(field, "an integer", &n) {
		return 0
	}
	return o.integer(field, n, low, high)
}

func (o object) integer(field string, n json.Number, low, high int) int {
	i, err := strconv.Atoi(n.String())
	if err != nil {
		f, err := n.Float64()
		if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			o.failf(field, "an integer expected, but it is %.40s", n)
			return 0
		}
		i = int(f)
	}
	if i < low || i > high {
		o.failf(field, "%d is not within %d..%d", i, low, high)
		return 0
	}
	return i
}

// Limits that keep a wrong number in a configuration from costing anything before the tensors disprove it.
const (
	maxCount = 1024    // layers, codebooks, heads
	maxWidth = 1 << 24 // rows and columns
	maxID    = 1 << 24 // numbers that only have to be sensible
)

func (o object) count(field string) int { return o.int(field, 1, maxCount) }
func (o object) width(field string) int { return o.int(field, 1, maxWidth) }

// float returns a finite number.
func (o object) float(field string) float32 {
	var n json.Number
	if !o.decode(field, "a number", &n) {
		return 0
	}
	f, err := n.Float64()
	if err != nil || math.IsInf(float64(float32(f)), 0) {
		o.failf(field, "a number expected, but it is %.40s", n)
	}
	return float32(f)
}

// ints returns an array of integers from 1 on.
func (o object) ints(field string) []int {
	var list []json.Number
	if !o.decode(field, "an array of integers", &list) {
		return nil
	}
	if len(list) > maxCount {
		o.failf(field, "%d elements", len(list))
		return nil
	}
	out := make([]int, len(list))
	for i, n := range list {
		out[i] = o.integer(fmt.Sprintf("%s[%d]", field, i), n, 1, maxWidth)
	}
	return out
}

// expect requires that a field, if it is there, has one of the values that the engine implements.
func (o object) expect(field string, allowed ...string) {
	if raw, ok := o.values[field]; ok && !slices.Contains(allowed, string(raw)) {
		o.failf(field, "%s is not supported", excerpt(raw))
	}
}
