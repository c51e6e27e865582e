//! Audio that was spoken.

use std::time::Duration;

use crate::Report;

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
    #[cfg(feature = "wav")]
    pub fn save(&self, path: impl AsRef<std::path::Path>) -> crate::Result<()> {
        crate::wav::write(path.as_ref(), &self.to_i16(), self.sample_rate)
    }
}

/// Samples in [-1, 1] as 16-bit integers, rounded to the nearest; those of full scale are the largest.
pub fn to_i16(samples: &[f32]) -> Vec<i16> {
    samples.iter().map(|&x| (f64::from(x) * 32768.0).round_ties_even() as i16).collect()
    // saturates; NaN is 0
}
