//! Voices of recordings.

use std::fmt;
use std::sync::Arc;

use crate::{Error, Result};

/// The voice of a recording: the speaker's vector (x-vector) and, with a transcript, the recording's codes, which a
/// base model continues. Made by [`Engine::voice`](crate::Engine::voice), kept by
/// [`Engine::save_voice`](crate::Engine::save_voice); cheap to clone.
#[derive(Clone, PartialEq)]
pub struct Voice {
    pub(crate) x_vector: Arc<[f32]>,
    pub(crate) codes: Arc<[i32]>, // [codebooks][frames]
    pub(crate) codebooks: usize,
    pub(crate) transcript: Option<String>,
}

impl Voice {
    /// A voice from what [`x_vector`](Voice::x_vector) and [`codes`](Voice::codes) gave before; `codes` may be empty.
    pub fn from_parts(
        x_vector: impl Into<Arc<[f32]>>,
        codes: impl Into<Arc<[i32]>>,
        codebooks: usize,
        transcript: Option<&str>,
    ) -> Result<Self> {
        let (x_vector, codes) = (x_vector.into(), codes.into());
        if codes.len().checked_rem(codebooks).unwrap_or(codes.len()) != 0 {
            let n = codes.len();
            return Err(Error::InvalidParams(format!("codes: {n} are not whole frames of {codebooks}")));
        }
        Ok(Voice { x_vector, codes, codebooks, transcript: None }.with_transcript(transcript))
    }

    /// The same voice with another transcript of its recording; `None` takes the speaker's vector alone.
    #[must_use]
    pub fn with_transcript(mut self, transcript: Option<&str>) -> Self {
        self.transcript = transcript.filter(|t| !t.is_empty()).map(str::to_owned);
        self
    }

    /// The speaker's vector.
    pub fn x_vector(&self) -> &[f32] {
        &self.x_vector
    }

    /// The codes of the recording, `[codebooks][frames]`; empty if there are none.
    pub fn codes(&self) -> &[i32] {
        &self.codes
    }

    /// Codes in a frame.
    pub fn codebooks(&self) -> usize {
        self.codebooks
    }

    /// Frames of the recording, 80 ms each.
    pub fn frames(&self) -> usize {
        self.codes.len().checked_div(self.codebooks).unwrap_or(0)
    }

    /// C takes the codes as so many rows, so that has to be true.
    pub(crate) fn check_codebooks(&self, codebooks: usize) -> Result<()> {
        if self.codes.is_empty() || self.codebooks == codebooks {
            return Ok(());
        }
        let theirs = self.codebooks;
        Err(Error::InvalidParams(format!(
            "ref_codes: frames of {theirs} codes, the model's have {codebooks}"
        )))
    }

    /// What is said in the recording.
    pub fn transcript(&self) -> Option<&str> {
        self.transcript.as_deref()
    }
}

impl fmt::Debug for Voice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Voice")
            .field("x_vector", &format_args!("[{} values]", self.x_vector.len()))
            .field("frames", &self.frames())
            .field("transcript", &self.transcript)
            .finish()
    }
}
