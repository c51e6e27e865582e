//! What the examples share: their arguments and exit codes.

use std::process::ExitCode;

use libqwen::{Request, Result};

/// Runs an example with `N` arguments, and SEED and FRAMES after them, and ends with 0, 1 (it failed) or 2 (arguments).
pub fn run<const N: usize>(
    usage: &str,
    example: impl FnOnce([String; N], &dyn Fn(Request) -> Request) -> Result<()>,
) -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let tail = args.split_off(N.min(args.len()));
    let numbers: Option<Vec<i64>> = tail.iter().map(|s| s.parse().ok()).collect();
    let (Ok(args), Some(numbers), 0..=2) = (args.try_into(), numbers, tail.len()) else {
        eprintln!("usage: {usage} [SEED [FRAMES]]");
        return ExitCode::from(2);
    };
    let limits = |mut request: Request| {
        if let Some(&seed) = numbers.first() {
            request = request.seed(seed);
        }
        if let Some(&frames) = numbers.get(1) {
            request = request.max_frames(usize::try_from(frames).unwrap_or(0));
        }
        request
    };
    match example(args, &limits) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
