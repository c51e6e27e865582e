//! What can go wrong.

use std::ffi::{c_int, CStr, CString};
use std::fmt;
use std::path::Path;

use libqwen_sys as sys;

use crate::Report;

/// The result of what can fail in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed. The message names the field, tensor or file, what was expected and what was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is missing, malformed, out of range, or contradicts another.
    InvalidParams(String),
    /// The request does not fit the family of the model (base, custom voice, voice design).
    ModeInvalid(String),
    /// The computation, a device, a model's file or ggml failed, or what was asked for is not in this build of libqwen.
    GenerateFailed(String),
    /// Host or device memory does not suffice.
    OutOfMemory(String),
    /// [`Hooks::cancel`](crate::Hooks::cancel) asked to stop, or the stream was cancelled.
    Cancelled {
        /// Where it was when it stopped.
        message: String,
        /// What was done until then.
        report: Option<Box<Report>>,
    },
    /// Refused: [`EngineBuilder::max_queue`](crate::EngineBuilder::max_queue) calls were waiting already.
    Busy(String),
    /// A string holds a NUL byte, which C cannot take.
    Nul {
        /// The parameter.
        field: &'static str,
        /// The offset of the byte.
        position: usize,
    },
    /// A file of audio or of a voice could not be read or written.
    Io(String),
    /// A status that this crate does not know: the library is newer.
    Other {
        /// The number, an `enum qt_status`.
        status: i32,
        /// The library's message.
        message: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::InvalidParams(m)
            | Error::ModeInvalid(m)
            | Error::GenerateFailed(m)
            | Error::OutOfMemory(m)
            | Error::Cancelled { message: m, .. }
            | Error::Busy(m)
            | Error::Io(m) => f.write_str(m),
            Error::Nul { field, position } => write!(f, "{field}: NUL at byte {position}"),
            Error::Other { status, message } => write!(f, "{message} (status {status})"),
        }
    }
}

impl std::error::Error for Error {}

/// The message of the latest failure on this thread.
fn last_error() -> String {
    // SAFETY: never NULL, and valid until the next failure on this thread.
    unsafe { owned(sys::qt_last_error()) }.unwrap_or_default()
}

/// The error of a status; `report` tells of the synthesis, if it was one.
pub(crate) fn from_status(status: c_int, report: Option<Report>) -> Error {
    let message = last_error();
    match status {
        sys::QT_STATUS_INVALID_PARAMS => Error::InvalidParams(message),
        sys::QT_STATUS_MODE_INVALID => Error::ModeInvalid(message),
        sys::QT_STATUS_GENERATE_FAILED => match report {
            Some(r) if r.finish == crate::Finish::Busy => Error::Busy(message),
            _ => Error::GenerateFailed(message),
        },
        sys::QT_STATUS_OOM => Error::OutOfMemory(message),
        sys::QT_STATUS_CANCELLED => Error::Cancelled { message, report: report.map(Box::new) },
        status => Error::Other { status, message },
    }
}

/// The error of a function that has returned no status.
pub(crate) fn from_last_status() -> Error {
    // SAFETY: no arguments.
    from_status(unsafe { sys::qt_last_status() }, None)
}

/// A copy of a C string; `None` for NULL. What is not UTF-8 is replaced.
///
/// # Safety
/// `s` is NULL or a NUL-terminated string.
pub(crate) unsafe fn owned(s: *const std::ffi::c_char) -> Option<String> {
    // SAFETY: by contract.
    (!s.is_null()).then(|| unsafe { CStr::from_ptr(s) }.to_string_lossy().into_owned())
}

/// A string for C.
pub(crate) fn c_string(field: &'static str, s: impl Into<Vec<u8>>) -> Result<CString> {
    CString::new(s).map_err(|e| Error::Nul { field, position: e.nul_position() })
}

/// A path for C, in the system's encoding.
pub(crate) fn c_path(field: &'static str, path: &Path) -> Result<CString> {
    c_string(field, path.as_os_str().as_encoded_bytes())
}

/// A pointer to an optional string, NULL for none; it lives as long as the string.
pub(crate) fn pointer(s: &Option<CString>) -> *const std::ffi::c_char {
    s.as_ref().map_or(std::ptr::null(), |s| s.as_ptr())
}

/// A count for C; no array that a program can hold here is refused wrongly, as the library's bounds are lower.
pub(crate) fn count(field: &'static str, n: usize) -> Result<c_int> {
    c_int::try_from(n).map_err(|_| Error::InvalidParams(format!("{field}: {n} is too many")))
}
