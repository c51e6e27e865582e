package ggml

import "fmt"

// shape4 fills up a shape to four dimensions.
func shape4(ne []int) [4]int64 {
	if len(ne) == 0 || len(ne) > 4 {
		shapePanic("shape %v: one to four dimensions", ne)
	}
	s := [4]int64{1, 1, 1, 1}
	for i, n := range ne {
		if n < 1 {
			shapePanic("shape %v: dimension %d is empty", ne, i)
		}
		s[i] = int64(n)
	}
	return s
}

// check panics with a ShapeError naming the op and its operands unless ok.
func check(ok bool, op string, operands ...Tensor) {
	if ok {
		return
	}
	s := ""
	for i, t := range operands {
		if i > 0 {
			s += ", "
		}
		s += t.String()
	}
	panic(&ShapeError{fmt.Sprintf("%s: operands do not fit: %s", op, s)})
}

// fitsInto tells whether small can be repeated to the shape of big.
func fitsInto(small, big Tensor) bool {
	for i := range small.c.ne {
		if big.c.ne[i]%small.c.ne[i] != 0 {
			return false
		}
	}
	return true
}

func sameShape(a, b Tensor) bool { return a.c.ne == b.c.ne }

// dense tells whether the elements lie without gaps in the order of the dimensions.
func (t Tensor) dense() bool {
	next := t.c.nb[0]
	for i := range 4 {
		if i > 0 && t.c.ne[i] != 1 && t.c.nb[i] != next {
			return false
		}
		if i == 0 {
			next = t.rowBytes()
		} else {
			next *= uintptr(t.c.ne[i])
		}
	}
	return true
}

// RowBytes is the distance in bytes from one row (dimension 1) to the next.
func (t Tensor) RowBytes() int { return int(t.c.nb[1]) }

// rowBytes is the size of ne[0] elements without gaps.
func (t Tensor) rowBytes() uintptr {
	return uintptr(t.c.ne[0]) / uintptr(t.Type().BlockSize()) * uintptr(t.Type().BlockBytes())
}
