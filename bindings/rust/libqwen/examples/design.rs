//! Speaks in a voice that is described: `design TALKER CODEC TEXT DESCRIPTION OUT.wav [SEED [FRAMES]]`.

mod common;

use libqwen::Engine;

fn main() -> std::process::ExitCode {
    let usage = "design TALKER CODEC TEXT DESCRIPTION OUT.wav";
    common::run(usage, |[talker, codec, text, description, out], limits| {
        let engine = Engine::open(talker, codec)?;
        let audio = engine.synthesize(&limits(engine.request(text).instruct(description)))?;
        audio.save(&out)?;
        eprintln!("{out}: {:.2} s, seed {}", audio.duration().as_secs_f64(), audio.report.seed);
        Ok(())
    })
}
