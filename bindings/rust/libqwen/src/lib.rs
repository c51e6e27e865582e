#![doc = include_str!("../README.md")]

mod audio;
mod engine;
mod error;
mod hooks;
mod recording;
mod report;
mod request;
mod stream;
mod system;
mod voice;

pub use audio::{to_i16, Audio};
pub use engine::{Engine, EngineBuilder, ModelType};
pub use error::{Error, Result};
pub use hooks::Hooks;
pub use recording::Recording;
pub use report::{Finish, Progress, Report, Timings};
pub use request::{Layout, Request, Sampling};
pub use stream::{Chunk, Stream};
pub use system::{
    abi_version, devices, reset_log, set_log, system_info, version, Device, DeviceType, LogLevel,
};
pub use voice::Voice;
