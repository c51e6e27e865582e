#![doc = include_str!("../README.md")]
#![allow(non_camel_case_types, non_snake_case, missing_docs)]
#![no_std]

#[cfg(not(feature = "buildtime-bindgen"))]
#[rustfmt::skip]
mod bindings;

#[cfg(feature = "buildtime-bindgen")]
mod bindings {
    include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
}

pub use bindings::*;

/// The bindings that the feature `buildtime-bindgen` has made, to be compared with those that come with the crate.
#[cfg(feature = "buildtime-bindgen")]
#[doc(hidden)]
pub const GENERATED: &str = include_str!(concat!(env!("OUT_DIR"), "/bindings.rs"));
