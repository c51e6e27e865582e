/*
 * qwen.h - Qwen3-TTS text-to-speech, C interface of libqwen.
 *
 * Usage:
 *
 *     struct qt_init_params init;
 *     qt_init_default_params(&init);
 *     init.talker_path = "qwen-talker-1.7b-customvoice-Q8_0.gguf";
 *     init.codec_path  = "qwen-tokenizer-12hz-Q8_0.gguf";
 *     struct qt_context *ctx = qt_init(&init);
 *     if (!ctx) { fprintf(stderr, "%s\n", qt_last_error()); exit(1); }
 *
 *     struct qt_tts_params params;
 *     qt_tts_default_params(&params);
 *     params.text    = "Hello world.";
 *     params.speaker = "vivian";
 *
 *     struct qt_audio audio = { 0 };
 *     if (qt_synthesize(ctx, &params, &audio) == QT_STATUS_OK) {
 *         // audio.samples: audio.n_samples floats in [-1, 1], mono, audio.sample_rate Hz
 *     }
 *     qt_audio_free(&audio);
 *     qt_free(ctx);
 *
 * This header is the whole interface: plain C99, also valid C++98 and later; symbols that are not
 * declared here do not exist for a caller. `int` is 32 bits wide and `bool` one byte on every platform
 * that libqwen supports.
 *
 * Ownership
 *   What a function returns in a struct (qt_audio, qt_voice_ref, qt_result, qt_bytes) belongs to the caller, who
 *   gives it back with the matching qt_*_free. Each of those also accepts NULL, a zeroed struct, and the
 *   same struct twice. Output structs are overwritten, not freed, at the start of the call that fills
 *   them, so they need no initialisation (except `struct_size` where there is one) and may not hold
 *   anything that still has to be freed. `const char *` results belong to the library; each function says
 *   how long they last. The library keeps no pointer to anything it is given once a call has returned,
 *   except the callback and user data of qt_log_set.
 *
 * Strings
 *   UTF-8, NUL-terminated. Texts and names that are not valid UTF-8 are refused with the field and the byte
 *   offset. Paths go to the operating system as they are. Messages are always valid UTF-8.
 *
 * Threads
 *   Every function may be called from any thread at any time. One context serves many threads: it computes
 *   up to max_batch syntheses together, the others wait, first come first served. What one speaks does not
 *   depend on the others, and a receiver that is slow holds up itself alone. qt_free may be called while others are inside the context (see
 *   there). Callbacks of a synthesis run on the thread that called it, and never after the call returned;
 *   the log callback runs on any thread.
 *   A callback may call the library, with one exception: a synthesis or extraction on the context that is
 *   running it would wait for itself and is refused with QT_STATUS_INVALID_PARAMS. A callback must return:
 *   no longjmp, no exception through the library's frames.
 *   A thread needs 128 KiB of stack (GPUs' drivers may take more) to load a model, compute, or read and write audio; with
 *   less the call is refused. Whatever the caller's rounding mode, flushing of subnormal numbers and trapping of
 *   exceptions are, the library and its callbacks run with the default ones, and the caller has its own back after the call.
 *   Handles are checked: NULL, a context freed before and a stray pointer are errors, never crashes.
 *   (Other pointers cannot be checked: they must be valid for as many elements as is said of them.)
 *
 * Errors
 *   Functions return a status, or NULL, 0 or a negative number; qt_last_error() has the message for the
 *   calling thread. Bad parameters are reported before anything is computed, by the name of the field. An
 *   internal error of the library is a status too (QT_STATUS_GENERATE_FAILED), with "internal error" in the
 *   message; the process goes on.
 *
 * Versions
 *   qt_init_params, qt_tts_params, qt_audio and qt_voice_ref are frozen: their layout is ABI version 4.
 *   `abi_version` is set by the two *_default_params functions and must be in
 *   [QT_ABI_MIN_VERSION, QT_ABI_VERSION] of the library in use, or the call is refused before another
 *   field is read. All later additions live in structs that start with `struct_size`; the caller sets it
 *   through qt_X_init(&x, sizeof x), which fills the defaults for exactly that size. Fields are only ever
 *   appended, so a program runs with older and newer libraries alike:
 *     - compiled against an older header: the fields that it does not know take their defaults;
 *     - compiled against a newer header: accepted as long as the fields that the library does not know
 *       are all zero bytes, else refused with a message (the request needs a newer library).
 *   "Since" says which release brought something; what says nothing is of ABI 4 and in every release.
 *
 * Fork, musl, dlclose
 *   The library runs threads. After fork() without exec() the first call in the child may hang: load the
 *   library in the child, or use a spawning start method (Python: multiprocessing "spawn" or "forkserver").
 *   On musl (Alpine) link with it at build time; dlopen() of it does not work there. dlclose() does
 *   nothing: the library stays until the process ends. Environment variables count as they were when the
 *   library was loaded. The library installs no handler for SIGINT, SIGTERM or SIGCHLD of its own and
 *   never writes to stdout.
 */
#ifndef QWEN_H
#define QWEN_H

#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <stddef.h>
#include <stdint.h>

#if defined(QT_API)
/* the builder of the library decides */
#elif defined(_WIN32)
#define QT_API __declspec(dllimport)
#elif defined(__GNUC__)
#define QT_API __attribute__((visibility("default")))
#else
#define QT_API
#endif

/* Release of this header. The library's own is qt_version(). */
#define QT_VERSION_MAJOR 0
#define QT_VERSION_MINOR 1
#define QT_VERSION_PATCH 0

/* Layout of the structs with `abi_version`, and the oldest one that the library of this release takes. */
#define QT_ABI_VERSION     4
#define QT_ABI_MIN_VERSION 4

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status and version -------------------------------------------------------------------------------- */

enum qt_status {
    QT_STATUS_OK              = 0,
    QT_STATUS_INVALID_PARAMS  = -1, /* a parameter is missing, malformed, out of range, or contradicts another */
    QT_STATUS_MODE_INVALID    = -2, /* the request does not fit the family of the loaded checkpoint */
    QT_STATUS_GENERATE_FAILED = -3, /* the computation, a device or a file failed, or it is not in this build */
    QT_STATUS_OOM             = -4, /* host or device memory does not suffice */
    QT_STATUS_CANCELLED       = -5  /* a callback asked to stop, or the context was freed meanwhile */
};

/* "<git hash> (<commit date>)". Static. */
QT_API const char *qt_version(void);

/* QT_ABI_VERSION of the library in use, to be compared with the header's. Since 0.1.0. */
QT_API int qt_abi_version(void);

/* The message of the latest failure on the calling thread, "" if there was none. A call that succeeds
 * leaves it alone, so look only after a failure. Valid until the next call on this thread that fails, or
 * the end of the thread. */
QT_API const char *qt_last_error(void);

/* The status of that failure, for functions that return no status; QT_STATUS_OK if there was none. Since 0.1.0. */
QT_API enum qt_status qt_last_status(void);

/* ---- Log ----------------------------------------------------------------------------------------------- */

enum qt_log_level {
    QT_LOG_DEBUG = 0,
    QT_LOG_INFO  = 1,
    QT_LOG_WARN  = 2,
    QT_LOG_ERROR = 3
};

/* One line, without newline; `msg` is valid during the call. Comes from any thread, also from several at
 * once. It may call qt_version, qt_last_error and qt_log_set, but nothing that waits for a context. */
typedef void (*qt_log_cb)(enum qt_log_level level, const char *msg, void *user_data);

/* Sends the log lines of the whole process to `cb`; NULL writes those of QT_LOG_INFO and above to stderr,
 * as at the start. A line that is on its way may still reach the previous callback after the return, so
 * keep its user data alive until no other call is inside the library. */
QT_API void qt_log_set(qt_log_cb cb, void *user_data);

/* ---- Context ------------------------------------------------------------------------------------------- */

/* A loaded pair of model files with everything they need to run. Opaque, and not to be dereferenced. */
struct qt_context;

struct qt_init_params {
    int         abi_version;     /* set by qt_init_default_params */
    const char *talker_path;     /* required: GGUF of the Talker and CodePredictor, or a folder: that of a
                                    checkpoint, or one that holds the GGUF files of a model by their usual names */
    const char *codec_path;      /* required, unless that folder has it: GGUF of the 12 Hz speech tokenizer, or an ONNX
                                    vocoder (.onnx, or a folder that holds a qwen3-tts-vocoder.onnx), which decodes
                                    and does not encode */
    bool        use_fa;          /* true: flash attention where the device has it */
    bool        clamp_fp16;      /* false: true clamps activations to the range of FP16 (GPUs before Ampere) */
    int         max_batch;       /* 1: syntheses that may be computed together, >= 1 */
    float       codec_chunk_sec; /* 24.0: most seconds of audio that the codec decodes at once, > 0. It bounds
                                    memory and changes no sample, except with an ONNX vocoder without state. Not used when
                                    streaming. */
};

/* Fills in the defaults above, and no byte beyond the layout of ABI 4. NULL is ignored. */
QT_API void qt_init_default_params(struct qt_init_params *params);

/* Loads both files. NULL on failure, with everything released again and the reason in qt_last_error(). */
QT_API struct qt_context *qt_init(const struct qt_init_params *params);

/* Releases a context. NULL, and a context freed before, are ignored. Calls that are inside the context are
 * cancelled (QT_STATUS_CANCELLED at their next poll) and waited for; from a callback of such a call, which
 * cannot be waited for, qt_free returns at once and the context goes when that call returns. */
QT_API void qt_free(struct qt_context *ctx);

/* Where and how to run a model, beyond qt_init_params. Since 0.1.0. */
struct qt_options {
    int         struct_size; /* set by qt_options_init */
    int         n_threads;   /* 0: CPU threads; 0 = QWEN_THREADS, else what the process may use;
                                more than it may use are not used */
    const char *device;      /* NULL: QWEN_DEVICE, else "auto": a discrete GPU that passes a self-test, else the CPU;
                                "cpu", or a name that qt_devices lists ("Vulkan0", "cuda:1"): that one or an
                                error; "cuda:0,cpu": the first that works, with a warning for what does not;
                                "cuda:0/cpu": language models and speaker encoder / codec */
    const char *ggml_dir;    /* NULL: directory of ggml's shared libraries; NULL = QWEN_GGML_DIR, beside
                                libqwen, the system. ggml is loaded once in a process: the first one stays. */
    int         n_ctx;       /* 0: most positions (prompt + frames) of one synthesis; 0 = what the model
                                allows */
    int         max_queue;   /* 0: most calls that may wait in this context while max_batch are computed; one
                                more fails at once (QT_FINISH_BUSY). 0 = no limit */
    int         codec_bf16;  /* 0: 1 = the codec's convolutions round to BF16 where the CPU multiplies it
                                (AVX512-BF16): faster, at some 40 dB; elsewhere no effect */
    const char *predictor_path; /* NULL: GGUF of the CodePredictor, where talker_path does not have it */
    const char *tokenizer_path; /* NULL: GGUF of the text tokenizer, where talker_path does not have it */
    const char *mode;           /* NULL: "base", "custom_voice" or "voice_design": the one that is wanted of a
                                   folder with several, or that a file which does not tell has. A model of
                                   another one is refused. */
    const char *onnx_provider;  /* NULL: what an ONNX vocoder runs on: QWEN_ONNX_PROVIDER, else "auto": the best
                                   execution provider that ONNX Runtime has. "cpu", "cuda", ...: that one or an
                                   error; "cuda,cpu": the first that works */
    const char *kv_type;        /* NULL: how the attention's keys and values are kept: "auto" (fits the file), "f32",
                                   "f16", or "q8_0": both with flash attention, else the keys alone */
};

/* Fills in the defaults above. `size` is sizeof(struct qt_options) of the caller. NULL is ignored. */
QT_API void qt_options_init(struct qt_options *options, size_t size);

/* qt_init with options; NULL means the defaults. Since 0.1.0. */
QT_API struct qt_context *qt_init_ex(const struct qt_init_params *params, const struct qt_options *options);

/* ---- Synthesis ----------------------------------------------------------------------------------------- */

/* PCM. Freed by qt_audio_free. */
struct qt_audio {
    float *samples;     /* n_samples floats in [-1, 1]; NULL if there are none */
    int    n_samples;
    int    sample_rate; /* 24000 */
    int    channels;    /* 1 */
};

/* Polled between frames, and during prefill and decode. true = stop. */
typedef bool (*qt_cancel_cb)(void *user_data);

/* Receives the audio piece by piece: mono, 24 kHz, valid during the call. false = stop. */
typedef bool (*qt_audio_chunk_cb)(const float *samples, int n_samples, void *user_data);

/*
 * One synthesis. Which fields go together depends on the checkpoint:
 *
 *   base          text [lang] and a reference voice: as audio (ref_audio_24k), or as extracted before
 *                 (ref_spk_emb, with ref_codes or without). With ref_text, which goes with audio or codes,
 *                 the model continues the reference (in-context cloning); without, it takes the voice from
 *                 the x-vector alone. No reference: the model picks a voice.
 *   custom_voice  text speaker [lang] [instruct]
 *   voice_design  text instruct [lang]
 *
 * A field that the checkpoint cannot use, or lacks, is QT_STATUS_MODE_INVALID; speaker together with a
 * reference, and ref_text without one, are QT_STATUS_INVALID_PARAMS. An empty string counts as NULL.
 */
struct qt_tts_params {
    int         abi_version;   /* set by qt_tts_default_params */
    const char *text;          /* required: what to speak */
    const char *lang;          /* NULL: name, alias or ISO code of the language; NULL = "auto" */
    const char *instruct;      /* NULL: style in free text */
    const char *speaker;       /* NULL: one of qt_speaker_name, in any case */

    const float *ref_audio_24k; /* NULL: reference clip, mono, 24 kHz; ref_n_samples floats */
    int          ref_n_samples; /* 0: 1 .. 2880000 (two minutes) with ref_audio_24k, else 0 */
    const char  *ref_text;      /* NULL: transcript of the reference */

    int64_t seed;           /* -1: any number >= 0 replays the same audio; < 0 draws one at random */
    int     max_new_tokens; /* 2048: most frames to generate (12.5 a second), 1 .. what the context holds */

    /* Sampling of codebook 0 by the Talker. do_sample false, or temperature 0, is greedy. The defaults are
     * those of the official checkpoints; qt_model_default_params has those of a context's own. */
    bool  do_sample;          /* true */
    float temperature;        /* 0.9: >= 0 */
    int   top_k;              /* 50: 0 = off */
    float top_p;              /* 1.0: in (0, 1] */
    float repetition_penalty; /* 1.05: > 0; 1 = off. Applies to greedy decoding too. */

    /* Sampling of the other codebooks by the CodePredictor. */
    bool  subtalker_do_sample;   /* true */
    float subtalker_temperature; /* 0.9: >= 0 */
    int   subtalker_top_k;       /* 50: 0 = off */
    float subtalker_top_p;       /* 1.0: in (0, 1] */

    const char *dump_dir; /* NULL: directory that gets one NumPy file per stage, <stage>.npy, for debugging */

    qt_cancel_cb      cancel; /* NULL */
    void             *cancel_user_data;
    qt_audio_chunk_cb on_chunk; /* NULL: if set, the audio goes there and `out` stays empty */
    void             *on_chunk_user_data;

    const float   *ref_spk_emb; /* NULL: x-vector of the reference; ref_spk_dim floats */
    int            ref_spk_dim; /* 0: as qt_extract_voice_ref gave it, with ref_spk_emb, else 0 */
    const int32_t *ref_codes;   /* NULL: codes of the reference, [qt_num_codebooks][ref_T], row-major */
    int            ref_T;       /* 0: frames, 1 .. 1500 (two minutes) with ref_codes, else 0 */
};

/* Fills in the defaults above, and no byte beyond the layout of ABI 4. NULL is ignored. */
QT_API void qt_tts_default_params(struct qt_tts_params *params);

/* The same with the sampling that the checkpoint's authors recommend (`generation.*` in its file), and a max_new_tokens
 * that its context holds. On failure, and for all of which the file says nothing, as qt_tts_default_params.
 * Since 0.1.0. */
QT_API enum qt_status qt_model_default_params(const struct qt_context *ctx, struct qt_tts_params *params);

/* Speaks params->text; returns when all audio is there. `out` gets it in one piece, or stays empty with
 * on_chunk (it may be NULL then); the samples are the same either way, to float32 rounding (2e-6). A model that
 * ends at once gives QT_STATUS_OK and no samples. On failure `out` is empty. */
QT_API enum qt_status qt_synthesize(struct qt_context *ctx, const struct qt_tts_params *params, struct qt_audio *out);

/* Frees out->samples and zeroes the struct. */
QT_API void qt_audio_free(struct qt_audio *audio);

/* Bytes that the library made. Freed by qt_bytes_free. Since 0.1.0. */
struct qt_bytes {
    void  *data; /* size bytes and a NUL that is not counted; NULL if there are none */
    size_t size;
};

/* Frees bytes->data and zeroes the struct. Since 0.1.0. */
QT_API void qt_bytes_free(struct qt_bytes *bytes);

/* The content of an audio file of mono samples. `format` is "wav" (16-bit), "wav24", "wav32" (float), "pcm" (16-bit and
 * no header), "flac", "mp3", "opus" or "vorbis"; the last four need libsndfile. What lies outside [-1, 1] saturates.
 * `out` is freed by qt_bytes_free, and empty after a failure. Needs no context. Since 0.1.0. */
QT_API enum qt_status qt_encode_audio(const float *samples, int n_samples, int sample_rate, const char *format,
                                      struct qt_bytes *out);

/* How far a synthesis is. Made by the library, valid during the callback. Since 0.1.0. */
struct qt_progress {
    int    struct_size; /* size of the library's struct: fields beyond it are not there */
    int    n_frames;    /* generated so far; one frame is 1920 samples, 80 ms */
    int    max_frames;  /* most frames this synthesis may generate; it usually ends earlier */
    double elapsed_ms;  /* since the call */
};

/* Called after each frame. To stop, use qt_tts_params.cancel. */
typedef void (*qt_progress_cb)(const struct qt_progress *progress, void *user_data);

enum qt_layout {
    QT_LAYOUT_AUTO     = 0, /* whole; for a base checkpoint with a reference: streamed */
    QT_LAYOUT_WHOLE    = 1, /* the whole text stands before the first frame of audio */
    QT_LAYOUT_STREAMED = 2  /* one token of text beside each frame of audio */
};

/* What one may ask of a synthesis beyond qt_tts_params. Since 0.1.0. */
struct qt_request {
    int            struct_size; /* set by qt_request_init */
    int            text_layout; /* QT_LAYOUT_AUTO: one of enum qt_layout */
    qt_progress_cb progress;    /* NULL */
    void          *progress_user_data;
    int            chunk_frames; /* 0: most frames in one on_chunk, 1 .. 64. The first chunk is one frame, each later
                                  * one up to twice as long: fewer calls and less work. 0: one frame, and up to 4
                                  * (0.32 s) once that is no more than a quarter of what has come before */
    int            long_text;    /* 0: 1 = a text of any length, up to 4 MiB: spoken piece by piece, cut at sentence ends,
                                  * as one recording with one seed. max_new_tokens is of each piece, and a piece that
                                  * takes four times what its text should take ends there */
    int            piece_chars;  /* 0: what takes some 25 seconds; else most characters of a piece of a long_text */
    float          speed;        /* 1 (so is 0): 0.25 .. 4 times the speed at the same pitch, by libsonic, which has to be
                                  * there for all but 1 */
};

/* Fills in the defaults above. `size` is sizeof(struct qt_request) of the caller. NULL is ignored. */
QT_API void qt_request_init(struct qt_request *request, size_t size);

enum qt_finish {
    QT_FINISH_NONE      = 0, /* the call was refused: nothing was computed */
    QT_FINISH_STOP      = 1, /* the model ended the utterance */
    QT_FINISH_LENGTH    = 2, /* max_new_tokens came first: the utterance is cut */
    QT_FINISH_CANCELLED = 3, /* by a callback or qt_free */
    QT_FINISH_EMPTY     = 4, /* the model ended at once: no audio */
    QT_FINISH_ERROR     = 5, /* the computation failed */
    QT_FINISH_BUSY      = 6  /* refused: qt_options.max_queue calls were waiting already */
};

/* What is to be known of a synthesis, filled as far as it got also when it failed. Stages overlap, so their
 * times need not add up to the total. Freed by qt_result_free. Since 0.1.0. */
struct qt_result {
    int         struct_size;     /* set by qt_result_init */
    int         finish;          /* one of enum qt_finish */
    int         n_frames;        /* frames of audio generated */
    int         sample_rate;     /* Hz */
    int64_t     n_samples;       /* samples delivered: in `out` or to on_chunk */
    int64_t     seed;            /* the seed in use; with a negative params->seed, the one that was drawn */
    int         n_prompt;        /* positions of the prompt */
    int         n_text_tokens;   /* tokens of the text */
    double      prefill_ms;      /* prompt through the Talker */
    double      talker_ms;       /* all steps of the Talker after it, sampling included */
    double      predictor_ms;    /* all frames of the CodePredictor */
    double      codec_ms;        /* codes to samples */
    double      first_audio_ms;  /* from the call to the first samples; 0 if there were none */
    double      total_ms;        /* the whole synthesis */
    const char *warnings;        /* lines separated by '\n', of what was ignored or looked odd; NULL = none */
    double      reference_ms;    /* extracting the voice of ref_audio_24k */
    double      load_ms;         /* qt_init, once for all syntheses of the context */
    double      tokenise_ms;     /* text to prompt */
    double      sampling_ms;     /* drawing the codes of all codebooks; predictor_ms has its part of that, too */
    double      rtf;             /* total_ms over the length of the speech; 0 without any */
};

/* Zeroes the result and sets its size. `size` is sizeof(struct qt_result) of the caller. NULL is ignored. */
QT_API void qt_result_init(struct qt_result *result, size_t size);

/* Frees what the result owns and empties it, so that it can be used again. */
QT_API void qt_result_free(struct qt_result *result);

/* qt_synthesize with extras: `request` NULL means the defaults, `result` may be NULL. Since 0.1.0. */
QT_API enum qt_status qt_synthesize_ex(struct qt_context *ctx, const struct qt_tts_params *params,
                                       const struct qt_request *request, struct qt_audio *out,
                                       struct qt_result *result);

/* ---- Reference voices ---------------------------------------------------------------------------------- */

/* A reference voice, to be used in qt_tts_params again and again. Freed by qt_voice_ref_free. */
struct qt_voice_ref {
    float   *ref_spk_emb;   /* x-vector, ref_spk_dim floats */
    int      ref_spk_dim;
    int32_t *ref_codes;     /* [num_codebooks][ref_T], row-major */
    int      ref_T;         /* frames */
    int      num_codebooks;
};

/* Extracts the voice of a clip (base checkpoints): `n_samples` floats, mono, 24 kHz, one frame (1920) up to
 * two minutes. The codes leave out the samples after the last whole frame, the x-vector uses all of them.
 * On failure `out` is empty. */
QT_API enum qt_status qt_extract_voice_ref(struct qt_context *ctx, const float *pcm_24k, int n_samples,
                                           struct qt_voice_ref *out);

/* qt_extract_voice_ref that can be stopped: `cancel` is polled between the pieces of the clip, on the calling thread, and
 * while the call waits for its turn; true = stop (QT_STATUS_CANCELLED). NULL = never. Since 0.1.0. */
QT_API enum qt_status qt_extract_voice_ref_ex(struct qt_context *ctx, const float *pcm_24k, int n_samples,
                                              qt_cancel_cb cancel, void *cancel_user_data, struct qt_voice_ref *out);

/* Frees both arrays and zeroes the struct. */
QT_API void qt_voice_ref_free(struct qt_voice_ref *ref);

/* A recording as it comes: the bytes of a file, or samples. Since 0.1.0. */
struct qt_recording {
    int          struct_size; /* set by qt_recording_init */
    int          trim;        /* 0: 1 = cut off silence and fades at both ends, at most 40 % of it */
    const void  *file;        /* NULL: the content of an audio file: WAV of any kind; FLAC, MP3, Ogg, AIFF, CAF ...
                                 where libsndfile is installed */
    size_t       file_size;   /* 0: bytes of it */
    const float *samples;     /* NULL: instead of a file: n_frames * channels floats, interleaved */
    int          n_frames;    /* 0: samples of one channel */
    int          channels;    /* 1 */
    int          sample_rate; /* 24000: Hz */
    const char  *ref_text;    /* NULL: transcript, for a warning if it cannot be that of the recording */
};

/* Fills in the defaults above. `size` is sizeof(struct qt_recording) of the caller. NULL is ignored. */
QT_API void qt_recording_init(struct qt_recording *recording, size_t size);

/* Makes a reference of a recording, as ref_audio_24k and qt_extract_voice_ref want it: mono (the mean of the channels),
 * 24 kHz, one frame up to two minutes long. What is odd about it is logged as QT_LOG_WARN; silence, samples that are
 * not finite and files that cannot be read are QT_STATUS_INVALID_PARAMS. `out` is freed by qt_audio_free, and empty
 * after a failure. Needs no context. Since 0.1.0. */
QT_API enum qt_status qt_read_recording(const struct qt_recording *recording, struct qt_audio *out);

/* The content of a .qvoice file: the voice, the transcript (NULL: none) and the model that it belongs to. `ref` is as
 * qt_extract_voice_ref gave it; its ref_codes may be NULL, with ref_T 0. Since 0.1.0. */
QT_API enum qt_status qt_voice_save(struct qt_context *ctx, const struct qt_voice_ref *ref, const char *ref_text,
                                    struct qt_bytes *out);

/* Takes the content of a .qvoice file apart: the voice, to be freed by qt_voice_ref_free, and its transcript (may be
 * NULL for who does not need it). QT_STATUS_INVALID_PARAMS if the bytes are not such a file,
 * QT_STATUS_MODE_INVALID if it is the voice of another model than ctx has. Since 0.1.0. */
QT_API enum qt_status qt_voice_load(struct qt_context *ctx, const void *file, size_t file_size,
                                    struct qt_voice_ref *out, struct qt_bytes *ref_text);

/* ---- What a context has -------------------------------------------------------------------------------- */

/* Codebooks of the codec (16), the rows of ref_codes. 0 if ctx is not a context. */
QT_API int qt_num_codebooks(const struct qt_context *ctx);

/* Frames that `seconds` of audio take, for max_new_tokens; at least 1. 0 if ctx is not a context. */
QT_API int qt_duration_sec_to_tokens(const struct qt_context *ctx, float seconds);

/* Number of named speakers; 0 for checkpoints without any, and if ctx is not a context. */
QT_API int qt_n_speakers(const struct qt_context *ctx);

/* Name of speaker `index`, 0 .. qt_n_speakers - 1; NULL if out of range. Valid until qt_free(ctx). */
QT_API const char *qt_speaker_name(const struct qt_context *ctx, int index);

/* Family of the checkpoint: "base", "custom_voice" or "voice_design", see qt_tts_params. NULL if ctx is not a context.
 * Valid until qt_free(ctx). Since 0.1.0. */
QT_API const char *qt_model_type(const struct qt_context *ctx);

/* Number of languages that the checkpoint names, and the name of language `index`, for qt_tts_params.lang; as for
 * speakers. Since 0.1.0. */
QT_API int qt_n_languages(const struct qt_context *ctx);
QT_API const char *qt_language_name(const struct qt_context *ctx, int index);

/* ---- What the machine has ------------------------------------------------------------------------------ */

enum qt_device_type {
    QT_DEVICE_CPU   = 0,
    QT_DEVICE_GPU   = 1, /* with memory of its own */
    QT_DEVICE_IGPU  = 2, /* sharing the host's memory */
    QT_DEVICE_ACCEL = 3, /* works beside the CPU (BLAS, AMX) */
    QT_DEVICE_OTHER = 4
};

/* A device that qt_options.device can name. Since 0.1.0. */
struct qt_device {
    int      struct_size;      /* the `size` given to qt_devices */
    int      type;             /* one of enum qt_device_type */
    char     name[64];         /* for qt_options.device; NUL-terminated, cut if longer */
    char     description[128]; /* for people; NUL-terminated, cut if longer */
    uint64_t memory_free;      /* bytes; 0 = not known */
    uint64_t memory_total;     /* bytes; 0 = not known */
};

/* Lists the devices: fills the first `capacity` elements of `devices` (NULL if 0), each `size` bytes,
 * sizeof(struct qt_device) of the caller. Returns how many devices there are, which may be more than
 * `capacity`, or a negative enum qt_status. `ggml_dir` as in qt_options. Loads ggml. Since 0.1.0. */
QT_API int qt_devices(const char *ggml_dir, struct qt_device *devices, int capacity, size_t size);

/* Several lines for a bug report: ggml's version, its backends, the CPU variant and features in use. Looks
 * for ggml as qt_init does. NULL if it cannot be loaded. Made by the first call that succeeds, and valid as long
 * as the process. Since 0.1.0. */
QT_API const char *qt_system_info(void);

#ifdef __cplusplus
}
#endif

#endif /* QWEN_H */
