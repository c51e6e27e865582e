/* What a host process is like must not matter: floating-point environments, small stacks, contexts that come and go. */
#define _GNU_SOURCE
#include "model.h"

#include <dirent.h>
#include <fenv.h>
#include <pthread.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

static struct qt_context *ctx;
static struct qt_tts_params request;
static struct qt_audio plain; /* in the default environment */

/* ---- Floating point ---- */

static void speaks_the_same(void) {
    struct qt_context *own = open_model();
    struct qt_audio a;
    CHECK(qt_synthesize(ctx, &request, &a) == QT_STATUS_OK);
    CHECK(same_audio(&plain, &a));
    qt_audio_free(&a);
    CHECK(qt_synthesize(own, &request, &a) == QT_STATUS_OK);
    CHECK(same_audio(&plain, &a));
    qt_audio_free(&a);
    qt_free(own);
}

static void rounding_modes(void) {
    static const int modes[] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
    size_t i;
    for (i = 0; i < sizeof modes / sizeof *modes; i++) {
        fesetround(modes[i]);
        speaks_the_same();
        CHECK(fegetround() == modes[i]);
    }
    fesetround(FE_TONEAREST);
}

static void trapping_exceptions(void) {
    const int traps = FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW;
    feclearexcept(FE_ALL_EXCEPT);
    if (feenableexcept(traps) == -1) return; /* not every processor traps */
    speaks_the_same();
    CHECK(fegetexcept() == traps);
    fedisableexcept(FE_ALL_EXCEPT);
}

static void flushing_to_zero(void) {
#if defined(__SSE2__)
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040); /* FTZ and DAZ, as -ffast-math sets them */
    speaks_the_same();
    CHECK((_mm_getcsr() & 0x8040) == 0x8040);
    _mm_setcsr(before);
#endif
}

/* ---- Stacks ---- */

static enum qt_status stack_status;

static void *speak_on_it(void *arg) {
    struct qt_audio a;
    (void)arg;
    stack_status = qt_synthesize(ctx, &request, &a);
    if (stack_status == QT_STATUS_OK) {
        CHECK(same_audio(&plain, &a));
    }
    qt_audio_free(&a);
    if (stack_status == QT_STATUS_INVALID_PARAMS) {
        struct qt_init_params p;
        CHECK_ERROR("stack");
        qt_init_default_params(&p);
        p.talker_path = talker_path;
        p.codec_path = codec_path;
        CHECK(qt_init(&p) == NULL);
        CHECK_ERROR("stack");
        CHECK(qt_devices(NULL, NULL, 0, sizeof(struct qt_device)) == QT_STATUS_INVALID_PARAMS);
        CHECK(qt_num_codebooks(ctx) > 0); /* what needs none */
    }
    return NULL;
}

static enum qt_status speak_on_stack(size_t kib) {
    pthread_attr_t attr;
    pthread_t t;
    pthread_attr_init(&attr);
    CHECK(pthread_attr_setstacksize(&attr, kib << 10) == 0);
    CHECK(pthread_create(&t, &attr, speak_on_it, NULL) == 0);
    pthread_join(t, NULL);
    pthread_attr_destroy(&attr);
    return stack_status;
}

static void small_stacks(void) {
    CHECK(speak_on_stack(16) == QT_STATUS_INVALID_PARAMS);
    CHECK(speak_on_stack(64) == QT_STATUS_INVALID_PARAMS);
    CHECK(speak_on_stack(128) == QT_STATUS_OK);
}

/* ---- Contexts come and go ---- */

static int entries(const char *folder) {
    DIR *d = opendir(folder);
    int n = 0;
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

static void *open_and_free(void *arg) {
    int i;
    (void)arg;
    for (i = 0; i < 5; i++) {
        qt_free(open_model());
    }
    return NULL;
}

static void open_in_threads(int n) {
    pthread_t t[8];
    int i;
    for (i = 0; i < n; i++) CHECK(pthread_create(&t[i], NULL, open_and_free, NULL) == 0);
    for (i = 0; i < n; i++) pthread_join(t[i], NULL);
}

static void nothing_stays_open(void) {
    int files, threads, i;
    open_in_threads(8);
    files = entries("/proc/self/fd");
    threads = entries("/proc/self/task");
    for (i = 0; i < 5; i++) open_in_threads(8);
    CHECK(entries("/proc/self/fd") == files);
    CHECK(entries("/proc/self/task") < threads + 40); /* of 200 contexts; the threads of Go's runtime vary */
}

int main(int argc, char **argv) {
    model_args(argc, argv);
    ctx = open_model();
    short_request(ctx, &request);
    if (qt_synthesize(ctx, &request, &plain) != QT_STATUS_OK) return 1;
    RUN(rounding_modes);
    RUN(trapping_exceptions);
    RUN(flushing_to_zero);
    RUN(small_stacks);
    RUN(nothing_stays_open);
    qt_audio_free(&plain);
    qt_free(ctx);
    return tests_failed != 0;
}
