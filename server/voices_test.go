package server_test

import (
	"bytes"
	"encoding/base64"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/core/voicefile"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/server"
)

const transcript = "Speech synthesis on a small machine."

// recording is a WAV file of two seconds of speech.
func recording(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testenv.Root(t), "tests/golden/audio/speech_24k.wav"))
	require.NoError(t, err)
	return data
}

func b64(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// voice is an entry of the list.
type voice struct {
	ID, Name, Kind, Mode string
	RefText              string `json:"ref_text"`
	Warnings             []string
	Seconds              float64
}

func (r *rig) voices() map[string]voice {
	r.t.Helper()
	var list struct {
		Object       string
		Data, Voices []voice
	}
	r.get("/v1/audio/voices?model=any").json(r.t, &list)
	assert.Equal(r.t, "list", list.Object)
	assert.Equal(r.t, list.Data, list.Voices)
	all := map[string]voice{}
	for _, v := range list.Data {
		assert.Equal(r.t, v.ID, v.Name)
		all[v.ID] = v
	}
	return all
}

// form posts a multipart form: fields, and those whose names end in @ as files.
func (r *rig) form(fields ...string) answer {
	r.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := 0; i < len(fields); i += 2 {
		if name, isFile := strings.CutSuffix(fields[i], "@"); isFile {
			f, err := w.CreateFormFile(name, "clip.bin")
			require.NoError(r.t, err)
			_, _ = f.Write([]byte(fields[i+1]))
		} else {
			require.NoError(r.t, w.WriteField(fields[i], fields[i+1]))
		}
	}
	require.NoError(r.t, w.Close())
	return r.do("POST", "/v1/audio/voices", w.FormDataContentType(), &body)
}

func TestVoicesOfAllKindsOfUploads(t *testing.T) {
	dir := t.TempDir()
	e := tiny(t, base)
	r := start(t, e, func(o *server.Options) { o.VoicesDir = dir })
	assert.Empty(t, r.voices())

	a := r.post("/v1/audio/voices", object{"name": "Anna", "ref_text": transcript, "wav_b64": b64(recording(t))})
	require.Equal(t, 201, a.status, "%s", a.body)
	var v voice
	a.json(t, &v)
	assert.Equal(t, voice{ID: "Anna", Name: "Anna", Kind: "cloned", Mode: "in_context", RefText: transcript, Seconds: 25 / 12.5, Warnings: v.Warnings}, v)

	require.Equal(t, 201, r.form("name", "form", "audio_sample@", string(recording(t)), "consent", "yes").status)
	require.Equal(t, "x_vector", r.voices()["form"].Mode)

	kept, err := voicefile.ReadVoice(filepath.Join(dir, "Anna.qvoice"))
	require.NoError(t, err)
	rvq, err := voicefile.FormatCodes(kept.Codes, kept.Model.Codebooks, kept.Model.CodebookSize)
	require.NoError(t, err)
	spk := voicefile.FormatXVector(kept.XVector)
	require.Equal(t, 201, r.post("/v1/audio/voices", object{"name": "latents", "ref_text": transcript, "spk_b64": b64(spk), "rvq_b64": b64(rvq)}).status)
	require.Equal(t, 201, r.post("/v1/audio/voices", object{"name": "vector", "spk_b64": b64(spk)}).status)
	whole, err := os.ReadFile(filepath.Join(dir, "Anna.qvoice"))
	require.NoError(t, err)
	require.Equal(t, 201, r.post("/v1/audio/voices", object{"name": "file", "qvoice_b64": b64(whole)}).status)
	require.Equal(t, 201, r.form("name", "form-file", "qvoice@", string(whole)).status)
	require.Equal(t, 201, r.form("name", "form-latents", "ref_text", transcript, "spk@", string(spk), "rvq@", string(rvq)).status)

	speak := func(name string) string {
		t.Helper()
		a := r.say(object{"input": "Hello.", "voice": name, "seed": 3, "max_new_tokens": 3, "response_format": "wav"})
		require.Equal(t, 200, a.status, "%s", a.body)
		return string(a.body)
	}
	want := speak("anna") // any case
	for _, name := range []string{"latents", "file", "form-file", "form-latents"} {
		assert.Equal(t, want, speak(name), name)
	}
	assert.Equal(t, speak("form"), speak("vector"))
	assert.NotEqual(t, want, speak("vector"))
	a = r.say(object{"input": "Hello.", "voice": "Anna", "seed": 3, "max_new_tokens": 3, "response_format": "wav", "x_vector_only_mode": true})
	assert.Equal(t, speak("vector"), string(a.body))

	inline := r.say(object{"input": "Hello.", "seed": 3, "max_new_tokens": 3, "response_format": "wav", "ref_audio": "data:audio/wav;base64," + b64(recording(t)), "ref_text": transcript})
	assert.Equal(t, want, string(inline.body))
	inline = r.say(object{"input": "Hello.", "voice": "alloy", "seed": 3, "max_new_tokens": 3, "response_format": "wav", "ref_audio": b64(recording(t)), "ref_text": "ignored", "x_vector_only_mode": true})
	assert.Equal(t, speak("vector"), string(inline.body))

	// They survive the server.
	again := start(t, e, func(o *server.Options) { o.VoicesDir = dir })
	assert.Equal(t, r.voices(), again.voices())
	assert.Len(t, again.voices(), 7)
	a = again.say(object{"input": "Hello.", "voice": "Anna", "seed": 3, "max_new_tokens": 3, "response_format": "wav"})
	assert.Equal(t, want, string(a.body))

	// One can be replaced and removed; names of any case are the same.
	a = again.post("/v1/audio/voices", object{"name": "ANNA", "spk_b64": b64(spk)})
	require.Equal(t, 200, a.status, "%s", a.body)
	assert.Equal(t, "x_vector", again.voices()["Anna"].Mode)
	assert.Len(t, again.voices(), 7)
	a = again.do("DELETE", "/v1/audio/voices/aNNa", "", nil)
	require.Equal(t, 200, a.status, "%s", a.body)
	assert.Contains(t, string(a.body), `"deleted":true`)
	again.do("DELETE", "/v1/audio/voices/Anna", "", nil).wants(t, 404, "name", "voice_not_found")
	again.get("/v1/audio/voices/Anna").wants(t, 404, "name", "voice_not_found")
	assert.NoFileExists(t, filepath.Join(dir, "Anna.qvoice"))
	a = again.get("/v1/audio/voices/file")
	a.json(t, &v)
	assert.Equal(t, "file", v.ID)
	var names struct{ Voices []string }
	again.get("/v1/audio/voices?format=names").json(t, &names)
	assert.Equal(t, []string{"file", "form", "form-file", "form-latents", "latents", "vector"}, names.Voices)
}

// A recording may be of any kind that can be decoded.
func TestRecordingsOfAllKinds(t *testing.T) {
	r := start(t, tiny(t, base))
	clip, err := audio.DecodeWAV(recording(t))
	require.NoError(t, err)
	for _, f := range []audio.Format{audio.WAV24, audio.WAV32, audio.FLAC, audio.MP3, audio.Opus, audio.Vorbis} {
		file := &audio.Buffer{}
		w, err := audio.NewWriter(file, f, clip.Rate)
		require.NoError(t, err)
		require.NoError(t, w.Write(clip.Samples))
		require.NoError(t, w.Close())
		a := r.form("name", f.String(), "file@", string(file.Bytes()))
		require.Equal(t, 201, a.status, "%s: %s", f, a.body)
	}
}

func TestVoicesThatAreWrong(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "voices")
	r := start(t, tiny(t, base), func(o *server.Options) { o.VoicesDir, o.MaxBody, o.MaxVoices = dir, 1<<20, 1 })
	wav, spk := b64(recording(t)), b64(voicefile.FormatXVector(make([]float32, 256)))
	for _, c := range []struct {
		body        object
		param, code string
	}{
		{object{}, "name", "missing_required_field"},
		{object{"name": "a"}, "wav_b64", "missing_required_field"},
		{object{"name": 5}, "name", "invalid_type"},
		{object{"name": "../a", "wav_b64": wav}, "name", "invalid_value"},
		{object{"name": "a/b", "wav_b64": wav}, "name", "invalid_value"},
		{object{"name": `a\b`, "wav_b64": wav}, "name", "invalid_value"},
		{object{"name": ".hidden", "wav_b64": wav}, "name", "invalid_value"},
		{object{"name": "a..b", "wav_b64": wav}, "name", "invalid_value"},
		{object{"name": "a.", "wav_b64": wav}, "name", "invalid_value"},
		{object{"name": "con", "wav_b64": wav}, "name", "invalid_value"},
		{object{"name": "NUL.x", "wav_b64": wav}, "name", "invalid_value"},
		{object{"name": "a\x00b", "wav_b64": wav}, "name", "invalid_value"},
		{object{"name": "a\nb", "wav_b64": wav}, "name", "invalid_value"},
		{object{"name": "ä", "wav_b64": wav}, "name", "invalid_value"},
		{object{"name": "default", "wav_b64": wav}, "name", "invalid_value"},
		{object{"name": strings.Repeat("a", 65), "wav_b64": wav}, "name", "invalid_value"},
		{object{"name": "a", "wav_b64": "?"}, "wav_b64", "invalid_value"},
		{object{"name": "a", "wav_b64": b64([]byte("hello"))}, "wav_b64", "invalid_audio"},
		{object{"name": "a", "wav_b64": b64(recording(t)[:60])}, "wav_b64", "invalid_audio"},
		{object{"name": "a", "wav_b64": b64([]byte("\x00\x00\x00\x20ftypM4A \x00\x00"))}, "wav_b64", "invalid_audio"},
		{object{"name": "a", "wav_b64": wav, "spk_b64": spk}, "wav_b64", "invalid_value"},
		{object{"name": "a", "rvq_b64": spk}, "spk_b64", "missing_required_field"},
		{object{"name": "a", "spk_b64": b64([]byte{1, 2, 3})}, "spk_b64", "invalid_value"},
		{object{"name": "a", "spk_b64": b64(voicefile.FormatXVector(make([]float32, 7)))}, "spk_b64", "invalid_value"},
		{object{"name": "a", "spk_b64": b64([]byte{0, 0, 0xc0, 0x7f})}, "spk_b64", "invalid_value"},
		{object{"name": "a", "spk_b64": spk, "rvq_b64": b64([]byte{1})}, "rvq_b64", "invalid_value"},
		{object{"name": "a", "qvoice_b64": b64([]byte("\x89QVOICE\nxxx"))}, "qvoice_b64", "invalid_value"},
	} {
		r.post("/v1/audio/voices", c.body).wants(t, 400, c.param, c.code)
	}
	r.post("/v1/audio/voices", object{"name": "a", "wav_b64": strings.Repeat("A", 2<<20)}).wants(t, 413, "", "body_too_large")
	r.form("name", "a", "audio@", strings.Repeat("A", 2<<20)).wants(t, 413, "", "body_too_large")
	r.form("name", "a", "audio@", "x", "file@", "y").wants(t, 400, "file", "invalid_value")
	r.form("name", "a\xff").wants(t, 400, "name", "invalid_value")
	r.do("POST", "/v1/audio/voices", "multipart/form-data", strings.NewReader("x")).wants(t, 400, "", "invalid_body")
	r.do("POST", "/v1/audio/voices", "multipart/form-data; boundary=x", strings.NewReader("--x\r\nContent-Disp")).wants(t, 400, "", "invalid_body")
	r.do("POST", "/v1/audio/voices", "audio/wav", strings.NewReader("x")).wants(t, 415, "", "unsupported_media_type")

	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
	require.Equal(t, 201, r.post("/v1/audio/voices", object{"name": "a", "spk_b64": spk}).status)
	r.post("/v1/audio/voices", object{"name": "b", "spk_b64": spk}).wants(t, 400, "name", "too_many_voices")
	assert.Equal(t, 200, r.post("/v1/audio/voices", object{"name": "a", "spk_b64": spk}).status)

	r = start(t, tiny(t, custom))
	r.post("/v1/audio/voices", object{"name": "a", "wav_b64": wav}).wants(t, 400, "", "mode_invalid")
	r.do("DELETE", "/v1/audio/voices/vivian", "", nil).wants(t, 400, "name", "invalid_value")
	a := r.get("/v1/audio/voices/VIVIAN")
	assert.Contains(t, string(a.body), `"kind":"speaker"`)
	r.get("/v1/audio/voices?format=xml").wants(t, 400, "format", "invalid_value")
}

// What else lies in the folder does no harm.
func TestStrayFilesAmongVoices(t *testing.T) {
	dir := t.TempDir()
	e := tiny(t, base)
	r := start(t, e, func(o *server.Options) { o.VoicesDir = dir })
	require.Equal(t, 201, r.form("name", "good", "audio@", string(recording(t))).status)
	good, err := os.ReadFile(filepath.Join(dir, "good.qvoice"))
	require.NoError(t, err)
	other, err := voicefile.ParseVoice(good)
	require.NoError(t, err)
	other.Model.Speaker[0]++
	foreign, err := voicefile.FormatVoice(other)
	require.NoError(t, err)
	for name, content := range map[string][]byte{
		"broken.qvoice": good[:len(good)/2], "empty.qvoice": nil, "foreign.qvoice": foreign, "notes.txt": []byte("x"),
		"-odd.qvoice": good, ".good.qvoice.partial-ABC": good[:9], "GOOD.qvoice": good,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o666))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.qvoice"), 0o777))
	var log bytes.Buffer
	again := start(t, e, func(o *server.Options) { o.VoicesDir, o.Logger = dir, textLog(&log) })
	assert.Len(t, again.voices(), 1)
	for _, name := range []string{"broken", "empty", "foreign", "-odd", "folder"} {
		assert.Contains(t, log.String(), "file="+name+".qvoice")
	}
}

// What cannot be kept is an error, which tells the operator the place, and clients only the reason.
func TestVoicesThatCannotBeKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "private")
	var log testenv.Buffer
	r := start(t, &fake{kind: "base"}, func(o *server.Options) { o.VoicesDir, o.Logger, o.MaxVoices = dir, textLog(&log), 1 })
	require.NoError(t, os.RemoveAll(dir))
	a := r.post("/v1/audio/voices", object{"name": "anna", "spk_b64": "AACAPwAAAEA="})
	assert.NotContains(t, a.wants(t, 500, "", "storage"), "private")
	assert.Equal(t, "false", a.header.Get("X-Should-Retry"))
	assert.Contains(t, log.String(), filepath.Base(dir))
	assert.Empty(t, r.voices())
	require.NoError(t, os.Mkdir(dir, 0o777))
	require.Equal(t, 201, r.post("/v1/audio/voices", object{"name": "anna", "spk_b64": "AACAPwAAAEA="}).status)
	r.post("/v1/audio/voices", object{"name": "bob", "spk_b64": "AACAPwAAAEA="}).wants(t, 400, "name", "too_many_voices")
}

// A registered voice comes before a speaker of the model.
func TestARegisteredVoiceWins(t *testing.T) {
	e := &fake{kind: "base", speakers: []string{"vivian"}}
	r := start(t, e)
	require.Equal(t, 200, r.say(hello()).status)
	assert.Equal(t, "vivian", e.requests[0].Speaker)
	require.Equal(t, 201, r.post("/v1/audio/voices", object{"name": "Vivian", "spk_b64": b64(voicefile.FormatXVector([]float32{1, 2}))}).status)
	a := r.say(hello())
	require.Equal(t, 200, a.status)
	assert.Equal(t, "Vivian", a.header.Get("X-Voice"))
	assert.Empty(t, e.requests[1].Speaker)
	assert.Equal(t, []float32{1, 2}, e.requests[1].Voice.XVector)
	assert.Len(t, r.voices(), 1)
	require.Equal(t, 200, r.do("DELETE", "/v1/audio/voices/vivian", "", nil).status)
	require.Equal(t, 200, r.say(hello()).status)
	assert.Equal(t, "vivian", e.requests[2].Speaker)
}

func TestDefaultVoice(t *testing.T) {
	e := &fake{speakers: []string{"vivian", "ryan"}}
	r := start(t, e, func(o *server.Options) { o.DefaultVoice = "RYAN" })
	for _, v := range []any{nil, "", "default"} {
		assert.Equal(t, "ryan", r.say(hello("voice", v)).header.Get("X-Voice"))
	}
	srv, err := server.New(server.Options{DefaultVoice: "nobody"})
	require.NoError(t, err)
	assert.ErrorContains(t, srv.Use(e, "x"), `there is no "nobody"`)
}

func TestReferencesFromElsewhere(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.wav")
	for _, path := range []string{outside, filepath.Join(dir, "a.wav")} {
		require.NoError(t, os.WriteFile(path, recording(t), 0o666))
	}
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link.wav")))
	files := start(t, &fake{}, func(*server.Options) {}) // some server: only its address is of use
	say := func(r *rig, ref string) answer {
		return r.say(object{"input": "Hello.", "max_new_tokens": 1, "response_format": "wav", "ref_audio": ref})
	}
	e := tiny(t, base)
	r := start(t, e)
	for _, ref := range []string{"a.wav", filepath.Join(dir, "a.wav"), "file://" + filepath.Join(dir, "a.wav"), "http://127.0.0.1:1/a.wav", files.url, "/etc/passwd", "../a.wav"} {
		say(r, ref).wants(t, 400, "ref_audio", "not_allowed")
	}
	say(r, "data:audio/wav,xx").wants(t, 400, "ref_audio", "invalid_value")

	r = start(t, e, func(o *server.Options) { o.ReferenceDir = dir })
	for _, ref := range []string{"a.wav", "./a.wav", filepath.Join(dir, "a.wav"), "file://" + filepath.Join(dir, "a.wav")} {
		assert.Equal(t, 200, say(r, ref).status, ref)
	}
	for _, ref := range []string{"b.wav", "link.wav", outside, "../" + filepath.Base(filepath.Dir(outside)) + "/secret.wav", "file:///etc/passwd", "."} {
		say(r, ref).wants(t, 400, "ref_audio", "invalid_value")
	}
	say(r, "http://127.0.0.1:1/a.wav").wants(t, 400, "ref_audio", "not_allowed")

	// Addresses: only below those that are allowed, also after a redirect.
	site := http.NewServeMux()
	site.Handle("/clips/", http.StripPrefix("/clips/", http.FileServer(http.Dir(dir))))
	site.Handle("/clips/inside", http.RedirectHandler("/clips/a.wav", http.StatusFound))
	site.Handle("/clips/away", http.RedirectHandler("/secret/a.wav", http.StatusFound))
	site.Handle("/secret/", http.StripPrefix("/secret/", http.FileServer(http.Dir(dir))))
	host := httptest.NewServer(site)
	defer host.Close()
	r = start(t, e, func(o *server.Options) { o.ReferenceURLs = []string{host.URL + "/clips"} })
	for _, path := range []string{"/clips/a.wav", "/clips/inside"} {
		assert.Equal(t, 200, say(r, host.URL+path).status, path)
	}
	for _, path := range []string{"/secret/a.wav", "/clipsaway/a.wav", "/clips/../secret/a.wav", "/clips/%2e%2e/secret/a.wav", "/"} {
		say(r, host.URL+path).wants(t, 400, "ref_audio", "not_allowed")
	}
	for _, path := range []string{"/clips/away", "/clips/none.wav"} {
		say(r, host.URL+path).wants(t, 400, "ref_audio", "invalid_value")
	}
	say(r, strings.Replace(host.URL, "http://", "http://user@", 1)+"/clips/a.wav").wants(t, 400, "ref_audio", "not_allowed")

	_, err := server.New(server.Options{ReferenceURLs: []string{"ftp://x"}})
	assert.ErrorContains(t, err, "ftp://x")
	_, err = server.New(server.Options{ReferenceDir: filepath.Join(dir, "none")})
	assert.Error(t, err)
}
