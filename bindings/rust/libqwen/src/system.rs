//! The library and the machine.

use std::ffi::{c_char, c_int, c_void};
use std::mem;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::ptr;
use std::sync::{Arc, RwLock};

use libqwen_sys as sys;

use crate::error::{c_path, from_last_status, from_status, owned, pointer};
use crate::Result;

/// What a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceType {
    /// The processor.
    Cpu,
    /// A GPU with memory of its own.
    Gpu,
    /// A GPU that shares the host's memory.
    IntegratedGpu,
    /// Works beside the CPU (BLAS, AMX).
    Accelerator,
    /// Something else.
    Other,
}

/// A device that [`EngineBuilder::device`](crate::EngineBuilder::device) can name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Device {
    /// Its name.
    pub name: String,
    /// For people.
    pub description: String,
    /// What it is.
    pub kind: DeviceType,
    /// Bytes; `None` if not known.
    pub memory_free: Option<u64>,
    /// Bytes; `None` if not known.
    pub memory_total: Option<u64>,
}

/// Lists the devices. `ggml_dir` as in [`EngineBuilder::ggml_dir`](crate::EngineBuilder::ggml_dir).
pub fn devices(ggml_dir: Option<&Path>) -> Result<Vec<Device>> {
    let dir = ggml_dir.map(|d| c_path("ggml_dir", d)).transpose()?;
    let mut raw: Vec<sys::qt_device> = Vec::new();
    loop {
        let capacity = raw.len();
        let first = if capacity == 0 { ptr::null_mut() } else { raw.as_mut_ptr() };
        // SAFETY: `first` has `capacity` elements of that size, or is NULL for 0.
        let n = unsafe {
            sys::qt_devices(pointer(&dir), first, capacity as c_int, mem::size_of::<sys::qt_device>())
        };
        let Ok(n) = usize::try_from(n) else { return Err(from_status(n, None)) };
        if n <= capacity {
            raw.truncate(n);
            return Ok(raw.iter().map(device).collect());
        }
        // SAFETY: the struct is plain data, for which zero bytes are a value.
        raw = vec![unsafe { mem::zeroed() }; n];
    }
}

fn device(d: &sys::qt_device) -> Device {
    let known = |bytes: u64| Some(bytes).filter(|&b| b != 0);
    Device {
        name: text(&d.name),
        description: text(&d.description),
        kind: match d.type_ as sys::qt_device_type {
            sys::QT_DEVICE_CPU => DeviceType::Cpu,
            sys::QT_DEVICE_GPU => DeviceType::Gpu,
            sys::QT_DEVICE_IGPU => DeviceType::IntegratedGpu,
            sys::QT_DEVICE_ACCEL => DeviceType::Accelerator,
            _ => DeviceType::Other,
        },
        memory_free: known(d.memory_free),
        memory_total: known(d.memory_total),
    }
}

fn text(field: &[c_char]) -> String {
    let bytes: Vec<u8> = field.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Several lines for a bug report: ggml's version, its backends, the CPU variant and features in use.
pub fn system_info() -> Result<String> {
    // SAFETY: NULL or a string that lives as long as the process.
    unsafe { owned(sys::qt_system_info()) }.ok_or_else(from_last_status)
}

/// The library's version, `<git hash> (<commit date>)`.
pub fn version() -> String {
    // SAFETY: a static string.
    unsafe { owned(sys::qt_version()) }.unwrap_or_default()
}

/// The version of the library's binary interface; this crate is made for 4.
pub fn abi_version() -> i32 {
    // SAFETY: no arguments.
    unsafe { sys::qt_abi_version() }
}

/// How much a line of the log matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum LogLevel {
    Debug,
    Info,
    Warn,
    Error,
}

type Logger = Arc<dyn Fn(LogLevel, &str) + Send + Sync>;

/// Who gets the log; it is one for the process, as it is in the library.
static LOGGER: RwLock<Option<Logger>> = RwLock::new(None);

/// Sends the log lines of the whole process to `f`, which is called from any thread, also from several at once. It must not
/// wait for an engine. A panic of it is dropped. `libqwen::set_log(|_, _| ())` silences the library.
pub fn set_log(f: impl Fn(LogLevel, &str) + Send + Sync + 'static) {
    store(Some(Arc::new(f)));
    // SAFETY: `on_log` uses no user data.
    unsafe { sys::qt_log_set(Some(on_log), ptr::null_mut()) }
}

/// Sends the log lines of [`LogLevel::Info`] and above to stderr again, as at the start.
pub fn reset_log() {
    // SAFETY: NULL is allowed.
    unsafe { sys::qt_log_set(None, ptr::null_mut()) }
    store(None);
}

fn store(logger: Option<Logger>) {
    let previous = {
        let mut current = LOGGER.write().unwrap_or_else(|e| e.into_inner());
        mem::replace(&mut *current, logger)
    };
    drop(previous); // its captures may log or set the log themselves
}

unsafe extern "C" fn on_log(level: sys::qt_log_level, msg: *const c_char, _: *mut c_void) {
    let logger = LOGGER.read().unwrap_or_else(|e| e.into_inner()).clone();
    // SAFETY: a string that is valid during the call.
    let Some((logger, msg)) = logger.zip(unsafe { owned(msg) }) else { return };
    let level = match level {
        sys::QT_LOG_DEBUG => LogLevel::Debug,
        sys::QT_LOG_INFO => LogLevel::Info,
        sys::QT_LOG_WARN => LogLevel::Warn,
        _ => LogLevel::Error,
    };
    let _ = catch_unwind(AssertUnwindSafe(|| logger(level, &msg)));
}
