package onnx

import (
	"fmt"
	"unsafe"
)

// Types of elements, ONNXTensorElementDataType.
const (
	typeFloat32 = 1
	typeInt64   = 7
)

var typeNames = map[int32]string{
	1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string", 9: "bool",
	10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128", 16: "bfloat16",
}

func typeName(typ int32) string {
	if s, ok := typeNames[typ]; ok {
		return s
	}
	return fmt.Sprintf("type %d", typ)
}

// valueInfo is an input or output of a model.
type valueInfo struct {
	name  string
	typ   int32   // of its elements; 0: no tensor
	shape []int64 // -1: any
}

// session is a model, loaded for a provider. It may be run by several goroutines at once.
type session struct {
	lib             *library
	handle          cSession
	inputs, outputs []valueInfo
}

// newSession loads a model. An error of the provider is ErrProvider; others are the model's.
func (l *library) newSession(path string, p provider, threads int) (*session, error) {
	o, err := l.newOptions(threads)
	if err != nil {
		return nil, err
	}
	defer l.releaseOptions(o)
	takeLogged("")
	if err := p.append(l, o); err != nil {
		if more := takeLogged(err.Error()); more != "" {
			err = fmt.Errorf("%w (%s)", err, more)
		}
		return nil, fmt.Errorf("%w: %s: %w", ErrProvider, p.name, err)
	}
	name, err := nativePath(path)
	if err != nil {
		return nil, err
	}
	s := &session{lib: l}
	if err := l.check(l.createSession(l.env, name, o, &s.handle)); err != nil {
		return nil, err
	}
	if err := s.describe(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// newOptions bounds the threads. They sleep while they wait: they would else keep processors from the language models.
func (l *library) newOptions(threads int) (o cOptions, err error) {
	if err = l.check(l.createOptions(&o)); err != nil {
		return 0, err
	}
	for _, status := range []cStatus{
		l.setIntraThreads(o, int32(threads)),
		l.setInterThreads(o, 1),
		l.addConfig(o, "session.intra_op.allow_spinning", "0"),
	} {
		if e := l.check(status); e != nil && err == nil {
			err = e
		}
	}
	if err != nil {
		l.releaseOptions(o)
	}
	return o, err
}

// describe reads the inputs and outputs.
func (s *session) describe() (err error) {
	l := s.lib
	if s.inputs, err = s.values(l.inputCount, l.inputName, l.inputType); err == nil {
		s.outputs, err = s.values(l.outputCount, l.outputName, l.outputType)
	}
	return err
}

func (s *session) values(count func(cSession, *uintptr) cStatus, name func(cSession, uintptr, cAllocator, *unsafe.Pointer) cStatus,
	typ func(cSession, uintptr, *cTypeInfo) cStatus) (list []valueInfo, err error) {
	var n uintptr
	if err := s.lib.check(count(s.handle, &n)); err != nil {
		return nil, err
	}
	for i := range n {
		var text unsafe.Pointer
		if err := s.lib.check(name(s.handle, i, s.lib.allocator, &text)); err != nil {
			return nil, err
		}
		v := valueInfo{name: s.lib.take(text)}
		var info cTypeInfo
		if err := s.lib.check(typ(s.handle, i, &info)); err != nil {
			return nil, err
		}
		v.typ, v.shape, err = s.lib.tensorType(info)
		s.lib.releaseTypeInfo(info)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// tensorType is the type of a tensor's elements and its shape; the type is 0 if it is no tensor.
func (l *library) tensorType(info cTypeInfo) (typ int32, shape []int64, err error) {
	var tensor cShape
	if err := l.check(l.tensorInfo(info, &tensor)); err != nil || tensor == 0 {
		return 0, nil, err
	}
	if err := l.check(l.elementType(tensor, &typ)); err != nil {
		return 0, nil, err
	}
	shape, err = l.dims(tensor)
	return typ, shape, err
}

func (l *library) dims(s cShape) ([]int64, error) {
	var rank uintptr
	if err := l.check(l.rank(s, &rank)); err != nil || rank == 0 {
		return nil, err
	}
	dims := make([]int64, rank)
	return dims, l.check(l.dimensions(s, &dims[0], rank))
}

// property is an entry of the model's metadata; "" if there is none.
func (s *session) property(key string) (string, error) {
	var m cMetadata
	if err := s.lib.check(s.lib.metadata(s.handle, &m)); err != nil {
		return "", err
	}
	defer s.lib.releaseMetadata(m)
	var text unsafe.Pointer
	if err := s.lib.check(s.lib.lookup(m, s.lib.allocator, key, &text)); err != nil {
		return "", err
	}
	return s.lib.take(text), nil
}

func (s *session) close() {
	if s != nil && s.handle != 0 {
		s.lib.releaseSession(s.handle)
		s.handle = 0
	}
}
