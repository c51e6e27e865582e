/* Every function of qwen.h through its early return, without a model; strict C99. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

static struct qt_context *const none = NULL;

/* Pointers that are no contexts; the library must not dereference them. */
static struct qt_context *stray(int i) {
    return (struct qt_context *)(uintptr_t)(i == 0 ? 1 : i == 1 ? 0x12345678u : 0x7fffdead0000u);
}

static void version(void) {
    const char *v = qt_version();
    CHECK(v != NULL && strchr(v, '(') != NULL && strchr(v, ')') != NULL);
    CHECK(v == qt_version());
    CHECK(qt_abi_version() == QT_ABI_VERSION);
    CHECK(QT_ABI_MIN_VERSION <= QT_ABI_VERSION);
    CHECK(QT_VERSION_MAJOR == 0 && QT_VERSION_MINOR == 1 && QT_VERSION_PATCH == 0);
}

static void last_error_is_never_null(void) {
    CHECK(qt_last_status() == QT_STATUS_OK);
    CHECK(qt_last_error() != NULL);
    CHECK(qt_init(NULL) == NULL);
    CHECK(qt_last_status() == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("params");
    qt_version();
    CHECK_ERROR("params"); /* success leaves it alone */
}

/* The default functions know no size: they write the layout of ABI 4 and not a byte more. */
static void init_defaults(void) {
    struct {
        struct qt_init_params p;
        unsigned char after[64];
    } s;
    size_t i;
    memset(&s, 0xA5, sizeof s);
    qt_init_default_params(&s.p);
    CHECK(s.p.abi_version == QT_ABI_VERSION);
    CHECK(s.p.talker_path == NULL && s.p.codec_path == NULL);
    CHECK(s.p.use_fa && !s.p.clamp_fp16);
    CHECK(s.p.max_batch == 1);
    CHECK(s.p.codec_chunk_sec == 24.0f);
    for (i = 0; i < sizeof s.after; i++) {
        CHECK(s.after[i] == 0xA5);
    }
    qt_init_default_params(NULL);
}

static void tts_defaults(void) {
    struct {
        struct qt_tts_params p;
        unsigned char after[64];
    } s;
    size_t i;
    memset(&s, 0xA5, sizeof s);
    qt_tts_default_params(&s.p);
    CHECK(s.p.abi_version == QT_ABI_VERSION);
    CHECK(!s.p.text && !s.p.lang && !s.p.instruct && !s.p.speaker && !s.p.ref_text && !s.p.dump_dir);
    CHECK(!s.p.ref_audio_24k && !s.p.ref_spk_emb && !s.p.ref_codes);
    CHECK(s.p.ref_n_samples == 0 && s.p.ref_spk_dim == 0 && s.p.ref_T == 0);
    CHECK(s.p.seed == -1 && s.p.max_new_tokens == 2048);
    CHECK(s.p.do_sample && s.p.temperature == 0.9f && s.p.top_k == 50 && s.p.top_p == 1.0f);
    CHECK(s.p.repetition_penalty == 1.05f);
    CHECK(s.p.subtalker_do_sample && s.p.subtalker_temperature == 0.9f);
    CHECK(s.p.subtalker_top_k == 50 && s.p.subtalker_top_p == 1.0f);
    CHECK(!s.p.cancel && !s.p.cancel_user_data && !s.p.on_chunk && !s.p.on_chunk_user_data);
    for (i = 0; i < sizeof s.after; i++) {
        CHECK(s.after[i] == 0xA5);
    }
    qt_tts_default_params(NULL);
}

/* Without a context the params are usable all the same. */
static void model_defaults_without_a_context(void) {
    struct qt_tts_params p, want;
    int i;
    memset(&want, 0, sizeof want);
    qt_tts_default_params(&want);
    for (i = -1; i < 3; i++) {
        memset(&p, 0x5A, sizeof p);
        CHECK(qt_model_default_params(i < 0 ? none : stray(i), &p) == QT_STATUS_INVALID_PARAMS);
        CHECK_ERROR("ctx");
        CHECK(p.abi_version == want.abi_version && p.seed == want.seed && p.max_new_tokens == want.max_new_tokens);
        CHECK(p.do_sample && p.temperature == want.temperature && !p.text && !p.cancel && !p.on_chunk && !p.ref_codes);
    }
    CHECK(qt_model_default_params(none, NULL) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("params");
}

/* A struct_size says what may be written: an older caller's struct ends earlier, a newer one's later. */
static void sized_defaults(void) {
    union {
        struct qt_options o;
        struct qt_request q;
        struct qt_result r;
        unsigned char bytes[256];
    } u;
    size_t i;

    memset(&u, 0xA5, sizeof u);
    qt_options_init(&u.o, sizeof u.o);
    CHECK(u.o.struct_size == (int)sizeof u.o);
    CHECK(u.o.n_threads == 0 && !u.o.device && !u.o.ggml_dir && u.o.n_ctx == 0 && u.o.max_queue == 0);
    CHECK(!u.o.mode && !u.o.onnx_provider && !u.o.kv_type);
    CHECK(u.bytes[sizeof u.o] == 0xA5);

    memset(&u, 0xA5, sizeof u);
    qt_request_init(&u.q, sizeof u.q);
    CHECK(u.q.struct_size == (int)sizeof u.q);
    CHECK(u.q.text_layout == QT_LAYOUT_AUTO && !u.q.progress && !u.q.progress_user_data);
    CHECK(u.q.chunk_frames == 0 && !u.q.long_text && u.q.piece_chars == 0 && u.q.speed == 1);
    CHECK(u.bytes[sizeof u.q] == 0xA5);

    memset(&u, 0xA5, sizeof u);
    qt_result_init(&u.r, sizeof u.r);
    CHECK(u.r.struct_size == (int)sizeof u.r);
    CHECK(u.r.finish == QT_FINISH_NONE && u.r.n_samples == 0 && !u.r.warnings);
    CHECK(u.bytes[sizeof u.r] == 0xA5);

    memset(&u, 0xA5, sizeof u); /* older */
    qt_options_init(&u.o, 8);
    CHECK(u.o.struct_size == 8 && u.o.n_threads == 0);
    for (i = 8; i < sizeof u; i++) {
        CHECK(u.bytes[i] == 0xA5);
    }
    memset(&u, 0xA5, sizeof u); /* newer */
    qt_result_init(&u.r, 200);
    CHECK(u.r.struct_size == 200);
    for (i = sizeof u.r; i < 200; i++) {
        CHECK(u.bytes[i] == 0);
    }
    CHECK(u.bytes[200] == 0xA5);

    memset(&u, 0xA5, sizeof u); /* nobody's */
    qt_request_init(&u.q, 0);
    qt_request_init(&u.q, 3);
    qt_request_init(&u.q, (size_t)-1);
    CHECK_ERROR("size");
    CHECK(u.bytes[0] == 0xA5);
    qt_options_init(NULL, sizeof u.o);
    qt_request_init(NULL, sizeof u.q);
    qt_result_init(NULL, sizeof u.r);
}

/* Another version is refused before any other field is read: these pointers lead nowhere. */
static void foreign_versions_are_refused(void) {
    static const int versions[] = { 0, -1, 1, 3, 5, 99, 0x7fffffff };
    size_t i;
    for (i = 0; i < sizeof versions / sizeof *versions; i++) {
        struct qt_init_params ip;
        struct qt_tts_params tp;
        struct qt_audio out;
        char found[32];
        sprintf(found, " %d,", versions[i]);
        memset(&ip, 0x5A, sizeof ip);
        memset(&tp, 0x5A, sizeof tp);
        ip.abi_version = tp.abi_version = versions[i];
        CHECK(qt_init(&ip) == NULL);
        CHECK_ERROR("abi_version");
        CHECK_ERROR(found);
        CHECK_ERROR("4 to 4");
        CHECK(qt_init_ex(&ip, NULL) == NULL);
        CHECK_ERROR("abi_version");
        CHECK(qt_synthesize(none, &tp, &out) == QT_STATUS_INVALID_PARAMS);
        CHECK_ERROR("abi_version");
        CHECK_ERROR(found);
        CHECK_ERROR("4 to 4");
    }
}

static void init_refuses(void) {
    struct qt_init_params p;
    struct qt_options o;

    qt_init_default_params(&p);
    CHECK(qt_init(&p) == NULL);
    CHECK_ERROR("talker_path");
    p.talker_path = "";
    CHECK(qt_init(&p) == NULL);
    CHECK_ERROR("talker_path");
    p.talker_path = "/does/not/exist.gguf";
    CHECK(qt_init(&p) == NULL);
    CHECK_ERROR("codec_path");
    p.codec_path = "/does/not/exist/either.gguf";
    p.max_batch = 0;
    CHECK(qt_init(&p) == NULL);
    CHECK_ERROR("max_batch");
    p.max_batch = 1;
    p.codec_chunk_sec = (float)NAN;
    CHECK(qt_init(&p) == NULL);
    CHECK_ERROR("codec_chunk_sec");
    p.codec_chunk_sec = -1.0f;
    CHECK(qt_init(&p) == NULL);
    CHECK_ERROR("codec_chunk_sec");
    p.codec_chunk_sec = 24.0f;
    CHECK(qt_init(&p) == NULL);
    CHECK_ERROR("/does/not/exist");
    CHECK(qt_init_ex(&p, NULL) == NULL);
    CHECK_ERROR("/does/not/exist");

    memset(&o, 0, sizeof o);
    CHECK(qt_init_ex(&p, &o) == NULL);
    CHECK_ERROR("options.struct_size");
    qt_options_init(&o, sizeof o);
    o.n_threads = -1;
    CHECK(qt_init_ex(&p, &o) == NULL);
    CHECK_ERROR("options.n_threads");
    qt_options_init(&o, sizeof o);
    o.n_ctx = -1;
    CHECK(qt_init_ex(&p, &o) == NULL);
    CHECK_ERROR("options.n_ctx");
    qt_options_init(&o, sizeof o);
    o.max_queue = -1;
    CHECK(qt_init_ex(&p, &o) == NULL);
    CHECK_ERROR("options.max_queue");
    qt_options_init(&o, sizeof o);
    o.device = "\xff";
    CHECK(qt_init_ex(&p, &o) == NULL);
    CHECK_ERROR("options.device");
}

static bool never_called(const float *samples, int n, void *user_data) {
    (void)samples;
    (void)n;
    (void)user_data;
    CHECK(!"called");
    return true;
}

static void synthesize_refuses(void) {
    struct qt_tts_params p;
    struct qt_audio out;
    struct qt_result r;
    int i;

    memset(&out, 0x5A, sizeof out); /* need not be initialised, and is emptied on every path */
    CHECK(qt_synthesize(none, NULL, &out) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("params");
    CHECK(out.samples == NULL && out.n_samples == 0 && out.sample_rate == 0 && out.channels == 0);

    qt_tts_default_params(&p);
    p.text = "Hello.";
    memset(&out, 0x5A, sizeof out);
    CHECK(qt_synthesize(none, &p, &out) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("ctx");
    CHECK(out.samples == NULL && out.n_samples == 0);
    CHECK(qt_synthesize(none, &p, NULL) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("out");
    p.on_chunk = never_called;
    CHECK(qt_synthesize(none, &p, NULL) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("ctx");

    qt_result_init(&r, sizeof r);
    r.finish = 99;
    r.n_frames = 99;
    CHECK(qt_synthesize_ex(none, &p, NULL, &out, &r) == QT_STATUS_INVALID_PARAMS);
    CHECK(r.finish == QT_FINISH_NONE && r.n_frames == 0 && r.struct_size == (int)sizeof r);
    r.struct_size = 4;
    CHECK(qt_synthesize_ex(none, &p, NULL, &out, &r) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("result.struct_size");
    r.struct_size = 1 << 30;
    CHECK(qt_synthesize_ex(none, &p, NULL, &out, &r) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("result.struct_size");

    for (i = 0; i < 3; i++) {
        CHECK(qt_synthesize(stray(i), &p, &out) == QT_STATUS_INVALID_PARAMS);
        CHECK_ERROR("not a context");
    }
}

static void frees(void) {
    struct qt_audio a;
    struct qt_voice_ref v;
    struct qt_result r;
    int i;
    memset(&a, 0, sizeof a);
    memset(&v, 0, sizeof v);
    memset(&r, 0, sizeof r);
    for (i = 0; i < 2; i++) {
        qt_audio_free(&a);
        qt_voice_ref_free(&v);
        qt_result_free(&r);
    }
    qt_audio_free(NULL);
    qt_voice_ref_free(NULL);
    qt_result_free(NULL);
    qt_free(NULL);
    for (i = 0; i < 3; i++) {
        qt_free(stray(i));
    }
    qt_result_init(&r, sizeof r);
    qt_result_free(&r);
    CHECK(r.struct_size == (int)sizeof r);
}

static void extract_refuses(void) {
    float pcm[4] = { 0, 0, 0, 0 };
    struct qt_voice_ref out;
    memset(&out, 0x5A, sizeof out);
    CHECK(qt_extract_voice_ref(none, pcm, 4, &out) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("ctx");
    CHECK(!out.ref_spk_emb && !out.ref_codes && out.ref_spk_dim == 0 && out.ref_T == 0 && out.num_codebooks == 0);
    CHECK(qt_extract_voice_ref_ex(none, pcm, 4, NULL, NULL, &out) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("ctx");
    CHECK(qt_extract_voice_ref(none, NULL, 0, NULL) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("out");
    CHECK(qt_extract_voice_ref(stray(0), pcm, 4, &out) == QT_STATUS_INVALID_PARAMS);
}

static void getters_without_a_context(void) {
    int i;
    for (i = -1; i < 3; i++) {
        const struct qt_context *c = i < 0 ? none : stray(i);
        CHECK(qt_num_codebooks(c) == 0);
        CHECK(qt_duration_sec_to_tokens(c, 1.0f) == 0);
        CHECK(qt_n_speakers(c) == 0);
        CHECK(qt_speaker_name(c, 0) == NULL);
        CHECK_ERROR("ctx");
    }
}

static void devices_refuse(void) {
    struct qt_device d;
    CHECK(qt_devices(NULL, NULL, 1, sizeof d) == QT_STATUS_INVALID_PARAMS);
    CHECK(qt_devices(NULL, &d, -1, sizeof d) == QT_STATUS_INVALID_PARAMS);
    CHECK(qt_devices(NULL, &d, 1, 3) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("size");
}

static int lines;
static int last_level;

static void count_lines(enum qt_log_level level, const char *msg, void *user_data) {
    CHECK(msg != NULL && strchr(msg, '\n') == NULL);
    CHECK(user_data == (void *)1);
    last_level = level;
    lines++;
}

static void log_callback(void) {
    qt_log_set(count_lines, (void *)1);
    CHECK(qt_init(NULL) == NULL);
    qt_log_set(NULL, NULL);
    CHECK(lines == 0 || (QT_LOG_DEBUG <= last_level && last_level <= QT_LOG_ERROR));
}

int main(void) {
    RUN(version);
    RUN(last_error_is_never_null);
    RUN(init_defaults);
    RUN(tts_defaults);
    RUN(model_defaults_without_a_context);
    RUN(sized_defaults);
    RUN(foreign_versions_are_refused);
    RUN(init_refuses);
    RUN(synthesize_refuses);
    RUN(frees);
    RUN(extract_refuses);
    RUN(getters_without_a_context);
    RUN(devices_refuse);
    RUN(log_callback);
    return tests_failed != 0;
}
