//go:build !cgo

package kernels

// Crew is a second thread that helps a backend: without cgo there is none.
type Crew struct{}

// NewCrew is nil.
func NewCrew() *Crew { return nil }

// Address is 0.
func (w *Crew) Address() int64 { return 0 }

// Pause does nothing.
func (w *Crew) Pause() {}

// Resume does nothing.
func (w *Crew) Resume() {}

// Helped is 0.
func (w *Crew) Helped() int64 { return 0 }

// Close does nothing.
func (w *Crew) Close() {}
