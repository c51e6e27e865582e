/* Prints size and offsets of every struct and the value of every constant of qwen.h, to be compared with
 * layout.golden (64-bit). */
#include <stddef.h>
#include <stdio.h>

#include <qwen.h>

#define STRUCT(s) printf("struct %s %d\n", #s, (int)sizeof(struct s))
#define FIELD(s, f) printf("  %s %d\n", #f, (int)offsetof(struct s, f))
#define VALUE(v) printf("%s %d\n", #v, (int)(v))

int main(void) {
    STRUCT(qt_audio);
    FIELD(qt_audio, samples);
    FIELD(qt_audio, n_samples);
    FIELD(qt_audio, sample_rate);
    FIELD(qt_audio, channels);

    STRUCT(qt_init_params);
    FIELD(qt_init_params, abi_version);
    FIELD(qt_init_params, talker_path);
    FIELD(qt_init_params, codec_path);
    FIELD(qt_init_params, use_fa);
    FIELD(qt_init_params, clamp_fp16);
    FIELD(qt_init_params, max_batch);
    FIELD(qt_init_params, codec_chunk_sec);

    STRUCT(qt_voice_ref);
    FIELD(qt_voice_ref, ref_spk_emb);
    FIELD(qt_voice_ref, ref_spk_dim);
    FIELD(qt_voice_ref, ref_codes);
    FIELD(qt_voice_ref, ref_T);
    FIELD(qt_voice_ref, num_codebooks);

    STRUCT(qt_tts_params);
    FIELD(qt_tts_params, abi_version);
    FIELD(qt_tts_params, text);
    FIELD(qt_tts_params, lang);
    FIELD(qt_tts_params, instruct);
    FIELD(qt_tts_params, speaker);
    FIELD(qt_tts_params, ref_audio_24k);
    FIELD(qt_tts_params, ref_n_samples);
    FIELD(qt_tts_params, ref_text);
    FIELD(qt_tts_params, seed);
    FIELD(qt_tts_params, max_new_tokens);
    FIELD(qt_tts_params, do_sample);
    FIELD(qt_tts_params, temperature);
    FIELD(qt_tts_params, top_k);
    FIELD(qt_tts_params, top_p);
    FIELD(qt_tts_params, repetition_penalty);
    FIELD(qt_tts_params, subtalker_do_sample);
    FIELD(qt_tts_params, subtalker_temperature);
    FIELD(qt_tts_params, subtalker_top_k);
    FIELD(qt_tts_params, subtalker_top_p);
    FIELD(qt_tts_params, dump_dir);
    FIELD(qt_tts_params, cancel);
    FIELD(qt_tts_params, cancel_user_data);
    FIELD(qt_tts_params, on_chunk);
    FIELD(qt_tts_params, on_chunk_user_data);
    FIELD(qt_tts_params, ref_spk_emb);
    FIELD(qt_tts_params, ref_spk_dim);
    FIELD(qt_tts_params, ref_codes);
    FIELD(qt_tts_params, ref_T);

    STRUCT(qt_options);
    FIELD(qt_options, struct_size);
    FIELD(qt_options, n_threads);
    FIELD(qt_options, device);
    FIELD(qt_options, ggml_dir);
    FIELD(qt_options, n_ctx);
    FIELD(qt_options, max_queue);
    FIELD(qt_options, codec_bf16);
    FIELD(qt_options, predictor_path);
    FIELD(qt_options, tokenizer_path);
    FIELD(qt_options, mode);
    FIELD(qt_options, onnx_provider);
    FIELD(qt_options, kv_type);

    STRUCT(qt_progress);
    FIELD(qt_progress, struct_size);
    FIELD(qt_progress, n_frames);
    FIELD(qt_progress, max_frames);
    FIELD(qt_progress, elapsed_ms);

    STRUCT(qt_request);
    FIELD(qt_request, struct_size);
    FIELD(qt_request, text_layout);
    FIELD(qt_request, progress);
    FIELD(qt_request, progress_user_data);
    FIELD(qt_request, chunk_frames);
    FIELD(qt_request, long_text);
    FIELD(qt_request, piece_chars);
    FIELD(qt_request, speed);

    STRUCT(qt_result);
    FIELD(qt_result, struct_size);
    FIELD(qt_result, finish);
    FIELD(qt_result, n_frames);
    FIELD(qt_result, sample_rate);
    FIELD(qt_result, n_samples);
    FIELD(qt_result, seed);
    FIELD(qt_result, n_prompt);
    FIELD(qt_result, n_text_tokens);
    FIELD(qt_result, prefill_ms);
    FIELD(qt_result, talker_ms);
    FIELD(qt_result, predictor_ms);
    FIELD(qt_result, codec_ms);
    FIELD(qt_result, first_audio_ms);
    FIELD(qt_result, total_ms);
    FIELD(qt_result, warnings);
    FIELD(qt_result, reference_ms);
    FIELD(qt_result, load_ms);
    FIELD(qt_result, tokenise_ms);
    FIELD(qt_result, sampling_ms);
    FIELD(qt_result, rtf);

    STRUCT(qt_device);
    FIELD(qt_device, struct_size);
    FIELD(qt_device, type);
    FIELD(qt_device, name);
    FIELD(qt_device, description);
    FIELD(qt_device, memory_free);
    FIELD(qt_device, memory_total);

    STRUCT(qt_recording);
    FIELD(qt_recording, struct_size);
    FIELD(qt_recording, trim);
    FIELD(qt_recording, file);
    FIELD(qt_recording, file_size);
    FIELD(qt_recording, samples);
    FIELD(qt_recording, n_frames);
    FIELD(qt_recording, channels);
    FIELD(qt_recording, sample_rate);
    FIELD(qt_recording, ref_text);

    STRUCT(qt_bytes);
    FIELD(qt_bytes, data);
    FIELD(qt_bytes, size);

    VALUE(QT_ABI_VERSION);
    VALUE(QT_ABI_MIN_VERSION);
    VALUE(QT_STATUS_OK);
    VALUE(QT_STATUS_INVALID_PARAMS);
    VALUE(QT_STATUS_MODE_INVALID);
    VALUE(QT_STATUS_GENERATE_FAILED);
    VALUE(QT_STATUS_OOM);
    VALUE(QT_STATUS_CANCELLED);
    VALUE(QT_LOG_DEBUG);
    VALUE(QT_LOG_INFO);
    VALUE(QT_LOG_WARN);
    VALUE(QT_LOG_ERROR);
    VALUE(QT_LAYOUT_AUTO);
    VALUE(QT_LAYOUT_WHOLE);
    VALUE(QT_LAYOUT_STREAMED);
    VALUE(QT_FINISH_NONE);
    VALUE(QT_FINISH_STOP);
    VALUE(QT_FINISH_LENGTH);
    VALUE(QT_FINISH_CANCELLED);
    VALUE(QT_FINISH_EMPTY);
    VALUE(QT_FINISH_ERROR);
    VALUE(QT_FINISH_BUSY);
    VALUE(QT_DEVICE_CPU);
    VALUE(QT_DEVICE_GPU);
    VALUE(QT_DEVICE_IGPU);
    VALUE(QT_DEVICE_ACCEL);
    VALUE(QT_DEVICE_OTHER);
    return 0;
}
