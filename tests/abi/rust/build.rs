// Bindings from qwen.h (bindgen needs libclang), linked with the library in QWEN_LIB_DIR.
use std::{env, path::PathBuf};

fn main() {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap());
    let header = here.join("../../../include/qwen.h");
    println!("cargo:rerun-if-changed={}", header.display());
    println!("cargo:rerun-if-env-changed=QWEN_LIB_DIR");

    let lib = env::var("QWEN_LIB_DIR").expect("QWEN_LIB_DIR: the directory of libqwen.so");
    println!("cargo:rustc-link-search=native={lib}");
    println!("cargo:rustc-link-lib=dylib=qwen");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{lib}");

    bindgen::Builder::default()
        .header(header.to_str().unwrap())
        .allowlist_item("(qt|QT)_.*")
        .generate()
        .expect("bindings from qwen.h")
        .write_to_file(PathBuf::from(env::var("OUT_DIR").unwrap()).join("qwen.rs"))
        .unwrap();
}
