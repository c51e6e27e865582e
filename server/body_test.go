package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/server"
)

// padded is a good request of so many bytes.
func padded(bytes int) string {
	const body = `{"input":"Hello.","voice":"vivian","response_format":"pcm","padding":"`
	return body + strings.Repeat("x", bytes-len(body)-2) + `"}`
}

// begin sends the first of so many bytes of a request's body.
func (c *conn) begin(length, sent int) *bufio.Reader {
	c.t.Helper()
	_, err := fmt.Fprintf(c, "POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", length, padded(length)[:sent])
	require.NoError(c.t, err)
	return bufio.NewReader(c)
}

const large = 3 << 20

// However many large bodies come, few are in memory; small ones do not wait for them.
func TestLargeBodiesWait(t *testing.T) {
	e := &fake{speakers: []string{"vivian"}}
	r := start(t, e, unhurried)
	var slow []*conn
	for range 4 {
		c := r.dial()
		c.begin(large, large/2)
		slow = append(slow, c)
	}
	eventually(t, "large bodies being read", func() bool { return r.metric("qwen_large_bodies") == 4 })
	waiting := r.dial()
	in := waiting.begin(large, large)
	assert.Equal(t, 200, r.say(padded(1<<20-1)).status, "a small one")
	assert.Equal(t, 1, e.calls())
	slow[0].Close()
	assert.Equal(t, 200, waiting.head(in))
	for _, c := range slow[1:] {
		c.Close()
	}
	for range 8 {
		assert.Equal(t, 200, r.say(padded(large)).status, "the places come back")
	}
	r.post("/v1/audio/speech", padded(large)+"x").wants(t, 400, "", "invalid_json")
	eventually(t, "no large body", func() bool { return r.metric("qwen_large_bodies") == 0 })
}

// One that waits for too long is told when to come again.
func TestLargeBodiesThatWaitForEver(t *testing.T) {
	gate := make(chan struct{})
	defer close(gate)
	e := &fake{speakers: []string{"vivian"}, plan: func() { <-gate }}
	r := start(t, e, func(o *server.Options) { o.BodyTimeout = time.Second })
	var kept []<-chan *http.Response
	for range 4 {
		kept = append(kept, r.background(t.Context(), padded(large)))
	}
	eventually(t, "large bodies in memory", func() bool {
		for i := range kept {
			select {
			case <-kept[i]: // a slow machine did not send it in time
				kept[i] = r.background(t.Context(), padded(large))
			default:
			}
		}
		return r.metric("qwen_large_bodies") == 4
	})
	a := r.say(padded(large))
	a.wants(t, 503, "", "queue_timeout")
	assert.NotEmpty(t, a.header.Get("Retry-After"))
}

func TestEncodedBodies(t *testing.T) {
	r := start(t, &fake{speakers: []string{"vivian"}})
	r.say(hello(), "Content-Encoding", "gzip").wants(t, 415, "", "unsupported_media_type")
	assert.Equal(t, 200, r.say(hello(), "Content-Encoding", "identity").status)
}

// A client that goes away after it uploaded a form leaves the line, too, though its form ended before its body.
func TestAnUploaderThatIsGone(t *testing.T) {
	e, _, release := blocked()
	defer release()
	e.kind, e.speakers = "base", nil
	r := start(t, e)
	r.background(t.Context(), hello("voice", "default"))
	r.waitForLoad(1, 0)
	c := r.dial()
	const before = "--x\r\nContent-Disposition: form-data; name=name\r\n\r\nanna\r\n--x\r\nContent-Disposition: form-data; name=audio\r\n\r\n"
	after := "\r\n--x--\r\n" + strings.Repeat("epilogue", 10000)
	clip := recording(t)
	_, err := fmt.Fprintf(c, "POST /v1/audio/voices HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n",
		len(before), before, len(clip), clip, len(after), after)
	require.NoError(t, err)
	r.waitForLoad(1, 1)
	c.Close()
	r.waitForLoad(1, 0)
}

// A large upload is forgotten when it was listened to, before its turn at the engine comes.
func TestLargeUploadsThatWait(t *testing.T) {
	e, _, release := blocked()
	defer release()
	e.kind, e.speakers = "base", nil
	r := start(t, e)
	r.background(t.Context(), hello("voice", "default"))
	r.waitForLoad(1, 0)
	for i := range 6 {
		c := r.dial()
		c.send("POST", "/v1/audio/voices", object{"name": "anna", "wav_b64": b64(recording(t)), "padding": strings.Repeat("x", large)})
		r.waitForLoad(1, i+1)
	}
	assert.Zero(t, r.metric("qwen_large_bodies"))
}

// A reference is a few seconds of speech: a small file of much sound would be kept by each request that waits.
func TestLongReferences(t *testing.T) {
	r := start(t, &fake{kind: "base"})
	clip, err := audio.Decode(recording(t), "")
	require.NoError(t, err)
	var file audio.Buffer
	w, err := audio.NewWriter(&file, audio.FLAC, clip.Rate)
	require.NoError(t, err)
	for s := 0.; s < 121; s += clip.Seconds() {
		require.NoError(t, w.Write(clip.Samples))
	}
	require.NoError(t, w.Close())
	message := r.say(object{"input": "Hello.", "ref_audio": b64(file.Bytes())}).wants(t, 400, "ref_audio", "invalid_audio")
	assert.Contains(t, message, "at most 120")
	r.post("/v1/audio/voices", object{"name": "anna", "wav_b64": b64(file.Bytes())}).wants(t, 400, "wav_b64", "invalid_audio")
	assert.Equal(t, http.StatusOK, r.say(object{"input": "Hello.", "ref_audio": b64(recording(t))}).status)
}

// Every field with every kind of value: an answer with audio, or a fault of the client's that is said to be one.
func TestEveryFieldOfEveryKind(t *testing.T) {
	r := start(t, &fake{speakers: []string{"vivian"}})
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	r.get("/openapi.json").json(t, &doc)
	fields := doc.Components.Schemas["SpeechRequest"].Properties
	require.Greater(t, len(fields), 15)
	for field := range fields {
		for _, value := range []string{"null", "true", "false", "0", "7", "-1", "1.5", "1e5", "1e999", "-1e999", "1e-999", "99999999999999999999999",
			`""`, `"x"`, `"a\u0000b"`, `"\u200b"`, "[]", `["x"]`, "{}", `{"id":3}`, `{"id":null}`, strings.Repeat("[", 50) + strings.Repeat("]", 50)} {
			body := object{"input": "Hello.", "voice": "vivian", "response_format": "pcm"}
			body[field] = json.RawMessage(value)
			a := r.say(body)
			if a.status == 200 {
				assert.NotEmpty(t, a.body, "%s: %s", field, value)
				continue
			}
			require.Equal(t, 400, a.status, "%s: %s: %s", field, value, a.body)
			_, param, _ := a.failure(t)
			assert.NotEmpty(t, param, "%s: %s", field, value)
		}
	}
	for _, body := range []string{strings.Repeat("[", 100000), strings.Repeat("[", 100000) + strings.Repeat("]", 100000), strings.Repeat(`{"a":`, 100000),
		`{"input":"a","x":` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + "}", `{"input":NaN}`, `{"speed":Infinity}`, `{"speed":0x1}`,
		"\xef\xbb\xbf{}", "{}{}", "{'input':'a'}", "{\"input\":\"a\x00b\"}", `{"input":"\udc00"}`, "\xff\xfe{\x00}\x00", "input=a"} {
		r.say(body).wants(t, 400, "", "invalid_json")
	}
}
