/* What the tests that need a model share: opening it from argv, and a request that fits its family. */
#ifndef MODEL_H
#define MODEL_H

#include <stdlib.h>

#include "check.h"

static const char *talker_path, *codec_path;

static struct qt_context *open_with(const struct qt_options *options) {
    struct qt_init_params p;
    struct qt_context *ctx;
    qt_init_default_params(&p);
    p.talker_path = talker_path;
    p.codec_path = codec_path;
    ctx = qt_init_ex(&p, options);
    if (!ctx) {
        printf("not ok - open %s and %s: %s\n", talker_path, codec_path, qt_last_error());
        exit(1);
    }
    return ctx;
}

static struct qt_context *open_model(void) { return open_with(NULL); }

static void discard_log(enum qt_log_level level, const char *msg, void *user_data) {
    (void)level;
    (void)msg;
    (void)user_data;
}

static void model_args(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s TALKER.gguf CODEC.gguf\n", argv[0]);
        exit(2);
    }
    talker_path = argv[1];
    codec_path = argv[2];
    qt_log_set(discard_log, NULL);
}

/* A short utterance that the checkpoint's family accepts. */
static void short_request(struct qt_context *ctx, struct qt_tts_params *p) {
    struct qt_audio out;
    qt_tts_default_params(p);
    p->text = "Hello world.";
    p->lang = "English";
    p->seed = 42;
    p->max_new_tokens = 8;
    p->speaker = qt_speaker_name(ctx, 0); /* custom_voice */
    if (!p->speaker) {
        enum qt_status s = qt_synthesize(ctx, p, &out);
        qt_audio_free(&out);
        if (s == QT_STATUS_MODE_INVALID) {
            p->instruct = "A calm voice."; /* voice_design */
        }
    }
}

static bool same_audio(const struct qt_audio *a, const struct qt_audio *b) {
    return a->n_samples == b->n_samples && a->n_samples > 0 &&
           memcmp(a->samples, b->samples, (size_t)a->n_samples * sizeof *a->samples) == 0;
}

#endif
