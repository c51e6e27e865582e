package server_test

import (
	"context"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/internal/testenv"
)

// browser is a tab of a headless Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu   sync.Mutex
	said []string // by the console, of what is wrong
}

// browse opens a server's page. The browser can reach nothing but this machine, and has a microphone that beeps.
func (r *rig) browse(t *testing.T) *browser {
	t.Helper()
	b := &browser{t: t}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.WindowSize(900, 1150),
		chromedp.Flag("use-fake-device-for-media-stream", true), chromedp.Flag("use-fake-ui-for-media-stream", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"), chromedp.WSURLReadTimeout(patience))
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	b.ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	go b.listen(chromedp.Console(b.ctx))
	b.do(chromedp.Navigate(r.url + "/"))
	return b
}

// chromium finds the browser. CI must have it.
func chromium(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("there is no chromium")
	}
	t.Skip("there is no chromium (Debian's package chromium)")
	return ""
}

// listen keeps what the console says of what is wrong.
func (b *browser) listen(messages iter.Seq2[chromedp.ConsoleMessage, error]) {
	for m, err := range messages {
		if err != nil {
			return // the browser has gone
		}
		wrong := m.IsException() || m.Type == "error" || m.Type == "warning"
		if wrong && m.Source != "network" { // where answers other than success come
			b.mu.Lock()
			b.said = append(b.said, m.String())
			b.mu.Unlock()
		}
	}
}

// complaints are what the console has said of what is wrong.
func (b *browser) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.said
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, actions...))
}

// until waits for a condition in the page.
func (b *browser) until(condition string) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](condition))
		require.NoError(b.t, err, condition)
		if ok {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("never: %s; the page says: %s; the console: %q", condition, b.text("body"), b.complaints())
		}
	}
}

func (b *browser) text(selector string) string {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS(selector)))
	require.NoError(b.t, err)
	return text
}

func (b *browser) set(id, value string) chromedp.Action[chromedp.Void] {
	return chromedp.SetValue(chromedp.CSS("#"+id), value)
}

func (b *browser) click(id string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(chromedp.CSS("#" + id))
}

const (
	spoken = `["stop", "length"].includes(document.getElementById("finish").textContent) && !document.getElementById("player").hidden`
	failed = `!document.getElementById("error").hidden`
)

func TestThePageSpeaks(t *testing.T) {
	r := start(t, tiny(t, custom))
	b := r.browse(t)
	b.until(`document.getElementById("voice").options.length >= 9`)
	assert.Equal(t, "tiny (custom voice)", b.text("#model"))
	b.do(b.set("voice", "ryan"), b.set("language", "english"), b.set("seed", "7"), b.set("frames", "30"), b.click("speak"))
	b.until(spoken)
	assert.Regexp(t, `^\d+ ms$`, b.text("#first"))
	assert.Regexp(t, `^\d+\.\d\d$`, b.text("#rtf"))
	assert.Equal(t, "2.40 s", b.text("#duration"))
	assert.Equal(t, "7", b.text("#used-seed"))
	b.until(`document.getElementById("player").duration === 2.4`)

	b.do(b.set("text", "?!"), b.click("speak"))
	b.until(failed)
	assert.Equal(t, "input: nothing to speak: no letter or digit in it", b.text("#error"))
	b.do(b.set("text", "Hello again."), b.set("frames", "5"), b.click("speak"))
	b.until(spoken)
	b.until("!(" + failed + ")")

	b.do(b.set("frames", "2000"), b.click("speak"))
	b.until(`document.getElementById("first").textContent.endsWith("ms")`)
	b.do(b.click("stop"))
	b.until(`document.getElementById("stop").disabled`)
	r.waitForLoad(0, 0)
	assert.Empty(t, b.complaints())
}

func TestThePageClones(t *testing.T) {
	r := start(t, tiny(t, base))
	b := r.browse(t)
	b.until(`!document.getElementById("cloning").hidden`)
	wave := filepath.Join(testenv.Root(t), "tests/golden/audio/speech_24k.wav")
	b.do(b.set("frames", "10"), b.set("seed", "7"), chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{wave}, chromedp.NodeReady))
	b.until(`document.getElementById("clip-name").textContent === "speech_24k.wav"`)
	b.do(b.set("transcript", transcript), b.click("speak"))
	b.until(spoken)
	b.do(b.set("name", "Anna"), b.click("save"))
	b.until(`document.getElementById("voice").value === "Anna"`)
	assert.Equal(t, "in_context", r.voices()["Anna"].Mode)
	if path := os.Getenv("QWEN_SCREENSHOT"); path != "" {
		b.screenshot(path)
	}
	b.do(b.click("speak"))
	b.until(spoken)

	b.do(b.click("record"))
	b.until(`/^Stop \([1-9]/.test(document.getElementById("record").textContent)`)
	b.do(b.click("record"))
	b.until(`document.getElementById("clip-name").textContent.startsWith("your recording, ")`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("transcript").value = ""`), b.set("name", "beep"), b.click("save"))
	b.until(`document.getElementById("voice").value === "beep"`)
	assert.Equal(t, "x_vector", r.voices()["beep"].Mode)
	b.do(b.click("remove"))
	b.until(`document.getElementById("voice").value === "" && document.getElementById("remove").disabled`)
	assert.Len(t, r.voices(), 1)
	assert.Empty(t, b.complaints())
}

func TestThePageDesigns(t *testing.T) {
	r := start(t, tiny(t, design))
	b := r.browse(t)
	b.until(`document.getElementById("instructions-title").textContent === "Describe the voice"`)
	b.do(b.set("frames", "4"), b.click("speak"))
	b.until(failed)
	assert.Contains(t, b.text("#error"), "instructions: ")
	b.do(b.set("instructions", "a calm old man"), b.click("speak"))
	b.until(spoken)
	assert.Empty(t, b.complaints())
}

// screenshot is for the documentation.
func (b *browser) screenshot(path string) {
	b.do(b.set("frames", "50"), b.click("speak"))
	b.until(spoken)
	b.do(chromedp.Evaluate[chromedp.Void](`scrollTo(0, 0)`))
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(path, png, 0o666))
}
