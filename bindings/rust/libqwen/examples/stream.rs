//! Writes samples to stdout as soon as they are there: 16 bits, little-endian, mono, 24 kHz.
//!
//! `stream TALKER CODEC TEXT SPEAKER [SEED [FRAMES]] | aplay -f S16_LE -r 24000`

mod common;

use std::io::{stdout, Write};

use libqwen::Engine;

fn main() -> std::process::ExitCode {
    common::run("stream TALKER CODEC TEXT SPEAKER", |[talker, codec, text, speaker], limits| {
        let engine = Engine::open(talker, codec)?;
        let mut out = stdout().lock();
        for chunk in engine.stream(&limits(engine.request(text).speaker(speaker)))? {
            let bytes: Vec<u8> = chunk?.to_i16().into_iter().flat_map(i16::to_le_bytes).collect();
            if let Err(why) = out.write_all(&bytes).and_then(|()| out.flush()) {
                eprintln!("stdout: {why}");
                std::process::exit(1);
            }
        }
        Ok(())
    })
}
