/* Faults inside the library, made by QT_FAULT in a library built with -tags qtfault: a panic in each function
 * becomes an error and the process goes on; memory that runs out is QT_STATUS_OOM. */
#define _POSIX_C_SOURCE 200809L
#include "model.h"

static struct qt_context *ctx;
static struct qt_tts_params request;
static struct qt_audio expected; /* what the request gives */

/* The next call of the function panics, and its message says so. */
#define PANIC_IN(function, call)                          \
    do {                                                  \
        setenv("QT_FAULT", #function, 1);                 \
        CHECK(call);                                      \
        unsetenv("QT_FAULT");                             \
        CHECK_ERROR(#function ": internal error: injected fault"); \
    } while (0)

static void panics_are_contained(void) {
    struct qt_init_params ip;
    struct qt_options o;
    struct qt_tts_params copy;
    struct qt_request q;
    struct qt_result r;
    struct qt_audio a;
    struct qt_voice_ref v;
    struct qt_device d;
    struct qt_recording rec;
    struct qt_bytes b;
    float pcm[1] = { 0 };

    memset(&a, 0, sizeof a);
    memset(&v, 0, sizeof v);
    qt_init_default_params(&ip);
    ip.talker_path = talker_path;
    ip.codec_path = codec_path;
    qt_options_init(&o, sizeof o);
    qt_result_init(&r, sizeof r);

    PANIC_IN(qt_version, qt_version() == NULL);
    PANIC_IN(qt_abi_version, qt_abi_version() == 0);
    PANIC_IN(qt_init_default_params, (qt_init_default_params(&ip), true));
    PANIC_IN(qt_options_init, (qt_options_init(&o, sizeof o), true));
    PANIC_IN(qt_request_init, (qt_request_init(&q, sizeof q), true));
    PANIC_IN(qt_result_init, (qt_result_init(&r, sizeof r), true));
    PANIC_IN(qt_tts_default_params, (qt_tts_default_params(&request), true));
    PANIC_IN(qt_model_default_params, qt_model_default_params(ctx, &copy) == QT_STATUS_GENERATE_FAILED);
    PANIC_IN(qt_init, qt_init(&ip) == NULL);
    PANIC_IN(qt_init_ex, qt_init_ex(&ip, &o) == NULL);
    PANIC_IN(qt_free, (qt_free(ctx), true));
    PANIC_IN(qt_synthesize, qt_synthesize(ctx, &request, &a) == QT_STATUS_GENERATE_FAILED);
    PANIC_IN(qt_synthesize_ex, qt_synthesize_ex(ctx, &request, NULL, &a, &r) == QT_STATUS_GENERATE_FAILED);
    PANIC_IN(qt_audio_free, (qt_audio_free(&a), true));
    PANIC_IN(qt_result_free, (qt_result_free(&r), true));
    PANIC_IN(qt_extract_voice_ref, qt_extract_voice_ref(ctx, pcm, 1, &v) == QT_STATUS_GENERATE_FAILED);
    PANIC_IN(qt_extract_voice_ref_ex,
             qt_extract_voice_ref_ex(ctx, pcm, 1, NULL, NULL, &v) == QT_STATUS_GENERATE_FAILED);
    PANIC_IN(qt_voice_ref_free, (qt_voice_ref_free(&v), true));
    PANIC_IN(qt_num_codebooks, qt_num_codebooks(ctx) == 0);
    PANIC_IN(qt_duration_sec_to_tokens, qt_duration_sec_to_tokens(ctx, 1.0f) == 0);
    PANIC_IN(qt_n_speakers, qt_n_speakers(ctx) == 0);
    PANIC_IN(qt_speaker_name, qt_speaker_name(ctx, 0) == NULL);
    PANIC_IN(qt_recording_init, (qt_recording_init(&rec, sizeof rec), true));
    PANIC_IN(qt_read_recording, qt_read_recording(&rec, &a) == QT_STATUS_GENERATE_FAILED);
    PANIC_IN(qt_encode_audio, qt_encode_audio(pcm, 1, 24000, "wav", &b) == QT_STATUS_GENERATE_FAILED);
    PANIC_IN(qt_bytes_free, (qt_bytes_free(&b), true));
    PANIC_IN(qt_voice_save, qt_voice_save(ctx, &v, NULL, &b) == QT_STATUS_GENERATE_FAILED);
    PANIC_IN(qt_voice_load, qt_voice_load(ctx, pcm, 1, &v, &b) == QT_STATUS_GENERATE_FAILED);
    PANIC_IN(qt_model_type, qt_model_type(ctx) == NULL);
    PANIC_IN(qt_n_languages, qt_n_languages(ctx) == 0);
    PANIC_IN(qt_language_name, qt_language_name(ctx, 0) == NULL);
    PANIC_IN(qt_devices, qt_devices(NULL, &d, 1, sizeof d) == QT_STATUS_GENERATE_FAILED);
    PANIC_IN(qt_system_info, qt_system_info() == NULL);
}

/* The stack of a panic goes to the log. */
static int error_lines;

static void count_errors(enum qt_log_level level, const char *msg, void *user_data) {
    (void)msg;
    (void)user_data;
    error_lines += level == QT_LOG_ERROR;
}

static void panics_are_logged(void) {
    struct qt_audio a;
    qt_log_set(count_errors, NULL);
    PANIC_IN(qt_synthesize, qt_synthesize(ctx, &request, &a) == QT_STATUS_GENERATE_FAILED);
    qt_log_set(discard_log, NULL);
    CHECK(error_lines > 1);
}

static void the_library_still_works(void) {
    struct qt_audio a;
    CHECK(qt_num_codebooks(ctx) > 0);
    CHECK(qt_synthesize(ctx, &request, &a) == QT_STATUS_OK);
    CHECK(same_audio(&a, &expected));
    qt_audio_free(&a);
}

static void memory_runs_out(void) {
    struct qt_audio a;
    struct qt_result r;
    qt_result_init(&r, sizeof r);
    memset(&a, 0x5A, sizeof a);
    setenv("QT_FAULT", "malloc", 1);
    CHECK(qt_synthesize_ex(ctx, &request, NULL, &a, &r) == QT_STATUS_OOM);
    unsetenv("QT_FAULT");
    CHECK_ERROR("memory");
    CHECK(a.samples == NULL && a.n_samples == 0);
    CHECK(r.finish == QT_FINISH_ERROR);
    qt_result_free(&r);
}

int main(int argc, char **argv) {
    model_args(argc, argv);
    ctx = open_model();
    short_request(ctx, &request);
    CHECK(qt_synthesize(ctx, &request, &expected) == QT_STATUS_OK);
    RUN(panics_are_contained);
    RUN(panics_are_logged);
    RUN(the_library_still_works);
    RUN(memory_runs_out);
    RUN(the_library_still_works);
    qt_audio_free(&expected);
    qt_free(ctx);
    return tests_failed != 0;
}
