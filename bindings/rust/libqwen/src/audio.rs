//! Audio that was spoken.

use std::fs::{self, File};
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

use libqwen_sys as sys;

use crate::engine::take_bytes;
use crate::error::{c_string, count, from_status};
use crate::{Error, Report, Result};

/// Speech: mono, in [-1, 1].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Audio {
    /// Empty if a hook took the audio, or the model ended at once ([`Finish::Empty`](crate::Finish::Empty)).
    pub samples: Vec<f32>,
    /// Hz.
    pub sample_rate: u32,
    /// How it was made.
    pub report: Report,
}

impl Audio {
    /// How long it lasts.
    pub fn duration(&self) -> Duration {
        Duration::from_secs_f64(self.samples.len() as f64 / f64::from(self.sample_rate.max(1)))
    }

    /// The samples as 16-bit integers.
    pub fn to_i16(&self) -> Vec<i16> {
        to_i16(&self.samples)
    }

    /// Writes an audio file of the format that its name ends in: `.wav` (16 bits), `.flac`, `.mp3`, `.opus`, `.ogg`
    /// (Vorbis) or `.pcm` (16 bits and no header).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let format = match ending.as_str() {
            "wave" => "wav",
            "oga" | "ogg" => "vorbis",
            "raw" => "pcm",
            "wav" | "flac" | "mp3" | "opus" | "pcm" => &ending,
            _ => {
                let path = path.display();
                return Err(Error::InvalidParams(format!(
                    "{path}: its ending is none of .wav, .flac, .mp3, .opus, .ogg, .pcm; see Audio::encode"
                )));
            }
        };
        write_file(path, &self.encode(format)?)
    }

    /// The content of an audio file: `format` is `"wav"` (16 bits), `"wav24"`, `"wav32"` (float), `"pcm"` (16 bits and no
    /// header), `"flac"`, `"mp3"`, `"opus"` or `"vorbis"`. The last four need libsndfile.
    pub fn encode(&self, format: &str) -> Result<Vec<u8>> {
        let format = c_string("format", format)?;
        let n = count("samples", self.samples.len())?;
        let rate = count("sample_rate", self.sample_rate as usize)?;
        let mut out = MaybeUninit::zeroed();
        // SAFETY: there are n samples; `out` is filled on every path.
        let (status, bytes) = unsafe {
            let samples = self.samples.as_ptr();
            let status = sys::qt_encode_audio(samples, n, rate, format.as_ptr(), out.as_mut_ptr());
            (status, take_bytes(&mut out.assume_init()))
        };
        if status != sys::QT_STATUS_OK {
            return Err(from_status(status, None));
        }
        Ok(bytes)
    }
}

/// Writes a file that appears under its name when it is complete; until then, and if it fails, what was there stays.
/// Links are followed; pipes and devices are written to directly.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let there = fs::metadata(&target).ok();
        if there.as_ref().is_some_and(|m| !m.is_file()) {
            return fs::write(&target, bytes);
        }
        let (partial, mut file) = create_beside(&target)?;
        let written = file.write_all(bytes).and_then(|()| {
            if let Some(m) = there {
                file.set_permissions(m.permissions())?;
            }
            drop(file);
            fs::rename(&partial, &target)
        });
        if written.is_err() {
            let _ = fs::remove_file(&partial);
        }
        written
    };
    write().map_err(|why| Error::Io(format!("{}: {why}", path.display())))
}

/// Creates a file in the folder of another, under a name that nobody takes for a finished one.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut n = 0;
    loop {
        let partial = path.with_file_name(format!(".libqwen-{}-{n}.partial", process::id()));
        match File::options().write(true).create_new(true).open(&partial) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => n += 1,
            file => return file.map(|file| (partial, file)),
        }
    }
}

/// Samples in [-1, 1] as 16-bit integers, rounded to the nearest; those of full scale are the largest.
pub fn to_i16(samples: &[f32]) -> Vec<i16> {
    samples.iter().map(|&x| (f64::from(x) * 32768.0).round_ties_even() as i16).collect()
    // saturates; NaN is 0
}
