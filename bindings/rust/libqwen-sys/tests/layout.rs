//! The bindings that come with the crate. Their sizes and offsets are asserted at compile time (bindgen writes
//! `const _: () = …` for each), so they are true of what rustc lays out; here they are compared with what a C compiler
//! says, tests/abi/layout.golden.

use std::collections::BTreeMap;
use std::path::Path;

const BINDINGS: &str = include_str!("../src/bindings.rs");

fn from_repository(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// What bindgen asserts: `struct` or `struct::field` and its bytes.
fn asserted() -> BTreeMap<String, u64> {
    let flat: String = BINDINGS.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut all = BTreeMap::new();
    for (label, closing) in [("\"Size of ", '"'), ("\"Offset of field: ", '"')] {
        for rest in flat.split(label).skip(1) {
            let (name, rest) = rest.split_once(closing).unwrap();
            let (_, value) = rest.split_once(" - ").unwrap();
            let (value, _) = value.split_once("usize").unwrap();
            all.insert(name.to_owned(), value.parse().unwrap());
        }
    }
    all
}

#[test]
fn layout_is_that_of_c() {
    let asserted = asserted();
    let golden = from_repository("tests/abi/layout.golden");
    let (mut of, mut seen) = ("", 0);
    for line in golden.lines() {
        let mut words = line.split_whitespace();
        let (first, second) = (words.next().unwrap(), words.next().unwrap());
        let (name, bytes) = match words.next() {
            Some(size) => {
                of = second;
                (second.to_owned(), size)
            }
            None if line.starts_with(' ') => {
                let field = if first == "type" { "type_" } else { first };
                (format!("{of}::{field}"), second)
            }
            None => continue, // constants
        };
        assert_eq!(asserted.get(&name), Some(&bytes.parse().unwrap()), "{name}");
        seen += 1;
    }
    assert_eq!(seen, asserted.len(), "structs or fields that layout.golden does not know");
}

#[test]
fn constants_are_those_of_c() {
    for line in from_repository("tests/abi/layout.golden").lines().filter(|l| l.starts_with("QT_")) {
        let (name, value) = line.split_once(' ').unwrap();
        let found = BINDINGS.lines().any(|l| {
            l.strip_prefix(&format!("pub const {name}: "))
                .is_some_and(|l| l.ends_with(&format!(" = {value};")))
        });
        assert!(found, "{name} = {value}");
    }
}

#[test]
fn every_function_is_bound() {
    for name in from_repository("tests/abi/symbols.golden").lines() {
        assert!(BINDINGS.contains(&format!("pub fn {name}(")), "{name}");
    }
}

#[test]
fn header_of_the_crate_is_that_of_the_repository() {
    assert!(include_str!("../qwen.h") == from_repository("include/qwen.h"));
}

/// To renew them: `make rust-bindings`.
#[cfg(feature = "buildtime-bindgen")]
#[test]
fn bindings_are_up_to_date() {
    assert!(libqwen_sys::GENERATED == BINDINGS, "src/bindings.rs is not what bindgen makes of qwen.h");
}

/// The library in use answers.
#[test]
fn library_is_linked() {
    // SAFETY: no arguments; the result is a static string.
    unsafe {
        assert_eq!(libqwen_sys::qt_abi_version(), libqwen_sys::QT_ABI_VERSION);
        assert!(!core::ffi::CStr::from_ptr(libqwen_sys::qt_version()).is_empty());
    }
}
