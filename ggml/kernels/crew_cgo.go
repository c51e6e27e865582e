//go:build cgo

package kernels

// #include "crew.h"
// static int64_t crew_address(struct lqk_crew *crew) { return (int64_t)(intptr_t)crew; }
import "C"

// Crew is a second thread that helps a backend of one thread with products of few columns, while it is not paused. Nobody
// waits for it: on a busy machine, where it may be put to sleep in the middle of something, the backend's thread does the
// rest itself. Results are the same bits with and without.
type Crew struct{ c *C.struct_lqk_crew }

// NewCrew starts a crew; nil if there are no kernels that it could help with, or no thread.
func NewCrew() *Crew {
	if !hasQ8() {
		return nil
	}
	c := C.lqk_crew_new()
	if c == nil {
		return nil
	}
	return &Crew{c}
}

// Address is what ggml.Backend.SetCrew takes.
func (w *Crew) Address() int64 { return int64(C.crew_address(w.c)) }

// Pause and Resume frame the time for which the processor is wanted for something else; they may be nested, and do
// nothing on nil.
func (w *Crew) Pause() {
	if w != nil {
		C.lqk_crew_pause(w.c)
	}
}

// Resume undoes a Pause.
func (w *Crew) Resume() {
	if w != nil {
		C.lqk_crew_resume(w.c)
	}
}

// Helped counts the pieces of products that the crew has contributed.
func (w *Crew) Helped() int64 { return int64(C.lqk_crew_helped(w.c)) }

// Close ends the thread. The backend must not compute any more; its weights must still be there.
func (w *Crew) Close() {
	if w != nil && w.c != nil {
		C.lqk_crew_free(w.c)
		w.c = nil
	}
}
