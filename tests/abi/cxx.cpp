// The header in C++, from C++98 on; run.sh compiles this under several standards.
#include <qwen.h>

#include <cstdio>
#include <cstring>

static bool stop(void *) { return true; }
static bool chunk(const float *, int, void *) { return true; }
static void log_line(qt_log_level, const char *, void *) {}
static void progress(const qt_progress *, void *) {}

int main() {
    qt_init_params init;
    qt_init_default_params(&init);
    qt_options options;
    qt_options_init(&options, sizeof options);
    qt_tts_params params;
    qt_tts_default_params(&params);
    qt_request request;
    qt_request_init(&request, sizeof request);
    qt_result result;
    qt_result_init(&result, sizeof result);
    params.cancel = stop;
    params.on_chunk = chunk;
    request.progress = progress;
    qt_log_set(log_line, 0);

    qt_context *ctx = qt_init_ex(&init, &options); // no paths
    qt_audio audio;
    const qt_status status = qt_synthesize_ex(ctx, &params, &request, &audio, &result);
    const bool ok = !ctx && status == QT_STATUS_INVALID_PARAMS && audio.samples == 0 &&
                    result.finish == QT_FINISH_NONE && std::strcmp(qt_last_error(), "") != 0 &&
                    qt_abi_version() == QT_ABI_VERSION;
    qt_result_free(&result);
    qt_audio_free(&audio);
    qt_free(ctx);
    std::printf("%s - C++ %ld\n", ok ? "ok" : "not ok", static_cast<long>(__cplusplus));
    return !ok;
}
