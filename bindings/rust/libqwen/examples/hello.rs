//! Speaks a sentence to a file: `hello TALKER CODEC TEXT SPEAKER OUT.wav [SEED [FRAMES]]`.

mod common;

use libqwen::Engine;

fn main() -> std::process::ExitCode {
    common::run("hello TALKER CODEC TEXT SPEAKER OUT.wav", |[talker, codec, text, speaker, out], limits| {
        let engine = Engine::open(talker, codec)?;
        let audio = engine.synthesize(&limits(engine.request(text).speaker(speaker)))?;
        audio.save(&out)?;
        eprintln!("{out}: {:.2} s, seed {}", audio.duration().as_secs_f64(), audio.report.seed);
        Ok(())
    })
}
