//! Audio as an iterator, while it is computed on a thread of its own.

use std::iter::FusedIterator;
use std::ops::{ControlFlow, Deref};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use crate::{Engine, Error, Hooks, Report, Request, Result};

/// A piece of audio: mono, 24 kHz, in [-1, 1].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Chunk {
    /// At least one frame, 1920 samples.
    pub samples: Vec<f32>,
    /// Samples that came before it.
    pub offset: usize,
}

impl Deref for Chunk {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.samples
    }
}

impl Chunk {
    /// The samples as 16-bit integers.
    pub fn to_i16(&self) -> Vec<i16> {
        crate::to_i16(&self.samples)
    }
}

/// The chunks of a synthesis, as soon as each is there. An error is the last item. Dropping the stream stops the
/// synthesis, within a frame. The engine computes ahead of whoever reads; a synthesis is bounded by
/// [`Request::max_frames`], 7.5 KiB a frame.
#[derive(Debug)]
#[must_use = "dropping a stream stops the synthesis"]
pub struct Stream {
    chunks: Receiver<Chunk>,
    stop: Arc<AtomicBool>,
    worker: Option<JoinHandle<Result<Report>>>,
    report: Option<Report>,
}

impl Stream {
    pub(crate) fn new(engine: Engine, request: Request) -> Result<Self> {
        let (send, chunks) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let work = move || {
            let mut offset = 0;
            let hooks = Hooks::new().cancel(|| stopped.load(Ordering::Relaxed)).chunk(|samples| {
                let chunk = Chunk { samples: samples.to_vec(), offset };
                offset += samples.len();
                match send.send(chunk) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()), // nobody reads any more
                }
            });
            engine.synthesize_hooked(&request, hooks).map(|audio| audio.report)
        };
        let worker = Builder::new()
            .name("qwen-stream".into())
            .spawn(work)
            .map_err(|why| Error::GenerateFailed(format!("a thread for the stream: {why}")))?;
        Ok(Stream { chunks, stop, worker: Some(worker), report: None })
    }

    /// Asks the synthesis to stop, within a frame; what was computed until then still comes, and then
    /// [`Error::Cancelled`].
    pub fn cancel(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// What the synthesis did, once the iterator has ended without an error.
    pub fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }
}

impl Iterator for Stream {
    type Item = Result<Chunk>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Ok(chunk) = self.chunks.recv() {
            return Some(Ok(chunk));
        }
        match self.worker.take()?.join() {
            Ok(Ok(report)) => {
                self.report = Some(report);
                None
            }
            Ok(Err(error)) => Some(Err(error)),
            Err(payload) => resume_unwind(payload),
        }
    }
}

impl FusedIterator for Stream {}

impl Drop for Stream {
    fn drop(&mut self) {
        self.cancel();
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}
