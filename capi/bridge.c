#include "bridge.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Last error of each thread ----
//
// A pthread key and not _Thread_local: a Go library has the static TLS model, and the little space that
// the loader keeps for such libraries is needed by others. The destructor frees the text of a thread that ends.

static pthread_once_t error_once = PTHREAD_ONCE_INIT;
static pthread_key_t error_key, status_key; // the status itself is the value of its key
static int error_key_failed;

static char no_memory[] = "out of memory (and none for the message)";

static void free_error(void *msg) {
	if (msg != no_memory) {
		free(msg);
	}
}

static void create_error_key(void) {
	error_key_failed = pthread_key_create(&error_key, free_error) || pthread_key_create(&status_key, NULL);
}

const char *qt_last_error(void) {
	pthread_once(&error_once, create_error_key);
	const char *msg = error_key_failed ? no_memory : pthread_getspecific(error_key);
	return msg ? msg : "";
}

enum qt_status qt_last_status(void) {
	pthread_once(&error_once, create_error_key);
	return error_key_failed ? QT_STATUS_OOM : (enum qt_status)(intptr_t)pthread_getspecific(status_key);
}

void qwen_set_error(enum qt_status status, const char *msg) {
	pthread_once(&error_once, create_error_key);
	if (error_key_failed) {
		return;
	}
	pthread_setspecific(status_key, (void *)(intptr_t)status);
	char *copy = strdup(msg);
	free_error(pthread_getspecific(error_key));
	if (pthread_setspecific(error_key, copy ? copy : no_memory) != 0) {
		free(copy);
	}
}

// ---- Constants ----

char *qwen_constants[QWEN_CONSTANTS];

// ---- Log ----

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static qt_log_cb log_callback;
static void *log_user_data;

void qt_log_set(qt_log_cb cb, void *user_data) {
	pthread_mutex_lock(&log_mutex);
	log_callback = cb;
	log_user_data = user_data;
	pthread_mutex_unlock(&log_mutex);
}

// The callback runs outside the lock, so that it may call qt_log_set.
void qwen_log(int level, const char *msg) {
	pthread_mutex_lock(&log_mutex);
	qt_log_cb cb = log_callback;
	void *user_data = log_user_data;
	pthread_mutex_unlock(&log_mutex);

	if (cb) {
		cb((enum qt_log_level)level, msg, user_data);
	} else if (level >= QT_LOG_INFO) {
		const char *kind = level == QT_LOG_ERROR ? "error: " : level == QT_LOG_WARN ? "warning: " : "";
		fprintf(stderr, "qwen: %s%s\n", kind, msg);
	}
}

bool qwen_log_enabled(int level) {
	pthread_mutex_lock(&log_mutex);
	bool everything = log_callback != NULL;
	pthread_mutex_unlock(&log_mutex);
	return everything || level >= QT_LOG_INFO;
}

// ---- Casts and calls ----

struct qt_context *qwen_handle(uintptr_t id) { return (struct qt_context *)id; }

uintptr_t qwen_thread(void) { return (uintptr_t)pthread_self(); }

bool qwen_call_cancel(qt_cancel_cb cb, uintptr_t user_data, uintptr_t owner) {
	return qwen_thread() == owner && cb((void *)user_data);
}

bool qwen_call_chunk(qt_audio_chunk_cb cb, uintptr_t user_data, const float *samples, int n_samples) {
	return cb(samples, n_samples, (void *)user_data);
}

void qwen_call_progress(qt_progress_cb cb, uintptr_t user_data, int n_frames, int max_frames, double elapsed_ms) {
	struct qt_progress progress = {
		.struct_size = sizeof progress,
		.n_frames = n_frames,
		.max_frames = max_frames,
		.elapsed_ms = elapsed_ms,
	};
	cb(&progress, (void *)user_data);
}

// ---- User data that is a parameter ----

enum qt_status qt_extract_voice_ref_ex(struct qt_context *ctx, const float *pcm_24k, int n_samples, qt_cancel_cb cancel,
		void *cancel_user_data, struct qt_voice_ref *out) {
	return qwen_extract_voice_ref_ex(ctx, pcm_24k, n_samples, cancel, (uintptr_t)cancel_user_data, out);
}
