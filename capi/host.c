// What the library finds in a thread of its host: a floating-point environment and a stack.
#define _GNU_SOURCE
#include "bridge.h"

#include <fenv.h>
#include <pthread.h>

// ---- Floating point ----
//
// A thread's rounding mode, flushing of subnormal numbers and trapping of exceptions are its program's business (audio
// programs flush, -ffast-math does so in all of a process, some languages trap), and a new thread has those of the one that made it.
// Whatever they are, the library computes with the default ones: else a seed would not replay the bits, and
// an infinity on purpose would end the process.

_Static_assert(sizeof(fenv_t) <= sizeof(qwen_float_env), "qwen_float_env holds a fenv_t");

void qwen_float_enter(qwen_float_env *host) {
	fegetenv((fenv_t *)host);
	fesetenv(FE_DFL_ENV);
}

void qwen_float_leave(const qwen_float_env *host) { fesetenv((const fenv_t *)host); }

// Go's threads descend from one that its constructor makes. Constructors with a priority come before Go's, which has none,
// and this file's others come after it.
static qwen_float_env loader;

__attribute__((constructor(101))) static void before_go_starts(void) { qwen_float_enter(&loader); }
__attribute__((constructor)) static void after_go_started(void) { qwen_float_leave(&loader); }

// ---- Stack ----

size_t qwen_stack_left(void) {
	pthread_attr_t attr;
	void *low = NULL;
	size_t size = 0;
	if (pthread_getattr_np(pthread_self(), &attr) != 0) {
		return SIZE_MAX;
	}
	const int failed = pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0), end = (uintptr_t)low;
	if (failed || here < end || here - end > size) { // a stack that the caller made itself
		return SIZE_MAX;
	}
	return here - end;
}
