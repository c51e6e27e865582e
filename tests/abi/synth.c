/* Synthesis on a small model through the whole interface: results, callbacks, statuses, wrong input. */
#define _XOPEN_SOURCE 700
#include "model.h"

#include <math.h>
#include <stddef.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRAME 1920

/* A template for mkstemp and mkdtemp in the directory for such things, which run.sh empties. */
static char *temporary(char path[512], const char *what) {
    const char *dir = getenv("TMPDIR");
    snprintf(path, 512, "%s/qwen-abi-%s-XXXXXX", dir ? dir : "/tmp", what);
    return path;
}

static struct qt_context *ctx;
static struct qt_tts_params request; /* copied by the tests */

/* ---- What comes out ---- */

static void buffered(void) {
    struct qt_audio out;
    int i, loud = 0;
    memset(&out, 0x5A, sizeof out);
    CHECK(qt_synthesize(ctx, &request, &out) == QT_STATUS_OK);
    CHECK(out.sample_rate == 24000 && out.channels == 1);
    CHECK(out.n_samples > 0 && out.n_samples % FRAME == 0 && out.n_samples <= request.max_new_tokens * FRAME);
    for (i = 0; i < out.n_samples; i++) {
        CHECK(isfinite(out.samples[i]) && fabsf(out.samples[i]) <= 1.0f);
        loud += out.samples[i] != 0.0f;
    }
    CHECK(loud > 0);
    qt_audio_free(&out);
    CHECK(out.samples == NULL && out.n_samples == 0);
    qt_audio_free(&out);
}

static void a_seed_replays_the_bytes(void) {
    struct qt_tts_params p = request;
    struct qt_audio a, b, c;
    CHECK(qt_synthesize(ctx, &p, &a) == QT_STATUS_OK);
    CHECK(qt_synthesize(ctx, &p, &b) == QT_STATUS_OK);
    CHECK(same_audio(&a, &b));
    p.seed = 43;
    CHECK(qt_synthesize(ctx, &p, &c) == QT_STATUS_OK);
    CHECK(!same_audio(&a, &c));
    qt_audio_free(&a);
    qt_audio_free(&b);
    qt_audio_free(&c);
}

static void greedy_needs_no_seed(void) {
    struct qt_tts_params p = request;
    struct qt_audio a, b;
    p.do_sample = p.subtalker_do_sample = false;
    p.seed = 1;
    CHECK(qt_synthesize(ctx, &p, &a) == QT_STATUS_OK);
    p.do_sample = p.subtalker_do_sample = true;
    p.temperature = p.subtalker_temperature = 0.0f;
    p.seed = 2;
    CHECK(qt_synthesize(ctx, &p, &b) == QT_STATUS_OK);
    CHECK(same_audio(&a, &b));
    qt_audio_free(&a);
    qt_audio_free(&b);
}

struct stream {
    float *samples;
    int n, calls, stop_after;
    pthread_t thread;
    bool elsewhere;
};

static bool collect(const float *samples, int n, void *user_data) {
    struct stream *s = user_data;
    CHECK(samples != NULL && n > 0);
    s->elsewhere |= !pthread_equal(s->thread, pthread_self());
    s->samples = realloc(s->samples, (size_t)(s->n + n) * sizeof *samples);
    memcpy(s->samples + s->n, samples, (size_t)n * sizeof *samples);
    s->n += n;
    return ++s->calls != s->stop_after;
}

static void streaming_gives_the_same_samples(void) {
    struct qt_tts_params p = request;
    struct qt_audio whole, out;
    struct stream s = { 0 };
    int i;
    float worst = 0;
    CHECK(qt_synthesize(ctx, &p, &whole) == QT_STATUS_OK);
    s.thread = pthread_self();
    p.on_chunk = collect;
    p.on_chunk_user_data = &s;
    memset(&out, 0x5A, sizeof out);
    CHECK(qt_synthesize(ctx, &p, &out) == QT_STATUS_OK);
    CHECK(out.samples == NULL && out.n_samples == 0);
    CHECK(s.calls > 0 && !s.elsewhere);
    CHECK(s.n == whole.n_samples);
    for (i = 0; i < s.n && i < whole.n_samples; i++) {
        worst = fmaxf(worst, fabsf(s.samples[i] - whole.samples[i]));
    }
    CHECK(worst <= 2e-6f);
    printf("# streaming against buffered: %d samples, largest difference %g\n", s.n, (double)worst);
    s.n = s.calls = 0;
    CHECK(qt_synthesize(ctx, &p, NULL) == QT_STATUS_OK); /* nobody needs `out` here */
    CHECK(s.n == whole.n_samples);
    free(s.samples);
    qt_audio_free(&whole);
}

/* ---- The extension: request and result ---- */

struct steps {
    int calls, last, max;
    double elapsed;
    bool backwards;
};

static void count_steps(const struct qt_progress *progress, void *user_data) {
    struct steps *s = user_data;
    CHECK(progress->struct_size == (int)sizeof *progress);
    s->backwards |= progress->n_frames <= s->last || progress->elapsed_ms < s->elapsed;
    s->calls++;
    s->last = progress->n_frames;
    s->max = progress->max_frames;
    s->elapsed = progress->elapsed_ms;
}

static void result_and_progress(void) {
    struct qt_tts_params p = request;
    struct qt_request q;
    struct qt_result r, replay;
    struct qt_audio a, b;
    struct steps s = { 0 };
    qt_request_init(&q, sizeof q);
    qt_result_init(&r, sizeof r);
    qt_result_init(&replay, sizeof replay);
    q.progress = count_steps;
    q.progress_user_data = &s;
    p.seed = -1;
    CHECK(qt_synthesize_ex(ctx, &p, &q, &a, &r) == QT_STATUS_OK);
    CHECK(r.finish == QT_FINISH_STOP || r.finish == QT_FINISH_LENGTH);
    CHECK(r.n_frames > 0 && r.n_frames <= p.max_new_tokens);
    CHECK((r.finish == QT_FINISH_LENGTH) == (r.n_frames == p.max_new_tokens));
    CHECK(r.n_samples == a.n_samples && a.n_samples == r.n_frames * FRAME);
    CHECK(r.sample_rate == 24000);
    CHECK(r.seed >= 0);
    CHECK(r.n_prompt > 0 && r.n_text_tokens > 0);
    CHECK(r.prefill_ms > 0 && r.talker_ms > 0 && r.predictor_ms > 0 && r.codec_ms > 0);
    CHECK(r.first_audio_ms > 0 && r.first_audio_ms <= r.total_ms);
    CHECK(r.load_ms > 0 && r.tokenise_ms > 0 && r.sampling_ms > 0 && r.sampling_ms < r.total_ms);
    CHECK(fabs(r.rtf - r.total_ms / 1000 / ((double)r.n_samples / r.sample_rate)) < 1e-6);
    CHECK(s.calls == r.n_frames && s.last == r.n_frames && s.max == p.max_new_tokens && !s.backwards);

    p.seed = r.seed; /* what was drawn at random replays */
    CHECK(qt_synthesize_ex(ctx, &p, NULL, &b, &replay) == QT_STATUS_OK);
    CHECK(replay.seed == r.seed && same_audio(&a, &b));
    qt_audio_free(&a);
    qt_audio_free(&b);
    qt_result_free(&r);
    CHECK(r.n_frames == 0 && r.warnings == NULL && r.struct_size == (int)sizeof r);
    qt_result_free(&r);
    qt_result_free(&replay);
}

static void layouts_differ(void) {
    struct qt_request q;
    struct qt_result whole, streamed;
    struct qt_audio a, b;
    qt_request_init(&q, sizeof q);
    qt_result_init(&whole, sizeof whole);
    qt_result_init(&streamed, sizeof streamed);
    q.text_layout = QT_LAYOUT_WHOLE;
    CHECK(qt_synthesize_ex(ctx, &request, &q, &a, &whole) == QT_STATUS_OK);
    q.text_layout = QT_LAYOUT_STREAMED;
    CHECK(qt_synthesize_ex(ctx, &request, &q, &b, &streamed) == QT_STATUS_OK);
    CHECK(streamed.n_prompt < whole.n_prompt);
    CHECK(!same_audio(&a, &b));
    qt_audio_free(&a);
    qt_audio_free(&b);
    qt_result_free(&whole);
    qt_result_free(&streamed);
    q.text_layout = 3;
    CHECK(qt_synthesize_ex(ctx, &request, &q, &a, NULL) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("request.text_layout");
}

/* Structs of callers that were compiled with a shorter or longer header. */
/* Of a long text the pieces are as they are by themselves; callers of the release before are not taken to ask for one. */
static void long_texts(void) {
    struct qt_tts_params p = request;
    struct qt_request q;
    struct qt_result r;
    struct qt_audio one, two, whole;
    p.max_new_tokens = 4;
    p.text = "One two.";
    CHECK(qt_synthesize(ctx, &p, &one) == QT_STATUS_OK);
    p.text = "Three four.";
    CHECK(qt_synthesize(ctx, &p, &two) == QT_STATUS_OK);
    qt_request_init(&q, sizeof q);
    qt_result_init(&r, sizeof r);
    q.long_text = 1;
    q.piece_chars = 12;
    p.text = "One two. Three four.";
    CHECK(qt_synthesize_ex(ctx, &p, &q, &whole, &r) == QT_STATUS_OK);
    CHECK(r.n_samples == whole.n_samples && whole.n_samples > 0);
    if (request.speaker || request.instruct) { /* a base model goes on in the voice of the first piece */
        CHECK(whole.n_samples == one.n_samples + two.n_samples);
        CHECK(!memcmp(whole.samples, one.samples, (size_t)one.n_samples * sizeof *one.samples));
        CHECK(!memcmp(whole.samples + one.n_samples, two.samples, (size_t)two.n_samples * sizeof *two.samples));
    }
    qt_audio_free(&whole);
    q.struct_size = offsetof(struct qt_request, piece_chars); /* where long_text lies in what was padding */
    CHECK(qt_synthesize_ex(ctx, &p, &q, &whole, NULL) == QT_STATUS_OK);
    CHECK(whole.n_samples <= 4 * FRAME);
    qt_audio_free(&whole);
    qt_audio_free(&one);
    qt_audio_free(&two);
    qt_result_free(&r);

    qt_request_init(&q, sizeof q);
    q.piece_chars = 12;
    CHECK(qt_synthesize_ex(ctx, &p, &q, &whole, NULL) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("request.piece_chars: 12 without request.long_text");
    q.long_text = 1;
    q.piece_chars = -1;
    CHECK(qt_synthesize_ex(ctx, &p, &q, &whole, NULL) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("request.piece_chars: -1");
    qt_request_init(&q, sizeof q);
    q.speed = NAN;
    CHECK(qt_synthesize_ex(ctx, &p, &q, &whole, NULL) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("request.speed: NaN");
}

static void struct_sizes(void) {
    union {
        struct qt_request q;
        struct qt_result r;
        unsigned char bytes[256];
    } u;
    struct qt_audio a;
    size_t i;

    memset(&u, 0, sizeof u); /* newer, its unknown fields at rest */
    u.q.struct_size = 64;
    CHECK(qt_synthesize_ex(ctx, &request, &u.q, &a, NULL) == QT_STATUS_OK);
    qt_audio_free(&a);
    u.bytes[63] = 1; /* and in use */
    CHECK(qt_synthesize_ex(ctx, &request, &u.q, &a, NULL) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("newer library");
    u.q.struct_size = 4; /* older than any release */
    CHECK(qt_synthesize_ex(ctx, &request, &u.q, &a, NULL) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("request.struct_size");

    memset(&u, 0xA5, sizeof u); /* a longer result: its unknown fields are zeroed */
    u.r.struct_size = 200;
    CHECK(qt_synthesize_ex(ctx, &request, NULL, &a, &u.r) == QT_STATUS_OK);
    CHECK(u.r.struct_size == 200 && u.r.n_samples == a.n_samples);
    for (i = sizeof u.r; i < 200; i++) {
        CHECK(u.bytes[i] == 0);
    }
    CHECK(u.bytes[200] == 0xA5);
    qt_audio_free(&a);
    qt_result_free(&u.r);
}

/* ---- Callbacks that stop, or call back ---- */

struct cancel {
    int polls, stop_at;
    pthread_t thread;
    bool elsewhere;
};

static bool cancel_at(void *user_data) {
    struct cancel *c = user_data;
    c->elsewhere |= !pthread_equal(c->thread, pthread_self());
    return ++c->polls >= c->stop_at;
}

static void cancelled(void) {
    struct qt_tts_params p = request;
    struct cancel c = { 0 };
    struct qt_audio out;
    struct qt_result r;
    int all, at;
    qt_result_init(&r, sizeof r);
    c.thread = pthread_self();
    c.stop_at = 1 << 30;
    p.cancel = cancel_at;
    p.cancel_user_data = &c;
    CHECK(qt_synthesize(ctx, &p, &out) == QT_STATUS_OK);
    qt_audio_free(&out);
    all = c.polls;
    CHECK(all >= 8);
    for (at = 1; at < all; at += 1 + all / 9) { /* before, in and after the loop over the frames */
        c.polls = 0;
        c.stop_at = at;
        memset(&out, 0x5A, sizeof out);
        CHECK(qt_synthesize_ex(ctx, &p, NULL, &out, &r) == QT_STATUS_CANCELLED);
        CHECK_ERROR("cancel callback");
        CHECK(c.polls == at); /* a callback that said stop isn't asked again */
        CHECK(out.samples == NULL && out.n_samples == 0 && out.sample_rate == 0);
        CHECK(r.finish == QT_FINISH_CANCELLED && r.n_samples == 0);
        qt_result_free(&r);
    }
    CHECK(!c.elsewhere);
    CHECK(qt_synthesize(ctx, &request, &out) == QT_STATUS_OK); /* and nothing of it stays */
    qt_audio_free(&out);
}

static void chunk_stops(void) {
    struct qt_tts_params p = request;
    struct stream s = { 0 };
    struct qt_result r;
    qt_result_init(&r, sizeof r);
    s.thread = pthread_self();
    s.stop_after = 1;
    p.on_chunk = collect;
    p.on_chunk_user_data = &s;
    CHECK(qt_synthesize_ex(ctx, &p, NULL, NULL, &r) == QT_STATUS_CANCELLED);
    CHECK_ERROR("on_chunk");
    CHECK(s.calls == 1);
    CHECK(r.finish == QT_FINISH_CANCELLED);
    qt_result_free(&r);
    free(s.samples);
}

static bool always_called;

static bool wants_one(void *user_data) {
    always_called = user_data == (void *)1;
    return false;
}

/* User data is the caller's own business: it need not be an address. */
static void user_data_may_be_a_number(void) {
    struct qt_tts_params p = request;
    struct qt_audio out;
    p.cancel = wants_one;
    p.cancel_user_data = (void *)1;
    p.on_chunk_user_data = (void *)2;
    CHECK(qt_synthesize(ctx, &p, &out) == QT_STATUS_OK);
    CHECK(always_called);
    qt_audio_free(&out);
}

static int reentered;

static bool reenter(const float *samples, int n, void *user_data) {
    struct qt_audio out;
    struct qt_voice_ref v;
    (void)user_data;
    reentered++;
    CHECK(qt_num_codebooks(ctx) > 0);
    CHECK(qt_duration_sec_to_tokens(ctx, 1.0f) == 13 || qt_duration_sec_to_tokens(ctx, 1.0f) == 12);
    CHECK(qt_synthesize(ctx, &request, &out) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("callback");
    CHECK(qt_extract_voice_ref(ctx, samples, n, &v) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("callback");
    return true;
}

static void callback_calls_back(void) {
    struct qt_tts_params p = request;
    struct qt_audio out;
    p.on_chunk = reenter;
    CHECK(qt_synthesize(ctx, &p, NULL) == QT_STATUS_OK);
    CHECK(reentered > 0);
    CHECK(qt_synthesize(ctx, &request, &out) == QT_STATUS_OK);
    qt_audio_free(&out);
}

static struct qt_context *other;

static bool use_other(void *user_data) {
    struct qt_audio out;
    (void)user_data;
    if (other) {
        struct qt_context *o = other;
        other = NULL;
        CHECK(qt_synthesize(o, &request, &out) == QT_STATUS_OK);
        qt_audio_free(&out);
        qt_free(o);
    }
    return false;
}

static void callback_uses_another_context(void) {
    struct qt_tts_params p = request;
    struct qt_audio out;
    other = open_model();
    p.cancel = use_other;
    CHECK(qt_synthesize(ctx, &p, &out) == QT_STATUS_OK);
    CHECK(other == NULL);
    qt_audio_free(&out);
}

static bool free_it(void *user_data) {
    qt_free(user_data);
    qt_free(user_data);
    CHECK(qt_num_codebooks(user_data) == 0);
    return false;
}

static void callback_frees_the_context(void) {
    struct qt_context *c = open_model();
    struct qt_tts_params p = request;
    struct qt_audio out;
    p.cancel = free_it;
    p.cancel_user_data = c;
    CHECK(qt_synthesize(c, &p, &out) == QT_STATUS_CANCELLED);
    CHECK_ERROR("qt_free");
    CHECK(qt_synthesize(c, &request, &out) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("not a context");
}

/* ---- Handles ---- */

static void freed_contexts_are_known(void) {
    struct qt_context *a = open_model(), *b;
    struct qt_audio out;
    CHECK(a != ctx);
    qt_free(a);
    b = open_model();
    CHECK(a != b); /* a number is not used again */
    qt_free(a);
    CHECK(qt_synthesize(a, &request, &out) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("freed");
    CHECK(qt_num_codebooks(a) == 0 && qt_n_speakers(a) == 0 && qt_speaker_name(a, 0) == NULL);
    CHECK(qt_synthesize(b, &request, &out) == QT_STATUS_OK);
    qt_audio_free(&out);
    qt_free(b);
}

static void what_the_context_has(void) {
    int i, n = qt_n_speakers(ctx);
    CHECK(qt_num_codebooks(ctx) == 16);
    CHECK(qt_duration_sec_to_tokens(ctx, 0.0f) == 1);
    CHECK(qt_duration_sec_to_tokens(ctx, -5.0f) == 1);
    CHECK(qt_duration_sec_to_tokens(ctx, (float)NAN) >= 1);
    CHECK(qt_duration_sec_to_tokens(ctx, 1e30f) >= 1);
    CHECK(qt_duration_sec_to_tokens(ctx, 8.0f) == 100);
    CHECK(n >= 0);
    for (i = 0; i < n; i++) {
        CHECK(qt_speaker_name(ctx, i) != NULL && *qt_speaker_name(ctx, i));
        CHECK(qt_speaker_name(ctx, i) == qt_speaker_name(ctx, i));
    }
    CHECK(qt_speaker_name(ctx, n) == NULL && qt_speaker_name(ctx, -1) == NULL);
    CHECK(strcmp(qt_model_type(ctx), request.speaker ? "custom_voice" : request.instruct ? "voice_design" : "base") == 0);
    CHECK(qt_model_type(NULL) == NULL && qt_n_languages(NULL) == 0);
    n = qt_n_languages(ctx);
    CHECK(n > 0);
    for (i = 0; i < n; i++) {
        CHECK(qt_language_name(ctx, i) != NULL && *qt_language_name(ctx, i));
    }
    CHECK(qt_language_name(ctx, n) == NULL && qt_language_name(ctx, -1) == NULL);
}

static void what_the_machine_has(void) {
    struct qt_device d[16];
    unsigned char longer[2][sizeof(struct qt_device) + 16];
    const char *info = qt_system_info();
    int i, n = qt_devices(NULL, NULL, 0, 0), cpus = 0;
    CHECK(n >= 1 && n <= 16);
    CHECK(qt_devices(NULL, d, 16, sizeof *d) == n);
    for (i = 0; i < n; i++) {
        CHECK(d[i].struct_size == (int)sizeof *d);
        CHECK(d[i].name[0] && strlen(d[i].name) < sizeof d[i].name);
        CHECK(strlen(d[i].description) < sizeof d[i].description);
        CHECK(d[i].memory_free <= d[i].memory_total);
        cpus += d[i].type == QT_DEVICE_CPU;
    }
    CHECK(cpus == 1);
    memset(longer, 0xA5, sizeof longer); /* a newer caller's elements are longer */
    CHECK(qt_devices(NULL, (struct qt_device *)(void *)longer[0], 1, sizeof longer[0]) == n);
    CHECK(memcmp(longer[0] + 8, d[0].name, sizeof d[0].name) == 0);
    CHECK(longer[0][sizeof longer[0] - 1] == 0 && longer[1][0] == 0xA5);
    CHECK(info != NULL && *info && info == qt_system_info());
}

/* ---- Wrong input: a status, and the name of the culprit ---- */

static void expect(const struct qt_tts_params *p, enum qt_status status, const char *what) {
    struct qt_audio out;
    enum qt_status got;
    memset(&out, 0x5A, sizeof out);
    got = qt_synthesize(ctx, p, &out);
    if (got != status || !strstr(qt_last_error(), what)) {
        printf("# want %d naming %s, got %d: %s\n", status, what, got, qt_last_error());
    }
    CHECK(got == status);
    CHECK_ERROR(what);
    CHECK(out.samples == NULL && out.n_samples == 0 && out.sample_rate == 0);
    qt_audio_free(&out);
}

#define REFUSED(field, value, what)                        \
    do {                                                   \
        struct qt_tts_params p = request;                  \
        p.field = (value);                                 \
        expect(&p, QT_STATUS_INVALID_PARAMS, (what));      \
    } while (0)

static void texts(void) {
    REFUSED(text, NULL, "text");
    REFUSED(text, "", "text");
    REFUSED(text, " \t\n ", "text");
    REFUSED(text, "abc\xff", "text: not valid UTF-8 at byte 3");
    REFUSED(text, "\xc3\xa9\xc3", "text: not valid UTF-8 at byte 2");
    REFUSED(text, "\xed\xa0\x80", "text: not valid UTF-8 at byte 0"); /* a surrogate */
    REFUSED(lang, "\xff", "lang: not valid UTF-8 at byte 0");
    REFUSED(lang, "Klingon", "lang");
    REFUSED(instruct, "x\x80", "instruct: not valid UTF-8 at byte 1");
    REFUSED(speaker, "\xc0\x80", "speaker: not valid UTF-8 at byte 0");
    REFUSED(ref_text, "\xfe", "ref_text: not valid UTF-8 at byte 0");
}

static void text_of_a_megabyte(void) {
    size_t n = 1 << 20, i;
    char *text = malloc(n + 1);
    struct qt_tts_params p = request;
    for (i = 0; i < n; i++) {
        text[i] = i % 6 == 5 ? ' ' : 'a';
    }
    text[n] = '\0';
    p.text = text;
    expect(&p, QT_STATUS_INVALID_PARAMS, "text");
    free(text);
}

static void numbers(void) {
    REFUSED(temperature, (float)NAN, "temperature");
    REFUSED(temperature, -1.0f, "temperature");
    REFUSED(temperature, (float)INFINITY, "temperature");
    REFUSED(top_k, -1, "top_k");
    REFUSED(top_p, 0.0f, "top_p");
    REFUSED(top_p, -1.0f, "top_p");
    REFUSED(top_p, 1.5f, "top_p");
    REFUSED(top_p, (float)NAN, "top_p");
    REFUSED(repetition_penalty, 0.0f, "repetition_penalty");
    REFUSED(repetition_penalty, (float)NAN, "repetition_penalty");
    REFUSED(subtalker_temperature, (float)NAN, "subtalker_temperature");
    REFUSED(subtalker_top_k, -7, "subtalker_top_k");
    REFUSED(subtalker_top_p, 2.0f, "subtalker_top_p");
    REFUSED(max_new_tokens, 0, "max_new_tokens");
    REFUSED(max_new_tokens, -5, "max_new_tokens");
    REFUSED(max_new_tokens, 0x7fffffff, "max_new_tokens");
}

static void references(void) {
    static float floats[4];
    static int32_t ints[64];
    struct qt_tts_params p;
    REFUSED(ref_n_samples, 100, "ref_audio_24k");
    REFUSED(ref_n_samples, -100, "ref_audio_24k");
    REFUSED(ref_audio_24k, floats, "ref_n_samples");
    REFUSED(ref_spk_dim, 4, "ref_spk_emb");
    REFUSED(ref_spk_emb, floats, "ref_spk_dim");
    REFUSED(ref_T, 4, "ref_codes");
    REFUSED(ref_codes, ints, "ref_T");
    p = request;
    p.ref_audio_24k = floats;
    p.ref_n_samples = -1;
    expect(&p, QT_STATUS_INVALID_PARAMS, "ref_n_samples");
    p.ref_n_samples = 0x7fffffff;
    expect(&p, QT_STATUS_INVALID_PARAMS, "ref_n_samples");
    p = request;
    p.ref_spk_emb = floats;
    p.ref_spk_dim = 0x7fffffff;
    expect(&p, QT_STATUS_INVALID_PARAMS, "ref_spk_dim");
    p = request;
    p.ref_codes = ints;
    p.ref_T = -4;
    expect(&p, QT_STATUS_INVALID_PARAMS, "ref_T");
    p.ref_T = 0x7fffffff;
    expect(&p, QT_STATUS_INVALID_PARAMS, "ref_T");
    REFUSED(ref_text, "a transcript of nothing", "ref_text");
}

static void modes(void) {
    struct qt_tts_params p = request;
    if (request.speaker) { /* custom_voice */
        p.speaker = NULL;
        expect(&p, QT_STATUS_MODE_INVALID, request.speaker); /* lists those there are */
        REFUSED(speaker, "nobody by this name", "speaker");
    } else if (request.instruct) { /* voice_design */
        p.instruct = NULL;
        expect(&p, QT_STATUS_MODE_INVALID, "instruct");
    } else { /* base */
        p.instruct = "A calm voice.";
        expect(&p, QT_STATUS_MODE_INVALID, "instruct");
    }
}

static void nowhere_to_dump(void) {
    struct qt_tts_params p = request;
    struct qt_audio out;
    p.dump_dir = "/dev/null/dump";
    CHECK(qt_synthesize(ctx, &p, &out) != QT_STATUS_OK);
    CHECK_ERROR("dump");
}

/* A file that cannot be written is no mistake of the parameters. */
static void something_in_the_way_of_a_dump(void) {
    struct qt_tts_params p = request;
    struct qt_audio out;
    char dir[512], file[600];
    CHECK(mkdtemp(temporary(dir, "dump")) != NULL);
    sprintf(file, "%s/codes.npy", dir);
    CHECK(mkdir(file, 0700) == 0);
    p.dump_dir = dir;
    CHECK(qt_synthesize(ctx, &p, &out) == QT_STATUS_GENERATE_FAILED);
    CHECK_ERROR("codes.npy");
    CHECK(!out.samples);
}

static void dumps(void) {
    struct qt_tts_params p = request;
    struct qt_audio out;
    char dir[512], file[600], magic[6] = "";
    FILE *f;
    CHECK(mkdtemp(temporary(dir, "dump")) != NULL);
    p.dump_dir = dir;
    CHECK(qt_synthesize(ctx, &p, &out) == QT_STATUS_OK);
    qt_audio_free(&out);
    sprintf(file, "%s/codes.npy", dir);
    f = fopen(file, "rb");
    CHECK(f != NULL);
    if (f) {
        CHECK(fread(magic, 1, 6, f) == 6 && memcmp(magic, "\x93NUMPY", 6) == 0);
        fclose(f);
    }
}

/* ---- Files that cannot be opened ---- */

static void refuse_files(const char *talker, const char *codec, const char *what) {
    struct qt_init_params p;
    qt_init_default_params(&p);
    p.talker_path = talker;
    p.codec_path = codec;
    CHECK(qt_init(&p) == NULL);
    CHECK_ERROR(what);
    printf("# %s\n", qt_last_error());
}

static void write_file(const char *path, const void *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL);
    if (f) {
        CHECK(fwrite(bytes, 1, n, f) == n);
        fclose(f);
    }
}

static void bad_files(void) {
    char dir[512], path[600];
    static char start[20000];
    FILE *f;
    size_t n = 0;
    CHECK(mkdtemp(temporary(dir, "files")) != NULL);
    sprintf(path, "%s/bad.gguf", dir);

    refuse_files("/does/not/exist.gguf", codec_path, "/does/not/exist.gguf");
    refuse_files(talker_path, "/does/not/exist.gguf", "/does/not/exist.gguf");
    refuse_files(dir, codec_path, dir);
    refuse_files(codec_path, codec_path, "not the talker"); /* mixed up */
    refuse_files(talker_path, talker_path, "not the speech tokenizer");
    refuse_files("/nonsense\xff.gguf", codec_path, "nonsense"); /* the message is UTF-8 all the same */

    write_file(path, "", 0);
    refuse_files(path, codec_path, path);
    write_file(path, "this is no model, but a text of some length", 43);
    refuse_files(path, codec_path, path);
    f = fopen(talker_path, "rb");
    CHECK(f != NULL);
    if (f) {
        n = fread(start, 1, sizeof start, f);
        fclose(f);
    }
    write_file(path, start, n); /* cut off */
    refuse_files(path, codec_path, path);
    memset(start + 8, 0xff, 16); /* 2^64-1 tensors and keys */
    write_file(path, start, n);
    refuse_files(path, codec_path, path);
    unlink(path);
    rmdir(dir);
}

static void options_that_cannot_be(void) {
    struct qt_init_params p;
    struct qt_options o;
    qt_init_default_params(&p);
    p.talker_path = talker_path;
    p.codec_path = codec_path;
    qt_options_init(&o, sizeof o);
    o.device = "abacus";
    CHECK(qt_init_ex(&p, &o) == NULL);
    CHECK_ERROR("abacus");
}

static void options(void) {
    struct qt_options o;
    struct qt_context *small;
    struct qt_tts_params p = request;
    struct qt_audio a, b;
    qt_options_init(&o, sizeof o);
    o.device = "cpu";
    o.n_threads = 2;
    o.n_ctx = 100;
    small = open_with(&o);
    CHECK(qt_synthesize(ctx, &p, &a) == QT_STATUS_OK);
    CHECK(qt_synthesize(small, &p, &b) == QT_STATUS_OK);
    CHECK(a.n_samples == b.n_samples);
    qt_audio_free(&a);
    qt_audio_free(&b);
    p.max_new_tokens = 101;
    CHECK(qt_synthesize(small, &p, &a) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("max_new_tokens");
    qt_free(small);
}

/* What an ONNX vocoder runs on. run.sh names one where ONNX Runtime is. */
static void onnx_provider(void) {
    const char *vocoder = getenv("QWEN_TEST_VOCODER");
    struct qt_init_params p;
    struct qt_options o;
    struct qt_context *c;
    if (!vocoder) return;
    qt_init_default_params(&p);
    p.talker_path = talker_path;
    p.codec_path = vocoder;
    qt_options_init(&o, sizeof o);
    o.onnx_provider = "abacus";
    CHECK(qt_init_ex(&p, &o) == NULL);
    CHECK_ERROR("abacus");
    CHECK(qt_last_status() == QT_STATUS_INVALID_PARAMS);
    o.struct_size = offsetof(struct qt_options, onnx_provider); /* a caller of before: this is not its field */
    c = qt_init_ex(&p, &o);
    CHECK(c != NULL);
    qt_free(c);
    o.struct_size = sizeof o;
    o.onnx_provider = "\xff";
    CHECK(qt_init_ex(&p, &o) == NULL);
    CHECK_ERROR("options.onnx_provider");
    o.onnx_provider = "cpu";
    c = qt_init_ex(&p, &o);
    CHECK(qt_num_codebooks(c) == 16);
    qt_free(c);
}

static void kv_type(void) {
    static const char *const kinds[4] = { "auto", "f32", "f16", "q8_0" };
    struct qt_init_params p;
    struct qt_options o;
    int i;
    qt_init_default_params(&p);
    p.talker_path = talker_path;
    p.codec_path = codec_path;
    qt_options_init(&o, sizeof o);
    o.kv_type = "q3";
    CHECK(qt_init_ex(&p, &o) == NULL);
    CHECK_ERROR("kv_type");
    CHECK(qt_last_status() == QT_STATUS_INVALID_PARAMS);
    for (i = 0; i < 4; i++) {
        struct qt_context *c;
        o.kv_type = kinds[i];
        c = qt_init_ex(&p, &o);
        CHECK(qt_num_codebooks(c) == 16);
        qt_free(c);
    }
}

/* A folder with a model by its usual name, and its codec: the mode that is asked for is found, others are not. */
static void folders(void) {
    static const char *const modes[3] = { "base", "custom_voice", "voice_design" };
    static const char *const names[3] = { "base", "customvoice", "voicedesign" };
    char dir[512], link[3][600], codec[600];
    char *talker = realpath(talker_path, NULL), *tokenizer = realpath(codec_path, NULL);
    struct qt_init_params p;
    struct qt_options o;
    int i, opened = 0;
    CHECK(talker && tokenizer);
    CHECK(mkdtemp(temporary(dir, "folder")) != NULL);
    qt_init_default_params(&p);
    p.talker_path = dir; /* and no codec_path */
    CHECK(qt_init(&p) == NULL);
    CHECK_ERROR("codec_path");
    sprintf(codec, "%s/qwen-tokenizer-12hz-F32.gguf", dir);
    CHECK(symlink(tokenizer, codec) == 0);
    CHECK(qt_init(&p) == NULL);
    CHECK_ERROR("no model");
    for (i = 0; i < 3; i++) {
        sprintf(link[i], "%s/qwen-talker-1.7b-%s-F32.gguf", dir, names[i]);
        CHECK(symlink(talker, link[i]) == 0);
    }
    CHECK(qt_init(&p) == NULL);
    CHECK_ERROR("say which");
    for (i = 0; i < 3; i++) {
        struct qt_context *c;
        qt_options_init(&o, sizeof o);
        o.mode = modes[i];
        c = qt_init_ex(&p, &o);
        if (c) {
            opened++;
        } else {
            CHECK_ERROR(modes[i]);
        }
        qt_free(c);
    }
    CHECK(opened == 1);
    qt_options_init(&o, sizeof o);
    o.mode = "karaoke";
    CHECK(qt_init_ex(&p, &o) == NULL);
    CHECK_ERROR("karaoke");
    o.mode = NULL;
    p.talker_path = talker_path;
    p.codec_path = codec_path;
    o.predictor_path = "/does/not/exist.gguf";
    CHECK(qt_init_ex(&p, &o) == NULL);
    CHECK_ERROR("/does/not/exist.gguf");
    o.struct_size = offsetof(struct qt_options, predictor_path); /* a caller of before: these are not its fields */
    {
        struct qt_context *c = qt_init_ex(&p, &o);
        CHECK(c != NULL);
        qt_free(c);
    }
    free(talker);
    free(tokenizer);
    for (i = 0; i < 3; i++) unlink(link[i]);
    unlink(codec);
    rmdir(dir);
}

static void expect_voice(const float *pcm, int n, const char *word) {
    struct qt_voice_ref v;
    CHECK(qt_extract_voice_ref(ctx, pcm, n, &v) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR(word);
    CHECK(!v.ref_spk_emb && !v.ref_codes && v.ref_T == 0);
}

static void voices(void) {
    static float pcm[3 * FRAME + 100];
    struct qt_voice_ref v;
    struct qt_tts_params raw, latents;
    struct qt_audio a, b;
    enum qt_status s;
    int i;
    CHECK(qt_extract_voice_ref(ctx, NULL, 10, &v) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("pcm_24k");
    CHECK(qt_extract_voice_ref(ctx, pcm, 0, &v) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("n_samples");
    CHECK(qt_extract_voice_ref(ctx, pcm, -1, &v) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("n_samples");
    expect_voice(pcm, FRAME - 1, "pcm_24k");
    expect_voice(pcm, 3 * FRAME, "silence");
    for (i = 0; i < 3 * FRAME + 100; i++) {
        pcm[i] = (float)((i * i / 7) % 200 - 100) / 150;
    }
    pcm[77] = (float)NAN;
    expect_voice(pcm, 3 * FRAME, "sample 77");
    pcm[77] = 0;
    s = qt_extract_voice_ref(ctx, pcm, 3 * FRAME + 100, &v);
    if (request.speaker || request.instruct) {
        CHECK(s == QT_STATUS_MODE_INVALID);
        CHECK_ERROR("speaker encoder");
        CHECK(!v.ref_spk_emb && !v.ref_codes && v.ref_T == 0);
        return;
    }
    CHECK(s == QT_STATUS_OK);
    CHECK(v.ref_spk_emb && v.ref_spk_dim > 0 && v.ref_codes && v.ref_T == 3 && v.num_codebooks == 16);

    for (i = 0; i < 2; i++) { /* a clip and what was extracted from it speak alike, without and with a transcript */
        raw = latents = request;
        raw.ref_audio_24k = pcm;
        raw.ref_n_samples = 3 * FRAME + 100;
        latents.ref_spk_emb = v.ref_spk_emb;
        latents.ref_spk_dim = v.ref_spk_dim;
        if (i) {
            raw.ref_text = latents.ref_text = "What the reference says.";
            latents.ref_codes = v.ref_codes;
            latents.ref_T = v.ref_T;
        }
        CHECK(qt_synthesize(ctx, &raw, &a) == QT_STATUS_OK);
        CHECK(qt_synthesize(ctx, &latents, &b) == QT_STATUS_OK);
        CHECK(same_audio(&a, &b));
        qt_audio_free(&a);
        qt_audio_free(&b);
    }
    qt_voice_ref_free(&v);
    qt_voice_ref_free(&v);
}

/* An extraction that is polled on its thread and may be stopped at every poll. */
static void cancelled_extraction(void) {
    static float pcm[40 * FRAME];
    struct cancel c = { 0 };
    struct qt_voice_ref v, again;
    int i, all, at;
    if (request.speaker || request.instruct) return; /* no speaker encoder */
    for (i = 0; i < 40 * FRAME; i++) {
        pcm[i] = (float)((int64_t)i * i / 11 % 200 - 100) / 150;
    }
    c.thread = pthread_self();
    for (at = 1;; at++) {
        c.polls = 0;
        c.stop_at = at;
        memset(&v, 0x5A, sizeof v);
        if (qt_extract_voice_ref_ex(ctx, pcm, 40 * FRAME, cancel_at, &c, &v) == QT_STATUS_OK) break; /* too late to stop */
        CHECK(qt_last_status() == QT_STATUS_CANCELLED);
        CHECK_ERROR("cancel callback");
        CHECK(c.polls == at);
        CHECK(!v.ref_spk_emb && !v.ref_codes && v.ref_T == 0);
        if (at == 1000) break;
    }
    all = c.polls;
    CHECK(all >= 3 && all < 1000 && !c.elsewhere);
    CHECK(v.ref_spk_emb && v.ref_T == 40);
    CHECK(qt_extract_voice_ref_ex(ctx, pcm, 40 * FRAME, NULL, (void *)1, &again) == QT_STATUS_OK);
    CHECK(again.ref_T == 40 && memcmp(v.ref_codes, again.ref_codes, 16 * 40 * sizeof(int32_t)) == 0);
    qt_voice_ref_free(&v);
    qt_voice_ref_free(&again);
    pcm[0] = 0.5f; /* another clip, which is not kept yet; user data may be a number */
    always_called = false;
    CHECK(qt_extract_voice_ref_ex(ctx, pcm, 40 * FRAME, wants_one, (void *)1, &v) == QT_STATUS_OK && always_called);
    qt_voice_ref_free(&v);
}

/* What the model's file says of generation stands over the constants. The tiny ones have the official values. */
static void model_defaults(void) {
    struct qt_tts_params p, want;
    qt_tts_default_params(&want);
    CHECK(qt_model_default_params(ctx, &p) == QT_STATUS_OK);
    CHECK(p.abi_version == QT_ABI_VERSION && !p.text && !p.speaker && !p.cancel && !p.ref_audio_24k && p.seed == -1);
    CHECK(p.max_new_tokens > 0 && p.max_new_tokens <= want.max_new_tokens);
    CHECK(p.do_sample == want.do_sample && p.temperature == want.temperature && p.top_k == want.top_k);
    CHECK(p.top_p == want.top_p && p.repetition_penalty == want.repetition_penalty);
    CHECK(p.subtalker_do_sample == want.subtalker_do_sample && p.subtalker_temperature == want.subtalker_temperature);
    CHECK(p.subtalker_top_k == want.subtalker_top_k && p.subtalker_top_p == want.subtalker_top_p);
}

static void expect_recording(const struct qt_recording *rec, const char *word) {
    struct qt_audio a;
    CHECK(qt_read_recording(rec, &a) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR(word);
    CHECK(!a.samples && a.n_samples == 0);
}

static void put(unsigned char **p, unsigned value, int bytes) {
    for (; bytes > 0; bytes--, value >>= 8) {
        *(*p)++ = (unsigned char)value;
    }
}

static void recordings(void) {
    enum { N = 2 * FRAME };
    static float stereo[2 * 2 * N];
    static unsigned char wav[44 + 2 * N], *p = wav;
    struct qt_recording rec;
    struct qt_audio a;
    struct qt_bytes file;
    int i;

    qt_recording_init(&rec, sizeof rec);
    CHECK(rec.channels == 1 && rec.sample_rate == 24000 && !rec.trim);
    expect_recording(&rec, "file and samples");
    CHECK(qt_read_recording(NULL, &a) == QT_STATUS_INVALID_PARAMS);
    CHECK(qt_read_recording(&rec, NULL) == QT_STATUS_INVALID_PARAMS);

    memcpy(p, "RIFF", 4), p += 4;
    put(&p, 36 + 2 * N, 4);
    memcpy(p, "WAVEfmt ", 8), p += 8;
    put(&p, 16, 4), put(&p, 1, 2), put(&p, 1, 2), put(&p, 24000, 4), put(&p, 48000, 4), put(&p, 2, 2), put(&p, 16, 2);
    memcpy(p, "data", 4), p += 4;
    put(&p, 2 * N, 4);
    for (i = 0; i < N; i++) {
        put(&p, (unsigned)(i % 200 - 100) * 128 & 0xffff, 2);
    }
    CHECK(qt_encode_audio(NULL, 5, 24000, "wav", &file) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("samples");
    CHECK(qt_encode_audio(stereo, -1, 24000, "wav", &file) == QT_STATUS_INVALID_PARAMS);
    CHECK(qt_encode_audio(stereo, 5, 24000, "m4a", &file) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("format");
    CHECK(qt_encode_audio(stereo, 5, 24000, NULL, &file) == QT_STATUS_INVALID_PARAMS);
    CHECK(qt_encode_audio(stereo, 5, -1, "wav", &file) == QT_STATUS_INVALID_PARAMS);
    CHECK(!file.data && file.size == 0);
    CHECK(qt_encode_audio(stereo, 5, 24000, "wav", NULL) == QT_STATUS_INVALID_PARAMS);
    for (i = 0; i < N; i++) {
        stereo[i] = (float)(i % 200 - 100) / 256;
    }
    CHECK(qt_encode_audio(stereo, N, 24000, "wav", &file) == QT_STATUS_OK);
    CHECK(file.size == sizeof wav && memcmp(file.data, wav, sizeof wav) == 0);
    qt_bytes_free(&file);
    CHECK(qt_encode_audio(NULL, 0, 24000, "wav", &file) == QT_STATUS_OK);
    CHECK(file.size == 44);
    qt_bytes_free(&file);
    CHECK(qt_encode_audio(NULL, 0, 24000, "pcm", &file) == QT_STATUS_OK);
    CHECK(!file.data && file.size == 0);
    memset(stereo, 0, sizeof stereo);

    rec.file = wav;
    expect_recording(&rec, "file");
    rec.file_size = sizeof wav;
    CHECK(qt_read_recording(&rec, &a) == QT_STATUS_OK);
    CHECK(a.n_samples == N && a.sample_rate == 24000 && a.channels == 1);
    CHECK(a.samples[0] == -100 * 128 / 32768.0f && a.samples[150] == 50 * 128 / 32768.0f);
    qt_audio_free(&a);
    rec.ref_text = "\xff";
    expect_recording(&rec, "ref_text");
    rec.ref_text = NULL;
    rec.samples = stereo;
    expect_recording(&rec, "not both");
    rec.file = "neither this nor that";
    rec.file_size = 21;
    rec.samples = NULL;
    expect_recording(&rec, "file");

    rec.file = NULL;
    rec.samples = stereo; /* 48 kHz: half as many at 24 kHz */
    rec.channels = 2;
    rec.sample_rate = 48000;
    expect_recording(&rec, "n_frames");
    rec.n_frames = 2 * N;
    expect_recording(&rec, "silen");
    for (i = 0; i < 2 * N; i++) {
        stereo[2 * i] = (float)(i % 200 - 100) / 150;
        stereo[2 * i + 1] = 0;
    }
    CHECK(qt_read_recording(&rec, &a) == QT_STATUS_OK);
    CHECK(a.n_samples == N);
    qt_audio_free(&a);
    rec.channels = -1;
    expect_recording(&rec, "channels");
    rec.channels = 2;
    rec.sample_rate = 0;
    expect_recording(&rec, "Hz");
    stereo[5] = (float)NAN;
    rec.sample_rate = 48000;
    expect_recording(&rec, "finite");
    rec.struct_size = 3;
    expect_recording(&rec, "struct_size");
}

static void voice_files(void) {
    static float pcm[3 * FRAME];
    struct qt_voice_ref v, again;
    struct qt_bytes file, text;
    char *damaged;
    int i;
    for (i = 0; i < 3 * FRAME; i++) {
        pcm[i] = (float)((i * i / 7) % 200 - 100) / 150;
    }
    if (request.speaker || request.instruct) {
        CHECK(qt_voice_load(ctx, pcm, sizeof pcm, &v, NULL) == QT_STATUS_MODE_INVALID);
        CHECK_ERROR("base");
        memset(&v, 0, sizeof v);
        CHECK(qt_voice_save(ctx, &v, NULL, &file) == QT_STATUS_MODE_INVALID);
        return;
    }
    CHECK(qt_extract_voice_ref(ctx, pcm, 3 * FRAME, &v) == QT_STATUS_OK);
    CHECK(qt_voice_save(ctx, &v, "Grüße", &file) == QT_STATUS_OK);
    CHECK(file.size > 100 && ((char *)file.data)[file.size] == 0);
    CHECK(qt_voice_load(ctx, file.data, file.size, &again, &text) == QT_STATUS_OK);
    CHECK(text.size == strlen("Grüße") && strcmp(text.data, "Grüße") == 0);
    CHECK(again.ref_spk_dim == v.ref_spk_dim && again.ref_T == v.ref_T && again.num_codebooks == 16);
    CHECK(memcmp(again.ref_spk_emb, v.ref_spk_emb, (size_t)v.ref_spk_dim * sizeof(float)) == 0);
    CHECK(memcmp(again.ref_codes, v.ref_codes, (size_t)(16 * v.ref_T) * sizeof(int32_t)) == 0);
    qt_voice_ref_free(&again);
    qt_bytes_free(&text);

    damaged = file.data;
    damaged[file.size / 2] ^= 1;
    CHECK(qt_voice_load(ctx, file.data, file.size, &again, &text) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("checksum");
    CHECK(!again.ref_spk_emb && !text.data);
    CHECK(qt_voice_load(ctx, file.data, file.size - 1, &again, NULL) == QT_STATUS_INVALID_PARAMS);
    CHECK(qt_voice_load(ctx, NULL, 7, &again, NULL) == QT_STATUS_INVALID_PARAMS);
    qt_bytes_free(&file);
    qt_bytes_free(&file);
    CHECK(!file.data && file.size == 0);

    again = v; /* the x-vector alone */
    again.ref_codes = NULL;
    again.ref_T = 0;
    CHECK(qt_voice_save(ctx, &again, NULL, &file) == QT_STATUS_OK);
    CHECK(qt_voice_load(ctx, file.data, file.size, &again, &text) == QT_STATUS_OK);
    CHECK(again.ref_spk_dim == v.ref_spk_dim && !again.ref_codes && again.ref_T == 0 && !text.data);
    qt_voice_ref_free(&again);
    qt_bytes_free(&file);
    again = v;
    again.num_codebooks = 3;
    CHECK(qt_voice_save(ctx, &again, NULL, &file) == QT_STATUS_INVALID_PARAMS);
    CHECK_ERROR("num_codebooks");
    again.num_codebooks = 16;
    again.ref_spk_dim = 7;
    CHECK(qt_voice_save(ctx, &again, NULL, &file) == QT_STATUS_INVALID_PARAMS);
    CHECK(qt_voice_save(ctx, NULL, NULL, &file) == QT_STATUS_INVALID_PARAMS);
    CHECK(qt_voice_save(NULL, &v, NULL, &file) == QT_STATUS_INVALID_PARAMS);
    qt_voice_ref_free(&v);
}

/* A reference given as latents (base): the x-vector's width and each code are checked, and both change the voice. */
static void cloning(void) {
    enum { T = 3 };
    static float xvector[4096];
    static int32_t codes[16 * T];
    struct qt_tts_params p = request;
    struct qt_audio plain, voiced, continued, out;
    struct qt_result r;
    int i, n_prompt;
    enum qt_status s = QT_STATUS_INVALID_PARAMS;

    if (request.speaker || request.instruct) { /* the other families clone nothing */
        p.speaker = NULL;
        p.ref_spk_emb = xvector;
        p.ref_spk_dim = 64;
        expect(&p, QT_STATUS_MODE_INVALID, request.speaker ? "speaker" : "ref_spk_emb");
        return;
    }
    for (i = 0; i < 4096; i++) {
        xvector[i] = (float)(i % 17 - 8) / 8;
    }
    qt_result_init(&r, sizeof r);
    CHECK(qt_synthesize(ctx, &p, &plain) == QT_STATUS_OK);
    p.ref_spk_emb = xvector;
    while (s == QT_STATUS_INVALID_PARAMS && p.ref_spk_dim < 4096) { /* wrong widths are refused by name */
        p.ref_spk_dim += 32;
        s = qt_synthesize_ex(ctx, &p, NULL, &voiced, &r);
        CHECK(s == QT_STATUS_OK || strstr(qt_last_error(), "ref_spk_emb"));
    }
    CHECK(s == QT_STATUS_OK);
    CHECK(!same_audio(&plain, &voiced));
    n_prompt = r.n_prompt;

    p.ref_codes = codes;
    p.ref_T = T;
    expect(&p, QT_STATUS_INVALID_PARAMS, "ref_text");
    p.ref_text = "What the reference says.";
    CHECK(qt_synthesize_ex(ctx, &p, NULL, &continued, &r) == QT_STATUS_OK);
    CHECK(r.n_prompt > n_prompt);
    CHECK(!same_audio(&voiced, &continued));
    CHECK(continued.n_samples <= p.max_new_tokens * FRAME); /* the reference itself is not in it */

    codes[3 * T + 1] = 7; /* [codebook][frame]: where a code stands matters */
    CHECK(qt_synthesize(ctx, &p, &out) == QT_STATUS_OK);
    CHECK(!same_audio(&out, &continued));
    qt_audio_free(&out);
    codes[3 * T + 1] = 99999;
    expect(&p, QT_STATUS_INVALID_PARAMS, "ref_codes: frame 1, codebook 3: 99999");
    codes[3 * T + 1] = -1;
    expect(&p, QT_STATUS_INVALID_PARAMS, "ref_codes: frame 1, codebook 3: -1");
    codes[3 * T + 1] = 0;
    xvector[5] = (float)NAN;
    expect(&p, QT_STATUS_INVALID_PARAMS, "ref_spk_emb");
    xvector[5] = 0;
    p.speaker = "vivian";
    expect(&p, QT_STATUS_INVALID_PARAMS, "speaker");

    qt_audio_free(&plain);
    qt_audio_free(&voiced);
    qt_audio_free(&continued);
    qt_result_free(&r);
}

/* ---- The process is the caller's ---- */

static void signals_are_left_alone(void) {
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1 };
    size_t i;
    for (i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction now;
        CHECK(sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL);
    }
}

static void stdout_stays_silent(void) {
    char path[512];
    int file = mkstemp(temporary(path, "stdout")), saved;
    struct qt_context *c;
    struct qt_audio out;
    enum qt_status s;
    CHECK(file >= 0);
    fflush(stdout);
    saved = dup(1);
    dup2(file, 1);
    qt_log_set(NULL, NULL); /* to stderr */
    c = open_model();
    s = qt_synthesize(c, &request, &out);
    qt_audio_free(&out);
    qt_free(c);
    qt_init(NULL);
    qt_log_set(discard_log, NULL);
    fflush(stdout);
    dup2(saved, 1);
    close(saved);
    CHECK(s == QT_STATUS_OK);
    CHECK(lseek(file, 0, SEEK_END) == 0);
    close(file);
    unlink(path);
}

/* ---- Memory ---- */

static long resident_kib(void) {
    long pages = 0, ignored;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f) {
        if (fscanf(f, "%ld %ld", &ignored, &pages) != 2) {
            pages = 0;
        }
        fclose(f);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void everything_is_given_back(void) {
    struct qt_audio out;
    struct qt_result r;
    long before = 0, grown;
    int i;
    qt_result_init(&r, sizeof r);
    for (i = 0; i < 30; i++) {
        struct qt_context *c = open_model();
        CHECK(qt_synthesize_ex(c, &request, NULL, &out, &r) == QT_STATUS_OK);
        qt_audio_free(&out);
        qt_result_free(&r);
        qt_free(c);
        if (i == 9) {
            before = resident_kib();
        }
    }
    grown = resident_kib() - before;
    printf("# 20 more times open, speak, free: %ld KiB more resident\n", grown);
    CHECK(grown < 32 * 1024);
}

int main(int argc, char **argv) {
    model_args(argc, argv);
    ctx = open_model();
    short_request(ctx, &request);
    RUN(buffered);
    RUN(a_seed_replays_the_bytes);
    RUN(greedy_needs_no_seed);
    RUN(streaming_gives_the_same_samples);
    RUN(result_and_progress);
    RUN(layouts_differ);
    RUN(long_texts);
    RUN(struct_sizes);
    RUN(cancelled);
    RUN(chunk_stops);
    RUN(user_data_may_be_a_number);
    RUN(callback_calls_back);
    RUN(callback_uses_another_context);
    RUN(callback_frees_the_context);
    RUN(freed_contexts_are_known);
    RUN(what_the_context_has);
    RUN(what_the_machine_has);
    RUN(texts);
    RUN(text_of_a_megabyte);
    RUN(numbers);
    RUN(references);
    RUN(modes);
    RUN(nowhere_to_dump);
    RUN(something_in_the_way_of_a_dump);
    RUN(dumps);
    RUN(bad_files);
    RUN(options_that_cannot_be);
    RUN(options);
    RUN(onnx_provider);
    RUN(kv_type);
    RUN(folders);
    RUN(voices);
    RUN(cancelled_extraction);
    RUN(model_defaults);
    RUN(recordings);
    RUN(voice_files);
    RUN(cloning);
    RUN(signals_are_left_alone);
    RUN(stdout_stays_silent);
    RUN(everything_is_given_back);
    qt_free(ctx);
    return tests_failed != 0;
}
