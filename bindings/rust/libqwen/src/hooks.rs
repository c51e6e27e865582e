//! Callbacks of a synthesis: from C's function pointers to closures. A panic of a closure is parked, stops the
//! synthesis, and goes on in the caller once the library has returned, as it may not pass through its frames.

use std::any::Any;
use std::ffi::{c_int, c_void};
use std::ops::ControlFlow;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::{fmt, slice};

use libqwen_sys as sys;

use crate::report::{milliseconds, size};
use crate::Progress;

type ChunkFn<'a> = Box<dyn FnMut(&[f32]) -> ControlFlow<()> + 'a>;
type ProgressFn<'a> = Box<dyn FnMut(Progress) + 'a>;
type CancelFn<'a> = Box<dyn FnMut() -> bool + 'a>;

/// What is called during a synthesis, on the thread that runs it.
#[derive(Default)]
#[must_use]
pub struct Hooks<'a> {
    chunk: Option<ChunkFn<'a>>,
    progress: Option<ProgressFn<'a>>,
    cancel: Option<CancelFn<'a>>,
}

impl<'a> Hooks<'a> {
    /// No hooks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gets the audio piece by piece, instead of the result; `Break` stops.
    pub fn chunk(mut self, f: impl FnMut(&[f32]) -> ControlFlow<()> + 'a) -> Self {
        self.chunk = Some(Box::new(f));
        self
    }

    /// Called after each frame.
    pub fn progress(mut self, f: impl FnMut(Progress) + 'a) -> Self {
        self.progress = Some(Box::new(f));
        self
    }

    /// Asked between frames, and during prefill and decode; `true` stops.
    pub fn cancel(mut self, f: impl FnMut() -> bool + 'a) -> Self {
        self.cancel = Some(Box::new(f));
        self
    }
}

impl fmt::Debug for Hooks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks")
            .field("chunk", &self.chunk.is_some())
            .field("progress", &self.progress.is_some())
            .field("cancel", &self.cancel.is_some())
            .finish()
    }
}

/// The hooks of one call, and the panic of one that failed.
pub(crate) struct Parking<'a> {
    hooks: Hooks<'a>,
    panic: Option<Box<dyn Any + Send>>,
}

impl<'a> Parking<'a> {
    pub(crate) fn new(hooks: Hooks<'a>) -> Self {
        Parking { hooks, panic: None }
    }

    /// Sets the callbacks; `self` must stay where it is until the call has returned.
    pub(crate) fn install(&mut self, params: &mut sys::qt_tts_params, request: &mut sys::qt_request) {
        let me = (self as *mut Self).cast::<c_void>();
        (params.on_chunk_user_data, params.cancel_user_data, request.progress_user_data) = (me, me, me);
        if self.hooks.chunk.is_some() {
            params.on_chunk = Some(on_chunk);
        }
        if self.hooks.progress.is_some() {
            request.progress = Some(on_progress);
        }
        if self.hooks.cancel.is_some() || self.hooks.progress.is_some() {
            params.cancel = Some(on_cancel); // with progress: to stop after its panic
        }
    }

    /// The callback of a call that can only be cancelled, with its user data; `self` must stay where it is until the call
    /// has returned.
    pub(crate) fn cancel(&mut self) -> (sys::qt_cancel_cb, *mut c_void) {
        (Some(on_cancel), (self as *mut Self).cast())
    }

    /// Goes on with a parked panic.
    pub(crate) fn resume(&mut self) {
        if let Some(payload) = self.panic.take() {
            resume_unwind(payload);
        }
    }

    /// Runs a hook; `None` if it panicked, now or before.
    fn call<R>(&mut self, f: impl FnOnce(&mut Hooks<'a>) -> R) -> Option<R> {
        if self.panic.is_some() {
            return None;
        }
        match catch_unwind(AssertUnwindSafe(|| f(&mut self.hooks))) {
            Ok(r) => Some(r),
            Err(payload) => {
                self.panic = Some(payload);
                None
            }
        }
    }
}

unsafe extern "C" fn on_chunk(samples: *const f32, n: c_int, me: *mut c_void) -> bool {
    // SAFETY: `me` is the Parking of the call that this is inside of, which runs on this thread and touches it only
    // here; samples has n elements.
    let (me, samples) = unsafe { (&mut *me.cast::<Parking>(), floats(samples, n)) };
    let flow = me.call(|h| h.chunk.as_mut().map_or(ControlFlow::Continue(()), |f| f(samples)));
    matches!(flow, Some(ControlFlow::Continue(())))
}

unsafe extern "C" fn on_progress(progress: *const sys::qt_progress, me: *mut c_void) {
    // SAFETY: as above; progress is valid during the call, and the library's struct has at least these fields.
    let (me, p) = unsafe { (&mut *me.cast::<Parking>(), &*progress) };
    let progress = Progress {
        frames: size(p.n_frames),
        max_frames: size(p.max_frames),
        elapsed: milliseconds(p.elapsed_ms),
    };
    me.call(|h| h.progress.as_mut().map(|f| f(progress)));
}

unsafe extern "C" fn on_cancel(me: *mut c_void) -> bool {
    // SAFETY: as above.
    let me = unsafe { &mut *me.cast::<Parking>() };
    me.call(|h| h.cancel.as_mut().is_some_and(|f| f())).unwrap_or(true)
}

/// # Safety
/// `samples` has `n` elements, or is NULL.
unsafe fn floats<'a>(samples: *const f32, n: c_int) -> &'a [f32] {
    if samples.is_null() {
        return &[];
    }
    // SAFETY: by contract.
    unsafe { slice::from_raw_parts(samples, size(n)) }
}
