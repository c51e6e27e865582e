//! The safe crate on tiny models: `QWEN_TEST_MODELS` is the folder of tiny-customvoice-17.gguf and its siblings.

use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

use libqwen::{Audio, Engine, Error, Finish, Hooks, Layout, ModelType, Recording, Request, Voice};

fn model(name: &str) -> PathBuf {
    let dir = std::env::var_os("QWEN_TEST_MODELS").expect("QWEN_TEST_MODELS: the folder of the tiny models");
    PathBuf::from(dir).join(format!("tiny-{name}.gguf"))
}

fn open(name: &str) -> Engine {
    Engine::builder(model(name), model("tokenizer-12hz")).threads(1).open().unwrap()
}

/// One engine of the custom voice model for all tests, which share it from several threads.
fn custom_voice() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| open("customvoice-17"))
}

fn hello() -> Request {
    Request::new("Hello from Rust.").speaker("vivian").seed(42).max_frames(6)
}

/// A second of a rising tone with some overtones.
fn clip() -> Vec<f32> {
    let tone = |i: usize| {
        let t = i as f32 / 24000.0;
        let phase = 2.0 * std::f32::consts::PI * (140.0 + 60.0 * t) * t;
        0.3 * phase.sin() + 0.1 * (3.0 * phase).sin()
    };
    (0..24000).map(tone).collect()
}

#[test]
fn engine_is_send_and_sync() {
    fn check<T: Send + Sync + Clone + 'static>() {}
    check::<Engine>();
    check::<Request>();
    check::<Voice>();
    check::<Error>();
    fn send<T: Send>() {}
    send::<libqwen::Stream>();
    send::<libqwen::EngineBuilder>();
}

#[test]
fn synthesizes() {
    let audio = custom_voice().synthesize(&hello()).unwrap();
    let r = &audio.report;
    assert_eq!(audio.sample_rate, 24000);
    assert_eq!(audio.samples.len(), 1920 * r.frames);
    assert!(r.frames >= 1 && r.frames <= 6 && r.samples == audio.samples.len());
    assert!(matches!(r.finish, Finish::Stop | Finish::Length));
    assert!(r.seed == 42 && r.prompt > 0 && r.text_tokens > 0);
    assert!(!r.timings.load.is_zero() && !r.timings.tokenise.is_zero() && !r.timings.sampling.is_zero());
    assert!((r.rtf - r.timings.total.as_secs_f64() / audio.duration().as_secs_f64()).abs() < 1e-3);
    assert!(r.timings.total >= r.timings.prefill && !r.timings.total.is_zero());
    assert!(audio.samples.iter().any(|&x| x != 0.0));
    assert_eq!(audio.duration().as_millis() as usize, 80 * r.frames);
    let again = custom_voice().synthesize(&hello()).unwrap();
    assert!(again.samples == audio.samples, "the same seed gives the same samples");
    let other = custom_voice().synthesize(&hello().seed(43)).unwrap();
    assert!(other.samples != audio.samples, "another seed gives others");
}

#[test]
fn every_setting_reaches_the_library() {
    let engine = custom_voice();
    let plain = engine.synthesize(&hello()).unwrap().samples;
    for (what, request) in [
        ("text", hello().text("Another text.")),
        ("language", hello().language("german")),
        ("instruct", hello().instruct("whispering")),
        ("speaker", hello().speaker(engine.speakers().last().unwrap().as_str())),
        ("max_frames", hello().max_frames(2)),
        ("layout", hello().layout(Layout::Streamed)),
        ("greedy", hello().greedy()),
        ("temperature", hello().talker(|s| s.temperature = 0.1)),
        ("top_k", hello().talker(|s| s.top_k = 1)),
        ("top_p", hello().talker(|s| s.top_p = 0.01)),
        ("repetition_penalty", hello().talker(|s| s.repetition_penalty = 5.0).max_frames(20)),
        ("subtalker_temperature", hello().predictor(|s| s.temperature = 0.1)),
        ("subtalker_top_k", hello().predictor(|s| s.top_k = 1)),
        ("subtalker_top_p", hello().predictor(|s| s.top_p = 0.01)),
    ] {
        assert!(engine.synthesize(&request).unwrap().samples != plain, "{what} changes nothing");
    }
}

#[test]
fn streams_the_same_samples() {
    let engine = custom_voice();
    let whole = engine.synthesize(&hello()).unwrap();
    let mut stream = engine.stream(&hello()).unwrap();
    let mut pieces = Vec::new();
    for chunk in &mut stream {
        let chunk = chunk.unwrap();
        assert_eq!(chunk.offset, pieces.len());
        assert_eq!(chunk.to_i16(), libqwen::to_i16(&chunk));
        pieces.extend_from_slice(&chunk);
    }
    assert!(pieces == whole.samples);
    assert_eq!(stream.report().unwrap().frames, whole.report.frames);
    assert!(stream.next().is_none());

    let wide: Vec<usize> =
        engine.stream(&hello().chunk_frames(4)).unwrap().map(|c| c.unwrap().len() / 1920).collect();
    assert_eq!(wide[..2], [1, 2], "the lead grows");

    let long = hello().text("One two. Three four.").max_frames(3).long(true).piece_chars(12);
    assert_eq!(engine.synthesize(&long).unwrap().samples.len(), 2 * 3 * 1920, "two pieces");
    assert!(
        matches!(engine.synthesize(&hello().speed(5.0)), Err(Error::InvalidParams(m)) if m.contains("speed"))
    );
    assert!(
        matches!(engine.synthesize(&hello().piece_chars(9)), Err(Error::InvalidParams(m)) if m.contains("piece_chars"))
    );

    let mut pieces = Vec::new();
    let flow = engine.synthesize_with::<()>(&hello(), |samples| {
        pieces.extend_from_slice(samples);
        ControlFlow::Continue(())
    });
    assert!(matches!(flow.unwrap(), ControlFlow::Continue(r) if r.samples == pieces.len()));
    assert!(pieces == whole.samples);
}

#[test]
fn stops_when_asked() {
    let engine = custom_voice();
    let long = hello().max_frames(1000).talker(|s| s.top_k = 1);
    let mut chunks = 0;
    let flow = engine.synthesize_with(&long, |_| {
        chunks += 1;
        if chunks == 2 {
            ControlFlow::Break("enough")
        } else {
            ControlFlow::Continue(())
        }
    });
    assert_eq!(flow.unwrap(), ControlFlow::Break("enough"));
    assert_eq!(chunks, 2);

    let mut asked = 0;
    let hooks = Hooks::new().cancel(|| {
        asked += 1;
        asked > 5
    });
    match engine.synthesize_hooked(&long, hooks) {
        Err(Error::Cancelled { report: Some(r), .. }) => assert_eq!(r.finish, Finish::Cancelled),
        other => panic!("{other:?}"),
    }

    let mut stream = engine.stream(&long).unwrap();
    assert!(stream.next().unwrap().is_ok());
    stream.cancel();
    assert!(matches!(stream.by_ref().last(), Some(Err(Error::Cancelled { .. }))));
    assert!(stream.next().is_none() && stream.report().is_none());

    drop(engine.stream(&long).unwrap()); // at once
    let mut stream = engine.stream(&long).unwrap();
    assert!(stream.next().unwrap().is_ok());
    drop(stream); // in the middle
    assert!(engine.synthesize(&hello()).is_ok(), "the engine goes on");
}

#[test]
fn reports_progress() {
    let mut seen = Vec::new();
    let audio: Audio = custom_voice()
        .synthesize_hooked(&hello(), Hooks::new().progress(|p| seen.push((p.frames, p.max_frames))))
        .unwrap();
    assert_eq!(seen, (1..=audio.report.frames).map(|n| (n, 6)).collect::<Vec<_>>());
}

#[test]
fn panics_go_on_in_the_caller() {
    let engine = custom_voice();
    let message = |hooks: Hooks<'_>| {
        let failed = catch_unwind(AssertUnwindSafe(|| engine.synthesize_hooked(&hello(), hooks)));
        *failed.unwrap_err().downcast::<&str>().unwrap()
    };
    assert_eq!(message(Hooks::new().chunk(|_| panic!("chunk"))), "chunk");
    assert_eq!(message(Hooks::new().progress(|_| panic!("progress"))), "progress");
    assert_eq!(message(Hooks::new().cancel(|| panic!("cancel"))), "cancel");
    let calls = AtomicUsize::new(0);
    let hooks = Hooks::new().cancel(|| calls.fetch_add(1, Ordering::Relaxed) == 0 && panic!("once"));
    assert_eq!(message(hooks), "once");
    assert_eq!(calls.into_inner(), 1, "a hook is not called again after its panic");
    assert!(engine.synthesize(&hello()).is_ok());
}

#[test]
fn errors_follow_the_status() {
    let engine = custom_voice();
    let fail = |r: Request| engine.synthesize(&r).unwrap_err();
    assert_eq!(fail(hello().text("a\0b")), Error::Nul { field: "text", position: 1 });
    assert_eq!(fail(hello().speaker("a\0")), Error::Nul { field: "speaker", position: 1 });
    assert!(matches!(fail(hello().max_frames(0)), Error::InvalidParams(m) if m.contains("max_new_tokens")));
    assert!(matches!(fail(hello().max_frames(usize::MAX)), Error::InvalidParams(_)));
    assert!(
        matches!(fail(hello().talker(|s| s.top_p = f32::NAN)), Error::InvalidParams(m) if m.contains("top_p"))
    );
    assert!(matches!(fail(hello().chunk_frames(65)), Error::InvalidParams(m) if m.contains("chunk_frames")));
    assert!(matches!(fail(Request::new("no speaker")), Error::ModeInvalid(m) if m.contains("speaker")));
    assert!(matches!(fail(Request::new("a clip").clip(clip(), None)), Error::ModeInvalid(_)));
    assert!(matches!(fail(Request::new("no samples").clip(Vec::new(), None)), Error::InvalidParams(_)));
    assert!(
        matches!(fail(hello().dump_dir("/dev/null/x")), Error::InvalidParams(m) if m.contains("dump_dir"))
    );
    assert!(matches!(engine.voice(&clip(), None), Err(Error::ModeInvalid(_))));
    assert!(matches!(engine.voice(&[], None), Err(Error::InvalidParams(_))));
    let mut refused = engine.stream(&Request::new("no speaker")).unwrap();
    assert!(matches!(refused.next(), Some(Err(Error::ModeInvalid(_)))) && refused.next().is_none());

    let builder = |talker: PathBuf| Engine::builder(talker, model("tokenizer-12hz"));
    let opening = |b: libqwen::EngineBuilder| b.open().unwrap_err();
    assert!(
        matches!(opening(builder("/no/such.gguf".into())), Error::GenerateFailed(m) if m.contains("/no/such.gguf"))
    );
    let right = || builder(model("customvoice-17"));
    assert!(matches!(opening(right().mode("opera")), Error::InvalidParams(m) if m.contains("mode")));
    assert!(matches!(opening(right().mode("base")), Error::ModeInvalid(_)));
    assert!(right().mode("custom_voice").open().is_ok());
    assert!(matches!(
        opening(right().predictor("/no/p.gguf")),
        Error::GenerateFailed(_) | Error::InvalidParams(_)
    ));
    assert!(matches!(
        opening(right().tokenizer("/no/t.gguf")),
        Error::GenerateFailed(_) | Error::InvalidParams(_)
    ));
    assert_eq!(opening(builder("a\0".into())), Error::Nul { field: "talker_path", position: 1 });
    assert!(
        matches!(opening(builder(model("customvoice-17")).device("abacus")), Error::InvalidParams(m) if m.contains("abacus"))
    );
    assert!(
        matches!(opening(builder(model("customvoice-17")).max_batch(0)), Error::InvalidParams(m) if m.contains("max_batch"))
    );
    assert!(matches!(
        opening(builder(model("customvoice-17")).codec_chunk_seconds(f32::NAN)),
        Error::InvalidParams(m) if m.contains("codec_chunk_sec")
    ));
}

#[test]
fn a_full_queue_is_busy() {
    let engine = Engine::builder(model("customvoice-17"), model("tokenizer-12hz"))
        .threads(1)
        .max_queue(1)
        .open()
        .unwrap();
    let (send, outcomes) = std::sync::mpsc::channel();
    let mut first = None;
    // Of two more calls, while this one holds the engine, one is refused and the other one waits.
    let flow = engine.synthesize_with(&hello(), |_| {
        for _ in 0..2 {
            let (engine, send) = (engine.clone(), send.clone());
            std::thread::spawn(move || send.send(engine.synthesize(&hello()).map(|a| a.samples.len())));
        }
        first = Some(outcomes.recv().unwrap());
        ControlFlow::Break(())
    });
    assert_eq!(flow.unwrap(), ControlFlow::Break(()));
    assert!(matches!(first, Some(Err(Error::Busy(_)))));
    assert!(matches!(outcomes.recv().unwrap(), Ok(n) if n > 0));
}

#[test]
fn clones_voices() {
    let engine = open("base-17");
    let speak = |r: Request| engine.synthesize(&r.seed(5).max_frames(4)).unwrap().samples;
    let voice = engine.voice(&clip(), Some("A tone.")).unwrap();
    assert_eq!(voice.codebooks(), engine.num_codebooks());
    assert_eq!((voice.frames(), voice.codes().len()), (12, 12 * voice.codebooks()));
    assert!(!voice.x_vector().is_empty());
    let continued = speak(Request::new("One.").voice(&voice));
    assert!(continued == speak(Request::new("One.").clip(clip(), Some("A tone."))), "voice = clip");
    let again = Voice::from_parts(
        voice.x_vector().to_vec(),
        voice.codes().to_vec(),
        voice.codebooks(),
        voice.transcript(),
    );
    assert_eq!(again.as_ref(), Ok(&voice));

    let alone = speak(Request::new("One.").voice(&voice.clone().with_transcript(None)));
    assert!(alone == speak(Request::new("One.").clip(clip(), None)) && alone != continued);

    let fail = |v: Voice| engine.synthesize(&Request::new("One.").voice(&v)).unwrap_err();
    let parts = |x: &[f32], codes: &[i32], books| Voice::from_parts(x, codes, books, Some("A tone."));
    assert!(parts(voice.x_vector(), &[1, 2, 3], 2).is_err());
    assert!(parts(voice.x_vector(), &[1], 0).is_err());
    assert!(
        matches!(fail(parts(voice.x_vector(), &[1, 2], 2).unwrap()), Error::InvalidParams(m) if m.contains("2 codes"))
    );
    assert!(
        matches!(fail(parts(voice.x_vector(), &[], 0).unwrap()), Error::InvalidParams(m) if m.contains("ref_codes"))
    );
    assert!(matches!(fail(parts(&[0.0; 3], &[], 0).unwrap()), Error::InvalidParams(_)));
}

#[test]
fn extraction_stops_when_asked() {
    let engine = open("base-17");
    let clip: Vec<f32> = clip().into_iter().cycle().take(20 * 24000).map(|x| x * 0.9).collect();
    let mut polls = 0;
    let stopped = engine.voice_unless(&clip, None, || {
        polls += 1;
        polls == 2
    });
    assert!(matches!(stopped, Err(Error::Cancelled { .. })), "{stopped:?}");
    assert_eq!(polls, 2);
    let panic =
        catch_unwind(AssertUnwindSafe(|| engine.voice_unless(&clip, None, || panic!("mine")))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"mine"));
    assert_eq!(engine.voice_unless(&clip, None, || false).unwrap(), engine.voice(&clip, None).unwrap());
}

#[test]
fn requests_of_an_engine_have_its_defaults() {
    // The tiny models recommend what the official ones do; tests/parity has one that does not.
    let request = custom_voice().request("Hello from Rust.").speaker("vivian").seed(42).max_frames(6);
    assert_eq!(request, hello());
}

#[test]
fn designs_voices() {
    let engine = open("voicedesign-17");
    let audio = engine.synthesize(&Request::new("One.").instruct("a calm voice").max_frames(3)).unwrap();
    assert!(!audio.samples.is_empty());
    assert!(audio.report.seed >= 0, "the seed that was drawn");
    assert!(engine.speakers().is_empty());
}

#[test]
fn many_threads_share_an_engine() {
    let engine = custom_voice();
    let want = engine.synthesize(&hello()).unwrap().samples;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert!(engine.synthesize(&hello()).unwrap().samples == want));
        }
    });
}

#[test]
fn the_last_clone_closes() {
    let engine = open("customvoice-17");
    let clone = engine.clone();
    let stream = engine.stream(&hello()).unwrap();
    drop(engine);
    assert!(clone.synthesize(&hello()).is_ok());
    drop(clone);
    assert!(stream.map(|c| c.unwrap().len()).sum::<usize>() > 0, "a stream keeps it open");
}

#[test]
fn tells_of_the_model_and_the_machine() {
    let engine = custom_voice();
    assert!(engine.speakers().contains(&"vivian".to_owned()));
    assert_eq!(engine.model_type(), ModelType::CustomVoice);
    assert!(engine.languages().iter().any(|l| l.eq_ignore_ascii_case("english")));
    assert_eq!(engine.num_codebooks(), 16);
    assert_eq!(engine.frames(2.0), 25);
    assert_eq!(engine.frames(-1.0), 1);
    let devices = libqwen::devices(None).unwrap();
    assert!(devices.iter().any(|d| d.kind == libqwen::DeviceType::Cpu && !d.name.is_empty()));
    assert!(libqwen::system_info().unwrap().contains("ggml"));
    assert!(!libqwen::version().is_empty());
    assert_eq!(libqwen::abi_version(), 4);
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("libqwen-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Folder(dir)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn keeps_voices_in_files() {
    let engine = open("base-17");
    let folder = Folder::new("voice");
    let path = folder.0.join("a.qvoice");
    for transcript in [Some("A tone."), None] {
        let voice = engine.voice(&clip(), transcript).unwrap();
        engine.save_voice(&voice, &path).unwrap();
        assert_eq!(engine.load_voice(&path), Ok(voice.clone()));
        let alone = Voice::from_parts(voice.x_vector().to_vec(), Vec::new(), 0, None).unwrap();
        let bytes = engine.voice_to_bytes(&alone).unwrap();
        assert_eq!(engine.voice_from_bytes(&bytes).unwrap().x_vector(), voice.x_vector());
        let odd = Voice::from_parts(voice.x_vector().to_vec(), vec![1; 6], 3, None).unwrap();
        assert!(matches!(engine.voice_to_bytes(&odd), Err(Error::InvalidParams(m)) if m.contains("3 codes")));
    }
    assert!(matches!(engine.voice_from_bytes(b"no voice"), Err(Error::InvalidParams(_))));
    assert!(matches!(engine.voice_from_bytes(b""), Err(Error::InvalidParams(_))));
    assert!(matches!(engine.load_voice(folder.0.join("none")), Err(Error::Io(m)) if m.contains("none")));
    assert!(matches!(engine.load_voice(&folder.0), Err(Error::Io(_))));
}

#[test]
fn wav_files() {
    let folder = Folder::new("wav");
    let path = folder.0.join("a.wav");
    let audio = custom_voice().synthesize(&hello().max_frames(30)).unwrap();
    audio.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 44 + 2 * audio.samples.len());
    let back = Recording::open(&path).read().unwrap();
    assert_eq!(libqwen::to_i16(&back), audio.to_i16());
    assert_eq!(Recording::from_bytes(bytes.clone()).read(), Ok(back.clone()));
    assert_eq!(Recording::from_samples(back.clone(), 1, 24000).read(), Ok(back.clone()));
    let stereo: Vec<f32> = back.iter().flat_map(|&x| [x, x]).collect();
    assert_eq!(Recording::from_samples(stereo, 2, 24000).transcript("Hello.").read(), Ok(back.clone()));
    let half = Recording::from_samples(back.clone(), 1, 48000).read().unwrap();
    assert_eq!(half.len(), back.len() / 2);
    let mut quiet = vec![0.0; 24000];
    quiet.extend(clip().repeat(3));
    let trimmed = Recording::from_samples(quiet.clone(), 1, 24000).trim(true).read().unwrap();
    assert!(trimmed.len() < quiet.len());
    assert_eq!(
        libqwen::to_i16(&[0.0, 1.0, -1.0, 0.5 / 32768.0, 1.5 / 32768.0, f32::NAN, 7.0]),
        [0, 32767, -32768, 0, 2, 0, 32767]
    );

    let invalid = |r: Recording| matches!(r.read(), Err(Error::InvalidParams(_)));
    assert!(
        matches!(Recording::open(folder.0.join("none.wav")).read(), Err(Error::Io(m)) if m.contains("none.wav"))
    );
    assert!(invalid(Recording::from_bytes(Vec::new())));
    assert!(invalid(Recording::from_bytes(*b"no audio")));
    assert!(invalid(Recording::from_samples(Vec::new(), 1, 24000)));
    assert!(invalid(Recording::from_samples(back.clone(), 0, 24000)));
    assert!(invalid(Recording::from_samples(back[..1921].to_vec(), 2, 24000)));
    assert!(invalid(Recording::from_samples(back, 1, u32::MAX)));
    assert!(matches!(audio.save(folder.0.join("no/such/folder.wav")), Err(Error::Io(_))));
    std::fs::create_dir(folder.0.join("folder.wav")).unwrap();
    assert!(matches!(audio.save(folder.0.join("folder.wav")), Err(Error::Io(_))));
    assert!(folder.0.join("folder.wav").is_dir());

    let n = audio.samples.len();
    assert_eq!(audio.encode("wav"), Ok(bytes));
    assert_eq!(
        audio.encode("pcm").unwrap(),
        audio.to_i16().iter().flat_map(|s| s.to_le_bytes()).collect::<Vec<_>>()
    );
    assert_eq!(audio.encode("wav32").unwrap().len(), 44 + 4 * n);
    assert!(matches!(audio.encode("aac"), Err(Error::InvalidParams(m)) if m.contains("aac")));
    assert!(matches!(audio.encode("w\0"), Err(Error::Nul { .. })));
    assert!(
        matches!(audio.save(folder.0.join("a.aac")), Err(Error::InvalidParams(m)) if m.contains("a.aac"))
    );
    for (name, format) in [("b.raw", "pcm"), ("b.wave", "wav")] {
        audio.save(folder.0.join(name)).unwrap();
        assert_eq!(std::fs::read(folder.0.join(name)).unwrap(), audio.encode(format).unwrap());
    }
    audio.save(folder.0.join("a.PCM")).unwrap();
    audio.save(folder.0.join("a.PCM")).unwrap(); // over itself
    assert!(std::fs::read_dir(&folder.0).unwrap().all(|e| !e
        .unwrap()
        .file_name()
        .to_string_lossy()
        .contains("partial")));
    assert_eq!(std::fs::metadata(folder.0.join("a.PCM")).unwrap().len() as usize, 2 * n);
}

#[test]
fn silence_has_a_file_too() {
    let mut audio = custom_voice().synthesize(&hello().max_frames(1)).unwrap();
    audio.samples.clear();
    assert_eq!(audio.encode("wav").unwrap().len(), 44);
    assert!(audio.encode("pcm").unwrap().is_empty());
}

#[test]
fn opens_folders() {
    let folder = Folder::new("folder");
    let opening = || Engine::folder(&folder.0).threads(1).open();
    assert!(matches!(opening(), Err(Error::GenerateFailed(_) | Error::InvalidParams(_))), "it is empty");
    for (from, to) in [
        (model("customvoice-17"), "qwen-talker-1.7b-customvoice-F32.gguf"),
        (model("tokenizer-12hz"), "qwen-tokenizer-12hz-F32.gguf"),
    ] {
        std::os::unix::fs::symlink(std::fs::canonicalize(from).unwrap(), folder.0.join(to)).unwrap();
    }
    assert!(
        opening().unwrap().synthesize(&hello()).unwrap().samples
            == custom_voice().synthesize(&hello()).unwrap().samples
    );
}

/// What cannot be written is not removed either: neither a device nor the file that was there.
#[cfg(target_os = "linux")]
#[test]
fn failing_files() {
    use std::os::unix::fs::{symlink, FileTypeExt};
    let folder = Folder::new("failing");
    let audio = custom_voice().synthesize(&hello().max_frames(3)).unwrap();
    let full = folder.0.join("full.wav");
    symlink("/dev/full", &full).unwrap();
    assert!(matches!(audio.save(&full), Err(Error::Io(m)) if m.contains("full.wav")));
    assert!(std::fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    assert!(std::fs::symlink_metadata(&full).unwrap().is_symlink());

    let (target, link) = (folder.0.join("target.wav"), folder.0.join("link.wav"));
    std::fs::write(&target, b"before").unwrap();
    symlink(&target, &link).unwrap();
    audio.save(&link).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(std::fs::read(&target).unwrap(), audio.encode("wav").unwrap());
}
