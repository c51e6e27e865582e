// The page of tts-server: asks its own server for speech, as any client would, and plays it while it comes.

const $ = (id) => document.getElementById(id);
const rate = 24000;

let kind = "";          // of the model: base, custom_voice or voice_design
let clip = null;        // recording to clone: { blob, name }
let speaking = null;    // AbortController of the request under way
let recording = null;   // stops the recording under way
let context = null;     // AudioContext, made by the first click

/* ---- the server ---- */

// ApiError is an answer other than success, with the server's own words.
class ApiError extends Error {}

async function call(path, options = {}) {
  const headers = new Headers(options.headers);
  if ($("key").value) headers.set("Authorization", "Bearer " + $("key").value);
  const response = await fetch(path, { ...options, headers });
  if (response.ok) return response;
  let message = response.status + " " + response.statusText;
  try {
    message = (await response.json()).error.message;
  } catch { /* no JSON: the status must do */ }
  throw new ApiError(message);
}

// load fills the page with what the server has; while the model loads, it asks again.
async function load() {
  let health;
  try {
    health = await (await fetch("health")).json();
  } catch {
    $("model").textContent = "no answer from the server";
    return void setTimeout(load, 2000);
  }
  if (health.status === "loading") {
    $("model").textContent = "the model is being loaded …";
    return void setTimeout(load, 1000);
  }
  try {
    const model = (await (await call("v1/models")).json()).data[0];
    kind = model.type;
    $("model").textContent = `${model.id} (${kind.replace("_", " ")})`;
    fill($("language"), model.languages, "auto");
    $("instructions-label").hidden = kind === "base";
    $("instructions-title").textContent = kind === "voice_design" ? "Describe the voice" : "Style";
    if (kind === "voice_design") $("instructions").placeholder = "a calm old sailor with a hoarse voice";
    $("cloning").hidden = kind !== "base";
    await loadVoices();
    showError("");
  } catch (error) {
    showError(error.message);
  }
}

async function loadVoices(choose) {
  const list = await (await call("v1/audio/voices")).json();
  const chosen = choose ?? $("voice").value;
  const kinds = new Map(list.data.map((v) => [v.id, v.kind]));
  fill($("voice"), [...kinds.keys()], kind === "custom_voice" ? null : "of the model's choice");
  for (const option of $("voice").options) option.dataset.kind = kinds.get(option.value) ?? "";
  if (kinds.has(chosen)) $("voice").value = chosen;
  voiceChanged();
}

// fill puts values into a select, after an empty one of that name.
function fill(select, values, empty) {
  const options = values.map((v) => new Option(v, v));
  if (empty !== null) options.unshift(new Option(empty, ""));
  select.replaceChildren(...options);
}

function voiceChanged() {
  $("remove").disabled = $("voice").selectedOptions[0]?.dataset.kind !== "cloned";
}

/* ---- speaking ---- */

// request is the body of POST /v1/audio/speech.
async function request() {
  const body = { model: "tts", input: $("text").value, response_format: "pcm", stream_format: "sse" };
  if (clip) {
    body.ref_audio = await asDataURL(clip.blob);
    if ($("transcript").value.trim()) body.ref_text = $("transcript").value;
  } else if ($("voice").value) {
    body.voice = $("voice").value;
  }
  if (kind !== "base" && $("instructions").value) body.instructions = $("instructions").value;
  if ($("language").value) body.language = $("language").value;
  for (const [field, id] of [["speed", "speed"], ["seed", "seed"], ["temperature", "temperature"], ["max_new_tokens", "frames"]]) {
    if ($(id).value !== "") body[field] = Number($(id).value);
  }
  return body;
}

async function speak() {
  speaking?.abort();
  const control = speaking = new AbortController();
  context ??= new AudioContext({ sampleRate: rate });
  await context.resume();
  showError("");
  clearResult();
  $("stop").disabled = false;
  const begin = performance.now();
  const player = new Player(context, control.signal);
  try {
    const response = await call("v1/audio/speech", {
      method: "POST", signal: control.signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(await request()),
    });
    $("used-seed").textContent = response.headers.get("X-Seed") ?? "–";
    showWarnings(response.headers.get("X-Warning"));
    for await (const event of events(response.body)) {
      if (event.error) throw new ApiError(event.error.message);
      if (event.type === "speech.audio.delta") {
        if (player.samples === 0) $("first").textContent = Math.round(performance.now() - begin) + " ms";
        player.play(decode(event.audio));
        redraw(player);
        figures(player, begin);
      } else if (event.type === "speech.audio.done") {
        $("finish").textContent = event.finish_reason;
        figures(player, begin);
      }
    }
  } catch (error) {
    if (error.name !== "AbortError") showError(error instanceof ApiError ? error.message : "The connection failed: " + error.message);
  }
  if (speaking === control) {
    speaking = null;
    $("stop").disabled = true;
    offer(player.chunks, player.samples);
  }
}

// events takes a stream of server-sent events apart, up to [DONE].
async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new ApiError("The speech broke off.");
    rest += value;
    for (let end; (end = rest.indexOf("\n\n")) >= 0; rest = rest.slice(end + 2)) {
      const data = rest.slice("data: ".length, end);
      if (data === "[DONE]") return;
      const event = JSON.parse(data);
      yield event;
      if (event.error) return;
    }
  }
}

// decode makes samples of 16-bit little-endian integers in base64.
function decode(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 2 }, (_, i) => view.getInt16(2 * i, true) / 32768);
}

// Player plays chunks one right after the other.
class Player {
  chunks = [];
  samples = 0;
  #next = 0;
  #context;
  #gain;

  constructor(context, signal) {
    this.#context = context;
    this.#gain = new GainNode(context);
    this.#gain.connect(context.destination);
    signal.addEventListener("abort", () => this.#gain.disconnect());
  }

  play(pcm) {
    this.chunks.push(pcm);
    this.samples += pcm.length;
    const buffer = new AudioBuffer({ length: pcm.length, sampleRate: rate });
    buffer.copyToChannel(pcm, 0);
    const source = new AudioBufferSourceNode(this.#context, { buffer });
    source.connect(this.#gain);
    const lead = 0.08; // a little in hand, at the start and after a gap
    const now = this.#context.currentTime;
    if (this.#next < now) this.#next = now + lead;
    source.start(this.#next);
    this.#next += buffer.duration;
  }
}

/* ---- what is shown ---- */

function showError(message) {
  $("error").textContent = message;
  $("error").hidden = !message;
}

function showWarnings(text) {
  $("warnings").textContent = text ?? "";
  $("warnings").hidden = !text;
}

function clearResult() {
  for (const id of ["first", "rtf", "duration", "used-seed", "finish"]) $(id).textContent = "–";
  $("player").hidden = $("download").hidden = true;
  showWarnings("");
  draw([], 0);
}

function figures(player, begin) {
  const seconds = player.samples / rate;
  $("duration").textContent = seconds.toFixed(2) + " s";
  $("rtf").textContent = ((performance.now() - begin) / 1000 / seconds).toFixed(2);
}

// redraw shows what there is with the next picture of the screen, however often it is called before.
let drawing = 0;
function redraw(player) {
  drawing ||= requestAnimationFrame(() => { drawing = 0; draw(player.chunks, player.samples); });
}

function draw(chunks, samples) {
  const canvas = $("wave"), pen = canvas.getContext("2d"), { width, height } = canvas;
  pen.clearRect(0, 0, width, height);
  pen.fillStyle = getComputedStyle(canvas).color;
  const peaks = new Float32Array(width), step = Math.max(samples, 5 * rate) / width; // 5 seconds at least
  let at = 0;
  for (const chunk of chunks) {
    for (let i = 0; i < chunk.length; i += 8, at += 8) {
      const x = Math.floor(at / step);
      peaks[x] = Math.max(peaks[x], Math.abs(chunk[i]));
    }
    at -= (8 - (chunk.length % 8)) % 8;
  }
  for (let x = 0; x < width; x++) {
    const h = Math.max(1, peaks[x] * height);
    pen.fillRect(x, (height - h) / 2, 1, h);
  }
}

// offer gives what was spoken as a file.
function offer(chunks, samples) {
  if (samples === 0) return;
  URL.revokeObjectURL($("download").href);
  $("player").src = $("download").href = URL.createObjectURL(wav(chunks, samples, rate));
  $("player").hidden = $("download").hidden = false;
}

// wav makes a file of 16-bit mono.
function wav(chunks, samples, rate) {
  const view = new DataView(new ArrayBuffer(44 + 2 * samples));
  const text = (at, s) => [...s].forEach((c, i) => view.setUint8(at + i, c.charCodeAt(0)));
  text(0, "RIFF"); view.setUint32(4, 36 + 2 * samples, true); text(8, "WAVEfmt ");
  view.setUint32(16, 16, true); view.setUint16(20, 1, true); view.setUint16(22, 1, true);
  view.setUint32(24, rate, true); view.setUint32(28, 2 * rate, true); view.setUint16(32, 2, true); view.setUint16(34, 16, true);
  text(36, "data"); view.setUint32(40, 2 * samples, true);
  let at = 44;
  for (const chunk of chunks) {
    for (const x of chunk) {
      view.setInt16(at, Math.max(-32768, Math.min(32767, Math.round(x * 32768))), true);
      at += 2;
    }
  }
  return new Blob([view.buffer], { type: "audio/wav" });
}

/* ---- recordings ---- */

function asDataURL(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

function setClip(blob, name) {
  clip = blob ? { blob, name } : null;
  $("clip-name").textContent = clip ? name : "Drop a recording here, or click to choose one: 3 to 15 seconds of clear speech.";
  $("forget").disabled = $("save").disabled = $("clip").hidden = !clip;
  if (clip) $("clip").src = URL.createObjectURL(blob);
}

// readable are endings of files that the server decodes itself; of others the browser makes WAV.
const readable = /\.(wav|flac|mp3|ogg|oga|opus|aiff?|caf|au)$/i;

async function takeFile(file) {
  showError("");
  try {
    setClip(readable.test(file.name) ? file : await toWAV(file), file.name);
  } catch {
    showError(`${file.name}: this is no audio that can be read.`);
  }
}

async function toWAV(file) {
  const audio = await new OfflineAudioContext(1, 1, rate).decodeAudioData(await file.arrayBuffer());
  const mono = new Float32Array(audio.length);
  for (let c = 0; c < audio.numberOfChannels; c++) {
    audio.getChannelData(c).forEach((x, i) => { mono[i] += x / audio.numberOfChannels; });
  }
  return wav([mono], mono.length, audio.sampleRate);
}

async function record() {
  if (recording) return recording();
  showError("");
  if (!navigator.mediaDevices) return showError("Browsers let pages record only over HTTPS, or from this very machine.");
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false } });
  } catch (error) {
    return showError("The microphone cannot be used: " + error.message);
  }
  const context = new AudioContext();
  await context.audioWorklet.addModule("page/recorder.js");
  const node = new AudioWorkletNode(context, "recorder", { numberOfOutputs: 0 });
  const chunks = [];
  let samples = 0;
  node.port.onmessage = ({ data }) => {
    chunks.push(data);
    samples += data.length;
    $("record").textContent = `Stop (${(samples / context.sampleRate).toFixed(1)} s)`;
    if (samples > 60 * context.sampleRate) recording?.();
  };
  new MediaStreamAudioSourceNode(context, { mediaStream: stream }).connect(node);
  recording = () => {
    recording = node.port.onmessage = null;
    stream.getTracks().forEach((t) => t.stop());
    $("record").textContent = "Record";
    setClip(wav(chunks, samples, context.sampleRate), `your recording, ${(samples / context.sampleRate).toFixed(1)} s`);
    context.close();
  };
}

async function keep() {
  showError("");
  const form = new FormData();
  form.set("name", $("name").value.trim());
  form.set("ref_text", $("transcript").value.trim());
  form.set("audio_sample", clip.blob, "clip");
  $("save").disabled = true;
  try {
    const voice = await (await call("v1/audio/voices", { method: "POST", body: form })).json();
    showWarnings(voice.warnings?.join("\n"));
    setClip(null);
    await loadVoices(voice.id);
  } catch (error) {
    showError(error.message);
    $("save").disabled = false;
  }
}

async function remove() {
  try {
    await call("v1/audio/voices/" + encodeURIComponent($("voice").value), { method: "DELETE" });
    await loadVoices();
  } catch (error) {
    showError(error.message);
  }
}

/* ---- events ---- */

$("speech").addEventListener("submit", (e) => { e.preventDefault(); speak(); });
$("keep").addEventListener("submit", (e) => { e.preventDefault(); keep(); });
$("stop").addEventListener("click", () => speaking?.abort());
$("voice").addEventListener("change", voiceChanged);
$("remove").addEventListener("click", remove);
$("record").addEventListener("click", record);
$("forget").addEventListener("click", () => setClip(null));
$("key").addEventListener("change", load);
$("file").addEventListener("change", () => { if ($("file").files[0]) takeFile($("file").files[0]); });
$("drop").addEventListener("click", () => $("file").click());
$("drop").addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); $("file").click(); } });
for (const [type, over] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
  $("drop").addEventListener(type, (e) => { e.preventDefault(); $("drop").classList.toggle("over", over); });
}
$("drop").addEventListener("drop", (e) => { if (e.dataTransfer.files[0]) takeFile(e.dataTransfer.files[0]); });
draw([], 0);
load();
