/* Speaks in a voice that is described: design TALKER CODEC TEXT DESCRIPTION OUT.wav [SEED [FRAMES]] */
#include "example.h"

int main(int argc, char **argv) {
    struct limits limits = arguments(argc, argv, 5, "design TALKER CODEC TEXT DESCRIPTION OUT.wav");
    struct qt_context *ctx = open_models(argv[1], argv[2]);
    struct qt_tts_params params = new_request(ctx, limits);
    params.text = argv[3];
    params.instruct = argv[4];
    speak_to_file(ctx, &params, argv[5]);
    qt_free(ctx);
    return 0;
}
