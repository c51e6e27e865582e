//! What to speak, and how.

use std::ffi::CString;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;

use libqwen_sys as sys;

use crate::error::{c_path, c_string, count, pointer};
use crate::{Result, Voice};

/// How the text is laid along the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Layout {
    /// Whole; for a base model with a reference: streamed.
    #[default]
    Auto,
    /// The whole text stands before the first frame of audio.
    Whole,
    /// One token of text beside each frame of audio.
    Streamed,
}

/// How codes are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Sampling {
    /// `false`, or a temperature of 0, takes the best code always.
    pub do_sample: bool,
    /// At least 0.
    pub temperature: f32,
    /// The best codes to choose among; 0 = all.
    pub top_k: i32,
    /// The best codes up to this probability, in (0, 1].
    pub top_p: f32,
    /// More than 0; 1 = off. The CodePredictor does not use it.
    pub repetition_penalty: f32,
}

/// Where a cloned voice comes from.
#[derive(Debug, Clone, PartialEq)]
enum Reference {
    None,
    Clip { samples: Arc<[f32]>, transcript: Option<String> },
    Voice(Voice),
}

/// One synthesis: a text and how it is to be spoken. What goes together depends on the model's family: a custom voice
/// model needs a [`speaker`](Request::speaker), a voice design model an [`instruct`](Request::instruct), a base model
/// takes a [`voice`](Request::voice) or [`clip`](Request::clip), or picks a voice itself.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Request {
    text: String,
    language: Option<String>,
    speaker: Option<String>,
    instruct: Option<String>,
    reference: Reference,
    seed: i64,
    max_frames: i32,
    talker: Sampling,
    predictor: Sampling,
    layout: Layout,
    chunk_frames: i32,
    long: bool,
    piece_chars: i32,
    speed: f32,
    dump_dir: Option<PathBuf>,
}

impl Request {
    /// Speaks `text` with the defaults of the official models. [`Engine::request`](crate::Engine::request) has those of a
    /// model's own.
    pub fn new(text: impl Into<String>) -> Self {
        Self::with_defaults(text.into(), &default_params())
    }

    pub(crate) fn with_defaults(text: String, d: &sys::qt_tts_params) -> Self {
        Request {
            text,
            language: None,
            speaker: None,
            instruct: None,
            reference: Reference::None,
            seed: d.seed,
            max_frames: d.max_new_tokens,
            talker: Sampling {
                do_sample: d.do_sample,
                temperature: d.temperature,
                top_k: d.top_k,
                top_p: d.top_p,
                repetition_penalty: d.repetition_penalty,
            },
            predictor: Sampling {
                do_sample: d.subtalker_do_sample,
                temperature: d.subtalker_temperature,
                top_k: d.subtalker_top_k,
                top_p: d.subtalker_top_p,
                repetition_penalty: 1.0,
            },
            layout: Layout::Auto,
            chunk_frames: default_request().chunk_frames,
            long: false,
            piece_chars: 0,
            speed: 1.0,
            dump_dir: None,
        }
    }

    /// The same request with another text.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// Name, alias or ISO code of the language; without it the model decides.
    pub fn language(mut self, language: impl Into<String>) -> Self {
        self.language = Some(language.into());
        self
    }

    /// One of [`Engine::speakers`](crate::Engine::speakers), in any case (custom voice models).
    pub fn speaker(mut self, name: impl Into<String>) -> Self {
        self.speaker = Some(name.into());
        self
    }

    /// Style in free text (custom voice models), or the voice's description (voice design models).
    pub fn instruct(mut self, text: impl Into<String>) -> Self {
        self.instruct = Some(text.into());
        self
    }

    /// The voice to speak with (base models). With its transcript the model continues the recording.
    pub fn voice(mut self, voice: &Voice) -> Self {
        self.reference = Reference::Voice(voice.clone());
        self
    }

    /// The voice of a recording (base models): mono, 24 kHz, one frame up to two minutes. With its transcript the model
    /// continues it, without it takes the speaker's vector alone. See [`Engine::voice`](crate::Engine::voice) for
    /// many texts in one voice.
    pub fn clip(mut self, samples: impl Into<Arc<[f32]>>, transcript: Option<&str>) -> Self {
        self.reference =
            Reference::Clip { samples: samples.into(), transcript: transcript.map(str::to_owned) };
        self
    }

    /// Any number >= 0 replays the same audio; a negative one draws a seed, which [`Report::seed`](crate::Report::seed)
    /// tells.
    pub fn seed(mut self, seed: i64) -> Self {
        self.seed = seed;
        self
    }

    /// Most frames to generate, 12.5 a second; see [`Engine::frames`](crate::Engine::frames).
    pub fn max_frames(mut self, frames: usize) -> Self {
        self.max_frames = i32::try_from(frames).unwrap_or(i32::MAX);
        self
    }

    /// Changes how codebook 0 is drawn, by the Talker: `.talker(|s| s.temperature = 0.7)`.
    pub fn talker(mut self, change: impl FnOnce(&mut Sampling)) -> Self {
        change(&mut self.talker);
        self
    }

    /// Changes how the other codebooks are drawn, by the CodePredictor.
    pub fn predictor(mut self, change: impl FnOnce(&mut Sampling)) -> Self {
        change(&mut self.predictor);
        self
    }

    /// No sampling, on both stacks.
    pub fn greedy(self) -> Self {
        self.talker(|s| s.do_sample = false).predictor(|s| s.do_sample = false)
    }

    /// How the text is laid along the prompt.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Most frames in one chunk of streamed audio, 1 to 64. The first chunk is one frame, each later one up to twice as
    /// long. 0, the default: one frame, and up to 4 (0.32 s) once that is no more than a quarter of what has come before.
    pub fn chunk_frames(mut self, frames: usize) -> Self {
        self.chunk_frames = i32::try_from(frames).unwrap_or(i32::MAX);
        self
    }

    /// A text of any length, spoken piece by piece, cut at sentence ends, as one recording. [`max_frames`](Self::max_frames)
    /// is of each piece then.
    pub fn long(mut self, long: bool) -> Self {
        self.long = long;
        self
    }

    /// Most characters of a piece of a [`long`](Self::long) text; 0, the default: what takes some 25 seconds.
    pub fn piece_chars(mut self, characters: usize) -> Self {
        self.piece_chars = i32::try_from(characters).unwrap_or(i32::MAX);
        self
    }

    /// 0.25 to 4 times the speed, at the same pitch. It needs libsonic, unless it is 1.
    pub fn speed(mut self, times: f32) -> Self {
        self.speed = times;
        self
    }

    /// A folder that gets one NumPy file per stage, for debugging.
    pub fn dump_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dump_dir = Some(dir.into());
        self
    }

    /// The request for C, for a model with so many codebooks; it borrows from `self`.
    pub(crate) fn raw(&self, codebooks: usize) -> Result<RawRequest<'_>> {
        RawRequest::new(self, codebooks)
    }
}

/// The C structs of a request, and the strings they point to.
pub(crate) struct RawRequest<'a> {
    pub(crate) params: sys::qt_tts_params,
    pub(crate) request: sys::qt_request,
    _strings: [Option<CString>; 6],
    _request: &'a Request,
}

impl<'a> RawRequest<'a> {
    fn new(r: &'a Request, codebooks: usize) -> Result<Self> {
        let optional = |field, s: &Option<String>| s.as_deref().map(|s| c_string(field, s)).transpose();
        let transcript = match &r.reference {
            Reference::None => &None,
            Reference::Clip { transcript, .. } => transcript,
            Reference::Voice(v) => &v.transcript, // without codes it is an error, which the library words
        };
        let strings = [
            Some(c_string("text", r.text.as_str())?),
            optional("lang", &r.language)?,
            optional("instruct", &r.instruct)?,
            optional("speaker", &r.speaker)?,
            optional("ref_text", transcript)?,
            r.dump_dir.as_deref().map(|p| c_path("dump_dir", p)).transpose()?,
        ];
        let mut p = default_params();
        let [text, lang, instruct, speaker, ref_text, dump_dir] = strings.each_ref().map(pointer);
        (p.text, p.lang, p.instruct, p.speaker) = (text, lang, instruct, speaker);
        (p.ref_text, p.dump_dir) = (ref_text, dump_dir);
        (p.seed, p.max_new_tokens) = (r.seed, r.max_frames);
        p.do_sample = r.talker.do_sample;
        p.temperature = r.talker.temperature;
        p.top_k = r.talker.top_k;
        p.top_p = r.talker.top_p;
        p.repetition_penalty = r.talker.repetition_penalty;
        p.subtalker_do_sample = r.predictor.do_sample;
        p.subtalker_temperature = r.predictor.temperature;
        p.subtalker_top_k = r.predictor.top_k;
        p.subtalker_top_p = r.predictor.top_p;
        set_reference(&mut p, &r.reference, codebooks)?;

        let mut request = default_request();
        request.chunk_frames = r.chunk_frames;
        request.long_text = r.long.into();
        request.piece_chars = r.piece_chars;
        request.speed = r.speed;
        request.text_layout = match r.layout {
            Layout::Auto => sys::QT_LAYOUT_AUTO,
            Layout::Whole => sys::QT_LAYOUT_WHOLE,
            Layout::Streamed => sys::QT_LAYOUT_STREAMED,
        } as _;
        Ok(RawRequest { params: p, request, _strings: strings, _request: r })
    }
}

/// Points the parameters to the reference's data.
fn set_reference(p: &mut sys::qt_tts_params, reference: &Reference, codebooks: usize) -> Result<()> {
    match reference {
        Reference::None => {}
        Reference::Clip { samples, .. } => {
            p.ref_audio_24k = samples.as_ptr(); // not NULL, so that an empty clip is refused
            p.ref_n_samples = count("ref_audio_24k", samples.len())?;
        }
        Reference::Voice(v) => {
            p.ref_spk_emb = v.x_vector.as_ptr();
            p.ref_spk_dim = count("ref_spk_emb", v.x_vector.len())?;
            if v.transcript.is_some() && !v.codes.is_empty() {
                v.check_codebooks(codebooks)?;
                p.ref_codes = v.codes.as_ptr();
                p.ref_T = count("ref_codes", v.frames())?;
            }
        }
    }
    Ok(())
}

fn default_params() -> sys::qt_tts_params {
    let mut p = mem::MaybeUninit::zeroed();
    // SAFETY: the struct is plain data, for which zero bytes are a value.
    unsafe {
        sys::qt_tts_default_params(p.as_mut_ptr());
        p.assume_init()
    }
}

/// The defaults of a model; those of the official ones if it has none.
pub(crate) fn model_params(ctx: *const sys::qt_context) -> sys::qt_tts_params {
    let mut p = mem::MaybeUninit::zeroed();
    // SAFETY: contexts are checked; the struct is filled on every path.
    unsafe {
        sys::qt_model_default_params(ctx, p.as_mut_ptr());
        p.assume_init()
    }
}

fn default_request() -> sys::qt_request {
    let mut r = mem::MaybeUninit::zeroed();
    // SAFETY: as above; the size is its own.
    unsafe {
        sys::qt_request_init(r.as_mut_ptr(), mem::size_of::<sys::qt_request>());
        r.assume_init()
    }
}
