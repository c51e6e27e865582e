//! The log is one for the process, so its test has a process of its own.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use libqwen::Engine;

#[test]
fn the_log_goes_where_it_is_sent() {
    let dir = std::env::var_os("QWEN_TEST_MODELS").expect("QWEN_TEST_MODELS: the folder of the tiny models");
    let model = |name: &str| PathBuf::from(&dir).join(name);
    let open = || Engine::open(model("tiny-customvoice-17.gguf"), model("tiny-tokenizer-12hz.gguf")).unwrap();
    let lines = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&lines);
    libqwen::set_log(move |_, message| {
        counted.fetch_add(1, Ordering::Relaxed);
        assert!(message.is_empty(), "a panic of the logger is dropped");
    });
    open();
    libqwen::reset_log();
    let n = lines.load(Ordering::Relaxed);
    assert!(n > 0);
    assert_eq!(Arc::strong_count(&lines), 1, "the logger is dropped");
    open();
    assert_eq!(lines.load(Ordering::Relaxed), n);
}
