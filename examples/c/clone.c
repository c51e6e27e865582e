/* Speaks in the voice of a recording: clone TALKER CODEC TEXT CLIP TRANSCRIPT OUT.wav [SEED [FRAMES]] */
#include "example.h"

int main(int argc, char **argv) {
    struct limits limits = arguments(argc, argv, 6, "clone TALKER CODEC TEXT CLIP TRANSCRIPT OUT.wav");
    struct qt_context *ctx = open_models(argv[1], argv[2]);
    struct qt_tts_params params = new_request(ctx, limits);

    struct qt_recording recording;
    qt_recording_init(&recording, sizeof recording);
    void *file = load_file(argv[4], &recording.file_size);
    recording.file = file;
    struct qt_audio clip; /* mono, 24 kHz */
    if (qt_read_recording(&recording, &clip) != QT_STATUS_OK) fail(argv[4], qt_last_error());
    free(file);

    struct qt_voice_ref voice; /* for this text and any other; qt_voice_save keeps it */
    if (qt_extract_voice_ref(ctx, clip.samples, clip.n_samples, &voice) != QT_STATUS_OK) fail(argv[4], qt_last_error());
    qt_audio_free(&clip);

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
