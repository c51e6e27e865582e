// What Go cannot do itself: call function pointers, keep thread-specific storage, cast handles.
// The public functions that need nothing else (qt_last_error, qt_last_status, qt_log_set) are in bridge.c too.
#ifndef QWEN_BRIDGE_H
#define QWEN_BRIDGE_H

#include <qwen.h>

// Const parameters of exported functions go through named pointer types: cgo then repeats the prototypes
// of qwen.h word for word, and the C compiler checks that they agree.
typedef const char *qwen_string;
typedef const float *qwen_floats;
typedef const struct qt_context *qwen_context;
typedef const struct qt_init_params *qwen_init_params;
typedef const struct qt_options *qwen_options;
typedef const struct qt_tts_params *qwen_tts_params;
typedef const struct qt_request *qwen_request;
typedef const struct qt_recording *qwen_recording;
typedef const struct qt_voice_ref *qwen_voice_ref;
typedef const void *qwen_data;

// User data stays an integer on the Go side: a caller may pass any value, such as (void *)1, which Go's
// stack scanner takes for a broken pointer.

// A handle is a number in the clothes of a pointer.
struct qt_context *qwen_handle(uintptr_t id);

// The calling thread; unique among the living ones.
uintptr_t qwen_thread(void);

// What is left of the calling thread's stack, bytes; SIZE_MAX: not known.
size_t qwen_stack_left(void);

// The floating-point environment of a thread, of which each system has its own idea.
typedef struct {
	uint64_t words[8];
} qwen_float_env;

// Between enter and leave the calling thread has the default environment.
void qwen_float_enter(qwen_float_env *host);
void qwen_float_leave(const qwen_float_env *host);

// Texts that last as long as the process, kept where leak detectors look: they know nothing of Go's memory.
enum { QWEN_VERSION_TEXT, QWEN_SYSTEM_INFO_TEXT, QWEN_CONSTANTS };
extern char *qwen_constants[QWEN_CONSTANTS];

// Sets qt_last_error of the calling thread to a copy of msg, and qt_last_status.
void qwen_set_error(enum qt_status status, const char *msg);

// Hands one line to the callback of qt_log_set, or to stderr.
void qwen_log(int level, const char *msg);
bool qwen_log_enabled(int level);

// qt_extract_voice_ref_ex, in Go.
enum qt_status qwen_extract_voice_ref_ex(struct qt_context *ctx, qwen_floats pcm_24k, int n_samples, qt_cancel_cb cancel,
	uintptr_t cancel_user_data, struct qt_voice_ref *out);

// The callbacks of a synthesis belong to the thread `owner`, which called it.
// qwen_call_cancel answers false to any other thread.
bool qwen_call_cancel(qt_cancel_cb cb, uintptr_t user_data, uintptr_t owner);
bool qwen_call_chunk(qt_audio_chunk_cb cb, uintptr_t user_data, const float *samples, int n_samples);
void qwen_call_progress(qt_progress_cb cb, uintptr_t user_data, int n_frames, int max_frames, double elapsed_ms);

#endif
