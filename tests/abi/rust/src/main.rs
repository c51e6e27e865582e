//! The C interface from Rust: `qwen-abi-minimal TALKER.gguf CODEC.gguf`.

#![deny(unsafe_op_in_unsafe_fn)]

use libqwen_sys as qwen;
use std::ffi::{c_int, c_void, CStr, CString};
use std::{env, mem::MaybeUninit, process, ptr, slice};

fn last_error() -> String {
    // SAFETY: never NULL, valid until the next failure on this thread.
    unsafe { CStr::from_ptr(qwen::qt_last_error()) }.to_string_lossy().into_owned()
}

/// Prints the outcome of a test; the number of failures is the sum of these.
fn check(name: &str, ok: bool) -> i32 {
    println!("{} - rust: {name}", if ok { "ok" } else { "not ok" });
    if !ok {
        println!("# {}", last_error());
    }
    i32::from(!ok)
}

unsafe extern "C" fn append(samples: *const f32, n: c_int, user_data: *mut c_void) -> bool {
    // SAFETY: user_data is the Vec of the caller below; samples has n elements.
    let (all, chunk) = unsafe { (&mut *user_data.cast::<Vec<f32>>(), slice::from_raw_parts(samples, n as usize)) };
    all.extend_from_slice(chunk);
    true
}

unsafe extern "C" fn stop(_: *mut c_void) -> bool {
    true
}

/// Runs one synthesis; the samples are copied to Rust's memory.
fn synthesize(ctx: *mut qwen::qt_context, params: &qwen::qt_tts_params) -> (qwen::qt_status, Vec<f32>) {
    let mut out = MaybeUninit::<qwen::qt_audio>::uninit();
    // SAFETY: qt_synthesize fills `out` on every path; samples has n_samples elements.
    unsafe {
        let status = qwen::qt_synthesize(ctx, params, out.as_mut_ptr());
        let mut out = out.assume_init();
        let samples = match out.samples.is_null() {
            true => Vec::new(),
            false => slice::from_raw_parts(out.samples, out.n_samples as usize).to_vec(),
        };
        qwen::qt_audio_free(&mut out);
        (status, samples)
    }
}

fn main() {
    let args: Vec<CString> = env::args().skip(1).map(|a| CString::new(a).unwrap()).collect();
    let [talker, codec] = args.as_slice() else {
        eprintln!("usage: qwen-abi-minimal TALKER.gguf CODEC.gguf");
        process::exit(2);
    };
    let mut failed = 0;

    let mut init = MaybeUninit::<qwen::qt_init_params>::uninit();
    // SAFETY: the defaults initialise the whole struct.
    let mut init = unsafe {
        qwen::qt_init_default_params(init.as_mut_ptr());
        init.assume_init()
    };
    init.talker_path = talker.as_ptr();
    init.codec_path = codec.as_ptr();
    // SAFETY: both paths live until the end of main.
    let ctx = unsafe { qwen::qt_init(&init) };
    failed += check("qt_init", !ctx.is_null());
    if ctx.is_null() {
        process::exit(1);
    }

    let mut params = MaybeUninit::<qwen::qt_tts_params>::uninit();
    // SAFETY: as above.
    let mut params = unsafe {
        qwen::qt_tts_default_params(params.as_mut_ptr());
        params.assume_init()
    };
    params.text = c"Hello from Rust.".as_ptr();
    params.seed = 42;
    params.max_new_tokens = 6;
    // SAFETY: ctx is a context; the name lives as long as it.
    params.speaker = unsafe { qwen::qt_speaker_name(ctx, 0) };
    if params.speaker.is_null() && synthesize(ctx, &params).0 == qwen::QT_STATUS_MODE_INVALID {
        params.instruct = c"A calm voice.".as_ptr();
    }

    let (status, whole) = synthesize(ctx, &params);
    failed += check("qt_synthesize", status == qwen::QT_STATUS_OK && !whole.is_empty());

    let mut pieces: Vec<f32> = Vec::new();
    params.on_chunk = Some(append);
    params.on_chunk_user_data = ptr::from_mut(&mut pieces).cast();
    let (status, _) = synthesize(ctx, &params);
    let worst = pieces.iter().zip(&whole).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    failed += check("on_chunk", status == qwen::QT_STATUS_OK && pieces.len() == whole.len() && worst <= 2e-6);

    params.on_chunk = None;
    params.cancel = Some(stop);
    failed += check("cancel", synthesize(ctx, &params).0 == qwen::QT_STATUS_CANCELLED);

    params.abi_version = 3;
    let (status, _) = synthesize(ctx, &params);
    failed += check(
        "abi_version 3",
        status == qwen::QT_STATUS_INVALID_PARAMS && last_error().contains("abi_version"),
    );
    // SAFETY: freeing twice is allowed.
    unsafe {
        qwen::qt_free(ctx);
        qwen::qt_free(ctx);
    }
    process::exit(failed);
}
