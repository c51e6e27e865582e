/* What the examples share: arguments, opening, WAV files. Include it once. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <errno.h>
#include <math.h>
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

/* The defaults, and what follows the `n` arguments of the example: [SEED [FRAMES]]. */
static inline struct qt_tts_params arguments(int argc, char **argv, int n, const char *usage) {
    struct qt_tts_params params;
    if (argc < 1 + n || argc > 3 + n) {
        fprintf(stderr, "usage: %s [SEED [FRAMES]]\n", usage);
        exit(2);
    }
    qt_tts_default_params(&params);
    if (argc > 1 + n) params.seed = number("SEED", argv[1 + n]);
    if (argc > 2 + n) {
        long long frames = number("FRAMES", argv[2 + n]);
        params.max_new_tokens = frames < 0 ? 0 : frames > INT32_MAX ? INT32_MAX : (int)frames;
    }
    return params;
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

/* A sample in [-1, 1] as a 16-bit integer, rounded to the nearest. */
static inline int16_t to_int16(float x) {
    double v = rint((double)x * 32768);
    return v > 32767 ? 32767 : v < -32768 ? -32768 : (int16_t)v;
}

static inline void put(unsigned char *at, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; i++) at[i] = (unsigned char)(value >> 8 * i);
}

/* Writes samples to a file or stdout, as 16 bits, little-endian. 0 if that failed. */
static inline int put_samples(FILE *f, const float *samples, int n) {
    for (int i = 0; i < n; i++) {
        unsigned char b[2];
        put(b, (uint16_t)to_int16(samples[i]), 2);
        if (fwrite(b, 2, 1, f) != 1) return 0;
    }
    return 1;
}

/* Writes a WAV file of 16-bit samples. */
static inline void save_wav(const char *path, const struct qt_audio *audio) {
    unsigned char h[44] = "RIFF....WAVEfmt ";
    uint32_t bytes = 2 * (uint32_t)audio->n_samples, rate = (uint32_t)audio->sample_rate;
    put(h + 4, 36 + bytes, 4);
    put(h + 16, 16, 4);
    put(h + 20, 1, 2); /* integers */
    put(h + 22, 1, 2); /* channel */
    put(h + 24, rate, 4);
    put(h + 28, 2 * rate, 4);
    put(h + 32, 2, 2);
    put(h + 34, 16, 2);
    memcpy(h + 36, "data", 4);
    put(h + 40, bytes, 4);
    FILE *f = fopen(path, "wb");
    if (!f) fail(path, strerror(errno));
    int ok = fwrite(h, sizeof h, 1, f) == 1 && put_samples(f, audio->samples, audio->n_samples);
    if (fclose(f) || !ok) {
        int why = errno;
        remove(path); /* half a file is worse than none */
        fail(path, strerror(why));
    }
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

/* Speaks into a file; ends the program if that fails. */
static inline void speak_to_file(struct qt_context *ctx, const struct qt_tts_params *params, const char *path) {
    struct qt_audio audio;
    struct qt_result result;
    qt_result_init(&result, sizeof result);
    if (qt_synthesize_ex(ctx, params, NULL, &audio, &result) != QT_STATUS_OK) fail("", qt_last_error());
    save_wav(path, &audio);
    fprintf(stderr, "%s: %.2f s, seed %lld\n", path, (double)audio.n_samples / audio.sample_rate,
            (long long)result.seed);
    qt_result_free(&result);
    qt_audio_free(&audio);
}

#endif
