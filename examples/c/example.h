/* What the examples share: arguments, opening, files. Include it once. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <qwen.h>

/* Ends the program with 1 and a line on stderr. */
static inline void fail(const char *what, const char *why) {
    fprintf(stderr, "%s%s%s\n", what, *what ? ": " : "", why);
    exit(1);
}

/* A whole number, or the program ends with 2. */
static inline long long number(const char *name, const char *text) {
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end == text || *end || errno) {
        fprintf(stderr, "%s: %s is no whole number\n", name, text);
        exit(2);
    }
    return n;
}

struct limits {
    int64_t seed;
    int     frames;
};

/* What follows the `n` arguments of the example: [SEED [FRAMES]]; -1 is what is not there. */
static inline struct limits arguments(int argc, char **argv, int n, const char *usage) {
    struct limits limits = { -1, -1 };
    if (argc < 1 + n || argc > 3 + n) {
        fprintf(stderr, "usage: %s [SEED [FRAMES]]\n", usage);
        exit(2);
    }
    if (argc > 1 + n) limits.seed = number("SEED", argv[1 + n]);
    if (argc > 2 + n) {
        long long frames = number("FRAMES", argv[2 + n]);
        limits.frames = frames < 0 ? 0 : frames > INT32_MAX ? INT32_MAX : (int)frames;
    }
    return limits;
}

static inline struct qt_context *open_models(const char *talker, const char *codec) {
    struct qt_init_params init;
    qt_init_default_params(&init);
    init.talker_path = talker;
    init.codec_path = codec;
    struct qt_context *ctx = qt_init(&init);
    if (!ctx) fail("", qt_last_error());
    return ctx;
}

/* The defaults of the model, within the limits. */
static inline struct qt_tts_params new_request(struct qt_context *ctx, struct limits limits) {
    struct qt_tts_params params;
    if (qt_model_default_params(ctx, &params) != QT_STATUS_OK) fail("", qt_last_error());
    params.seed = limits.seed;
    if (limits.frames >= 0) params.max_new_tokens = limits.frames;
    return params;
}

/* Samples as a file of a format ("wav", "pcm" ...), to be freed by qt_bytes_free. */
static inline struct qt_bytes encode(const float *samples, int n, int sample_rate, const char *format) {
    struct qt_bytes bytes;
    if (qt_encode_audio(samples, n, sample_rate, format, &bytes) != QT_STATUS_OK) fail(format, qt_last_error());
    return bytes;
}

/* The content of a file of at most a gigabyte. To be freed. */
static inline void *load_file(const char *path, size_t *size) {
    enum { MOST = 1 << 30 };
    FILE *f = fopen(path, "rb");
    if (!f) fail(path, strerror(errno));
    char *data = NULL;
    size_t n = 0, room = 0, got;
    do {
        if (n == room) {
            if (room >= MOST) fail(path, "too large");
            room = room ? 2 * room : 1 << 16;
            char *larger = realloc(data, room);
            if (!larger) fail(path, "out of memory");
            data = larger;
        }
        got = fread(data + n, 1, room - n, f);
        n += got;
    } while (got);
    if (ferror(f)) fail(path, strerror(errno));
    fclose(f);
    *size = n;
    return data;
}

static inline void save(const char *path, const struct qt_bytes *bytes) {
    FILE *f = fopen(path, "wb");
    if (!f) fail(path, strerror(errno));
    int ok = fwrite(bytes->data, 1, bytes->size, f) == bytes->size;
    if (fclose(f) || !ok) {
        int why = errno;
        remove(path); /* half a file is worse than none */
        fail(path, strerror(why));
    }
}

/* Speaks into a WAV file; ends the program if that fails. */
static inline void speak_to_file(struct qt_context *ctx, const struct qt_tts_params *params, const char *path) {
    struct qt_audio audio;
    struct qt_result result;
    qt_result_init(&result, sizeof result);
    if (qt_synthesize_ex(ctx, params, NULL, &audio, &result) != QT_STATUS_OK) fail("", qt_last_error());
    struct qt_bytes wav = encode(audio.samples, audio.n_samples, audio.sample_rate, "wav");
    save(path, &wav);
    qt_bytes_free(&wav);
    fprintf(stderr, "%s: %.2f s, seed %lld\n", path, (double)audio.n_samples / audio.sample_rate,
            (long long)result.seed);
    qt_result_free(&result);
    qt_audio_free(&audio);
}

#endif
