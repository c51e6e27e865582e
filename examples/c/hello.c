/* Speaks a sentence to a file: hello TALKER CODEC TEXT SPEAKER OUT.wav [SEED [FRAMES]] */
#include "example.h"

int main(int argc, char **argv) {
    struct limits limits = arguments(argc, argv, 5, "hello TALKER CODEC TEXT SPEAKER OUT.wav");
    struct qt_context *ctx = open_models(argv[1], argv[2]);
    struct qt_tts_params params = new_request(ctx, limits);
    params.text = argv[3];
    params.speaker = argv[4];
    speak_to_file(ctx, &params, argv[5]);
    qt_free(ctx);
    return 0;
}
