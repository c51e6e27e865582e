package ggml

import (
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
)

// cTensor is the public prefix of struct ggml_tensor, the only fields read or written from here:
// the rest differs between builds.
type cTensor struct {
	typ Type
	_   uint32
	_   unsafe.Pointer // buffer
	ne  [4]int64
	nb  [4]uintptr
}

// Opaque C objects.
type (
	cContext unsafe.Pointer
	cGraph   unsafe.Pointer
	cBackend unsafe.Pointer
	cBuffer  unsafe.Pointer
	cBuft    unsafe.Pointer
	cDevice  unsafe.Pointer
	cReg     unsafe.Pointer
	cAlloc   unsafe.Pointer
	cSched   unsafe.Pointer
)

// api is the table of ggml functions; each field's comment is its C prototype.
type api struct {
	// struct ggml_context * ggml_init(struct ggml_init_params params) -- see initContext
	ggml_init uintptr
	// void ggml_free(struct ggml_context * ctx)
	ggml_free func(cContext)
	// size_t ggml_tensor_overhead(void)
	ggml_tensor_overhead func() uintptr
	// size_t ggml_graph_overhead_custom(size_t size, bool grads)
	ggml_graph_overhead_custom func(uintptr, bool) uintptr
	// struct ggml_tensor * ggml_new_tensor_4d(ctx, enum ggml_type type, int64_t ne0, ne1, ne2, ne3)
	ggml_new_tensor_4d func(cContext, Type, int64, int64, int64, int64) *cTensor
	// void * ggml_get_data(const struct ggml_tensor * tensor)
	ggml_get_data func(*cTensor) unsafe.Pointer
	// size_t ggml_nbytes(const struct ggml_tensor * tensor)
	ggml_nbytes func(*cTensor) uintptr
	// struct ggml_tensor * ggml_set_name(struct ggml_tensor * tensor, const char * name)
	ggml_set_name func(*cTensor, string) *cTensor
	// void ggml_set_input(struct ggml_tensor * tensor)
	ggml_set_input func(*cTensor)
	// void ggml_set_output(struct ggml_tensor * tensor)
	ggml_set_output func(*cTensor)
	// const char * ggml_version(void)
	ggml_version func() string
	// size_t ggml_quantize_chunk(enum ggml_type type, const float * src, void * dst, int64_t start, int64_t nrows,
	//   int64_t n_per_row, const float * imatrix)
	ggml_quantize_chunk func(Type, *float32, *byte, int64, int64, int64, *float32) uintptr
	// const struct ggml_type_traits * ggml_get_type_traits(enum ggml_type type)
	ggml_get_type_traits func(Type) *typeTraits
	// void ggml_log_set(ggml_log_callback log_callback, void * user_data)
	ggml_log_set func(uintptr, unsafe.Pointer)
	// ggml_abort_callback_t ggml_set_abort_callback(ggml_abort_callback_t callback)
	ggml_set_abort_callback func(uintptr) uintptr

	// struct ggml_tensor * ggml_OP(ctx, a, b)
	ggml_add, ggml_sub, ggml_mul, ggml_div, ggml_mul_mat, ggml_get_rows, ggml_cpy, ggml_swiglu_split func(cContext, *cTensor, *cTensor) *cTensor
	// struct ggml_tensor * ggml_OP(ctx, a)
	ggml_sqr, ggml_sin, ggml_silu, ggml_gelu_erf, ggml_cont, ggml_relu, ggml_tanh, ggml_sigmoid, ggml_elu, ggml_sqrt, ggml_sum_rows, ggml_exp, ggml_step, ggml_cumsum, ggml_argmax func(cContext, *cTensor) *cTensor
	// struct ggml_tensor * ggml_argsort(ctx, a, enum ggml_sort_order order)
	ggml_argsort func(cContext, *cTensor, int32) *cTensor
	// struct ggml_tensor * ggml_cast(ctx, a, enum ggml_type type)
	ggml_cast func(cContext, *cTensor, Type) *cTensor
	// struct ggml_tensor * ggml_OP(ctx, a, float)
	ggml_rms_norm, ggml_norm, ggml_scale func(cContext, *cTensor, float32) *cTensor
	// struct ggml_tensor * ggml_set_rows(ctx, a, b, c)
	ggml_set_rows func(cContext, *cTensor, *cTensor, *cTensor) *cTensor
	// struct ggml_tensor * ggml_soft_max_ext(ctx, a, mask, float scale, float max_bias)
	ggml_soft_max_ext func(cContext, *cTensor, *cTensor, float32, float32) *cTensor
	// struct ggml_tensor * ggml_flash_attn_ext(ctx, q, k, v, mask, float scale, float max_bias, float logit_softcap)
	ggml_flash_attn_ext func(cContext, *cTensor, *cTensor, *cTensor, *cTensor, float32, float32, float32) *cTensor
	// void ggml_flash_attn_ext_set_prec(struct ggml_tensor * a, enum ggml_prec prec)
	ggml_flash_attn_ext_set_prec func(*cTensor, int32)
	// struct ggml_tensor * ggml_clamp(ctx, a, float min, float max)
	ggml_clamp func(cContext, *cTensor, float32, float32) *cTensor
	// struct ggml_tensor * ggml_concat(ctx, a, b, int dim)
	ggml_concat func(cContext, *cTensor, *cTensor, int32) *cTensor
	// struct ggml_tensor * ggml_rope_ext(ctx, a, b, c, int n_dims, int mode, int n_ctx_orig,
	//   float freq_base, float freq_scale, float ext_factor, float attn_factor, float beta_fast, float beta_slow)
	ggml_rope_ext func(cContext, *cTensor, *cTensor, *cTensor, int32, int32, int32, float32, float32, float32, float32, float32, float32) *cTensor
	// struct ggml_tensor * ggml_view_4d(ctx, a, int64_t ne0, ne1, ne2, ne3, size_t nb1, nb2, nb3, offset)
	ggml_view_4d func(cContext, *cTensor, int64, int64, int64, int64, uintptr, uintptr, uintptr, uintptr) *cTensor
	// struct ggml_tensor * ggml_reshape_4d(ctx, a, int64_t ne0, ne1, ne2, ne3)
	ggml_reshape_4d func(cContext, *cTensor, int64, int64, int64, int64) *cTensor
	// struct ggml_tensor * ggml_permute(ctx, a, int axis0, axis1, axis2, axis3)
	ggml_permute func(cContext, *cTensor, int32, int32, int32, int32) *cTensor
	// struct ggml_tensor * ggml_repeat_4d(ctx, a, int64_t ne0, ne1, ne2, ne3)
	ggml_repeat_4d func(cContext, *cTensor, int64, int64, int64, int64) *cTensor

	// struct ggml_tensor * ggml_custom_4d(ctx, enum ggml_type type, int64_t ne0, ne1, ne2, ne3,
	//   struct ggml_tensor ** args, int n_args, ggml_custom_op_t fun, int n_tasks, void * userdata)
	ggml_custom_4d func(cContext, Type, int64, int64, int64, int64, **cTensor, int32, uintptr, int32, unsafe.Pointer) *cTensor
	// void * ggml_new_buffer(struct ggml_context * ctx, size_t nbytes)
	ggml_new_buffer func(cContext, uintptr) unsafe.Pointer

	// struct ggml_cgraph * ggml_new_graph_custom(ctx, size_t size, bool grads)
	ggml_new_graph_custom func(cContext, uintptr, bool) cGraph
	// void ggml_build_forward_expand(struct ggml_cgraph * cgraph, struct ggml_tensor * tensor)
	ggml_build_forward_expand func(cGraph, *cTensor)
	// int ggml_graph_n_nodes(struct ggml_cgraph * cgraph)
	ggml_graph_n_nodes func(cGraph) int32
	// struct ggml_tensor * ggml_graph_node(struct ggml_cgraph * cgraph, int i)
	ggml_graph_node func(cGraph, int32) *cTensor
	// const char * ggml_op_desc(const struct ggml_tensor * t)
	ggml_op_desc func(*cTensor) string

	// ggml_gallocr_t ggml_gallocr_new(ggml_backend_buffer_type_t buft)
	ggml_gallocr_new func(cBuft) cAlloc
	// void ggml_gallocr_free(ggml_gallocr_t galloc)
	ggml_gallocr_free func(cAlloc)
	// bool ggml_gallocr_alloc_graph(ggml_gallocr_t galloc, struct ggml_cgraph * graph)
	ggml_gallocr_alloc_graph func(cAlloc, cGraph) bool
	// size_t ggml_gallocr_get_buffer_size(ggml_gallocr_t galloc, int buffer_id)
	ggml_gallocr_get_buffer_size func(cAlloc, int32) uintptr

	// size_t ggml_backend_buft_get_alignment(ggml_backend_buffer_type_t buft)
	ggml_backend_buft_get_alignment func(cBuft) uintptr
	// size_t ggml_backend_buft_get_alloc_size(ggml_backend_buffer_type_t buft, const struct ggml_tensor * tensor)
	ggml_backend_buft_get_alloc_size func(cBuft, *cTensor) uintptr
	// ggml_backend_buffer_t ggml_backend_buft_alloc_buffer(ggml_backend_buffer_type_t buft, size_t size)
	ggml_backend_buft_alloc_buffer func(cBuft, uintptr) cBuffer
	// size_t ggml_backend_buft_get_max_size(ggml_backend_buffer_type_t buft)
	ggml_backend_buft_get_max_size func(cBuft) uintptr
	// bool ggml_backend_buft_is_host(ggml_backend_buffer_type_t buft)
	ggml_backend_buft_is_host func(cBuft) bool
	// void ggml_backend_buffer_free(ggml_backend_buffer_t buffer)
	ggml_backend_buffer_free func(cBuffer)
	// void * ggml_backend_buffer_get_base(ggml_backend_buffer_t buffer)
	ggml_backend_buffer_get_base func(cBuffer) unsafe.Pointer
	// void ggml_backend_buffer_clear(ggml_backend_buffer_t buffer, uint8_t value)
	ggml_backend_buffer_clear func(cBuffer, uint8)
	// void ggml_backend_buffer_set_usage(ggml_backend_buffer_t buffer, enum ggml_backend_buffer_usage usage)
	ggml_backend_buffer_set_usage func(cBuffer, int32)
	// enum ggml_status ggml_backend_tensor_alloc(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor, void * addr)
	ggml_backend_tensor_alloc func(cBuffer, *cTensor, unsafe.Pointer) int32
	// void ggml_backend_tensor_set(struct ggml_tensor * tensor, const void * data, size_t offset, size_t size)
	ggml_backend_tensor_set func(*cTensor, unsafe.Pointer, uintptr, uintptr)
	// void ggml_backend_tensor_get(const struct ggml_tensor * tensor, void * data, size_t offset, size_t size)
	ggml_backend_tensor_get func(*cTensor, unsafe.Pointer, uintptr, uintptr)

	// void ggml_backend_free(ggml_backend_t backend)
	ggml_backend_free func(cBackend)
	// ggml_backend_buffer_type_t ggml_backend_get_default_buffer_type(ggml_backend_t backend)
	ggml_backend_get_default_buffer_type func(cBackend) cBuft
	// enum ggml_status ggml_backend_graph_compute(ggml_backend_t backend, struct ggml_cgraph * cgraph) -- per frame: by SyscallN
	ggml_backend_graph_compute uintptr

	// ggml_backend_sched_t ggml_backend_sched_new(ggml_backend_t * backends, ggml_backend_buffer_type_t * bufts,
	//   int n_backends, size_t graph_size, bool parallel, bool op_offload)
	ggml_backend_sched_new func(*cBackend, *cBuft, int32, uintptr, bool, bool) cSched
	// void ggml_backend_sched_free(ggml_backend_sched_t sched)
	ggml_backend_sched_free func(cSched)
	// bool ggml_backend_sched_alloc_graph(ggml_backend_sched_t sched, struct ggml_cgraph * graph)
	ggml_backend_sched_alloc_graph func(cSched, cGraph) bool
	// size_t ggml_backend_sched_get_buffer_size(ggml_backend_sched_t sched, ggml_backend_t backend)
	ggml_backend_sched_get_buffer_size func(cSched, cBackend) uintptr
	// enum ggml_status ggml_backend_sched_graph_compute(ggml_backend_sched_t sched, struct ggml_cgraph * graph) -- by SyscallN
	ggml_backend_sched_graph_compute uintptr

	// size_t ggml_backend_dev_count(void)
	ggml_backend_dev_count func() uintptr
	// ggml_backend_dev_t ggml_backend_dev_get(size_t index)
	ggml_backend_dev_get func(uintptr) cDevice
	// const char * ggml_backend_dev_name(ggml_backend_dev_t device)
	ggml_backend_dev_name func(cDevice) string
	// const char * ggml_backend_dev_description(ggml_backend_dev_t device)
	ggml_backend_dev_description func(cDevice) string
	// void ggml_backend_dev_memory(ggml_backend_dev_t device, size_t * free, size_t * total)
	ggml_backend_dev_memory func(cDevice, *uintptr, *uintptr)
	// void ggml_backend_dev_get_props(ggml_backend_dev_t device, struct ggml_backend_dev_props * props)
	ggml_backend_dev_get_props func(cDevice, unsafe.Pointer)
	// enum ggml_backend_dev_type ggml_backend_dev_type(ggml_backend_dev_t device)
	ggml_backend_dev_type func(cDevice) int32
	// ggml_backend_reg_t ggml_backend_dev_backend_reg(ggml_backend_dev_t device)
	ggml_backend_dev_backend_reg func(cDevice) cReg
	// ggml_backend_t ggml_backend_dev_init(ggml_backend_dev_t device, const char * params)
	ggml_backend_dev_init func(cDevice, unsafe.Pointer) cBackend
	// ggml_backend_buffer_t ggml_backend_dev_buffer_from_host_ptr(device, void * ptr, size_t size, size_t max_tensor_size)
	ggml_backend_dev_buffer_from_host_ptr func(cDevice, unsafe.Pointer, uintptr, uintptr) cBuffer
	// bool ggml_backend_dev_supports_op(ggml_backend_dev_t device, const struct ggml_tensor * op)
	ggml_backend_dev_supports_op func(cDevice, *cTensor) bool
	// void * ggml_backend_reg_get_proc_address(ggml_backend_reg_t reg, const char * name)
	ggml_backend_reg_get_proc_address func(cReg, string) uintptr
	// const char * ggml_backend_reg_name(ggml_backend_reg_t reg)
	ggml_backend_reg_name func(cReg) string
	// ggml_backend_reg_t ggml_backend_load(const char * path)
	ggml_backend_load func(string) cReg

	// void ggml_threadpool_params_init(struct ggml_threadpool_params * p, int n_threads)
	ggml_threadpool_params_init func(unsafe.Pointer, int32)
}

// symbol couples a C name with where its address goes: a Go function variable or a uintptr.
type symbol struct {
	name string
	dst  any
}

// bind looks up each symbol in the libraries, in order, and names the ones that are missing.
func bind(symbols []symbol, libs ...uintptr) error {
	for _, s := range symbols {
		addr, err := find(s.name, libs)
		if err != nil {
			return err
		}
		if p, ok := s.dst.(*uintptr); ok {
			*p = addr
			continue
		}
		purego.RegisterFunc(s.dst, addr)
	}
	return nil
}

func find(name string, libs []uintptr) (uintptr, error) {
	for _, lib := range libs {
		if addr, err := dlsym(lib, name); err == nil && addr != 0 {
			return addr, nil
		}
	}
	return 0, fmt.Errorf("ggml: the libraries lack the function %s", name)
}

func (f *api) symbols() []symbol {
	return []symbol{
		{"ggml_init", &f.ggml_init},
		{"ggml_free", &f.ggml_free},
		{"ggml_tensor_overhead", &f.ggml_tensor_overhead},
		{"ggml_graph_overhead_custom", &f.ggml_graph_overhead_custom},
		{"ggml_new_tensor_4d", &f.ggml_new_tensor_4d},
		{"ggml_get_data", &f.ggml_get_data},
		{"ggml_nbytes", &f.ggml_nbytes},
		{"ggml_set_name", &f.ggml_set_name},
		{"ggml_set_input", &f.ggml_set_input},
		{"ggml_set_output", &f.ggml_set_output},
		{"ggml_version", &f.ggml_version},
		{"ggml_quantize_chunk", &f.ggml_quantize_chunk},
		{"ggml_get_type_traits", &f.ggml_get_type_traits},
		{"ggml_log_set", &f.ggml_log_set},
		{"ggml_set_abort_callback", &f.ggml_set_abort_callback},
		{"ggml_add", &f.ggml_add},
		{"ggml_sub", &f.ggml_sub},
		{"ggml_mul", &f.ggml_mul},
		{"ggml_mul_mat", &f.ggml_mul_mat},
		{"ggml_get_rows", &f.ggml_get_rows},
		{"ggml_cpy", &f.ggml_cpy},
		{"ggml_swiglu_split", &f.ggml_swiglu_split},
		{"ggml_sqr", &f.ggml_sqr},
		{"ggml_sin", &f.ggml_sin},
		{"ggml_silu", &f.ggml_silu},
		{"ggml_gelu_erf", &f.ggml_gelu_erf},
		{"ggml_cont", &f.ggml_cont},
		{"ggml_relu", &f.ggml_relu},
		{"ggml_tanh", &f.ggml_tanh},
		{"ggml_sigmoid", &f.ggml_sigmoid},
		{"ggml_elu", &f.ggml_elu},
		{"ggml_sqrt", &f.ggml_sqrt},
		{"ggml_sum_rows", &f.ggml_sum_rows},
		{"ggml_div", &f.ggml_div},
		{"ggml_exp", &f.ggml_exp},
		{"ggml_step", &f.ggml_step},
		{"ggml_cumsum", &f.ggml_cumsum},
		{"ggml_argmax", &f.ggml_argmax},
		{"ggml_argsort", &f.ggml_argsort},
		{"ggml_cast", &f.ggml_cast},
		{"ggml_rms_norm", &f.ggml_rms_norm},
		{"ggml_norm", &f.ggml_norm},
		{"ggml_scale", &f.ggml_scale},
		{"ggml_set_rows", &f.ggml_set_rows},
		{"ggml_soft_max_ext", &f.ggml_soft_max_ext},
		{"ggml_flash_attn_ext", &f.ggml_flash_attn_ext},
		{"ggml_flash_attn_ext_set_prec", &f.ggml_flash_attn_ext_set_prec},
		{"ggml_clamp", &f.ggml_clamp},
		{"ggml_concat", &f.ggml_concat},
		{"ggml_rope_ext", &f.ggml_rope_ext},
		{"ggml_view_4d", &f.ggml_view_4d},
		{"ggml_reshape_4d", &f.ggml_reshape_4d},
		{"ggml_permute", &f.ggml_permute},
		{"ggml_repeat_4d", &f.ggml_repeat_4d},
		{"ggml_custom_4d", &f.ggml_custom_4d},
		{"ggml_new_buffer", &f.ggml_new_buffer},
		{"ggml_new_graph_custom", &f.ggml_new_graph_custom},
		{"ggml_build_forward_expand", &f.ggml_build_forward_expand},
		{"ggml_graph_n_nodes", &f.ggml_graph_n_nodes},
		{"ggml_graph_node", &f.ggml_graph_node},
		{"ggml_op_desc", &f.ggml_op_desc},
		{"ggml_gallocr_new", &f.ggml_gallocr_new},
		{"ggml_gallocr_free", &f.ggml_gallocr_free},
		{"ggml_gallocr_alloc_graph", &f.ggml_gallocr_alloc_graph},
		{"ggml_gallocr_get_buffer_size", &f.ggml_gallocr_get_buffer_size},
		{"ggml_backend_buft_get_alignment", &f.ggml_backend_buft_get_alignment},
		{"ggml_backend_buft_get_alloc_size", &f.ggml_backend_buft_get_alloc_size},
		{"ggml_backend_buft_get_max_size", &f.ggml_backend_buft_get_max_size},
		{"ggml_backend_buft_alloc_buffer", &f.ggml_backend_buft_alloc_buffer},
		{"ggml_backend_buffer_free", &f.ggml_backend_buffer_free},
		{"ggml_backend_buffer_get_base", &f.ggml_backend_buffer_get_base},
		{"ggml_backend_buffer_clear", &f.ggml_backend_buffer_clear},
		{"ggml_backend_buft_is_host", &f.ggml_backend_buft_is_host},
		{"ggml_backend_buffer_set_usage", &f.ggml_backend_buffer_set_usage},
		{"ggml_backend_tensor_alloc", &f.ggml_backend_tensor_alloc},
		{"ggml_backend_tensor_set", &f.ggml_backend_tensor_set},
		{"ggml_backend_tensor_get", &f.ggml_backend_tensor_get},
		{"ggml_backend_free", &f.ggml_backend_free},
		{"ggml_backend_get_default_buffer_type", &f.ggml_backend_get_default_buffer_type},
		{"ggml_backend_graph_compute", &f.ggml_backend_graph_compute},
		{"ggml_backend_sched_new", &f.ggml_backend_sched_new},
		{"ggml_backend_sched_free", &f.ggml_backend_sched_free},
		{"ggml_backend_sched_alloc_graph", &f.ggml_backend_sched_alloc_graph},
		{"ggml_backend_sched_get_buffer_size", &f.ggml_backend_sched_get_buffer_size},
		{"ggml_backend_sched_graph_compute", &f.ggml_backend_sched_graph_compute},
		{"ggml_backend_dev_count", &f.ggml_backend_dev_count},
		{"ggml_backend_dev_get", &f.ggml_backend_dev_get},
		{"ggml_backend_dev_name", &f.ggml_backend_dev_name},
		{"ggml_backend_dev_description", &f.ggml_backend_dev_description},
		{"ggml_backend_dev_memory", &f.ggml_backend_dev_memory},
		{"ggml_backend_dev_get_props", &f.ggml_backend_dev_get_props},
		{"ggml_backend_dev_type", &f.ggml_backend_dev_type},
		{"ggml_backend_dev_backend_reg", &f.ggml_backend_dev_backend_reg},
		{"ggml_backend_dev_init", &f.ggml_backend_dev_init},
		{"ggml_backend_dev_buffer_from_host_ptr", &f.ggml_backend_dev_buffer_from_host_ptr},
		{"ggml_backend_dev_supports_op", &f.ggml_backend_dev_supports_op},
		{"ggml_backend_reg_get_proc_address", &f.ggml_backend_reg_get_proc_address},
		{"ggml_backend_reg_name", &f.ggml_backend_reg_name},
		{"ggml_backend_load", &f.ggml_backend_load},
		{"ggml_threadpool_params_init", &f.ggml_threadpool_params_init},
	}
}

// goString copies a C string.
func goString(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
