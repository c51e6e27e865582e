//! Speaks in the voice of a recording: `clone TALKER CODEC TEXT CLIP TRANSCRIPT OUT.wav [SEED [FRAMES]]`.

mod common;

use libqwen::{Engine, Recording};

fn main() -> std::process::ExitCode {
    let usage = "clone TALKER CODEC TEXT CLIP TRANSCRIPT OUT.wav";
    common::run(usage, |[talker, codec, text, clip, transcript, out], limits| {
        let engine = Engine::open(talker, codec)?;
        let voice = engine.voice(&Recording::open(clip).read()?, Some(&transcript))?; // for this text and any other
        let audio = engine.synthesize(&limits(engine.request(text).voice(&voice)))?;
        audio.save(&out)?;
        eprintln!("{out}: {:.2} s, seed {}", audio.duration().as_secs_f64(), audio.report.seed);
        Ok(())
    })
}
