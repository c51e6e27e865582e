package audio

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unsafe"
)

// sndfileFormat is how libsndfile is asked for a format.
type sndfileFormat struct {
	code     int32 // SF_FORMAT_…
	since    string
	integer  bool // it takes 16-bit integers, else floats
	commands []command
}

// command is a call of sf_command before the first sample, with a double or an int as data.
type command struct {
	id      int32
	double  float64
	integer int32
	isInt   bool
}

const (
	sfcSetCompressionLevel = 0x1301 // double, 0 (large) to 1 (small)
	sfcSetOggPageLatencyMS = 0x1302 // double
	sfcSetBitrateMode      = 0x1305 // int
	constantBitrate        = 0
)

var (
	// FLAC in blocks of 1152 samples (48 ms at 24 kHz): with level 5 they would be of 4096.
	flacFormat = sndfileFormat{code: 0x170002, since: "1.0.18", integer: true, commands: []command{{id: sfcSetCompressionLevel, double: 0.25}}}
	// MP3 of constant bit rate, so that players can tell the length from the size.
	mp3Format = sndfileFormat{code: 0x230082, since: "1.1.0", commands: []command{
		{id: sfcSetBitrateMode, integer: constantBitrate, isInt: true}, {id: sfcSetCompressionLevel, double: mp3Level}}}
	// Opus in Ogg pages that are as short as libsndfile makes them.
	opusFormat   = sndfileFormat{code: 0x200064, since: "1.0.29", commands: []command{{id: sfcSetOggPageLatencyMS, double: 50}}}
	vorbisFormat = sndfileFormat{code: 0x200060, since: "1.0.18"}
)

// mp3Level of compression is 80 kbit/s at 24 kHz.
const mp3Level = 0.5

// sndfileEncoder codes by libsndfile.
type sndfileEncoder struct {
	lib    *sndfile
	format *sndfileFormat
	file   uintptr // SNDFILE *
	id     uintptr // of out
	out    *sink
	ints   []int16
	empty  bool // no sample has come yet
}

func newSndfileEncoder(w io.Writer, seekable *section, format *sndfileFormat, rate int) (*sndfileEncoder, error) {
	lib, err := libsndfile()
	if err != nil {
		return nil, err
	}
	e := &sndfileEncoder{lib: lib, format: format, out: &sink{dst: w, seekable: seekable}, empty: true}
	info := sfInfo{rate: int32(rate), channels: 1, format: format.code}
	if e.file, e.id, err = lib.open(e.out, sfmWrite, &info); err != nil {
		return nil, lib.cannotWrite(format, err)
	}
	for _, c := range format.commands {
		e.command(c)
	}
	return e, nil
}

// cannotWrite explains why a format is not written.
func (l *sndfile) cannotWrite(format *sndfileFormat, err error) error {
	if version := strings.TrimPrefix(l.sf_version_string(), "libsndfile-"); olderThan(version, format.since) {
		return noLibrary("libsndfile %s is too old, %s or later is needed (the package of %s)", version, format.since, howToInstall("libsndfile", "sndfile.dll"))
	}
	return fmt.Errorf("%s cannot write it: %w", l.sf_version_string(), err)
}

// olderThan compares versions of the form 1.2.3; what follows the numbers does not count.
func olderThan(version, than string) bool {
	a, b := numbers(version), numbers(than)
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

func numbers(version string) (n [3]int) {
	for i, part := range strings.SplitN(version, ".", len(n)) {
		end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' })
		if end >= 0 {
			part = part[:end]
		}
		n[i], _ = strconv.Atoi(part)
	}
	return n
}

// command sets what libsndfile can be asked for; a version that does not know it keeps its default.
func (e *sndfileEncoder) command(c command) {
	if c.isInt {
		e.lib.sf_command(e.file, c.id, unsafe.Pointer(&c.integer), int32(unsafe.Sizeof(c.integer)))
		return
	}
	e.lib.sf_command(e.file, c.id, unsafe.Pointer(&c.double), int32(unsafe.Sizeof(c.double)))
}

func (e *sndfileEncoder) write(samples []float32) error {
	e.empty = false
	n := int64(len(samples))
	var written int64
	if e.format.integer {
		e.ints = e.ints[:0]
		for _, x := range samples {
			e.ints = append(e.ints, int16(quantize(x, 16)))
		}
		written = e.lib.sf_writef_short(e.file, &e.ints[0], n)
	} else {
		written = e.lib.sf_writef_float(e.file, &samples[0], n)
	}
	if written != n {
		return errors.New(oneLine(e.lib.sf_strerror(e.file)))
	}
	return e.out.drain()
}

// finish ends the file. One without samples gets a silent one: libsndfile writes FLAC and MP3 headers with the first.
func (e *sndfileEncoder) finish() error {
	if e.empty {
		if err := e.write([]float32{0}); err != nil {
			e.discard()
			return err
		}
	}
	code := e.lib.sf_close(e.file)
	e.lib.files.remove(e.id)
	if code != 0 {
		return fmt.Errorf("libsndfile failed to end the file (code %d)", code)
	}
	return e.out.finish()
}

func (e *sndfileEncoder) discard() {
	e.lib.sf_close(e.file)
	e.lib.files.remove(e.id)
}
