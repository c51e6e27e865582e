package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/server"
)

// client is OpenAI's own for Go.
func (r *rig) client(key string, options ...option.RequestOption) *openai.Client {
	c := openai.NewClient(append([]option.RequestOption{option.WithBaseURL(r.url + "/v1"), option.WithAPIKey(key)}, options...)...)
	return &c
}

func speechParams(voice, format string) openai.AudioSpeechNewParams {
	return openai.AudioSpeechNewParams{
		Model: "tts-1", Input: "Hello world.", Voice: openai.AudioSpeechNewParamsVoiceUnion{OfString: openai.String(voice)},
		ResponseFormat: openai.AudioSpeechNewParamsResponseFormat(format), Instructions: openai.String("cheerful"),
	}
}

func TestOpenAIForGo(t *testing.T) {
	r := start(t, tiny(t, custom), func(o *server.Options) { o.Keys, o.MaxFrames = []string{"sk-1"}, 8 })
	client := r.client("sk-1")
	for _, format := range []string{"mp3", "opus", "flac", "wav", "pcm"} {
		res, err := client.Audio.Speech.New(t.Context(), speechParams("alloy", format))
		require.NoError(t, err)
		data, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		res.Body.Close()
		if format != "pcm" {
			clip, err := audio.Decode(data, format)
			require.NoError(t, err)
			assert.InDelta(t, 8*.08, clip.Seconds(), .11, format)
		}
	}
	p := speechParams("", "wav")
	p.Voice = openai.AudioSpeechNewParamsVoiceUnion{OfAudioSpeechNewsVoiceID: &openai.AudioSpeechNewParamsVoiceID{ID: "ryan"}}
	res, err := client.Audio.Speech.New(t.Context(), p)
	require.NoError(t, err)
	res.Body.Close()
	assert.Equal(t, "ryan", res.Header.Get("X-Voice"))

	models, err := client.Models.List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "tiny", models.Data[0].ID)

	for _, c := range []struct {
		client *openai.Client
		params openai.AudioSpeechNewParams
		status int
		param  string
		code   string
	}{
		{client, speechParams("nobody", "mp3"), 400, "voice", "voice_not_found"},
		{client, speechParams("alloy", "aac"), 400, "response_format", "unsupported_response_format"},
		{r.client("sk-2"), speechParams("alloy", "mp3"), 401, "", "invalid_api_key"},
	} {
		_, err := c.client.Audio.Speech.New(t.Context(), c.params)
		var failure *openai.Error
		require.ErrorAs(t, err, &failure)
		assert.Equal(t, c.status, failure.StatusCode)
		assert.Equal(t, c.param, failure.Param)
		assert.Equal(t, c.code, failure.Code)
		assert.NotEmpty(t, failure.Message)
	}
}

// counted is a client's transport that counts requests.
type counted struct {
	n    atomic.Int32
	then func() // after the first answer, before the client has it
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if c.n.Add(1) == 1 && c.then != nil {
		c.then()
	}
	return res, err
}

// OpenAI's clients try again, but only where that is of use.
func TestRetries(t *testing.T) {
	e, entered, release := blocked()
	defer release()
	r := start(t, e, func(o *server.Options) { o.MaxQueue = -1 })
	r.background(t.Context(), hello())
	eventually(t, "at the engine", func() bool { return entered.Load() == 1 })
	busy := &counted{then: func() {
		release()
		r.waitForLoad(0, 0)
	}}
	res, err := r.client("any", option.WithHTTPClient(&http.Client{Transport: busy})).Audio.Speech.New(t.Context(), speechParams("vivian", "pcm"))
	require.NoError(t, err)
	res.Body.Close()
	assert.EqualValues(t, 2, busy.n.Load())

	broken := &fake{speakers: []string{"vivian"}}
	broken.speak = func(context.Context, *core.Request, func([]float32) error) (core.Result, error) {
		return core.Result{}, errors.Join(core.ErrGenerate, errors.New("talker: NaN"))
	}
	r = start(t, broken)
	once := &counted{}
	_, err = r.client("any", option.WithHTTPClient(&http.Client{Transport: once})).Audio.Speech.New(t.Context(), speechParams("vivian", "pcm"))
	assert.Error(t, err)
	assert.EqualValues(t, 1, once.n.Load(), "the same failure is not asked for three times")
	assert.Equal(t, 1, broken.calls())
}

// OpenAI's client for Python, and FFmpeg's decoders, if `make clients-test` has put them there.
func TestOpenAIForPython(t *testing.T) {
	packages := os.Getenv("QWEN_CLIENT_PACKAGES")
	if packages == "" {
		t.Skip("`make clients-test` runs this")
	}
	r := start(t, tiny(t, custom), func(o *server.Options) { o.Keys, o.MaxFrames = []string{"sk-1"}, 25 })
	cmd := exec.CommandContext(t.Context(), "python3", filepath.Join(testenv.Root(t), "tests/clients/openai_client.py"), r.url)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+packages, "PYTHONDONTWRITEBYTECODE=1", "OPENAI_API_KEY=sk-1")
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
}
