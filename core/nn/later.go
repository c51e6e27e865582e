package nn

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/libqwen/libqwen/ggml/gguf"
)

// later brings up copies while its owner goes on: first those that are waited for.
type later struct {
	done  chan struct{} // closed when those are there, or will not come any more
	ended chan struct{} // and all others
	err   error         // of the former; set before done is closed
	left  atomic.Uint64 // bytes of the file's tensors that are still to be copied
	stop  atomic.Bool
}

var errStopped = errors.New("weights: freed while they were copied")

func (w *later) start(awaited, unneeded []fill) {
	w.done, w.ended = make(chan struct{}), make(chan struct{})
	for _, f := range slices.Concat(awaited, unneeded) {
		w.left.Add(uint64(f.of.Size))
	}
	go func() {
		defer close(w.ended)
		w.err = w.run(awaited)
		close(w.done)
		_ = w.run(unneeded) // what is not copied is used where it is
	}()
}

// run is on a goroutine of its own, where nobody else could catch a panic.
func (w *later) run(fills []fill) (err error) {
	of := &gguf.TensorInfo{}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // the file may have been cut off since it was opened
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: cannot be copied: %v", of.Name, r)
		}
	}()
	for _, f := range fills {
		if w.stop.Load() {
			return errStopped
		}
		of = f.of
		if err := f.do(); err != nil {
			return err
		}
		w.left.Add(-uint64(f.of.Size))
	}
	return nil
}

// wait until it is done.
func (w *later) wait() error {
	if w.done == nil {
		return nil
	}
	<-w.done
	return w.err
}

// end stops it.
func (w *later) end() {
	w.stop.Store(true)
	if w.ended != nil {
		<-w.ended
	}
}
