package ggml

// Operations that drawing codes on a device is made of.

// Div is the elementwise t / u, u repeated to t's shape.
func (t Tensor) Div(u Tensor) Tensor {
	check(fitsInto(u, t), "div", t, u)
	return t.wrap(fn.ggml_div(t.ctx(), t.c, u.c))
}

// Exp is e to the power of each element.
func (t Tensor) Exp() Tensor { return t.wrap(fn.ggml_exp(t.ctx(), t.c)) }

// Step is 1 where t is above 0, else 0.
func (t Tensor) Step() Tensor { return t.wrap(fn.ggml_step(t.ctx(), t.c)) }

// CumSum is the sum of each row up to and including each element.
func (t Tensor) CumSum() Tensor {
	check(t.Type() == F32 && t.dense(), "cumsum", t)
	return t.wrap(fn.ggml_cumsum(t.ctx(), t.c))
}

// ArgMax is the index of the largest element of each row: t F32 [C, N] -> I32 [N].
func (t Tensor) ArgMax() Tensor {
	check(t.Type() == F32 && t.dense() && t.c.ne[2] == 1 && t.c.ne[3] == 1, "argmax", t)
	return t.wrap(fn.ggml_argmax(t.ctx(), t.c))
}

// ggml's numbers for the order of ArgSort.
const (
	sortAscending  = 0
	sortDescending = 1
)

// ArgSort are the indices of each row's elements in ascending order, or the largest first: t F32 [C, N] -> I32 [C, N].
// The order of equal ones is not specified.
func (t Tensor) ArgSort(largestFirst bool) Tensor {
	check(t.Type() == F32 && t.dense(), "argsort", t)
	order := int32(sortAscending)
	if largestFirst {
		order = sortDescending
	}
	return t.wrap(fn.ggml_argsort(t.ctx(), t.c, order))
}

// Cast converts the elements.
func (t Tensor) Cast(to Type) Tensor { return t.wrap(fn.ggml_cast(t.ctx(), t.c, to)) }
