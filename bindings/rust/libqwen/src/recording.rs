//! Recordings, as references for cloning.

use std::fs::File;
use std::io::Read;
use std::mem;
use std::path::{Path, PathBuf};

use libqwen_sys as sys;

use crate::error::{c_string, count, from_status, pointer};
use crate::report::size;
use crate::{Error, Result};

/// No file larger than this is read.
const MAX_FILE: u64 = 1 << 30;

/// A recording as it comes, to be made a reference of.
///
/// ```no_run
/// # fn main() -> libqwen::Result<()> {
/// let samples = libqwen::Recording::open("anna.wav").trim(true).read()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Recording {
    source: Source,
    trim: bool,
    transcript: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Source {
    Path(PathBuf),
    File(Vec<u8>),
    Samples { samples: Vec<f32>, channels: usize, rate: u32 },
}

impl Recording {
    fn new(source: Source) -> Self {
        Recording { source, trim: false, transcript: None }
    }

    /// An audio file: WAV of any kind; FLAC, MP3, Ogg, AIFF, CAF … where libsndfile is installed.
    pub fn open(path: impl Into<PathBuf>) -> Self {
        Self::new(Source::Path(path.into()))
    }

    /// The content of such a file.
    pub fn from_bytes(file: impl Into<Vec<u8>>) -> Self {
        Self::new(Source::File(file.into()))
    }

    /// Samples, those of the channels interleaved, at a rate in Hz.
    pub fn from_samples(samples: impl Into<Vec<f32>>, channels: usize, rate: u32) -> Self {
        Self::new(Source::Samples { samples: samples.into(), channels, rate })
    }

    /// Cuts off silence and fades at both ends, at most 40 % of it.
    pub fn trim(mut self, on: bool) -> Self {
        self.trim = on;
        self
    }

    /// What is said in it, for a warning in the log if it cannot be that.
    pub fn transcript(mut self, text: impl Into<String>) -> Self {
        self.transcript = Some(text.into());
        self
    }

    /// Mono at 24 kHz, as [`Engine::voice`](crate::Engine::voice) and [`Request::clip`](crate::Request::clip) want it.
    /// What is odd about it is logged as a warning; silence, what is longer than two minutes, and files that cannot be
    /// read are errors.
    pub fn read(&self) -> Result<Vec<f32>> {
        match &self.source {
            Source::Path(path) => {
                let named = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
                let file = read_file(path).map_err(|why| Error::Io(named(&why)))?;
                self.decode(&Source::File(file)).map_err(|error| match error {
                    Error::InvalidParams(why) => Error::InvalidParams(named(&why)),
                    other => other,
                })
            }
            source => self.decode(source),
        }
    }

    fn decode(&self, source: &Source) -> Result<Vec<f32>> {
        let transcript = self.transcript.as_deref().map(|t| c_string("ref_text", t)).transpose()?;
        let (mut raw, mut out) = (mem::MaybeUninit::zeroed(), mem::MaybeUninit::zeroed());
        // SAFETY: the struct is plain data, for which zero bytes are a value; the size is its own.
        let mut raw: sys::qt_recording = unsafe {
            sys::qt_recording_init(raw.as_mut_ptr(), mem::size_of::<sys::qt_recording>());
            raw.assume_init()
        };
        raw.trim = self.trim.into();
        raw.ref_text = pointer(&transcript);
        match source {
            Source::Path(_) => {} // has become a file
            Source::File(file) => (raw.file, raw.file_size) = (file.as_ptr().cast(), file.len()),
            Source::Samples { samples, channels, rate } => {
                let frames = samples.len().checked_div(*channels).unwrap_or(0);
                if frames * channels != samples.len() || samples.is_empty() {
                    let n = samples.len();
                    return Err(Error::InvalidParams(format!("samples: {n} of {channels} channels")));
                }
                raw.samples = samples.as_ptr();
                raw.n_frames = count("n_frames", frames)?;
                raw.channels = count("channels", *channels)?;
                raw.sample_rate = count("sample_rate", *rate as usize)?;
            }
        }
        // SAFETY: the arrays have the lengths that are told, and live until the end of this function;
        // qt_read_recording fills `out` on every path.
        let (status, samples) = unsafe {
            let status = sys::qt_read_recording(&raw, out.as_mut_ptr());
            let mut out: sys::qt_audio = out.assume_init();
            let samples = crate::engine::copied(out.samples, size(out.n_samples));
            sys::qt_audio_free(&mut out);
            (status, samples)
        };
        if status != sys::QT_STATUS_OK {
            return Err(from_status(status, None));
        }
        Ok(samples)
    }
}

/// The content of a file of some size.
pub(crate) fn read_file(path: &Path) -> std::result::Result<Vec<u8>, String> {
    let mut data = Vec::new();
    let read = |data: &mut Vec<u8>| File::open(path)?.take(MAX_FILE + 1).read_to_end(data);
    read(&mut data).map_err(|why| why.to_string())?;
    if data.len() as u64 > MAX_FILE {
        return Err(format!("more than {MAX_FILE} bytes"));
    }
    Ok(data)
}
