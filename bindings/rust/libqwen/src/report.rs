//! What is to be known of a synthesis.

use std::mem;
use std::time::Duration;

use libqwen_sys as sys;

use crate::error::owned;

/// Why a synthesis ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Finish {
    /// The call was refused: nothing was computed.
    #[default]
    None,
    /// The model ended the utterance.
    Stop,
    /// [`Request::max_frames`](crate::Request::max_frames) came first: the utterance is cut.
    Length,
    /// By a callback.
    Cancelled,
    /// The model ended at once: no audio.
    Empty,
    /// The computation failed.
    Error,
    /// Refused: too many calls were waiting already.
    Busy,
    /// What this crate does not know: the library is newer.
    Unknown,
}

/// Wall-clock times of the stages. They overlap, so they need not add up to the total.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Timings {
    /// Opening the models, once for all syntheses of the engine.
    pub load: Duration,
    /// Text to prompt.
    pub tokenise: Duration,
    /// Drawing the codes of all codebooks; the CodePredictor's time has its part of that, too.
    pub sampling: Duration,
    /// Extracting the voice of a reference clip.
    pub reference: Duration,
    /// The prompt through the Talker.
    pub prefill: Duration,
    /// All steps of the Talker after it, sampling included.
    pub talker: Duration,
    /// All frames of the CodePredictor.
    pub predictor: Duration,
    /// Codes to samples.
    pub codec: Duration,
    /// From the call to the first samples; zero if there were none.
    pub first_audio: Duration,
    /// The whole synthesis.
    pub total: Duration,
}

/// What a synthesis did.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Report {
    /// Why it ended.
    pub finish: Finish,
    /// Frames of audio generated; one is 80 ms.
    pub frames: usize,
    /// Samples delivered.
    pub samples: usize,
    /// Of the audio, Hz.
    pub sample_rate: u32,
    /// The seed in use, also one that was drawn: it replays the same audio.
    pub seed: i64,
    /// Positions of the prompt.
    pub prompt: usize,
    /// Tokens of the text.
    pub text_tokens: usize,
    /// The whole time over the length of the speech; 0 without any.
    pub rtf: f64,
    /// How long the stages took.
    pub timings: Timings,
    /// What was ignored or looked odd.
    pub warnings: Vec<String>,
}

/// How far a synthesis is.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Frames generated so far; one is 80 ms.
    pub frames: usize,
    /// Most frames this synthesis may generate; it usually ends earlier.
    pub max_frames: usize,
    /// Since the call.
    pub elapsed: Duration,
}

/// A `struct qt_result` that frees what it owns.
pub(crate) struct RawResult(pub(crate) sys::qt_result);

impl RawResult {
    pub(crate) fn new() -> Self {
        let mut raw = mem::MaybeUninit::zeroed();
        // SAFETY: the struct is plain data, for which zero bytes are a value; the size is its own.
        unsafe {
            sys::qt_result_init(raw.as_mut_ptr(), mem::size_of::<sys::qt_result>());
            RawResult(raw.assume_init())
        }
    }

    pub(crate) fn report(&self) -> Report {
        let r = &self.0;
        // SAFETY: NULL or a string of the library's that lives until qt_result_free.
        let warnings = unsafe { owned(r.warnings) }.unwrap_or_default();
        Report {
            finish: match r.finish as sys::qt_finish {
                sys::QT_FINISH_NONE => Finish::None,
                sys::QT_FINISH_STOP => Finish::Stop,
                sys::QT_FINISH_LENGTH => Finish::Length,
                sys::QT_FINISH_CANCELLED => Finish::Cancelled,
                sys::QT_FINISH_EMPTY => Finish::Empty,
                sys::QT_FINISH_ERROR => Finish::Error,
                sys::QT_FINISH_BUSY => Finish::Busy,
                _ => Finish::Unknown,
            },
            frames: size(r.n_frames),
            samples: usize::try_from(r.n_samples).unwrap_or(0),
            sample_rate: u32::try_from(r.sample_rate).unwrap_or(0),
            seed: r.seed,
            prompt: size(r.n_prompt),
            text_tokens: size(r.n_text_tokens),
            rtf: r.rtf,
            timings: Timings {
                load: milliseconds(r.load_ms),
                tokenise: milliseconds(r.tokenise_ms),
                sampling: milliseconds(r.sampling_ms),
                reference: milliseconds(r.reference_ms),
                prefill: milliseconds(r.prefill_ms),
                talker: milliseconds(r.talker_ms),
                predictor: milliseconds(r.predictor_ms),
                codec: milliseconds(r.codec_ms),
                first_audio: milliseconds(r.first_audio_ms),
                total: milliseconds(r.total_ms),
            },
            warnings: warnings.lines().map(str::to_owned).collect(),
        }
    }
}

impl Drop for RawResult {
    fn drop(&mut self) {
        // SAFETY: it was made by qt_result_init.
        unsafe { sys::qt_result_free(&mut self.0) }
    }
}

pub(crate) fn size(n: std::ffi::c_int) -> usize {
    usize::try_from(n).unwrap_or(0)
}

pub(crate) fn milliseconds(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default()
}
