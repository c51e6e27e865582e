package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/internal/cli"
	"github.com/libqwen/libqwen/internal/hubtest"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// run calls the command until it ends by itself.
func run(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = (&app{stdout: &out, stderr: &errs}).run(context.Background(), args)
	return code, out.String(), errs.String()
}

// running is a command under way.
type running struct {
	t      *testing.T
	url    string
	log    *testenv.Buffer
	cancel context.CancelCauseFunc
	code   chan int
}

// serve runs the command with a tiny model on a free port.
func serve(t *testing.T, more ...string) *running {
	t.Helper()
	return launch(t, append([]string{"--model", golden.GGUF(t, "tiny-customvoice-17", "F32"), "--codec", golden.GGUF(t, "tiny-tokenizer-12hz", "F32")}, more...)...)
}

// launch runs the command on a free port.
func launch(t *testing.T, args ...string) *running {
	t.Helper()
	t.Setenv(ggml.EnvDir, testenv.GGMLDir(t))
	ctx, cancel := context.WithCancelCause(context.Background())
	r := &running{t: t, log: &testenv.Buffer{}, cancel: cancel, code: make(chan int, 1)}
	address := make(chan string, 1)
	a := &app{stdout: io.Discard, stderr: r.log, listening: func(s string) { address <- s }}
	args = append(args, "--threads", "1", "--port", "0")
	go func() { r.code <- a.run(ctx, args) }()
	select {
	case r.url = <-address:
	case code := <-r.code:
		t.Fatalf("ended with %d: %s", code, r.log)
	}
	t.Cleanup(func() { r.stop() })
	return r
}

// stop asks the command to end, as a signal would, and returns its exit code.
func (r *running) stop() int {
	r.cancel(cli.Interrupted{Signal: syscall.SIGTERM})
	code := <-r.code
	r.code <- code
	return code
}

// patience is how long a test waits for what must happen: on a busy machine, and only a failing test waits so long.
const patience = 5 * time.Minute

// ready waits for the model.
func (r *running) ready(client *http.Client) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		res, err := client.Get(r.url + "/health")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == 200 {
				return
			}
		}
		require.True(r.t, time.Now().Before(deadline), "not ready: %v: %s", err, r.log)
	}
}

func TestServesUntilItIsStopped(t *testing.T) {
	voices := filepath.Join(t.TempDir(), "a", "voices")
	r := serve(t, "--alias", "my-model", "--voices", voices, "--log-format", "json", "--max-input", "20")
	r.ready(http.DefaultClient)
	res, err := http.Post(r.url+"/v1/audio/speech", "application/json", strings.NewReader(`{"input":"Hello.","voice":"vivian","response_format":"wav","max_new_tokens":2}`))
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	assert.Equal(t, 200, res.StatusCode, "%s", body)
	assert.Len(t, body, 44+2*2*1920)
	models, err := http.Get(r.url + "/v1/models")
	require.NoError(t, err)
	defer models.Body.Close()
	body, _ = io.ReadAll(models.Body)
	assert.Contains(t, string(body), `"my-model"`)
	assert.DirExists(t, voices)

	assert.Equal(t, cli.ExitOK, r.stop(), "being asked to end is no failure")
	assert.Contains(t, r.log.String(), `"msg":"ended"`)
	_, err = http.Get(r.url + "/health")
	assert.Error(t, err)
}

// has fails unless the server has a model of that id.
func (r *running) has(id string) {
	r.t.Helper()
	r.ready(http.DefaultClient)
	res, err := http.Get(r.url + "/v1/models/" + id)
	require.NoError(r.t, err)
	res.Body.Close()
	assert.Equal(r.t, 200, res.StatusCode, id)
	assert.Equal(r.t, cli.ExitOK, r.stop())
}

// modelFolders are the folders of a model in each form that is not a talker's file, by the form's name.
func modelFolders(t *testing.T) map[string]string {
	whole, split := t.TempDir(), t.TempDir()
	codec := golden.GGUF(t, "tiny-tokenizer-12hz", "F32")
	for _, dir := range []string{whole, split} {
		require.NoError(t, os.Symlink(codec, filepath.Join(dir, "qwen-tokenizer-12hz-F32.gguf")))
	}
	require.NoError(t, os.Symlink(golden.GGUF(t, "tiny-base-17", "F32"), filepath.Join(whole, "qwen-talker-1.7b-base-F32.gguf")))
	golden.Second(t, "tiny-base-17", "F32").Write(t, split, "qwen3-tts-1.7b-base")
	return map[string]string{"whole": whole, "split": split, "checkpoint": filepath.Join(golden.Checkpoints(t), "tiny-base-17")}
}

func TestModelsOfFolders(t *testing.T) {
	for form, dir := range modelFolders(t) {
		args := []string{"--model", dir}
		if form == "split" {
			args = append(args, "--mode", "base")
		}
		launch(t, args...).has(filepath.Base(dir))
	}
}

func TestFetchesItsModel(t *testing.T) {
	ids := map[string]string{"whole": "qwen-talker-1.7b-base-F32", "split": "qwen3-tts-1.7b-base-talker-f16", "checkpoint": filepath.Base(hubtest.Repo)}
	for form, dir := range modelFolders(t) {
		files := map[string][]byte{}
		for _, sub := range []string{"", "speech_tokenizer"} {
			names, err := filepath.Glob(filepath.Join(dir, sub, "*.*"))
			require.NoError(t, err)
			for _, path := range names {
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				files[filepath.ToSlash(filepath.Join(sub, filepath.Base(path)))] = data
			}
		}
		hub := hubtest.New(t, files)
		for k, v := range map[string]string{"HF_ENDPOINT": hub.URL, "HF_HUB_CACHE": t.TempDir(), "HF_HUB_OFFLINE": "", "TRANSFORMERS_OFFLINE": ""} {
			t.Setenv(k, v)
		}
		launch(t, "--hf", hubtest.Repo).has(ids[form])
	}
}

func TestAModelThatIsNone(t *testing.T) {
	code, _, errs := run("--model", "none.gguf", "--codec", "none.gguf", "--port", "0")
	assert.Equal(t, cli.ExitModel, code)
	assert.Contains(t, errs, "none.gguf")
}

func TestCheckHealth(t *testing.T) {
	cert, key, _ := certificate(t, t.TempDir())
	for _, more := range [][]string{nil, {"--tls-cert", cert, "--tls-key", key}} {
		r := serve(t, more...)
		_, port, err := net.SplitHostPort(r.url[strings.Index(r.url, "//")+2:])
		require.NoError(t, err)
		ask := append(more, "--check-health", "--host", "0.0.0.0", "--port", port)
		for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			code, _, errs := run(ask...)
			if code == cli.ExitOK {
				break
			}
			require.True(t, time.Now().Before(deadline), errs)
			require.Contains(t, errs, "503")
		}
		r.stop()
		code, _, _ := run(ask...)
		assert.Equal(t, cli.ExitIO, code)
	}
}

func TestAPortThatIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	code, _, errs := run("--model", "m", "--codec", "c", "--port", port)
	assert.Equal(t, cli.ExitIO, code, errs)
	assert.Contains(t, errs, port)
}

func TestUsage(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(keys, []byte("# none\n\n"), 0o600))
	utf16 := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(utf16, []byte("\xff\xfek\x00"), 0o600))
	model := []string{"--model", "m", "--codec", "c"}
	for want, args := range map[string][]string{
		"--model is missing":            nil,
		"--codec is missing":            {"--model", "m"},
		"--hf and --predictor":          {"--hf", "a/b", "--predictor", "p"},
		"--mode: ":                      append(model, "--mode", "song"),
		"--port 70000":                  append(model, "--port", "70000"),
		"--tls-cert and --tls-key":      append(model, "--tls-cert", "x"),
		"--tls-client-ca needs":         append(model, "--tls-client-ca", "x"),
		"--log-format":                  append(model, "--log-format", "xml"),
		"--log-level":                   append(model, "--log-level", "loud"),
		"--max-input 0":                 append(model, "--max-input", "0"),
		"--max-queue -1":                append(model, "--max-queue", "-1"),
		"--drain-timeout":               append(model, "--drain-timeout", "-1s"),
		"--voice-alias":                 append(model, "--voice-alias", "alloy"),
		"must not be empty":             append(model, "--api-key", ""),
		"--api-key: a key must":         append(model, "--api-key", "a\nb"),
		"--api-key-file: a key must":    append(model, "--api-key-file", utf16),
		"holds no key":                  append(model, "--api-key-file", keys),
		"not an origin":                 append(model, "--cors-origin", "not an origin"),
		"neither a name nor":            append(model, "--allowed-host", "https://tts.lan"),
		"address of references":         append(model, "--allow-ref-url", "ftp://x"),
		"unexpected argument \"hello\"": append(model, "hello"),
		"folder of references":          append(model, "--allow-ref-dir", filepath.Join(t.TempDir(), "none")),
	} {
		code, _, errs := run(args...)
		assert.Equal(t, cli.ExitUsage, code, errs)
		assert.Contains(t, errs, want)
		assert.True(t, strings.HasPrefix(errs, "tts-server: "), errs)
	}
	code, _, errs := run(append(model, "--api-key-file", keys+"x")...)
	assert.Equal(t, cli.ExitIO, code, errs)
	code, out, _ := run("--help")
	assert.Equal(t, 0, code)
	assert.Contains(t, out, "--api-key-file")
}

func TestKeysFromEverywhere(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(keys, []byte("\ufeffbom-key\r\n# of the team\r\n\tfile-key \r\n\r\nlast key"), 0o600))
	t.Setenv(keyEnv, "env-key")
	r := serve(t, "--api-key", "flag-key", "--api-key-file", keys)
	r.ready(http.DefaultClient)
	for key, status := range map[string]int{"flag-key": 200, "file-key": 200, "bom-key": 200, "last key": 200, "env-key": 200, "other": 401, "# of the team": 401} {
		req, err := http.NewRequest("GET", r.url+"/v1/models", nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+key)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		res.Body.Close()
		assert.Equal(t, status, res.StatusCode, key)
	}
}

// A server that is open to all of this machine must not be open to the pages that its browsers show.
func TestHosts(t *testing.T) {
	const foreign, friend = "evil.example", "tts.lan:80"
	for _, c := range []struct {
		args     []string
		answered map[string]int
	}{
		{nil, map[string]int{foreign: 403, friend: 403, "localhost": 200, "127.0.0.1:80": 200}},
		{[]string{"--host", "localhost"}, map[string]int{foreign: 403, "localhost:80": 200}},
		{[]string{"--allowed-host", "tts.lan"}, map[string]int{foreign: 403, friend: 200, "localhost": 200}},
		{[]string{"--allowed-host", "*"}, map[string]int{foreign: 200}},
		{[]string{"--api-key", "k"}, map[string]int{foreign: 200}},
		{[]string{"--api-key", "k", "--allowed-host", "tts.lan"}, map[string]int{foreign: 403, friend: 200}},
		{[]string{"--host", "0.0.0.0"}, map[string]int{foreign: 200}},
		{[]string{"--host", "0.0.0.0", "--allowed-host", "tts.lan"}, map[string]int{foreign: 403, friend: 200, "127.0.0.1": 200}},
	} {
		r := serve(t, c.args...)
		_, port, err := net.SplitHostPort(r.url[strings.Index(r.url, "//")+2:])
		require.NoError(t, err)
		for host, status := range c.answered {
			req, err := http.NewRequest("GET", "http://127.0.0.1:"+port+"/openapi.json", nil)
			require.NoError(t, err)
			req.Host = host
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			res.Body.Close()
			assert.Equal(t, status, res.StatusCode, "%v: %s", c.args, host)
		}
		r.stop()
	}
}

// certificate makes one for the loopback address, signed by itself.
func certificate(t *testing.T, dir string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	require.NoError(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600))
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return cert, key, pool
}

func TestTLS(t *testing.T) {
	cert, key, pool := certificate(t, t.TempDir())
	client := func(certs ...tls.Certificate) *http.Client {
		return &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: certs}}}
	}
	r := serve(t, "--tls-cert", cert, "--tls-key", key)
	require.True(t, strings.HasPrefix(r.url, "https://"))
	r.ready(client())
	res, err := client().Get(r.url + "/health")
	require.NoError(t, err)
	res.Body.Close()
	assert.Equal(t, 2, res.ProtoMajor)

	r = serve(t, "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", cert)
	_, err = client().Get(r.url + "/health")
	assert.Error(t, err, "without a certificate of its own")
	pair, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	r.ready(client(pair))

	code, _, errs := run("--model", "m", "--codec", "c", "--tls-cert", cert, "--tls-key", cert, "--port", "0")
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, errs, "--tls-cert")
}
