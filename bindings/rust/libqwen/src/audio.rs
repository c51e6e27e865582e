//! Audio that was spoken.

use std::fs;
use std::path::Path;
use std::time::Duration;

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

    /// Writes a WAV file of 16-bit samples.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let bytes = wav(&self.to_i16(), self.sample_rate)
            .map_err(|why| Error::Io(format!("{}: {why}", path.display())))?;
        write_file(path, &bytes)
    }
}

/// The content of a WAV file.
fn wav(samples: &[i16], rate: u32) -> hound::Result<Vec<u8>> {
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: rate,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut bytes = std::io::Cursor::new(Vec::with_capacity(44 + 2 * samples.len()));
    let mut writer = hound::WavWriter::new(&mut bytes, spec)?;
    for &s in samples {
        writer.write_sample(s)?;
    }
    writer.finalize()?;
    Ok(bytes.into_inner())
}

/// Writes a file; half of one does not stay.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|why| {
        let _ = fs::remove_file(path);
        Error::Io(format!("{}: {why}", path.display()))
    })
}

/// Samples in [-1, 1] as 16-bit integers, rounded to the nearest; those of full scale are the largest.
pub fn to_i16(samples: &[f32]) -> Vec<i16> {
    samples.iter().map(|&x| (f64::from(x) * 32768.0).round_ties_even() as i16).collect()
    // saturates; NaN is 0
}
