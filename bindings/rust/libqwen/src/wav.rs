//! WAV files.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};

use crate::{Error, Result};

const RATE: u32 = 24000;
const MAX_SECONDS: u32 = 120;

/// Reads a recording for [`Engine::voice`](crate::Engine::voice) or [`Request::clip`](crate::Request::clip): a WAV file,
/// mono, 24 kHz, of integers or floats, at most two minutes.
pub fn read_wav(path: impl AsRef<Path>) -> Result<Vec<f32>> {
    let path = path.as_ref();
    read(path).map_err(|why| Error::Wav(format!("{}: {why}", path.display())))
}

fn read(path: &Path) -> std::result::Result<Vec<f32>, String> {
    let mut reader = WavReader::open(path).map_err(|why| why.to_string())?;
    let spec = reader.spec();
    if (spec.channels, spec.sample_rate) != (1, RATE) {
        let (n, rate) = (spec.channels, spec.sample_rate);
        return Err(format!("{n} channels at {rate} Hz, must be mono at {RATE} Hz"));
    }
    if reader.duration() > MAX_SECONDS * RATE {
        return Err(format!("longer than {MAX_SECONDS} seconds"));
    }
    let samples: hound::Result<Vec<f32>> = match spec.sample_format {
        SampleFormat::Float => reader.samples::<f32>().collect(),
        SampleFormat::Int => {
            let scale = (1_i64 << (spec.bits_per_sample.clamp(1, 32) - 1)) as f32;
            reader.samples::<i32>().map(|s| s.map(|s| s as f32 / scale)).collect()
        }
    };
    samples.map_err(|why| why.to_string())
}

/// Writes 16-bit samples.
pub(crate) fn write(path: &Path, samples: &[i16], rate: u32) -> Result<()> {
    let encode = || -> hound::Result<Vec<u8>> {
        let spec =
            WavSpec { channels: 1, sample_rate: rate, bits_per_sample: 16, sample_format: SampleFormat::Int };
        let mut bytes = Cursor::new(Vec::with_capacity(44 + 2 * samples.len()));
        let mut writer = WavWriter::new(&mut bytes, spec)?;
        for &s in samples {
            writer.write_sample(s)?;
        }
        writer.finalize()?;
        Ok(bytes.into_inner())
    };
    let failed = |why: &dyn std::fmt::Display| Error::Wav(format!("{}: {why}", path.display()));
    let bytes = encode().map_err(|why| failed(&why))?;
    fs::write(path, bytes).map_err(|why| {
        let _ = fs::remove_file(path); // half a file is worse than none
        failed(&why)
    })
}
