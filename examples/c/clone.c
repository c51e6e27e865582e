/* Speaks in the voice of a recording: clone TALKER CODEC TEXT CLIP.wav TRANSCRIPT OUT.wav [SEED [FRAMES]] */
#include "example.h"

int main(int argc, char **argv) {
    struct qt_tts_params params = arguments(argc, argv, 6, "clone TALKER CODEC TEXT CLIP.wav TRANSCRIPT OUT.wav");
    struct qt_context *ctx = open_models(argv[1], argv[2]);

    int n;
    float *clip = load_wav(argv[4], &n);
    struct qt_voice_ref voice; /* for this text and any other */
    if (qt_extract_voice_ref(ctx, clip, n, &voice) != QT_STATUS_OK) fail(argv[4], qt_last_error());
    free(clip);

    params.text = argv[3];
    params.ref_spk_emb = voice.ref_spk_emb;
    params.ref_spk_dim = voice.ref_spk_dim;
    if (*argv[5]) { /* with the transcript, the model continues the recording */
        params.ref_text = argv[5];
        params.ref_codes = voice.ref_codes;
        params.ref_T = voice.ref_T;
    }
    speak_to_file(ctx, &params, argv[6]);
    qt_voice_ref_free(&voice);
    qt_free(ctx);
    return 0;
}
