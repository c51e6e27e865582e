package audio

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unsafe"
)

// sndfile is libsndfile, loaded at run time.
//
// C types: a SNDFILE * is a uintptr; int is int32; sf_count_t is int64.
type sndfile struct {
	handle  uintptr    // of the shared library
	opening sync.Mutex // the text of a failed open is global
	virtual virtualIO
	files   virtualFiles

	sf_version_string func() string
	sf_open_virtual   func(io *virtualIO, mode int32, info *sfInfo, id uintptr) uintptr
	sf_strerror       func(file uintptr) string
	sf_readf_float    func(file uintptr, dst *float32, frames int64) int64
	sf_writef_float   func(file uintptr, src *float32, frames int64) int64
	sf_writef_short   func(file uintptr, src *int16, frames int64) int64
	sf_command        func(file uintptr, command int32, data unsafe.Pointer, size int32) int32
	sf_error          func(file uintptr) int32
	sf_close          func(file uintptr) int32
}

const (
	sfmRead            = 0x10
	sfmWrite           = 0x20
	sfcGetFormatInfo   = 0x1028
	sfSubMask          = 0xffff
	sfUnknownLength    = 1 << 40 // lengths from here on mean that the header does not say
	sndfileBlockValues = 1 << 15
)

// sfInfo is SF_INFO.
type sfInfo struct {
	frames                 int64
	rate, channels, format int32
	_                      [3]int32 // sections, seekable, padding
}

// sfFormatInfo is SF_FORMAT_INFO.
type sfFormatInfo struct {
	format    int32
	name, ext *byte
}

// decodeSndfile decodes a file of that container, as sniff names it.
func decodeSndfile(data []byte, container string) (*Clip, error) {
	lib, err := libsndfile()
	if err != nil {
		return nil, fmt.Errorf("this is %s: %w", container, err)
	}
	clip, err := lib.decode(data)
	if err != nil {
		return nil, fmt.Errorf("this is %s, but libsndfile (%s) cannot read it: %w", container, lib.sf_version_string(), err)
	}
	clip.Container = container
	if len(clip.Warnings) == 0 && cutOff(data) {
		clip.Warnings = append(clip.Warnings, "the end is missing: the file may be cut off")
	}
	return clip, nil
}

func (l *sndfile) decode(data []byte) (*Clip, error) {
	var info sfInfo
	file, id, err := l.open(&memory{data: data}, sfmRead, &info)
	if err != nil {
		return nil, err
	}
	defer l.files.remove(id)
	defer l.sf_close(file)
	if err := checkShape(int(info.rate), int(info.channels)); err != nil {
		return nil, err
	}
	if info.frames < sfUnknownLength {
		if err := checkLength(info.frames, int(info.rate), int(info.channels)); err != nil {
			return nil, err
		}
	}
	clip := &Clip{Rate: int(info.rate), Channels: int(info.channels)}
	clip.Encoding, clip.full = l.subtype(info.format)
	if err := l.readAll(file, clip, info.frames); err != nil {
		return nil, err
	}
	return clip, nil
}

// open opens a virtual file, which must be closed by sf_close and then removed from l.files.
func (l *sndfile) open(v virtualFile, mode int32, info *sfInfo) (file, id uintptr, err error) {
	id = l.files.add(v)
	l.opening.Lock()
	defer l.opening.Unlock()
	if file = l.sf_open_virtual(&l.virtual, mode, info, id); file == 0 {
		l.files.remove(id)
		return 0, 0, errors.New(oneLine(l.sf_strerror(0)))
	}
	return file, id, nil
}

// readAll reads until nothing comes any more, whatever length the header promised.
func (l *sndfile) readAll(file uintptr, c *Clip, promised int64) error {
	block := make([]float32, max(1, sndfileBlockValues/c.Channels)*c.Channels)
	for {
		n := l.sf_readf_float(file, &block[0], int64(len(block)/c.Channels))
		if n <= 0 {
			break
		}
		c.Samples = append(c.Samples, block[:min(int(n)*c.Channels, len(block))]...)
		if err := checkLength(int64(c.Frames()), c.Rate, c.Channels); err != nil {
			return err
		}
	}
	return l.judge(file, c, promised)
}

// judge compares what was read with what the header promised.
func (l *sndfile) judge(file uintptr, c *Clip, promised int64) error {
	problem := ""
	if l.sf_error(file) != 0 {
		problem = oneLine(l.sf_strerror(file))
	}
	switch {
	case len(c.Samples) == 0 && problem != "":
		return errors.New(problem)
	case problem != "":
		c.Warnings = append(c.Warnings, fmt.Sprintf("reading stopped after %.2f s: %s", c.Seconds(), problem))
	case promised < sfUnknownLength && int64(c.Frames()) < promised:
		c.Warnings = append(c.Warnings, fmt.Sprintf("the header says %.2f s, there are %.2f: the file may be cut off",
			float64(promised)/float64(c.Rate), c.Seconds()))
	}
	return nil
}

// subtype names the encoding of the samples, and the largest value it holds (0 if it has no such limit).
func (l *sndfile) subtype(format int32) (name string, full float32) {
	info := sfFormatInfo{format: format & sfSubMask}
	if l.sf_command(0, sfcGetFormatInfo, unsafe.Pointer(&info), int32(unsafe.Sizeof(info))) == 0 && info.name != nil {
		name = cString(info.name)
	}
	for _, i := range []struct {
		format int32
		bits   int
	}{{1, 8}, {2, 16}, {3, 24}, {5, 8}} { // signed 8, 16, 24 bits, unsigned 8
		if i.format == info.format {
			full = 1 - 1/float32(int(1)<<(i.bits-1))
		}
	}
	return name, full
}

// oneLine makes one line of a message of libsndfile's.
func oneLine(s string) string {
	s = strings.TrimSuffix(strings.Join(strings.Fields(s), " "), ".")
	if s == "" {
		return "unknown error"
	}
	return s
}

func cString(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
