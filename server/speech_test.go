package server_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/server"
)

// hello is a short request that a tiny model answers.
func hello(more ...any) object {
	o := object{"model": "tts-1", "input": "Hello world.", "voice": "vivian", "seed": 7, "max_new_tokens": 6}
	for i := 0; i < len(more); i += 2 {
		o[more[i].(string)] = more[i+1]
	}
	return o
}

func TestWholeWAV(t *testing.T) {
	r := start(t, tiny(t, custom))
	a := r.say(hello("response_format", "wav"))
	require.Equal(t, 200, a.status, "%s", a.body)
	assert.Equal(t, "audio/wav", a.header.Get("Content-Type"))
	assert.Equal(t, strconv.Itoa(len(a.body)), a.header.Get("Content-Length"))
	assert.Equal(t, "24000", a.header.Get("X-Sample-Rate"))
	assert.Equal(t, "7", a.header.Get("X-Seed"))
	assert.Equal(t, "vivian", a.header.Get("X-Voice"))
	assert.Equal(t, "length", a.header.Get("X-Finish-Reason"))
	assert.Equal(t, "6", a.header.Get("X-Frames"))
	assert.EqualValues(t, len(a.body)-8, binary.LittleEndian.Uint32(a.body[4:]))
	assert.EqualValues(t, len(a.body)-44, binary.LittleEndian.Uint32(a.body[40:]))
	clip, err := audio.DecodeWAV(a.body)
	require.NoError(t, err)
	assert.Equal(t, 6*hop, clip.Frames())
	assert.Equal(t, core.SampleRate, clip.Rate)
	assert.Equal(t, 1, clip.Channels)
}

func TestStreamsHaveTheSameSamples(t *testing.T) {
	r := start(t, tiny(t, custom))
	whole := r.say(hello("response_format", "wav"))

	a := r.say(hello("response_format", "wav", "stream", true))
	require.Equal(t, 200, a.status)
	assert.Empty(t, a.header.Get("Content-Length"))
	assert.EqualValues(t, 0xffffffff, binary.LittleEndian.Uint32(a.body[4:]))
	assert.EqualValues(t, 0xffffffff, binary.LittleEndian.Uint32(a.body[40:]))
	assert.Equal(t, whole.body[44:], a.body[44:])
	assert.Equal(t, "length", a.trail.Get("X-Finish-Reason"))

	a = r.say(hello("response_format", "pcm"))
	require.Equal(t, 200, a.status)
	assert.Equal(t, "audio/pcm", a.header.Get("Content-Type"))
	assert.Empty(t, a.header.Get("Content-Length"))
	assert.Equal(t, whole.body[44:], a.body)

	a = r.say(hello("response_format", "pcm", "stream", false))
	assert.Equal(t, strconv.Itoa(6*hop*2), a.header.Get("Content-Length"))
	assert.Equal(t, whole.body[44:], a.body)
}

// event is one of an SSE stream.
type event struct {
	Type   string
	Audio  []byte
	Usage  struct{ InputTokens, OutputTokens, TotalTokens int } `json:"-"`
	Raw    map[string]any
	Format string `json:"response_format"`
}

// events takes an SSE body apart; it must end with [DONE] or an error.
func events(t *testing.T, body []byte) (list []event) {
	t.Helper()
	for block := range strings.SplitSeq(strings.TrimSuffix(string(body), "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(block, "data: ")
		require.True(t, ok, "%q", block)
		if data == "[DONE]" {
			list = append(list, event{Type: data})
			continue
		}
		var e event
		require.NoError(t, json.Unmarshal([]byte(data), &e))
		require.NoError(t, json.Unmarshal([]byte(data), &e.Raw))
		list = append(list, e)
	}
	return list
}

func TestEvents(t *testing.T) {
	r := start(t, tiny(t, custom))
	whole := r.say(hello("response_format", "pcm"))
	a := r.say(hello("response_format", "pcm", "stream_format", "sse"))
	require.Equal(t, 200, a.status)
	assert.Equal(t, "text/event-stream", a.header.Get("Content-Type"))
	list := events(t, a.body)
	require.GreaterOrEqual(t, len(list), 3)
	var pcm []byte
	for _, e := range list[:len(list)-2] {
		assert.Equal(t, "speech.audio.delta", e.Type)
		assert.Equal(t, "pcm", e.Format)
		assert.Zero(t, len(e.Audio)%2, "whole samples")
		pcm = append(pcm, e.Audio...)
	}
	assert.Equal(t, whole.body, pcm)
	done := list[len(list)-2]
	assert.Equal(t, "speech.audio.done", done.Type)
	usage := done.Raw["usage"].(map[string]any)
	assert.EqualValues(t, 6, usage["output_tokens"])
	assert.Positive(t, usage["input_tokens"])
	assert.Equal(t, usage["total_tokens"], usage["input_tokens"].(float64)+6)
	assert.Equal(t, "length", done.Raw["finish_reason"])
	assert.Equal(t, "[DONE]", list[len(list)-1].Type)
}

// The first audio is with the client before the second frame is begun.
func TestFirstAudioComesFirst(t *testing.T) {
	heard := make(chan struct{})
	e := &fake{speakers: []string{"vivian"}}
	e.speak = func(ctx context.Context, _ *core.Request, emit func([]float32) error) (core.Result, error) {
		return frames(ctx, 3, emit, func(i int) error {
			if i == 1 {
				<-heard // would stand here for ever if the first frame waited for the second
			}
			return nil
		})
	}
	r := start(t, e)
	for _, format := range []string{"pcm", "wav"} {
		heard = make(chan struct{})
		res, err := http.Post(r.url+"/v1/audio/speech", "application/json", jsonBody(t, hello("response_format", format, "stream", true)))
		require.NoError(t, err)
		first := make([]byte, 2*hop)
		_, err = io.ReadFull(res.Body, first)
		require.NoError(t, err)
		close(heard)
		rest, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, len(rest), 2*2*hop)
		res.Body.Close()
	}
}

func TestChunksAreWholeSamples(t *testing.T) {
	r := start(t, &fake{speakers: []string{"vivian"}})
	for _, format := range []string{"pcm", "wav"} {
		conn := r.dial()
		conn.send("POST", "/v1/audio/speech", hello("response_format", format, "stream", true))
		in := bufio.NewReader(conn)
		res := conn.head(in)
		require.Equal(t, 200, res)
		for {
			line, err := in.ReadString('\n')
			require.NoError(t, err)
			size, err := strconv.ParseInt(strings.TrimSpace(line), 16, 64)
			require.NoError(t, err)
			if size == 0 {
				break
			}
			assert.Zero(t, size%2, format)
			_, err = io.CopyN(io.Discard, in, size+2)
			require.NoError(t, err)
		}
	}
}

// Whatever fails before there is audio has an error status, and no body but the error.
func TestNoSuccessWithoutAudio(t *testing.T) {
	for name, c := range map[string]struct {
		result core.Result
		err    error
		code   string
	}{
		"failure": {core.Result{}, errors.Join(core.ErrGenerate, errors.New("talker: NaN")), "generation_failed"},
		"memory":  {core.Result{}, core.ErrMemory, "out_of_memory"},
		"nothing": {core.Result{Finish: core.FinishEmpty}, nil, "no_audio"},
	} {
		e := &fake{speakers: []string{"vivian"}, speak: func(context.Context, *core.Request, func([]float32) error) (core.Result, error) {
			return c.result, c.err
		}}
		r := start(t, e)
		for _, more := range [][]any{{"response_format", "wav"}, {"response_format", "pcm"}, {"stream_format", "sse"}, {"response_format", "wav", "stream", true}} {
			a := r.say(hello(more...))
			a.wants(t, 500, "", c.code)
			assert.Equal(t, "false", a.header.Get("X-Should-Retry"), name)
		}
	}
}

func TestAPanicIsAnAnswer(t *testing.T) {
	e := &fake{speakers: []string{"vivian"}, speak: func(context.Context, *core.Request, func([]float32) error) (core.Result, error) { panic("boo") }}
	r := start(t, e)
	r.say(hello("response_format", "pcm")).wants(t, 500, "", "generation_failed")
	e.speak = nil
	assert.Equal(t, 200, r.say(hello("response_format", "pcm")).status, "and the next request is served")
}

// What fails later must not look complete.
func TestFailureAfterAudio(t *testing.T) {
	e := &fake{speakers: []string{"vivian"}}
	e.speak = func(ctx context.Context, _ *core.Request, emit func([]float32) error) (core.Result, error) {
		return frames(ctx, 3, emit, func(i int) error {
			if i == 2 {
				return errors.Join(core.ErrGenerate, errors.New("talker: NaN"))
			}
			return nil
		})
	}
	r := start(t, e)
	a := r.say(hello("response_format", "pcm"))
	assert.Equal(t, 200, a.status)
	assert.ErrorIs(t, a.end, io.ErrUnexpectedEOF, "the stream breaks off")

	a = r.say(hello("response_format", "pcm", "stream_format", "sse"))
	require.NoError(t, a.end)
	list := events(t, a.body)
	last := list[len(list)-1]
	assert.Equal(t, "error", last.Type)
	failure := last.Raw["error"].(map[string]any)
	assert.Equal(t, "generation_failed", failure["code"])
	assert.Contains(t, failure, "param")

	r.say(hello("response_format", "wav")).wants(t, 500, "", "generation_failed")
}

func TestRequestsThatAreWrong(t *testing.T) {
	r := start(t, tiny(t, custom), func(o *server.Options) { o.MaxInput, o.MaxFrames, o.MaxBody = 100, 50, 4096 })
	for _, c := range []struct {
		body        any
		param, code string
	}{
		{"", "", "invalid_json"},
		{"{", "", "invalid_json"},
		{`{"input":"a`, "", "invalid_json"},
		{`{"input":"a\`, "", "invalid_json"},
		{`{"input":"a"} x`, "", "invalid_json"},
		{`[1]`, "", "invalid_json"},
		{`null`, "", "invalid_json"},
		{`"text"`, "", "invalid_json"},
		{"{\"input\":\"a\xff\"}", "", "invalid_json"},
		{`{"input":"a \ud83d b"}`, "", "invalid_json"},
		{strings.Repeat("[", 3000), "", "invalid_json"},
		{`{}`, "input", "missing_required_field"},
		{`{"input":null}`, "input", "missing_required_field"},
		{hello("input", ""), "input", "missing_required_field"},
		{hello("input", " \t\n"), "input", "invalid_value"},
		{hello("input", "　"), "input", "invalid_value"},
		{hello("input", "\u200b"), "input", "invalid_value"},
		{hello("input", "..."), "input", "invalid_value"},
		{hello("input", "😄"), "input", "invalid_value"},
		{hello("input", 5), "input", "invalid_type"},
		{hello("input", []string{"a"}), "input", "invalid_type"},
		{hello("input", strings.Repeat("字", 101)), "input", "input_too_long"},
		{hello("voice", "nobody"), "voice", "voice_not_found"},
		{hello("voice", "../../etc/passwd"), "voice", "voice_not_found"},
		{hello("voice", ""), "voice", "missing_required_field"},
		{hello("voice", 5), "voice", "invalid_type"},
		{hello("voice", object{"id": 5}), "id", "invalid_type"},
		{hello("response_format", "aac"), "response_format", "unsupported_response_format"},
		{hello("response_format", "exe"), "response_format", "unsupported_response_format"},
		{hello("stream_format", "xml"), "stream_format", "invalid_value"},
		{hello("stream_format", "sse", "stream", false), "stream", "invalid_value"},
		{hello("stream", "yes"), "stream", "invalid_type"},
		{hello("speed", 0), "speed", "invalid_speed"},
		{hello("speed", 4.5), "speed", "invalid_speed"},
		{hello("speed", "1.0"), "speed", "invalid_type"},
		{`{"input":"a","voice":"vivian","speed":1e999}`, "speed", "invalid_type"},
		{`{"input":"a","voice":"vivian","speed":NaN}`, "", "invalid_json"},
		{hello("language", "klingon"), "language", "invalid_value"},
		{hello("language", "en", "lang_code", "en"), "lang_code", "invalid_value"},
		{hello("temperature", -1), "temperature", "invalid_value"},
		{hello("temperature", 50), "temperature", "invalid_value"},
		{hello("top_k", -5), "top_k", "invalid_value"},
		{hello("top_k", 1e12), "top_k", "invalid_value"},
		{hello("top_k", 1.5), "top_k", "invalid_type"},
		{hello("top_p", 2), "top_p", "invalid_value"},
		{hello("repetition_penalty", 0), "repetition_penalty", "invalid_value"},
		{hello("subtalker_top_p", 0), "subtalker_top_p", "invalid_value"},
		{hello("max_new_tokens", 0), "max_new_tokens", "invalid_value"},
		{hello("max_new_tokens", -1), "max_new_tokens", "invalid_value"},
		{hello("max_new_tokens", 51), "max_new_tokens", "invalid_value"},
		{hello("max_new_tokens", 1<<40), "max_new_tokens", "invalid_value"},
		{hello("seed", "x"), "seed", "invalid_type"},
		{hello("ref_audio", "AAAA"), "ref_audio", "mode_invalid"},
		{hello("ref_text", "hello"), "ref_audio", "missing_required_field"},
		{hello("task_type", "Base"), "task_type", "mode_invalid"},
		{hello("task_type", "Singing"), "task_type", "invalid_value"},
	} {
		a := r.say(c.body)
		a.wants(t, 400, c.param, c.code)
		assert.Empty(t, a.header.Get("Retry-After"))
	}
	r.say(hello("input", strings.Repeat("x", 5000))).wants(t, 413, "", "body_too_large")
	r.do("POST", "/v1/audio/speech", "multipart/form-data; boundary=x", strings.NewReader("--x--")).wants(t, 415, "", "unsupported_media_type")
	message, _, _ := r.say(hello("voice", "nobody")).failure(t)
	assert.Contains(t, message, "vivian", "the voices there are")
	message, _, _ = r.say(hello("response_format", "aac")).failure(t)
	assert.Contains(t, message, "wav", "the formats that work")

	assert.Equal(t, 200, r.say(hello("response_format", "wav")).status, "all of that leaves nothing behind")
}

func TestFieldsReachTheEngine(t *testing.T) {
	e := &fake{speakers: []string{"vivian", "ryan"}}
	r := start(t, e, func(o *server.Options) { o.Language = "german" })
	ask := func(more ...any) core.Request {
		t.Helper()
		a := r.say(hello(append([]any{"response_format", "pcm"}, more...)...))
		require.Equal(t, 200, a.status, "%s", a.body)
		return e.requests[len(e.requests)-1]
	}
	d := core.DefaultRequest()
	q := ask("model", "whatever it is called", "surplus", 1)
	assert.Equal(t, "Hello world.", q.Text)
	assert.Equal(t, "vivian", q.Speaker)
	assert.Equal(t, "german", q.Language)
	assert.Equal(t, d.Talker, q.Talker)
	assert.Equal(t, d.Predictor, q.Predictor)
	assert.Equal(t, int64(7), q.Seed)
	assert.Equal(t, 6, q.MaxFrames)
	assert.True(t, q.Stream)

	q = ask("voice", object{"id": "RYAN"}, "instructions", "whispering", "lang_code", "en", "temperature", 0.5, "top_k", 10, "top_p", 0.25, "repetition_penalty", 1.5)
	assert.Equal(t, "ryan", q.Speaker)
	assert.Equal(t, "whispering", q.Instruct)
	assert.Equal(t, "en", q.Language)
	assert.Equal(t, core.Sampling{DoSample: true, Temperature: .5, TopK: 10, TopP: .25, RepetitionPenalty: 1.5}, q.Talker)
	p := q.Talker
	p.RepetitionPenalty = d.Predictor.RepetitionPenalty
	assert.Equal(t, p, q.Predictor, "it follows the talker")
	q = ask("temperature", 0, "subtalker_temperature", 0.75, "seed", nil)
	assert.True(t, q.Talker.Greedy())
	assert.EqualValues(t, .75, q.Predictor.Temperature)
	assert.GreaterOrEqual(t, q.Seed, int64(0), "drawn, so that it can be told")

	a := r.say(hello("response_format", "pcm", "seed", -1, "speaker", "ryan", "voice", nil))
	require.Equal(t, 200, a.status)
	assert.Equal(t, strconv.FormatInt(e.requests[len(e.requests)-1].Seed, 10), a.header.Get("X-Seed"))
	assert.Equal(t, "ryan", a.header.Get("X-Voice"))
	assert.Equal(t, 200, r.do("POST", "/v1/audio/speech", "application/x-www-form-urlencoded", jsonBody(t, hello())).status, "what curl -d says")
}

func TestStrict(t *testing.T) {
	r := start(t, &fake{speakers: []string{"vivian"}}, func(o *server.Options) { o.Strict = true })
	r.say(hello("surplus", 1)).wants(t, 400, "surplus", "unknown_field")
	r.say(hello("voice", "alloy")).wants(t, 400, "voice", "voice_not_found")
	assert.Equal(t, 200, r.say(hello()).status)
}

func TestOpenAIVoices(t *testing.T) {
	e := &fake{speakers: []string{"vivian", "ryan"}}
	r := start(t, e, func(o *server.Options) {
		o.Aliases = map[string]string{"Narrator": "ryan", "onyx": "ryan", "lost": "nobody"}
	})
	for i, name := range []string{"alloy", "ash", "ballad", "coral", "echo", "fable", "onyx", "nova", "sage", "shimmer", "verse", "marin", "cedar"} {
		a := r.say(hello("voice", name))
		require.Equal(t, 200, a.status, "%s", a.body)
		want := e.speakers[i%2]
		if name == "onyx" {
			want = "ryan"
		}
		assert.Equal(t, want, a.header.Get("X-Voice"))
		assert.Contains(t, a.header.Get("X-Warning"), name+" is an alias of "+want)
	}
	assert.Equal(t, "ryan", r.say(hello("voice", "narrator")).header.Get("X-Voice"))
	r.say(hello("voice", "lost")).wants(t, 400, "voice", "voice_not_found")
	var list struct{ Aliases map[string]string }
	r.get("/v1/audio/voices").json(t, &list)
	assert.Equal(t, "vivian", list.Aliases["alloy"])
	assert.Equal(t, "ryan", list.Aliases["narrator"])
}

func TestFamilies(t *testing.T) {
	r := start(t, tiny(t, design))
	r.say(object{"input": "Hello.", "voice": "alloy"}).wants(t, 400, "instructions", "mode_invalid")
	a := r.say(object{"input": "Hello.", "voice": "alloy", "instructions": "a calm old man", "max_new_tokens": 2})
	require.Equal(t, 200, a.status, "%s", a.body)
	assert.Contains(t, a.header.Get("X-Warning"), "voice: ignored")
	r.say(object{"input": "Hello.", "voice": "vivian", "instructions": "a calm old man"}).wants(t, 400, "voice", "voice_not_found")

	r = start(t, tiny(t, base))
	r.say(object{"input": "Hello.", "voice": "alloy"}).wants(t, 400, "voice", "voice_not_found")
	a = r.say(object{"input": "Hello.", "voice": "default", "instructions": "sad", "max_new_tokens": 2})
	require.Equal(t, 200, a.status, "%s", a.body)
	assert.Contains(t, a.header.Get("X-Warning"), "instructions: ignored")
	assert.Equal(t, 200, r.say(object{"input": "Hello.", "max_new_tokens": 2}).status)
}

// Every format that there is an encoder for, whole and streamed, decodes to what was spoken.
func TestFormats(t *testing.T) {
	r := start(t, tiny(t, custom))
	const frames = 20
	want, err := audio.DecodeWAV(r.say(hello("response_format", "wav", "max_new_tokens", frames)).body)
	require.NoError(t, err)
	for format, contentType := range map[string]string{"": "audio/mpeg", "mp3": "audio/mpeg", "opus": "audio/opus", "flac": "audio/flac", "wav": "audio/wav", "vorbis": "audio/ogg"} {
		for _, stream := range []any{nil, true, false} {
			a := r.say(hello("response_format", format, "max_new_tokens", frames, "stream", stream))
			require.Equal(t, 200, a.status, "%s", a.body)
			require.NoError(t, a.end)
			assert.Equal(t, contentType, a.header.Get("Content-Type"))
			clip, err := audio.Decode(a.body, format)
			require.NoError(t, err, "%s %v", format, stream)
			assert.InDelta(t, want.Seconds(), clip.Seconds(), .11, "%s %v", format, stream)
			if format == "flac" {
				assert.Equal(t, want.Samples, clip.Samples)
			}
			if stream == false {
				assert.Equal(t, strconv.Itoa(len(a.body)), a.header.Get("Content-Length"))
			}
		}
	}
}

func TestSpeed(t *testing.T) {
	r := start(t, tiny(t, custom))
	for _, speed := range []float64{.25, .5, 1, 1.5, 4} {
		for _, stream := range []bool{false, true} {
			a := r.say(hello("response_format", "pcm", "max_new_tokens", 20, "stream", stream, "speed", speed))
			require.Equal(t, 200, a.status, "%s", a.body)
			assert.InDelta(t, 20*.08/speed, float64(len(a.body))/2/24000, .1, "%v", speed)
		}
	}
}

// A long text is one answer: one header, pieces one right after the other.
func TestLongTexts(t *testing.T) {
	e := tiny(t, custom)
	r := start(t, e)
	long := strings.Repeat("This is a sentence of a long text that no model speaks in one go. ", 12)
	var pieces int
	req := e.DefaultRequest()
	req.Text, req.Speaker, req.Seed, req.MaxFrames = long, "vivian", 7, 4
	res, err := e.SynthesizeLong(t.Context(), &req, core.LongOptions{PieceFrames: 4, Piece: func(core.Piece) { pieces++ }}, func([]float32) error { return nil })
	require.NoError(t, err)
	require.Greater(t, pieces, 1)
	for _, format := range []string{"wav", "flac", "mp3"} {
		a := r.say(hello("input", long, "response_format", format, "max_new_tokens", 4, "stream", true))
		require.Equal(t, 200, a.status, "%s", a.body)
		clip, err := audio.Decode(a.body, format)
		require.NoError(t, err)
		assert.InDelta(t, float64(res.Samples)/24000, clip.Seconds(), .11)
		assert.Equal(t, strconv.Itoa(4*pieces), a.trail.Get("X-Frames"))
	}
	a := r.say(hello("input", "***\n\n"+long+"\n\n* * *", "response_format", "wav", "max_new_tokens", 4))
	assert.Equal(t, 200, a.status, "signs are left out")
}

// A text that says little is not spoken for minutes, even if the model never ends it, unless the client wants that.
func TestShortTextsAreShort(t *testing.T) {
	r := start(t, tiny(t, custom))
	a := r.say(object{"input": "Huh?", "voice": "vivian", "seed": 7, "response_format": "wav"})
	require.Equal(t, 200, a.status, "%s", a.body)
	clip, err := audio.DecodeWAV(a.body)
	require.NoError(t, err)
	assert.Less(t, clip.Seconds(), 15.0)
	a = r.say(hello("input", "Huh?", "response_format", "wav", "max_new_tokens", 200))
	assert.Equal(t, "200", a.header.Get("X-Frames"))
}

// A fault of the program while an answer is sent must not end it as if it were complete.
func TestAFaultInTheMiddle(t *testing.T) {
	r := start(t, &fake{speakers: []string{"vivian"}})
	body := &faulty{ResponseRecorder: httptest.NewRecorder()}
	assert.PanicsWithValue(t, http.ErrAbortHandler, func() {
		r.srv.Handler().ServeHTTP(body, httptest.NewRequest("POST", "/v1/audio/speech", jsonBody(t, hello("response_format", "pcm"))))
	})
	assert.Equal(t, 200, body.Code)
	assert.NotContains(t, body.Body.String(), "error")
	r.waitForLoad(0, 0)
}

// faulty panics at the first flush, when the status is on its way.
type faulty struct{ *httptest.ResponseRecorder }

func (f *faulty) FlushError() error { panic("a fault") }
