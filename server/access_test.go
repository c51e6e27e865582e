package server_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/server"
)

func textLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func TestKeys(t *testing.T) {
	r := start(t, &fake{speakers: []string{"vivian"}}, func(o *server.Options) { o.Keys = []string{"first", "second"} })
	for _, header := range []string{"", "Bearer wrong", "Bearer firs", "Bearer firstt", "Basic first", "first", "Bearer", "Bearer ", "Bearer first second", "Bearer first,second", "Bearerfirst", "Token first"} {
		for _, a := range []answer{r.say(hello(), "Authorization", header), r.get("/v1/models", "Authorization", header),
			r.get("/metrics", "Authorization", header), r.get("/nowhere", "Authorization", header)} {
			a.wants(t, 401, "", "invalid_api_key")
			assert.Equal(t, "Bearer", a.header.Get("WWW-Authenticate"))
		}
	}
	for _, path := range []string{"/v1/models?api_key=first", "/v1/models?key=first", "/v1/models?access_token=first"} {
		r.get(path, "X-Api-Key", "first", "Cookie", "Authorization=first").wants(t, 401, "", "invalid_api_key")
	}
	for _, key := range []string{"first", "second"} {
		assert.Equal(t, 200, r.say(hello(), "Authorization", "Bearer "+key).status)
		assert.Equal(t, 200, r.get("/metrics", "Authorization", "bearer "+key).status)
	}
	for _, path := range []string{"/health", "/", "/page/page.js", "/openapi.json"} {
		assert.Equal(t, 200, r.get(path).status, "%s is for all", path)
	}
}

func TestNowhere(t *testing.T) {
	r := start(t, &fake{})
	r.get("/page/none.js").wants(t, 404, "", "not_found")
	r.post("/", object{}).wants(t, 405, "", "method_not_allowed")
	r.get("/v1/nothing").wants(t, 404, "", "not_found")
	a := r.get("/v1/audio/speech")
	a.wants(t, 405, "", "method_not_allowed")
	assert.Equal(t, "POST", a.header.Get("Allow"))
	a = r.do("PUT", "/v1/audio/voices", "", nil)
	a.wants(t, 405, "", "method_not_allowed")
	assert.Equal(t, "GET, HEAD, POST", a.header.Get("Allow"))
	for _, place := range []string{"/", "/health", "/metrics", "/openapi.json", "/page/page.js", "/v1/models", "/v1/models/tiny", "/v1/audio/voices", "/v1/audio/models"} {
		a := r.do("HEAD", place, "", nil)
		assert.Equal(t, 200, a.status, place)
		assert.Empty(t, a.body)
		a = r.do("OPTIONS", place, "", nil)
		a.wants(t, 405, "", "method_not_allowed")
		assert.Contains(t, a.header.Get("Allow"), "GET, HEAD", place)
	}
}

func TestModels(t *testing.T) {
	before := time.Now().Unix()
	r := start(t, tiny(t, custom))
	var list struct {
		Object string
		Data   []struct {
			ID, Object string
			Created    int64
			OwnedBy    string `json:"owned_by"`
		}
	}
	r.get("/v1/models").json(t, &list)
	require.Len(t, list.Data, 1)
	assert.Equal(t, "list", list.Object)
	assert.Equal(t, "model", list.Data[0].Object)
	assert.Equal(t, "tiny", list.Data[0].ID)
	assert.GreaterOrEqual(t, list.Data[0].Created, before)
	assert.LessOrEqual(t, list.Data[0].Created, time.Now().Unix())
	assert.NotEmpty(t, list.Data[0].OwnedBy)
	assert.Contains(t, string(r.get("/v1/models/tiny").body), `"id":"tiny"`)
	r.get("/v1/models/gpt-5").wants(t, 404, "model", "model_not_found")
	r.get("/v1/models/org/name").wants(t, 404, "model", "model_not_found")
	assert.JSONEq(t, `{"models":[{"id":"tiny","name":"tiny"}]}`, string(r.get("/v1/audio/models").body))
}

func TestOrigins(t *testing.T) {
	e := &fake{speakers: []string{"vivian"}}
	r := start(t, e)
	r.say(hello(), "Origin", "https://evil.example").wants(t, 403, "", "origin_not_allowed")
	r.say(hello(), "Sec-Fetch-Site", "cross-site").wants(t, 403, "", "origin_not_allowed")
	assert.Zero(t, e.calls())
	a := r.say(hello(), "Origin", r.url, "Sec-Fetch-Site", "same-origin")
	assert.Equal(t, 200, a.status, "the server's own page")
	assert.Empty(t, a.header.Get("Access-Control-Allow-Origin"))
	assert.Equal(t, 405, r.do("OPTIONS", "/v1/audio/speech", "", nil, "Origin", "https://a.example", "Access-Control-Request-Method", "POST").status)

	r = start(t, e, func(o *server.Options) { o.CORSOrigins = []string{"https://a.example"} })
	a = r.say(hello(), "Origin", "https://a.example", "Sec-Fetch-Site", "cross-site")
	require.Equal(t, 200, a.status, "%s", a.body)
	assert.Equal(t, "https://a.example", a.header.Get("Access-Control-Allow-Origin"))
	assert.Equal(t, "Origin", a.header.Get("Vary"))
	assert.Empty(t, a.header.Get("Access-Control-Allow-Credentials"))
	a = r.do("OPTIONS", "/v1/audio/speech", "", nil, "Origin", "https://a.example", "Access-Control-Request-Method", "POST")
	assert.Equal(t, 204, a.status)
	assert.Contains(t, a.header.Get("Access-Control-Allow-Headers"), "Authorization")
	a = r.say(hello(), "Origin", "https://evil.example")
	a.wants(t, 403, "", "origin_not_allowed")
	assert.Empty(t, a.header.Get("Access-Control-Allow-Origin"))

	r = start(t, e, func(o *server.Options) { o.CORSOrigins = []string{"*"} })
	assert.Equal(t, 200, r.say(hello(), "Origin", "https://b.example").status)

	_, err := server.New(server.Options{CORSOrigins: []string{"not an origin"}})
	assert.Error(t, err)
}

// A form of another site, which its browser sends without asking whether it may, changes nothing.
func TestForgedRequests(t *testing.T) {
	e := &fake{kind: "base"}
	voices := t.TempDir()
	r := start(t, e, func(o *server.Options) { o.VoicesDir = voices })
	body := `{"name":"anna","spk_b64":"AACAPwAAAEA="}`
	require.Equal(t, 201, r.post("/v1/audio/voices", body).status)
	form := "--x\r\nContent-Disposition: form-data; name=name\r\n\r\neve\r\n--x\r\nContent-Disposition: form-data; name=spk\r\n\r\n\x00\x00\x80?\x00\x00\x00@\r\n--x--\r\n"
	require.Equal(t, 201, r.do("POST", "/v1/audio/voices", "multipart/form-data; boundary=x", strings.NewReader(form)).status, "a good form")
	require.Equal(t, 200, r.do("DELETE", "/v1/audio/voices/eve", "", nil).status)
	for _, headers := range [][]string{
		{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Origin", "http://127.0.0.1:1"}, {"Origin", r.url + ".evil.example"},
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site", "Origin", r.url}, {"Origin", "https://evil.example", "Sec-Fetch-Mode", "no-cors"},
	} {
		for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json", ""} {
			r.do("POST", "/v1/audio/voices", kind, strings.NewReader(body), headers...).wants(t, 403, "", "origin_not_allowed")
			r.do("POST", "/v1/audio/speech", kind, jsonBody(t, hello()), headers...).wants(t, 403, "", "origin_not_allowed")
		}
		r.do("POST", "/v1/audio/voices", "multipart/form-data; boundary=x", strings.NewReader(form), headers...).wants(t, 403, "", "origin_not_allowed")
		r.do("DELETE", "/v1/audio/voices/anna", "", nil, headers...).wants(t, 403, "", "origin_not_allowed")
		a := r.get("/v1/audio/voices", headers...)
		assert.Equal(t, 200, a.status)
		assert.Empty(t, a.header.Get("Access-Control-Allow-Origin"), "the page may ask, and not read the answer")
	}
	assert.Zero(t, e.calls())
	assert.JSONEq(t, `{"voices":["anna"]}`, string(r.get("/v1/audio/voices?format=names").body))
}

func TestRequestIDs(t *testing.T) {
	r := start(t, &fake{})
	assert.Equal(t, "mine-1", r.get("/health", "X-Request-Id", "mine-1").header.Get("X-Request-Id"))
	for _, bad := range []string{"", "a b", "a\"b", strings.Repeat("x", 65), "a\tb"} {
		assert.Regexp(t, `^req_[0-9a-f]{24}$`, r.get("/health", "X-Request-Id", bad).header.Get("X-Request-Id"))
	}
}

// What a client sends cannot stand in the log as if it were a line of its own, and texts do not stand there at all.
func TestTheLog(t *testing.T) {
	var log testenv.Buffer
	r := start(t, &fake{speakers: []string{"vivian"}}, func(o *server.Options) { o.Logger = textLog(&log) })
	r.say(hello("input", "A secret."), "X-Request-Id", "known")
	r.say(hello("voice", "x\nlevel=ERROR msg=forged"))
	text := log.String()
	assert.NotContains(t, text, "secret")
	line := text[strings.Index(text, "id=known"):]
	line = line[:strings.Index(line, "\n")]
	for _, want := range []string{"status=200", "path=/v1/audio/speech", "voice=vivian", "format=", "characters=9", "frames=3", "finish=stop", "first_audio=", "rtf=", "queued=", "bytes="} {
		assert.Contains(t, line, want)
	}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		assert.True(t, strings.HasPrefix(line, "time="), line)
	}
}

func TestMetrics(t *testing.T) {
	r := start(t, &fake{speakers: []string{"vivian"}})
	require.Equal(t, 200, r.say(hello("response_format", "wav")).status)
	require.Equal(t, 200, r.say(hello("response_format", "pcm")).status)
	r.say(hello("voice", "nobody"))
	r.do("BREW", "/v1/audio/speech", "", nil)
	r.get("/a/path/of/the/client")
	a := r.get("/metrics")
	assert.Contains(t, a.header.Get("Content-Type"), "text/plain")
	for _, want := range []string{
		`qwen_http_requests_total{method="POST",path="/v1/audio/speech",status="200"} 2`,
		`qwen_http_requests_total{method="POST",path="/v1/audio/speech",status="400"} 1`,
		`qwen_http_requests_total{method="other",path="/v1/audio/speech",status="405"} 1`,
		`qwen_http_requests_total{method="GET",path="other",status="404"} 1`,
		`qwen_speech_requests_total{format="wav",outcome="ok"} 1`,
		`qwen_frames_total 6`, `qwen_audio_seconds_total 0.48`, `qwen_text_tokens_total 8`, `qwen_text_characters_total 24`,
		`qwen_first_audio_seconds_count 2`, `qwen_rtf_count 2`, `qwen_queue_wait_seconds_count 2`, `qwen_synthesis_seconds_count 2`,
		`qwen_queue_depth 0`, `qwen_running 0`, `qwen_ready 1`, `qwen_voices 0`, "go_goroutines",
	} {
		assert.Contains(t, string(a.body), want)
	}
	assert.NotContains(t, string(a.body), "of/the/client")
}

// Clients that are slow, mute or gone hold nothing up.
func TestAbuse(t *testing.T) {
	r := start(t, tiny(t, custom), func(o *server.Options) { o.BodyTimeout, o.MaxBody = time.Second, 1<<16 })
	for range 20 {
		mute := r.dial()
		_, _ = fmt.Fprint(mute, "POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
		r.dial().Close()
		half := r.dial()
		_, _ = fmt.Fprint(half, "POST /v1/audio/spe")
		half.Close()
		gone := r.dial()
		gone.send("POST", "/v1/audio/speech", hello())
		gone.Close()
		huge := r.dial()
		_, _ = fmt.Fprint(huge, "POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\n\r\n{")
		junk := r.dial()
		_, _ = junk.Write(bytes.Repeat([]byte{0, 0xff, '\n'}, 100))
	}
	assert.Equal(t, 200, r.say(hello()).status, "a good request is served at once")
	c := r.dial()
	_, _ = fmt.Fprint(c, "POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
	require.Equal(t, 408, c.head(bufio.NewReader(c)), "who sends half a body is not waited for")
	r.waitForLoad(0, 0)
}

// A body that came in time says nothing about how long the answer may take.
func TestALongAnswer(t *testing.T) {
	const limit = 500 * time.Millisecond
	e, entered, release := blocked()
	defer release()
	r := start(t, e, func(o *server.Options) { o.BodyTimeout = limit })
	answer := r.background(t.Context(), hello())
	eventually(t, "at the engine", func() bool { return entered.Load() == 1 })
	time.Sleep(limit + limit/2)
	release()
	res := <-answer
	require.NotNil(t, res)
	assert.Equal(t, 200, res.StatusCode)
}

func TestHTTP2(t *testing.T) {
	srv, err := server.New(server.Options{})
	require.NoError(t, err)
	require.NoError(t, srv.Use(&fake{speakers: []string{"vivian"}}, "tiny"))
	h := httptest.NewUnstartedServer(srv.Handler())
	h.EnableHTTP2 = true
	h.StartTLS()
	defer h.Close()
	res, err := h.Client().Post(h.URL+"/v1/audio/speech", "application/json", jsonBody(t, hello("response_format", "pcm")))
	require.NoError(t, err)
	defer res.Body.Close()
	assert.Equal(t, 2, res.ProtoMajor)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	assert.Len(t, body, 3*2*hop)
	assert.Equal(t, "stop", res.Trailer.Get("X-Finish-Reason"))
	assert.Equal(t, http.StatusOK, res.StatusCode)
}
