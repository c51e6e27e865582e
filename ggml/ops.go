package ggml

// Ops. The receiver is the activation and knows its graph; operands may be weights.
// Shapes in comments are in ggml order.

func (t Tensor) wrap(c *cTensor) Tensor { return Tensor{c: c, b: t.b} }

// ctx of the graph under construction; using a tensor outside of Build is a mistake in the program.
func (t Tensor) ctx() cContext {
	if t.b == nil {
		panic("ggml: op on a tensor that is not part of a graph: start from Builder.Use or Builder.Input")
	}
	return t.b.ctx
}

// Add is t + u, u repeated to t's shape.
func (t Tensor) Add(u Tensor) Tensor {
	check(fitsInto(u, t), "add", t, u)
	return t.wrap(fn.ggml_add(t.ctx(), t.c, u.c))
}

// Sub is t - u, u repeated to t's shape.
func (t Tensor) Sub(u Tensor) Tensor {
	check(fitsInto(u, t), "sub", t, u)
	return t.wrap(fn.ggml_sub(t.ctx(), t.c, u.c))
}

// Mul is the elementwise t * u, u repeated to t's shape.
func (t Tensor) Mul(u Tensor) Tensor {
	check(fitsInto(u, t), "mul", t, u)
	return t.wrap(fn.ggml_mul(t.ctx(), t.c, u.c))
}

// MatMul is w·t: t [K, N, b, c], w [K, M, b', c'] -> F32 [M, N, b, c]. b' divides b: heads of w are shared by groups.
func (t Tensor) MatMul(w Tensor) Tensor {
	check(w.c.ne[0] == t.c.ne[0] && t.c.ne[2]%w.c.ne[2] == 0 && t.c.ne[3]%w.c.ne[3] == 0 && w.c.nb[0] <= w.c.nb[1], "matmul", w, t)
	t.b.meet(w)
	return t.wrap(fn.ggml_mul_mat(t.ctx(), w.c, t.c))
}

// GetRows gathers rows of table [C, R] by ids I32 [N] -> F32 [C, N]; t is the ids.
func (t Tensor) GetRows(table Tensor) Tensor {
	check(t.Type() == I32 && t.c.ne[2] == 1 && t.c.ne[3] == 1 && t.c.ne[1] == table.c.ne[2] && table.c.ne[3] == 1, "get_rows", table, t)
	t.b.meet(table)
	return t.wrap(fn.ggml_get_rows(t.ctx(), table.c, t.c))
}

// SetRows writes the rows of t F32 [C, N] into dst [C, R] at the indices I64 [N] and returns dst as written.
func (t Tensor) SetRows(dst, indices Tensor) Tensor {
	check(t.Type() == F32 && indices.Type() == I64 && dst.c.ne[0] == t.c.ne[0] && indices.c.ne[0] == t.c.ne[1] &&
		dst.c.ne[2] == t.c.ne[2] && dst.c.ne[3] == t.c.ne[3], "set_rows", dst, t, indices)
	return t.wrap(fn.ggml_set_rows(t.ctx(), dst.c, t.c, indices.c))
}

// CopyTo writes t into dst, which has as many elements, and returns dst as written. It becomes part of the graph at once.
func (t Tensor) CopyTo(dst Tensor) Tensor {
	check(t.Elements() == dst.Elements(), "copy", t, dst)
	r := t.wrap(fn.ggml_cpy(t.ctx(), t.c, dst.c))
	t.b.Expand(r)
	return r
}

// RMSNorm is t / sqrt(mean(t²) + eps) along dimension 0.
func (t Tensor) RMSNorm(eps float32) Tensor { return t.wrap(fn.ggml_rms_norm(t.ctx(), t.c, eps)) }

// Norm is (t - mean(t)) / sqrt(var(t) + eps) along dimension 0.
func (t Tensor) Norm(eps float32) Tensor { return t.wrap(fn.ggml_norm(t.ctx(), t.c, eps)) }

// Scale is t * s.
func (t Tensor) Scale(s float32) Tensor { return t.wrap(fn.ggml_scale(t.ctx(), t.c, s)) }

// Clamp limits t to [lo, hi], in place of t.
func (t Tensor) Clamp(lo, hi float32) Tensor {
	return t.wrap(fn.ggml_clamp(t.ctx(), t.c, lo, hi))
}

// Elementwise functions.
func (t Tensor) Sqr() Tensor     { return t.wrap(fn.ggml_sqr(t.ctx(), t.c)) }
func (t Tensor) Sqrt() Tensor    { return t.wrap(fn.ggml_sqrt(t.ctx(), t.c)) }
func (t Tensor) Sin() Tensor     { return t.wrap(fn.ggml_sin(t.ctx(), t.c)) }
func (t Tensor) SiLU() Tensor    { return t.wrap(fn.ggml_silu(t.ctx(), t.c)) }
func (t Tensor) ReLU() Tensor    { return t.wrap(fn.ggml_relu(t.ctx(), t.c)) }
func (t Tensor) Tanh() Tensor    { return t.wrap(fn.ggml_tanh(t.ctx(), t.c)) }
func (t Tensor) Sigmoid() Tensor { return t.wrap(fn.ggml_sigmoid(t.ctx(), t.c)) }
func (t Tensor) ELU() Tensor     { return t.wrap(fn.ggml_elu(t.ctx(), t.c)) }

// GELU is the exact t · Φ(t), by the error function.
func (t Tensor) GELU() Tensor { return t.wrap(fn.ggml_gelu_erf(t.ctx(), t.c)) }

// SumRows is the sum of each row: t F32 [C, ...] -> [1, ...].
func (t Tensor) SumRows() Tensor {
	check(t.Type() == F32 && t.c.nb[0] == 4, "sum_rows", t)
	return t.wrap(fn.ggml_sum_rows(t.ctx(), t.c))
}

// SwiGLU is SiLU(t) * up.
func (t Tensor) SwiGLU(up Tensor) Tensor {
	check(sameShape(t, up) && t.dense() && up.dense(), "swiglu", t, up)
	return t.wrap(fn.ggml_swiglu_split(t.ctx(), t.c, up.c))
}

// SoftMax is softmax(t * scale + mask) along dimension 0; t [T, N, heads, b], mask F32 [T, N, 1, b or 1] shared by the
// heads, or none.
func (t Tensor) SoftMax(mask Tensor, scale float32) Tensor {
	if mask.Valid() {
		check(mask.Type() == F32 && mask.dense() && mask.c.ne[0] == t.c.ne[0] && mask.c.ne[1] == t.c.ne[1] && mask.c.ne[2] == 1 &&
			t.c.ne[3]%mask.c.ne[3] == 0, "soft_max", t, mask)
	}
	check(t.dense(), "soft_max", t)
	return t.wrap(fn.ggml_soft_max_ext(t.ctx(), t.c, mask.c, scale, 0))
}

// precisionF32 is GGML_PREC_F32: sums in full precision.
const precisionF32 = 10

// FlashAttention is softmax(k·t * scale + mask)·v for each head, without the weights ever being in memory: t F32 [D, N,
// heads, b], k and v [D, T, heads', b], whose heads groups of t's share, mask F16 [T, N, 1, b or 1] or none -> F32 [D,
// heads, N, b]. The mask's columns need no padding: from version 0.20 on ggml's kernels look at its size.
func (t Tensor) FlashAttention(k, v, mask Tensor, scale float32) Tensor {
	check(t.Type() == F32 && t.c.nb[0] == 4 && t.c.ne[0] == k.c.ne[0] && k.c.ne == v.c.ne && rowsWhole(k) && rowsWhole(v) &&
		t.c.ne[2]%k.c.ne[2] == 0 && t.c.ne[3] == k.c.ne[3], "flash_attn", t, k, v)
	if mask.Valid() {
		check(mask.Type() == F16 && mask.dense() && mask.c.ne[0] == k.c.ne[1] && mask.c.ne[1] == t.c.ne[1] && mask.c.ne[2] == 1 &&
			t.c.ne[3]%mask.c.ne[3] == 0, "flash_attn", t, mask)
	}
	r := t.wrap(fn.ggml_flash_attn_ext(t.ctx(), t.c, k.c, v.c, mask.c, scale, 0, 0))
	fn.ggml_flash_attn_ext_set_prec(r.c, precisionF32)
	return r
}

// rowsWhole tells whether the elements of each row lie without gaps.
func rowsWhole(t Tensor) bool {
	return t.c.nb[0] == uintptr(t.Type().BlockBytes()) && t.c.ne[0]%int64(t.Type().BlockSize()) == 0
}

// ropeNeoX pairs dimension i with i + n/2.
const ropeNeoX = 2

// RoPE rotates t [D, heads, N] by positions I32 [N], pairing dimension i with i + D/2, at angles pos · base^(-2i/D).
func (t Tensor) RoPE(positions Tensor, base float32) Tensor {
	check(positions.Type() == I32 && positions.c.ne[0] == t.c.ne[2] && t.c.ne[0]%2 == 0, "rope", t, positions)
	return t.wrap(fn.ggml_rope_ext(t.ctx(), t.c, positions.c, nil, int32(t.c.ne[0]), ropeNeoX, 0, base, 1, 0, 1, 32, 1))
}

// Concat appends u to t along dimension dim.
func (t Tensor) Concat(u Tensor, dim int) Tensor {
	ok := t.Type() == u.Type()
	for i := range t.c.ne {
		ok = ok && (i == dim || t.c.ne[i] == u.c.ne[i])
	}
	check(ok, "concat", t, u)
	return t.wrap(fn.ggml_concat(t.ctx(), t.c, u.c, int32(dim)))
}

// Reshape reads the elements, which lie without gaps, in another shape.
func (t Tensor) Reshape(ne ...int) Tensor {
	s := shape4(ne)
	check(t.dense() && s[0]*s[1]*s[2]*s[3] == int64(t.Elements()), "reshape", t)
	return t.wrap(fn.ggml_reshape_4d(t.ctx(), t.c, s[0], s[1], s[2], s[3]))
}

// Permute moves dimension i of t to dimension axes[i].
func (t Tensor) Permute(a0, a1, a2, a3 int) Tensor {
	check(1<<a0|1<<a1|1<<a2|1<<a3 == 15, "permute", t)
	return t.wrap(fn.ggml_permute(t.ctx(), t.c, int32(a0), int32(a1), int32(a2), int32(a3)))
}

// Transpose swaps dimensions 0 and 1.
func (t Tensor) Transpose() Tensor { return t.Permute(1, 0, 2, 3) }

// Cont copies t so that its elements lie without gaps.
func (t Tensor) Cont() Tensor { return t.wrap(fn.ggml_cont(t.ctx(), t.c)) }

// Repeat repeats t to a shape that its own divides.
func (t Tensor) Repeat(ne ...int) Tensor {
	s := shape4(ne)
	for i := range s {
		check(s[i]%t.c.ne[i] == 0, "repeat", t)
	}
	return t.wrap(fn.ggml_repeat_4d(t.ctx(), t.c, s[0], s[1], s[2], s[3]))
}

// Slice is the n entries from the given one on along dimension dim, without copying.
func (t Tensor) Slice(dim, from, n int) Tensor {
	check(from >= 0 && n > 0 && int64(from+n) <= t.c.ne[dim], "slice", t)
	ne := t.c.ne
	ne[dim] = int64(n)
	block := t.Type().BlockSize()
	check(dim != 0 || (from%block == 0 && n%block == 0), "slice", t)
	off := t.c.nb[dim] * uintptr(from)
	if dim == 0 {
		off /= uintptr(block)
	}
	return t.wrap(fn.ggml_view_4d(t.ctx(), t.c, ne[0], ne[1], ne[2], ne[3], t.c.nb[1], t.c.nb[2], t.c.nb[3], off))
}

// SplitDim views dimension dim of t, of size a·n, as two: a, then n. Heads of a projection are x.SplitDim(0, heads).
func (t Tensor) SplitDim(dim, n int) Tensor {
	block := int64(1)
	if dim == 0 {
		block = int64(t.Type().BlockSize())
	}
	check(t.c.ne[dim]%(int64(n)*block) == 0 && t.c.ne[3] == 1, "split", t)
	ne, nb := t.c.ne, t.c.nb
	copy(ne[dim+1:], t.c.ne[dim:])
	copy(nb[dim+1:], t.c.nb[dim:])
	ne[dim], ne[dim+1] = ne[dim]/int64(n), int64(n)
	nb[dim+1] = nb[dim] * uintptr(ne[dim]/block)
	return t.wrap(fn.ggml_view_4d(t.ctx(), t.c, ne[0], ne[1], ne[2], ne[3], nb[1], nb[2], nb[3], 0))
}

// Windows views the rows of t [C, L] as the taps of a convolution: [C, taps, L-(taps-1)·dilation], where
// entry (k, i) is row i + k·dilation. The windows overlap: nothing is copied.
func (t Tensor) Windows(taps, dilation int) Tensor {
	n := int(t.c.ne[1]) - (taps-1)*dilation
	check(t.dense() && n > 0 && t.c.ne[2] == 1 && t.c.ne[3] == 1, "windows", t)
	row := t.c.nb[1]
	// ggml takes a view for dense and refuses one that overlaps itself, so the taps are put in afterwards.
	v := fn.ggml_view_4d(t.ctx(), t.c, t.c.ne[0], 1, int64(n), 1, row*uintptr(dilation), row, row*uintptr(n), 0)
	v.ne[1] = int64(taps)
	return t.wrap(v)
}
