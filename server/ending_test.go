package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/server"
)

// unhurried lets a rig's clients take as long as they want.
func unhurried(o *server.Options) {
	o.BodyTimeout, o.WriteTimeout, o.StuckAfter = time.Hour, time.Hour, time.Minute
}

// metric reads a metric without labels.
func (r *rig) metric(name string) float64 {
	r.t.Helper()
	_, rest, ok := strings.Cut(string(r.get("/metrics").body), "\n"+name+" ")
	require.True(r.t, ok, name)
	text, _, _ := strings.Cut(rest, "\n")
	value, err := strconv.ParseFloat(text, 64)
	require.NoError(r.t, err)
	return value
}

// endNow shuts the server down without letting anything end by itself.
func (r *rig) endNow() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return r.srv.Shutdown(ctx)
}

// Uploads that do not end are not waited for, in whatever form they come.
func TestTheEndDuringUploads(t *testing.T) {
	r := start(t, &fake{kind: "base"}, unhurried)
	var in []*bufio.Reader
	for _, head := range []string{
		"POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
		"POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
		"POST /v1/audio/voices HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 1000\r\n\r\n--x\r\nContent-Disposition: form-data; name=audio\r\n\r\nRIFF",
		"POST /v1/audio/voices HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 1000\r\n\r\n--x--\r\nand more",
	} {
		c := r.dial()
		_, err := fmt.Fprint(c, head)
		require.NoError(t, err)
		in = append(in, bufio.NewReader(c))
	}
	eventually(t, "requests being read", func() bool { return r.metric("qwen_http_requests_in_flight") == float64(len(in))+1 })
	require.NoError(t, r.endNow())
	for _, in := range in {
		text, _ := io.ReadAll(in)
		assert.Contains(t, string(text), "HTTP/1.1 503")
		assert.Contains(t, string(text), "shutting_down")
	}
}

// Nor are readers that do not read.
func TestTheEndWithReadersThatStandStill(t *testing.T) {
	e := &fake{speakers: []string{"vivian"}}
	e.speak = func(ctx context.Context, _ *core.Request, emit func([]float32) error) (core.Result, error) {
		return frames(ctx, 5000, emit, nil) // 19 MB, more than the system keeps for a reader
	}
	r := start(t, e, unhurried)
	for _, more := range []object{{"stream": true}, {"stream": false}, {"stream_format": "sse"}} {
		c := r.dial()
		more["response_format"] = "pcm"
		body := hello()
		for k, v := range more {
			body[k] = v
		}
		c.send("POST", "/v1/audio/speech", body)
		require.Equal(t, 200, c.head(bufio.NewReader(c)))
	}
	r.waitForLoad(0, 0)
	require.NoError(t, r.endNow())
}

// Every answer has a client that takes none of it.
func TestNobodyIsWrittenToForEver(t *testing.T) {
	r := start(t, &fake{kind: "base"}, func(o *server.Options) { o.WriteTimeout = 50 * time.Millisecond })
	for i := range 40 {
		require.Equal(t, 201, r.post("/v1/audio/voices", object{"name": fmt.Sprint("v", i), "spk_b64": "AACAPwAAAEA=", "rvq_b64": nil,
			"ref_text": strings.Repeat("word ", 40000)}).status)
	}
	c := r.dial()
	_, err := fmt.Fprint(c, "GET /v1/audio/voices HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	eventually(t, "the request's end", func() bool { return r.metric("qwen_http_requests_in_flight") == 1 })
}

// The same over HTTP/2, where requests share a connection.
func TestTheEndOverHTTP2(t *testing.T) {
	opts := server.Options{}
	unhurried(&opts)
	srv, err := server.New(opts)
	require.NoError(t, err)
	e := &fake{speakers: []string{"vivian"}}
	e.speak = func(ctx context.Context, _ *core.Request, emit func([]float32) error) (core.Result, error) {
		return frames(ctx, 5000, emit, nil)
	}
	require.NoError(t, srv.Use(e, "tiny"))
	h := httptest.NewUnstartedServer(srv.Handler())
	h.EnableHTTP2 = true
	h.StartTLS()
	defer h.Close()
	defer h.CloseClientConnections()
	reader, err := h.Client().Post(h.URL+"/v1/audio/speech", "application/json", jsonBody(t, hello("response_format", "pcm")))
	require.NoError(t, err)
	defer reader.Body.Close()
	require.Equal(t, 2, reader.ProtoMajor)
	body, upload := io.Pipe()
	defer upload.Close()
	answered := make(chan int, 1)
	go func() {
		res, err := h.Client().Post(h.URL+"/v1/audio/speech", "application/json", body)
		if err != nil {
			answered <- 0
			return
		}
		res.Body.Close()
		answered <- res.StatusCode
	}()
	_, err = upload.Write([]byte("{"))
	require.NoError(t, err)
	eventually(t, "both requests", func() bool {
		res, err := h.Client().Get(h.URL + "/metrics")
		require.NoError(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return strings.Contains(string(text), "\nqwen_http_requests_in_flight 3\n")
	})
	require.NoError(t, (&rig{t, srv, h.URL}).endNow())
	assert.Equal(t, 503, <-answered)
	_, err = io.Copy(io.Discard, reader.Body)
	assert.Error(t, err, "a stream that was cut short")
}
