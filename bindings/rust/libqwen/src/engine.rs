//! Open models.

use std::mem;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use libqwen_sys as sys;

use crate::audio::write_file;
use crate::error::{c_path, c_string, count, from_last_status, from_status, owned, pointer};
use crate::hooks::Parking;
use crate::recording::read_file;
use crate::report::{size, RawResult};
use crate::request::model_params;
use crate::{Audio, Error, Hooks, Report, Request, Result, Stream, Voice};

/// What to open, and where to run it.
#[derive(Debug, Clone)]
#[must_use]
pub struct EngineBuilder {
    talker: PathBuf,
    codec: Option<PathBuf>,
    predictor: Option<PathBuf>,
    tokenizer: Option<PathBuf>,
    mode: Option<String>,
    onnx_provider: Option<String>,
    kv_type: Option<String>,
    device: Option<String>,
    ggml_dir: Option<PathBuf>,
    params: sys::qt_init_params, // its pointers are set by open
    options: sys::qt_options,
}

// SAFETY: the raw pointers are NULL until `open`, which works on copies.
unsafe impl Send for EngineBuilder {}
// SAFETY: as above.
unsafe impl Sync for EngineBuilder {}

impl EngineBuilder {
    fn new(talker: PathBuf, codec: Option<PathBuf>) -> Self {
        let (mut params, mut options) = (mem::MaybeUninit::zeroed(), mem::MaybeUninit::zeroed());
        // SAFETY: the structs are plain data, for which zero bytes are a value; the size is the struct's own.
        let (params, options) = unsafe {
            sys::qt_init_default_params(params.as_mut_ptr());
            sys::qt_options_init(options.as_mut_ptr(), mem::size_of::<sys::qt_options>());
            (params.assume_init(), options.assume_init())
        };
        EngineBuilder {
            talker,
            codec,
            predictor: None,
            tokenizer: None,
            mode: None,
            onnx_provider: None,
            kv_type: None,
            device: None,
            ggml_dir: None,
            params,
            options,
        }
    }

    /// `"auto"` (the default), `"cpu"`, or a name that [`devices`](crate::devices) lists.
    pub fn device(mut self, name: impl Into<String>) -> Self {
        self.device = Some(name.into());
        self
    }

    /// CPU threads; by default `QWEN_THREADS`, else what the process may use.
    pub fn threads(mut self, n: usize) -> Self {
        self.options.n_threads = saturated(n);
        self
    }

    /// Folder of ggml's shared libraries; by default `QWEN_GGML_DIR`, else around libqwen, else the system's. ggml is
    /// loaded once in a process: the first one stays.
    pub fn ggml_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.ggml_dir = Some(dir.into());
        self
    }

    /// Most positions (prompt and frames) of one synthesis; by default what the model allows.
    pub fn context(mut self, n: usize) -> Self {
        self.options.n_ctx = saturated(n);
        self
    }

    /// Most calls that may wait; one more fails with [`Error::Busy`]. By default there is no limit.
    pub fn max_queue(mut self, n: usize) -> Self {
        self.options.max_queue = saturated(n);
        self
    }

    /// Lets the codec's convolutions round to BF16 where the CPU multiplies it: faster, at some 40 dB.
    pub fn codec_bf16(mut self, on: bool) -> Self {
        self.options.codec_bf16 = on.into();
        self
    }

    /// Syntheses that may be computed together; 1 by default.
    pub fn max_batch(mut self, n: usize) -> Self {
        self.params.max_batch = saturated(n);
        self
    }

    /// Flash attention where the device has it; on by default.
    pub fn flash_attention(mut self, on: bool) -> Self {
        self.params.use_fa = on;
        self
    }

    /// Clamps activations to the range of FP16 (GPUs before Ampere); off by default.
    pub fn clamp_fp16(mut self, on: bool) -> Self {
        self.params.clamp_fp16 = on;
        self
    }

    /// Most seconds of audio that the codec decodes at once: bounds memory, and changes no sample. 24 by default.
    pub fn codec_chunk_seconds(mut self, seconds: f32) -> Self {
        self.params.codec_chunk_sec = seconds;
        self
    }

    /// GGUF of the CodePredictor, where the talker's file does not have it.
    pub fn predictor(mut self, path: impl Into<PathBuf>) -> Self {
        self.predictor = Some(path.into());
        self
    }

    /// GGUF of the text tokenizer, where the talker's file does not have it.
    pub fn tokenizer(mut self, path: impl Into<PathBuf>) -> Self {
        self.tokenizer = Some(path.into());
        self
    }

    /// `"base"`, `"custom_voice"` or `"voice_design"`: the one that is wanted of a folder with several, or that a file which
    /// does not tell has. A model of another one is refused.
    pub fn mode(mut self, mode: impl Into<String>) -> Self {
        self.mode = Some(mode.into());
        self
    }

    /// What an ONNX vocoder runs on: `"cpu"`, `"cuda"`, several with commas between them to take the first that works. By
    /// default `QWEN_ONNX_PROVIDER`, else the best.
    pub fn onnx_provider(mut self, name: impl Into<String>) -> Self {
        self.onnx_provider = Some(name.into());
        self
    }

    /// How the attention's keys and values are kept: `"auto"`, `"f32"`, `"f16"`, or `"q8_0"`, which takes less memory.
    pub fn kv_type(mut self, kind: impl Into<String>) -> Self {
        self.kv_type = Some(kind.into());
        self
    }

    /// Loads the models.
    pub fn open(&self) -> Result<Engine> {
        let talker = c_path("talker_path", &self.talker)?;
        let path = |field, p: &Option<PathBuf>| p.as_deref().map(|p| c_path(field, p)).transpose();
        let string = |field, s: &Option<String>| s.as_deref().map(|s| c_string(field, s)).transpose();
        let codec = path("codec_path", &self.codec)?;
        let predictor = path("predictor_path", &self.predictor)?;
        let tokenizer = path("tokenizer_path", &self.tokenizer)?;
        let ggml_dir = path("ggml_dir", &self.ggml_dir)?;
        let mode = string("mode", &self.mode)?;
        let onnx_provider = string("onnx_provider", &self.onnx_provider)?;
        let kv_type = string("kv_type", &self.kv_type)?;
        let device = string("device", &self.device)?;
        let (mut params, mut options) = (self.params, self.options);
        (params.talker_path, params.codec_path) = (talker.as_ptr(), pointer(&codec));
        (options.device, options.ggml_dir) = (pointer(&device), pointer(&ggml_dir));
        (options.predictor_path, options.tokenizer_path) = (pointer(&predictor), pointer(&tokenizer));
        (options.mode, options.onnx_provider) = (pointer(&mode), pointer(&onnx_provider));
        options.kv_type = pointer(&kv_type);
        // SAFETY: both structs are initialised, and their strings live until the end of this function.
        let ctx = unsafe { sys::qt_init_ex(&params, &options) };
        if ctx.is_null() {
            return Err(from_last_status());
        }
        Ok(Engine(Arc::new(Context(ctx))))
    }
}

fn saturated(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// A pair of open models. One engine serves many threads; a synthesis waits until those before it are done. Clones share
/// the models, which the last one closes.
#[derive(Debug, Clone)]
pub struct Engine(Arc<Context>);

#[derive(Debug)]
struct Context(*mut sys::qt_context);

// SAFETY: "Every function may be called from any thread at any time" (qwen.h, Threads).
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: nobody else has it.
        unsafe { sys::qt_free(self.0) }
    }
}

impl Engine {
    /// Opens a talker and a codec (GGUF files) with the defaults.
    pub fn open(talker: impl AsRef<Path>, codec: impl AsRef<Path>) -> Result<Self> {
        Self::builder(talker, codec).open()
    }

    /// Opens a talker and a codec (GGUF files) with options.
    pub fn builder(talker: impl AsRef<Path>, codec: impl AsRef<Path>) -> EngineBuilder {
        EngineBuilder::new(talker.as_ref().into(), Some(codec.as_ref().into()))
    }

    /// Opens a folder with options: that of a checkpoint, or one that holds the GGUF files of a model by their usual names.
    pub fn folder(dir: impl AsRef<Path>) -> EngineBuilder {
        EngineBuilder::new(dir.as_ref().into(), None)
    }

    /// A request for this model: [`Request::new`] with the sampling that the model's file recommends.
    pub fn request(&self, text: impl Into<String>) -> Request {
        Request::with_defaults(text.into(), &model_params(self.0 .0))
    }

    /// Speaks a request; returns when all audio is there.
    pub fn synthesize(&self, request: &Request) -> Result<Audio> {
        self.synthesize_hooked(request, Hooks::new())
    }

    /// Speaks a request on a thread of its own; the iterator has the chunks as soon as each is there. Requests that are
    /// refused are its first item.
    pub fn stream(&self, request: &Request) -> Result<Stream> {
        Stream::new(self.clone(), request.clone())
    }

    /// Speaks a request and gives the audio to `on_chunk` as soon as it is there, on the calling thread. `Break` stops it
    /// and is returned.
    pub fn synthesize_with<B>(
        &self,
        request: &Request,
        mut on_chunk: impl FnMut(&[f32]) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B, Report>> {
        let mut broken = None;
        let hooks = Hooks::new().chunk(|samples| match on_chunk(samples) {
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
            ControlFlow::Break(b) => {
                broken = Some(b);
                ControlFlow::Break(())
            }
        });
        let outcome = self.synthesize_hooked(request, hooks);
        match broken {
            Some(b) => Ok(ControlFlow::Break(b)),
            None => Ok(ControlFlow::Continue(outcome?.report)),
        }
    }

    /// Speaks a request with hooks: audio piece by piece, progress, cancelling.
    pub fn synthesize_hooked(&self, request: &Request, hooks: Hooks<'_>) -> Result<Audio> {
        let mut raw = request.raw(self.num_codebooks())?;
        let mut parking = Parking::new(hooks);
        parking.install(&mut raw.params, &mut raw.request);
        let mut result = RawResult::new();
        let mut out = mem::MaybeUninit::zeroed();
        // SAFETY: the context is open; all structs are initialised, and what they point to lives in `raw` and
        // `parking`, which stay where they are; qt_synthesize_ex fills `out` on every path, and frees are matched.
        let (status, samples, rate) = unsafe {
            let status =
                sys::qt_synthesize_ex(self.0 .0, &raw.params, &raw.request, out.as_mut_ptr(), &mut result.0);
            let mut out: sys::qt_audio = out.assume_init();
            let samples = copied(out.samples, size(out.n_samples));
            let rate = out.sample_rate;
            sys::qt_audio_free(&mut out);
            (status, samples, rate)
        };
        parking.resume();
        let report = result.report();
        if status != sys::QT_STATUS_OK {
            return Err(from_status(status, Some(report)));
        }
        let sample_rate = u32::try_from(rate).ok().filter(|&r| r != 0).unwrap_or(report.sample_rate);
        Ok(Audio { samples, sample_rate, report })
    }

    /// Takes the voice of a recording (base models): mono, 24 kHz, one frame up to two minutes. With its transcript, the
    /// model will continue the recording; without, it takes the speaker's vector alone.
    pub fn voice(&self, samples: &[f32], transcript: Option<&str>) -> Result<Voice> {
        self.voice_unless(samples, transcript, || false)
    }

    /// [`voice`](Engine::voice) that can be stopped: `cancel` is asked between the pieces of the recording and while the
    /// call waits for its turn; at `true` the result is [`Error::Cancelled`].
    pub fn voice_unless(
        &self,
        samples: &[f32],
        transcript: Option<&str>,
        cancel: impl FnMut() -> bool,
    ) -> Result<Voice> {
        let n = count("pcm_24k", samples.len())?;
        let mut parking = Parking::new(Hooks::new().cancel(cancel));
        let (callback, me) = parking.cancel();
        let mut out = mem::MaybeUninit::zeroed();
        // SAFETY: samples has n elements; `parking` stays where it is; `out` is filled on every path.
        let (status, mut out) = unsafe {
            let status =
                sys::qt_extract_voice_ref_ex(self.0 .0, samples.as_ptr(), n, callback, me, out.as_mut_ptr());
            (status, out.assume_init())
        };
        // SAFETY: `out` is the library's.
        let voice = unsafe { take_voice(&mut out) };
        parking.resume();
        if status != sys::QT_STATUS_OK {
            return Err(from_status(status, None));
        }
        Ok(voice?.with_transcript(transcript))
    }

    /// Writes a voice to a file (.qvoice), with the model that it belongs to.
    pub fn save_voice(&self, voice: &Voice, path: impl AsRef<Path>) -> Result<()> {
        write_file(path.as_ref(), &self.voice_to_bytes(voice)?)
    }

    /// Reads a voice from a file (.qvoice); that of another model is [`Error::ModeInvalid`].
    pub fn load_voice(&self, path: impl AsRef<Path>) -> Result<Voice> {
        let path = path.as_ref();
        let file = read_file(path).map_err(|why| Error::Io(format!("{}: {why}", path.display())))?;
        self.voice_from_bytes(&file)
    }

    /// The content of a .qvoice file.
    pub fn voice_to_bytes(&self, voice: &Voice) -> Result<Vec<u8>> {
        let transcript = voice.transcript().map(|t| c_string("ref_text", t)).transpose()?;
        voice.check_codebooks(self.num_codebooks())?;
        let raw = sys::qt_voice_ref {
            ref_spk_emb: voice.x_vector().as_ptr().cast_mut(), // C does not write there
            ref_spk_dim: count("ref_spk_emb", voice.x_vector().len())?,
            ref_codes: match voice.codes() {
                [] => std::ptr::null_mut(),
                codes => codes.as_ptr().cast_mut(),
            },
            ref_T: count("ref_codes", voice.frames())?,
            num_codebooks: count("num_codebooks", voice.codebooks())?,
        };
        let mut out = mem::MaybeUninit::zeroed();
        // SAFETY: the context is open; the arrays have the lengths that are told; `out` is filled on every path.
        let (status, bytes) = unsafe {
            let status = sys::qt_voice_save(self.0 .0, &raw, pointer(&transcript), out.as_mut_ptr());
            (status, take_bytes(&mut out.assume_init()))
        };
        if status != sys::QT_STATUS_OK {
            return Err(from_status(status, None));
        }
        Ok(bytes)
    }

    /// A voice from the content of a .qvoice file; that of another model is [`Error::ModeInvalid`].
    pub fn voice_from_bytes(&self, file: &[u8]) -> Result<Voice> {
        let (mut out, mut text) = (mem::MaybeUninit::zeroed(), mem::MaybeUninit::zeroed());
        // SAFETY: the context is open; the file has that length; both structs are filled on every path.
        let (status, voice, text) = unsafe {
            let data = file.as_ptr().cast();
            let status = sys::qt_voice_load(self.0 .0, data, file.len(), out.as_mut_ptr(), text.as_mut_ptr());
            (status, take_voice(&mut out.assume_init()), take_bytes(&mut text.assume_init()))
        };
        if status != sys::QT_STATUS_OK {
            return Err(from_status(status, None));
        }
        Ok(voice?.with_transcript(Some(&String::from_utf8_lossy(&text))))
    }

    /// Which family the model is of, and so what a request may ask of it.
    pub fn model_type(&self) -> ModelType {
        // SAFETY: the context is open; the string lives as long as it.
        match unsafe { owned(sys::qt_model_type(self.0 .0)) }.unwrap_or_default().as_str() {
            "base" => ModelType::Base,
            "custom_voice" => ModelType::CustomVoice,
            "voice_design" => ModelType::VoiceDesign,
            _ => ModelType::Other,
        }
    }

    /// The languages that the model names.
    pub fn languages(&self) -> Vec<String> {
        // SAFETY: the context is open; the names live as long as it.
        unsafe {
            let n = sys::qt_n_languages(self.0 .0);
            (0..n).filter_map(|i| owned(sys::qt_language_name(self.0 .0, i))).collect()
        }
    }

    /// The named speakers of a custom voice model; empty for others.
    pub fn speakers(&self) -> Vec<String> {
        // SAFETY: the context is open; the names live as long as it.
        unsafe {
            let n = sys::qt_n_speakers(self.0 .0);
            (0..n).filter_map(|i| owned(sys::qt_speaker_name(self.0 .0, i))).collect()
        }
    }

    /// Codebooks of the codec, the codes in a frame.
    pub fn num_codebooks(&self) -> usize {
        // SAFETY: the context is open.
        size(unsafe { sys::qt_num_codebooks(self.0 .0) })
    }

    /// Frames that `seconds` of audio take, at least 1, for [`Request::max_frames`].
    pub fn frames(&self, seconds: f32) -> usize {
        // SAFETY: the context is open.
        size(unsafe { sys::qt_duration_sec_to_tokens(self.0 .0, seconds) })
    }
}

/// The family of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelType {
    /// Clones voices.
    Base,
    /// Has named speakers, and takes instructions.
    CustomVoice,
    /// Makes a voice from its description.
    VoiceDesign,
    /// What this crate does not know: the library is newer.
    Other,
}

/// A copy of the library's voice, which is freed.
///
/// # Safety
/// `raw` is a struct that the library has filled.
unsafe fn take_voice(raw: &mut sys::qt_voice_ref) -> Result<Voice> {
    let codebooks = size(raw.num_codebooks);
    // SAFETY: the arrays have the lengths that the struct tells.
    let (x_vector, codes) = unsafe {
        let x_vector = copied(raw.ref_spk_emb, size(raw.ref_spk_dim));
        let codes = copied(raw.ref_codes, size(raw.ref_T) * codebooks);
        sys::qt_voice_ref_free(raw);
        (x_vector, codes)
    };
    Voice::from_parts(x_vector, codes, codebooks, None)
}

/// A copy of the library's bytes, which are freed.
///
/// # Safety
/// `raw` is a struct that the library has filled.
pub(crate) unsafe fn take_bytes(raw: &mut sys::qt_bytes) -> Vec<u8> {
    // SAFETY: the data has that size.
    unsafe {
        let bytes = copied(raw.data.cast::<u8>(), raw.size);
        sys::qt_bytes_free(raw);
        bytes
    }
}

/// A copy of an array of C; empty for NULL.
///
/// # Safety
/// `p` has `n` elements, or is NULL.
pub(crate) unsafe fn copied<T: Copy>(p: *const T, n: usize) -> Vec<T> {
    if p.is_null() {
        return Vec::new();
    }
    // SAFETY: by contract.
    unsafe { slice::from_raw_parts(p, n) }.to_vec()
}
