package main

// #include "bridge.h"
import "C"

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
)

// readRecording is the body of qt_read_recording.
func readRecording(r C.qwen_recording, out *C.struct_qt_audio) error {
	if out == nil {
		return invalid("out: NULL")
	}
	*out = C.struct_qt_audio{}
	if r == nil {
		return invalid("recording: NULL")
	}
	if err := checkSized("recording", (*C.struct_qt_recording)(r), minRecording); err != nil {
		return err
	}
	transcript, err := text("recording.ref_text", r.ref_text)
	if err != nil {
		return err
	}
	clip, err := newClip(r)
	if err != nil {
		return err
	}
	pcm, err := reference(clip, transcript, r.trim != 0)
	if err != nil {
		return err
	}
	samples, err := newArray(pcm)
	if err != nil {
		return err
	}
	*out = C.struct_qt_audio{
		samples: (*C.float)(samples), n_samples: C.int(len(pcm)), sample_rate: core.SampleRate, channels: 1,
	}
	return nil
}

// newClip decodes the file, or copies the samples.
func newClip(r C.qwen_recording) (*audio.Clip, error) {
	if (r.file == nil) == (r.samples == nil) {
		return nil, invalid("recording: one of file and samples is needed, and not both")
	}
	if r.file != nil {
		data, err := fileBytes("recording.file", r.file, r.file_size)
		if err != nil {
			return nil, err
		}
		clip, err := audio.Decode(data, "")
		if err != nil {
			return nil, invalid("recording.file: %v", err)
		}
		return clip, nil
	}
	if r.n_frames < 1 || r.channels < 1 || r.channels > audio.MaxChannels ||
		int64(r.n_frames)*int64(r.channels) > audio.MaxValues {
		return nil, invalid("recording: n_frames %d, channels %d; want at least one frame, at most %d channels and %d samples in all",
			r.n_frames, r.channels, audio.MaxChannels, audio.MaxValues)
	}
	return &audio.Clip{
		Samples:  slices.Clone(unsafe.Slice((*float32)(r.samples), int(r.n_frames)*int(r.channels))),
		Rate:     int(r.sample_rate),
		Channels: int(r.channels),
	}, nil
}

// reference makes the clip mono at 24 kHz and logs what is odd about it.
func reference(clip *audio.Clip, transcript string, trim bool) ([]float32, error) {
	report := clip.Report()
	if err := report.Err(); err != nil {
		return nil, invalid("recording: %v", err)
	}
	if transcript != "" {
		report.AddTranscript(transcript)
	}
	for _, w := range report.Warnings {
		logger.Warn("recording: " + w)
	}
	pcm, _, err := clip.Mono24k()
	if err != nil {
		return nil, invalid("recording: %v", err)
	}
	if trim {
		pcm = audio.TrimSilence(pcm, core.SampleRate)
	}
	return pcm, nil
}

// maxFileBytes bounds the files that callers hand us in memory: more than any recording or voice takes.
const maxFileBytes = 1 << 30

// fileBytes is the caller's memory, not a copy.
func fileBytes(field string, data unsafe.Pointer, size C.size_t) ([]byte, error) {
	switch {
	case data == nil:
		return nil, invalid("%s: NULL", field)
	case size == 0 || size > maxFileBytes:
		return nil, invalid("%s: %d bytes, want 1 to %d", field, uint64(size), maxFileBytes)
	}
	return unsafe.Slice((*byte)(data), int(size)), nil
}

// newBytes is a C copy of data with a NUL behind it; nothing stays NULL.
func newBytes(data []byte) (C.struct_qt_bytes, error) {
	if len(data) == 0 {
		return C.struct_qt_bytes{}, nil
	}
	if len(data) >= math.MaxInt32 {
		return C.struct_qt_bytes{}, memoryError(fmt.Sprintf("%d bytes are too many", len(data)))
	}
	p, err := resize[byte](nil, len(data)+1)
	if err != nil {
		return C.struct_qt_bytes{}, err
	}
	copy(unsafe.Slice(p, len(data)), data)
	*(*byte)(unsafe.Add(unsafe.Pointer(p), len(data))) = 0
	return C.struct_qt_bytes{data: unsafe.Pointer(p), size: C.size_t(len(data))}, nil
}
