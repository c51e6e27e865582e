/* Writes samples to stdout as soon as they are there: 16 bits, little-endian, mono, 24 kHz.
 *
 *     stream TALKER CODEC TEXT SPEAKER [SEED [FRAMES]] | aplay -f S16_LE -r 24000
 */
#include "example.h"

/* The library calls this on the thread that speaks; false stops it. */
static bool play(const float *samples, int n, void *out) {
    struct qt_bytes pcm = encode(samples, n, 24000, "pcm");
    bool written = fwrite(pcm.data, 1, pcm.size, out) == pcm.size && fflush(out) == 0;
    qt_bytes_free(&pcm);
    return written;
}

int main(int argc, char **argv) {
    struct limits limits = arguments(argc, argv, 4, "stream TALKER CODEC TEXT SPEAKER");
    struct qt_context *ctx = open_models(argv[1], argv[2]);
    struct qt_tts_params params = new_request(ctx, limits);
    params.text = argv[3];
    params.speaker = argv[4];
    params.on_chunk = play;
    params.on_chunk_user_data = stdout;
    if (qt_synthesize(ctx, &params, NULL) != QT_STATUS_OK) fail("", ferror(stdout) ? "stdout: cannot write" : qt_last_error());
    qt_free(ctx);
    return 0;
}
