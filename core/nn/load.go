package nn

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
	"github.com/libqwen/libqwen/ggml/kernels"
)

// Dims names the sizes that shape tags refer to.
type Dims map[string]int

// Loader brings the tensors of a GGUF file onto a backend: in place where the device can use the mapped file,
// as copies elsewhere. Load as much as needed, then Finish.
//
// Fields of the structs that Load fills carry tags:
//
//	gguf:"attn_q"      the name, joined to the parent's by a dot; in a slice %d is the index
//	shape:"embd,q"     names of Dims, numbers, or $0, $1 … for the shape given on the parent's field
//	as:"f32"           convert to F32; otherwise the file's type stays
//	as:"rows"          a table of which single rows are read; its other pages need not stay in memory
//	if:"qknorm"        the field exists only if this entry of Dims is not 0
//
// Every tensor must be there, have the shape and finite values, and a matrix must not be all zero;
// Finish refuses tensors that nobody asked for.
type Loader struct {
	Pack  bool   // what is loaded from now on is read many times a frame: copy matrices into panels where that is a little faster
	Spare uint64 // bytes of memory for copies in panels, made after Finish, of matrices that are used in place until then
	Later bool   // copies in another order, of what is loaded from now on, may be made after Finish: Wait for them before use

	be      *ggml.Backend
	file    *gguf.File
	inPlace []*ggml.Arena // over the file's mappings; none if the device cannot
	copies  *ggml.Arena
	fills   []fill
	used    map[string]bool
	check   []*gguf.TensorInfo
	idle    map[*gguf.TensorInfo]bool // not read in place once loaded
	sparse  map[*gguf.TensorInfo]bool // rows are checked when they are read

	checking bool    // nothing is loaded
	problems []error // that loading would have met
	size     Footprint
	types    map[use]ggml.Type // see held
}

// fill brings up a copy, or a part of one, of a tensor of the file.
type fill struct {
	of    *gguf.TensorInfo
	do    func() error
	later when
}

// when a copy is made: by Finish, or after it, if it must be waited for or else whenever there is time.
type when int

const (
	atOnce when = iota
	awaited
	unneeded
)

// Weights owns the memory of what a Loader has loaded.
type Weights struct {
	inPlace []*ggml.Arena
	copies  *ggml.Arena
	later   later
}

// Wait until the copies that the Loader left for later are there. It costs nothing once they are.
func (w *Weights) Wait() error { return w.later.wait() }

// Pending is about how many bytes are still to be copied, in memory that is not used until then.
func (w *Weights) Pending() uint64 { return w.later.left.Load() }

// Free releases the weights; the file may be closed afterwards.
func (w *Weights) Free() {
	if w != nil {
		w.later.end()
		for _, a := range w.inPlace {
			a.Free()
		}
		w.copies.Free()
	}
}

// Bytes are the sizes of the weights used in place and of the copies.
func (w *Weights) Bytes() (inPlace, copied uint64) {
	for _, a := range w.inPlace {
		inPlace += a.Bytes()
	}
	return inPlace, w.copies.Bytes()
}

// NewLoader starts loading from an open file, which must stay open as long as the weights live.
func NewLoader(be *ggml.Backend, file *gguf.File) *Loader {
	n := 4 * (len(file.Tensors()) + 16) // a tensor may be split into a few
	l := &Loader{be: be, file: file, copies: be.NewArena(n), used: map[string]bool{}, idle: map[*gguf.TensorInfo]bool{}, sparse: map[*gguf.TensorInfo]bool{}}
	for _, m := range file.Mappings() {
		a, err := be.Wrap(m, n)
		if err != nil {
			break
		}
		l.inPlace = append(l.inPlace, a)
	}
	return l
}

// NewChecker returns a Loader that loads nothing: Load goes through everything as if all of it were as it should be, and
// Problems tells what is not. It needs no backend.
func NewChecker(file *gguf.File) *Loader {
	return &Loader{file: file, checking: true, used: map[string]bool{}, idle: map[*gguf.TensorInfo]bool{}, sparse: map[*gguf.TensorInfo]bool{}}
}

// Footprint is how many bytes weights take: on a CPU those used where they lie in the file, and copies; on a device with
// memory of its own all are copies, in the file's order.
type Footprint struct{ InPlace, Copied, Device uint64 }

// Add sums two.
func (f Footprint) Add(g Footprint) Footprint {
	return Footprint{f.InPlace + g.InPlace, f.Copied + g.Copied, f.Device + g.Device}
}

// Footprint is what loading would have taken on this machine's CPU and on a device, as a checking Loader tells.
func (l *Loader) Footprint() Footprint { return l.size }

// Problems are what a checking Loader has met, tensors that nobody asked for and, if values is set, wrong values: of all
// that was asked for, which reads all the data.
func (l *Loader) Problems(values bool) []error {
	all := l.problems
	for _, t := range l.file.Tensors() {
		if !l.used[t.Name] {
			all = append(all, surplus(&t))
		}
	}
	if !values {
		return all
	}
	wrong := make([]error, len(l.check))
	_ = inParallel(len(l.check), func(i int) error {
		wrong[i] = l.checkTensor(l.check[i])
		l.file.Release(l.check[i])
		return nil
	})
	for _, err := range wrong {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// problem keeps what is wrong with a tensor, and goes on as if it were of the shape that is wanted.
func (l *Loader) problem(name string, shape []int, err error) *gguf.TensorInfo {
	l.problems = append(l.problems, err)
	l.used[name] = true
	t := &gguf.TensorInfo{Name: name, Type: gguf.F32}
	for _, n := range shape {
		t.Shape = append(t.Shape, int64(n))
	}
	return t
}

// Load fills the struct that dst points to from the tensors below prefix.
func (l *Loader) Load(dst any, prefix string, dims Dims) error {
	return l.walk(reflect.ValueOf(dst).Elem(), prefix, nil, "", dims)
}

// Custom is a layer that lays its weights out itself.
type Custom interface {
	LoadFrom(l *Loader, name string, shape []int) error
}

var tensorType = reflect.TypeFor[ggml.Tensor]()

func (l *Loader) walk(v reflect.Value, name string, shape []int, as string, dims Dims) error {
	if c, ok := v.Addr().Interface().(Custom); ok {
		return c.LoadFrom(l, name, shape)
	}
	switch {
	case v.Type() == tensorType:
		t, err := l.tensor(name, shape, as)
		if err == nil {
			v.Set(reflect.ValueOf(t))
		}
		return err
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			if err := l.walk(v.Index(i), fmt.Sprintf(name, i), shape, as, dims); err != nil {
				return err
			}
		}
		return nil
	case v.Kind() == reflect.Struct:
		return l.fields(v, name, shape, dims)
	}
	panic("nn: cannot load into " + v.Type().String())
}

func (l *Loader) fields(v reflect.Value, name string, parent []int, dims Dims) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		tag, ok := f.Tag.Lookup("gguf")
		if !ok || (f.Tag.Get("if") != "" && dims[f.Tag.Get("if")] == 0) {
			continue
		}
		shape, err := parseShape(f.Tag.Get("shape"), parent, dims)
		if err != nil {
			panic(fmt.Sprintf("nn: %s.%s: %v", v.Type(), f.Name, err)) // a mistake in the program
		}
		if err := l.walk(v.Field(i), join(name, tag), shape, f.Tag.Get("as"), dims); err != nil {
			return err
		}
	}
	return nil
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "." + b
}

// parseShape evaluates a shape tag.
func parseShape(tag string, parent []int, dims Dims) ([]int, error) {
	if tag == "" {
		return nil, nil
	}
	var shape []int
	for word := range strings.SplitSeq(tag, ",") {
		n, err := dimension(word, parent, dims)
		if err != nil {
			return nil, err
		}
		shape = append(shape, n)
	}
	return shape, nil
}

func dimension(word string, parent []int, dims Dims) (int, error) {
	if n, err := strconv.Atoi(word); err == nil {
		return n, nil
	}
	if ref, ok := strings.CutPrefix(word, "$"); ok {
		i, err := strconv.Atoi(ref)
		if err != nil || i >= len(parent) {
			return 0, fmt.Errorf("shape %s: the parent has %d dimensions", word, len(parent))
		}
		return parent[i], nil
	}
	if n, ok := dims[word]; ok {
		return n, nil
	}
	return 0, fmt.Errorf("unknown dimension %q", word)
}

// Find returns a tensor's description after checking its shape, and marks it as used.
func (l *Loader) Find(name string, shape ...int) (*gguf.TensorInfo, error) {
	t, err := l.find(name, shape)
	if err != nil && l.checking {
		return l.problem(name, shape, err), nil
	}
	return t, err
}

func (l *Loader) find(name string, shape []int) (*gguf.TensorInfo, error) {
	t := l.file.Tensor(name)
	if t == nil {
		return nil, fmt.Errorf("%s: missing", name)
	}
	if !sameShape(t.Shape, shape) {
		want := make([]int64, len(shape))
		for i, n := range shape {
			want[i] = int64(n)
		}
		return nil, fmt.Errorf("%s: shape %s, want %s", name, gguf.FormatShape(t.Shape), gguf.FormatShape(want))
	}
	if !l.used[name] {
		l.used[name] = true
		l.check = append(l.check, t)
	}
	return t, nil
}

// sameShape compares shapes without regard to trailing ones.
func sameShape(have []int64, want []int) bool {
	for i := range max(len(have), len(want)) {
		h, w := int64(1), 1
		if i < len(have) {
			h = have[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if h != int64(w) {
			return false
		}
	}
	return true
}

// Ignore leaves out the tensors whose names start with prefix.
func (l *Loader) Ignore(prefix string) {
	for _, t := range l.file.Tensors() {
		if strings.HasPrefix(t.Name, prefix) {
			l.used[t.Name] = true
		}
	}
}

func (l *Loader) tensor(name string, shape []int, as string) (ggml.Tensor, error) {
	t, err := l.Find(name, shape...)
	if err != nil {
		return ggml.Tensor{}, err
	}
	l.idle[t] = as == "rows"
	if as == "f32" && t.Type != gguf.F32 {
		l.idle[t] = true
		return l.Put(t, func() ([]float32, error) { return l.Floats(t) }, shape...), nil
	}
	if err := usable(t); err != nil {
		if l.checking {
			l.problems = append(l.problems, err)
			return ggml.Tensor{}, nil
		}
		return ggml.Tensor{}, err
	}
	if l.checking {
		l.size.InPlace += uint64(t.Size)
		l.size.Device += uint64(t.Size)
		return ggml.Tensor{}, nil
	}
	if i, at, ok := l.file.Place(t); l.be.Host() && ok && i < len(l.inPlace) && at%uint64(l.be.AlignmentOf(t.Type)) == 0 {
		return l.inPlace[i].At(at, t.Type, shape...)
	}
	l.idle[t] = true
	return l.place(t, shape, as)
}

// panels packs a matrix [in, out] if there is a kernel for it, and tells whether it did, or would have. Q8_0 there is one
// for in the file's order too, which takes no copy.
func (l *Loader) panels(name string, shape []int) (p kernels.Panels, packed bool, err error) {
	t, err := l.Find(name, shape...)
	if err != nil || (t.Type == gguf.Q8_0 && !l.Pack) {
		return p, false, err
	}
	in, out := shape[0], shape[1]
	panels, packed := kernels.PanelShape(l.be, t.Type, in, out)
	if !packed {
		return p, false, nil
	}
	if l.checking {
		l.size.Copied += uint64(panels[0] * panels[1])
		l.size.Device += uint64(t.Size)
		return p, true, nil
	}
	data := l.Relay(t, gguf.I8, func(dst []byte) error {
		kernels.PackPanels(t.Type, dst, l.file.Data(t), in)
		return nil
	}, panels...)
	return kernels.Panels{Data: data, Type: t.Type, In: in, Out: out}, true, nil
}

// twin declares a copy in panels of a Q8_0 matrix that is used where it lies in the file until then, if it can be, and if
// there is memory to spare.
func (l *Loader) twin(name string, shape []int, place ggml.Tensor) (w kernels.Twin) {
	if l.checking || l.Spare == 0 {
		return w
	}
	t := l.file.Tensor(name)
	panels, ok := kernels.PanelShape(l.be, t.Type, shape[0], shape[1])
	if !ok || t.Type != gguf.Q8_0 || uint64(t.Size) > l.Spare || l.idle[t] {
		return w
	}
	l.Spare -= uint64(t.Size)
	w = kernels.Twin{Weight: place, Ready: l.copies.New(ggml.I32, 1)}
	w.Panels = kernels.Panels{Data: l.copies.New(gguf.I8, panels...), Type: t.Type, In: shape[0], Out: shape[1]}
	l.fills = append(l.fills, fill{of: t, do: func() error {
		kernels.PackPanels(t.Type, w.Panels.Data.Host(), l.file.Data(t), shape[0])
		w.SetReady()
		l.file.Release(t)
		return nil
	}, later: unneeded})
	return w
}

// usable refuses the types that no weight has.
func usable(t *gguf.TensorInfo) error {
	switch t.Type {
	case gguf.I8, gguf.I16, gguf.I32, gguf.I64, gguf.F64, gguf.Q8_1, gguf.Q8_K:
		return fmt.Errorf("%s: type %v is not one of a weight", t.Name, t.Type)
	}
	return nil
}

// Put declares an F32 tensor on the backend, in a layout that the file does not have, with values made of the file's
// tensor t; values is called by Finish.
func (l *Loader) Put(t *gguf.TensorInfo, values func() ([]float32, error), shape ...int) ggml.Tensor {
	if l.checking {
		l.copy(ggml.F32, shape)
		return ggml.Tensor{}
	}
	x := l.copies.New(ggml.F32, shape...)
	l.fills = append(l.fills, fill{of: t, do: func() error {
		v, err := values()
		if err != nil {
			return err
		}
		if len(v) != x.Elements() {
			panic(fmt.Sprintf("nn: %d values for %v", len(v), x))
		}
		x.SetF32(v)
		return nil
	}})
	return x
}

// Relay declares a tensor of a type on a backend that computes in memory of the host; relay, called by Finish, fills
// its data, zeroed, from what Data or Floats have of the file's tensor t.
func (l *Loader) Relay(t *gguf.TensorInfo, typ ggml.Type, relay func(dst []byte) error, shape ...int) ggml.Tensor {
	if l.checking {
		l.copy(typ, shape)
		return ggml.Tensor{}
	}
	l.idle[t] = true
	x := l.copies.New(typ, shape...)
	l.fills = append(l.fills, fill{of: t, do: func() error {
		err := relay(x.Host())
		l.file.Release(t) // at once: the file's pages and the copy are not all there at the same time
		return err
	}, later: l.relayed()})
	return x
}

// relayed is when copies in another order are made.
func (l *Loader) relayed() when {
	if l.Later {
		return awaited
	}
	return atOnce
}

// copy counts a copy that a checking Loader would have made.
func (l *Loader) copy(typ ggml.Type, shape []int) {
	n := uint64(typ.BlockBytes())
	for _, d := range shape {
		n *= uint64(d)
	}
	n /= uint64(typ.BlockSize())
	l.size.Copied += n
	l.size.Device += n
}

// Data is a tensor's data in its type.
func (l *Loader) Data(t *gguf.TensorInfo) []byte { return l.file.Data(t) }

// Floats decodes a tensor of any type that a weight has.
func (l *Loader) Floats(t *gguf.TensorInfo) ([]float32, error) {
	if l.checking {
		return nil, nil
	}
	if err := usable(t); err != nil {
		return nil, err
	}
	dst := make([]float32, t.Elements())
	if err := ggml.Dequantize(t.Type, dst, l.file.Data(t)); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	return dst, nil
}

// Finish checks the values, allocates and fills the copies and refuses tensors that were not asked for.
func (l *Loader) Finish() (*Weights, error) {
	w := &Weights{inPlace: l.inPlace, copies: l.copies}
	err := l.finish()
	if err != nil {
		w.Free()
		return nil, err
	}
	w.later.start(l.afterwards(awaited), l.afterwards(unneeded))
	return w, nil
}

func (l *Loader) finish() error {
	if err := l.surplus(); err != nil {
		return err
	}
	if err := l.copies.Alloc(); err != nil {
		return err
	}
	if err := l.checkAndFill(); err != nil {
		return err
	}
	for _, f := range l.afterwards(awaited) {
		l.idle[f.of] = false // released then
	}
	for t := range l.idle {
		if l.idle[t] {
			l.file.Release(t)
		}
	}
	return nil
}

// afterwards are the copies that are made at a time.
func (l *Loader) afterwards(w when) []fill {
	return slices.DeleteFunc(slices.Clone(l.fills), func(f fill) bool { return f.later != w })
}

// checkAndFill checks all tensors and brings up the copies that are not left for later. In memory of the host a tensor is
// copied as soon as it is checked, while it is at hand; not every device takes several uploads at a time.
func (l *Loader) checkAndFill() error {
	fills := map[*gguf.TensorInfo][]fill{}
	if l.be.Host() {
		for _, f := range l.fills {
			if f.later == atOnce {
				fills[f.of] = append(fills[f.of], f)
			}
		}
	}
	err := inParallel(len(l.check), func(i int) error {
		if err := l.checkTensor(l.check[i]); err != nil {
			return err
		}
		return do(fills[l.check[i]])
	})
	if err != nil || l.be.Host() {
		return err
	}
	return do(l.fills)
}

func do(fills []fill) error {
	for _, f := range fills {
		if err := f.do(); err != nil {
			return err
		}
	}
	return nil
}

// Abandon releases the loader after a failed Load.
func (l *Loader) Abandon() {
	(&Weights{inPlace: l.inPlace, copies: l.copies}).Free()
}

func (l *Loader) surplus() error {
	for _, t := range l.file.Tensors() {
		if !l.used[t.Name] {
			return surplus(&t)
		}
	}
	return nil
}

func surplus(t *gguf.TensorInfo) error {
	return fmt.Errorf("%s: surplus: a tensor that this model does not have", t.Name)
}

// inParallel does f for 0..n-1 on all processors and returns the error of the lowest index. A panic is an error, too.
func inParallel(n int, f func(i int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, n)
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				errs[i] = guarded(f, i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// guarded is f(i), or the error that a panic in it becomes: on a goroutine of its own nobody else could catch it.
func guarded(f func(i int) error, i int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f(i)
}

// checkTensor refuses NaN and infinite weights, and matrices that were never filled in. It reads all the data but that
// of a Table.
func (l *Loader) checkTensor(t *gguf.TensorInfo) error {
	if !l.sparse[t] {
		if err := l.file.CheckFinite(t); err != nil {
			return err
		}
	}
	if len(t.Shape) > 1 && t.Shape[1] > 1 && l.file.AllZero(t) {
		return fmt.Errorf("%s: all zero", t.Name)
	}
	return nil
}
