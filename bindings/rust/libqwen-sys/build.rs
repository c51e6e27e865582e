//! Finds libqwen: in `QWEN_LIB_DIR`, else by pkg-config. With the feature `buildtime-bindgen` the bindings are made
//! from the header in `QWEN_INCLUDE_DIR`, else the one that pkg-config tells of, else the one in this crate.

use std::env;
use std::path::PathBuf;
use std::process::exit;

/// Releases of libqwen before this one lack functions that the bindings declare.
const MIN_VERSION: &str = "0.1.0";

/// Where libqwen is, as far as it is known: nothing is on a system's default path.
#[derive(Default)]
struct Found {
    lib: Option<PathBuf>,
    include: Option<PathBuf>,
}

fn main() {
    for name in ["QWEN_LIB_DIR", "QWEN_INCLUDE_DIR", "QWEN_NO_PKG_CONFIG", "DOCS_RS"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    let found = if env::var_os("DOCS_RS").is_some() { Found::default() } else { find() };
    if let Some(lib) = &found.lib {
        println!("cargo:lib_dir={}", lib.display()); // DEP_QWEN_LIB_DIR for crates that depend on this one
        if env::var_os("CARGO_CFG_UNIX").is_some() {
            println!("cargo:rustc-link-arg=-Wl,-rpath,{}", lib.display()); // for the tests of this crate alone
        }
    }
    let header = header(&found);
    if let Some(dir) = header.parent() {
        println!("cargo:include={}", dir.display()); // DEP_QWEN_INCLUDE
    }
    generate(header);
}

fn directory(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from)
}

fn find() -> Found {
    let include = directory("QWEN_INCLUDE_DIR");
    if let Some(lib) = directory("QWEN_LIB_DIR") {
        if !lib.is_dir() {
            fail(&format!("QWEN_LIB_DIR={}: no such directory", lib.display()));
        }
        println!("cargo:rustc-link-search=native={}", lib.display());
        println!("cargo:rustc-link-lib=dylib=qwen");
        return Found { lib: Some(lib), include };
    }
    if env::var_os("QWEN_NO_PKG_CONFIG").is_some() {
        println!("cargo:rustc-link-lib=dylib=qwen"); // wherever the linker looks by itself
        return Found { lib: None, include };
    }
    match pkg_config::Config::new().atleast_version(MIN_VERSION).probe("libqwen") {
        Ok(library) => Found {
            lib: library.link_paths.into_iter().next(),
            include: include.or(library.include_paths.into_iter().next()),
        },
        Err(why) => fail(&format!(
            "libqwen was not found. Install it (`make install` in its source) where pkg-config looks, set \
             PKG_CONFIG_PATH to the directory of libqwen.pc, or QWEN_LIB_DIR to that of libqwen.so; \
             QWEN_NO_PKG_CONFIG=1 leaves it to the linker.\n{why}"
        )),
    }
}

fn header(found: &Found) -> PathBuf {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    found.include.iter().map(|dir| dir.join("qwen.h")).find(|h| h.is_file()).unwrap_or(own.join("qwen.h"))
}

fn fail(message: &str) -> ! {
    eprintln!("libqwen-sys: {message}");
    exit(1)
}

#[cfg(not(feature = "buildtime-bindgen"))]
fn generate(_: PathBuf) {}

#[cfg(feature = "buildtime-bindgen")]
fn generate(header: PathBuf) {
    println!("cargo:rerun-if-changed={}", header.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("bindings.rs");
    let made = bindgen::Builder::default()
        .header(header.display().to_string())
        .allowlist_item("(qt|QT)_.*")
        .prepend_enum_name(false)
        .default_macro_constant_type(bindgen::MacroTypeVariation::Signed)
        .generate_comments(false)
        .use_core()
        .formatter(bindgen::Formatter::Prettyplease)
        .generate();
    match made {
        Ok(bindings) => {
            if let Err(why) = bindings.write_to_file(&out) {
                fail(&format!("{}: {why}", out.display()));
            }
        }
        Err(why) => fail(&format!("bindings from {}: {why}", header.display())),
    }
}
