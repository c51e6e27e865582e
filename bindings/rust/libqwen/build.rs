//! Lets the tests and examples of this crate find libqwen where libqwen-sys has found it.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let unix = env::var_os("CARGO_CFG_UNIX").is_some();
    if let Some(dir) = env::var("DEP_QWEN_LIB_DIR").ok().filter(|_| unix) {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{dir}");
    }
}
