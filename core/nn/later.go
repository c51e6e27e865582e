package nn

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/libqwen/libqwen/ggml/gguf"
)

// later brings up copies while its owner goes on.
type later struct {
	done chan struct{} // closed when all are there, or none will come any more
	err  error         // set before
	left atomic.Uint64 // bytes of the file's tensors that are still to be copied
	stop atomic.Bool
}

var errStopped = errors.New("weights: freed while they were copied")

func (w *later) start(fills []fill) {
	w.done = make(chan struct{})
	for _, f := range fills {
		w.left.Add(uint64(f.of.Size))
	}
	go func() {
		defer close(w.done)
		w.err = w.run(fills)
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
	_ = w.wait()
}
