package audio

import (
	"errors"
	"fmt"
	"math"
)

// The range of speeds.
const (
	MinSpeed = 0.25
	MaxSpeed = 4
)

// Speed makes speech faster or slower at the same pitch, while it arrives. It lags by up to 65 ms of what goes in. It is
// not safe for concurrent use.
type Speed struct {
	lib    *sonic // nil: the speed is 1
	stream uintptr
	emit   func(samples []float32) error
	in     []float32
	out    []float32
	closed bool
}

// CheckSpeed tells whether a speed can be had: it lies in [MinSpeed, MaxSpeed], and is 1 or libsonic is there; the error
// then wraps ErrNoLibrary.
func CheckSpeed(speed float64) error {
	if !(speed >= MinSpeed && speed <= MaxSpeed) { // also NaN
		return fmt.Errorf("speed: %v is not in %v..%v", speed, MinSpeed, MaxSpeed)
	}
	if speed == 1 {
		return nil
	}
	if _, err := libsonic(); err != nil {
		return fmt.Errorf("speed %v: %w", speed, err)
	}
	return nil
}

// NewSpeed returns a stage that emits what is written to it at that many times the speed, for mono audio of that rate
// in Hz. At 1 the samples pass as they are; otherwise they are limited to [-1, 1] and rounded to 16 bits. What emit
// gets is valid only during the call. End it by Close, or by Discard if something went wrong.
func NewSpeed(rate int, speed float64, emit func(samples []float32) error) (*Speed, error) {
	if err := CheckSpeed(speed); err != nil {
		return nil, err
	}
	s := &Speed{emit: emit}
	if speed == 1 {
		return s, nil
	}
	if rate < MinRate || rate > MaxRate {
		return nil, fmt.Errorf("speed: a rate of %d Hz, must be %d to %d", rate, MinRate, MaxRate)
	}
	lib, err := libsonic()
	if err != nil {
		return nil, fmt.Errorf("speed: %w", err)
	}
	if s.stream = lib.sonicCreateStream(int32(rate), 1); s.stream == 0 {
		return nil, errSonicMemory
	}
	s.lib = lib
	lib.sonicSetSpeed(s.stream, float32(speed))
	s.out = make([]float32, 4096)
	return s, nil
}

var errSonicMemory = errors.New("speed: libsonic is out of memory")

// sonicBlock is the most samples that libsonic is given at once.
const sonicBlock = 1 << 14

// Write takes samples and emits what is ready.
func (s *Speed) Write(samples []float32) error {
	switch {
	case s.closed:
		return errors.New("speed: write after close")
	case s.lib == nil:
		return s.emit(samples)
	}
	for len(samples) > 0 {
		n := min(len(samples), sonicBlock)
		s.in = s.in[:0]
		for _, x := range samples[:n] {
			s.in = append(s.in, clean(x))
		}
		if s.lib.sonicWriteFloatToStream(s.stream, &s.in[0], int32(n)) == 0 {
			return errSonicMemory
		}
		if err := s.drain(); err != nil {
			return err
		}
		samples = samples[n:]
	}
	return nil
}

// drain emits what libsonic has ready.
func (s *Speed) drain() error {
	for {
		n := s.lib.sonicReadFloatFromStream(s.stream, &s.out[0], int32(len(s.out)))
		if n <= 0 {
			return nil
		}
		if err := s.emit(s.out[:min(int(n), len(s.out))]); err != nil {
			return err
		}
	}
}

// Close emits the rest. Closing again does nothing.
func (s *Speed) Close() error {
	if s.closed || s.lib == nil {
		s.closed = true
		return nil
	}
	defer s.Discard()
	if s.lib.sonicFlushStream(s.stream) == 0 {
		return errSonicMemory
	}
	return s.drain()
}

// Discard ends the stage; nothing more is emitted. After Close it does nothing.
func (s *Speed) Discard() {
	if !s.closed && s.lib != nil {
		s.lib.sonicDestroyStream(s.stream)
	}
	s.closed = true
}

// Scaled is about how many samples n of them become at a speed.
func Scaled(n int, speed float64) int { return int(math.Round(float64(n) / speed)) }
