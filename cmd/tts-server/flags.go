package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/libqwen/libqwen/internal/cli"
	"github.com/libqwen/libqwen/server"
)

const about = `Speaks over HTTP with a Qwen3-TTS model, in the manner of OpenAI's API: POST /v1/audio/speech.
SIGTERM or Ctrl-C lets the requests under way end; a second one ends the process at once.`

// options are the flags as given.
type options struct {
	model cli.Model
	alias string

	host             string
	port             int
	tlsCert, tlsKey  string
	tlsClientCA      string
	keys             []string
	keyFile          string
	origins          []string
	hosts            []string
	strict           bool
	voices           string
	maxVoices        int
	aliases          []string
	voice, lang      string
	refDir           string
	refURLs          []string
	maxInput, maxNew int
	maxBody          int
	queue            int
	queueTimeout     time.Duration
	timeout          time.Duration
	bodyTimeout      time.Duration
	writeTimeout     time.Duration
	drain            time.Duration
	logFormat        string
	logLevel         string
	verbose          bool
	checkHealth      bool
}

// keyEnv holds an API key, for those who would rather not have it among the flags.
const keyEnv = "QWEN_API_KEY"

// newFlags declares all flags, in the order of the help.
func newFlags(o *options) cli.Flags {
	var flags cli.Flags
	o.model.Required(&flags)
	o.model.Parts(&flags)

	f := flags.Group("Address")
	f.StringVar(&o.host, "host", "127.0.0.1", "listen on this `address`; 0.0.0.0 is all of IPv4, :: all")
	f.IntVar(&o.port, "port", 8080, "listen on this `port`; 0 takes a free one")
	f.StringVar(&o.alias, "alias", "", "`name` of the model for clients (default: that of its file)")
	f.StringVar(&o.tlsCert, "tls-cert", "", "`file` with the certificate chain in PEM: serve HTTPS")
	f.StringVar(&o.tlsKey, "tls-key", "", "`file` with the certificate's key in PEM")
	f.StringVar(&o.tlsClientCA, "tls-client-ca", "", "`file` in PEM: take only clients with a certificate of one of these authorities")

	f = flags.Group("Access")
	f.StringArrayVar(&o.keys, "api-key", nil, "`key` that clients must send; may be repeated (or set "+keyEnv+")")
	f.StringVar(&o.keyFile, "api-key-file", "", "`file` with a key a line; lines that start with # are none")
	f.StringArrayVar(&o.origins, "cors-origin", nil, "let web pages of this `origin` call (https://example.org, or * for all); may be repeated")
	f.StringArrayVar(&o.hosts, "allowed-host", nil, "answer only requests for this `name` (or * for any), localhost and the address itself; may be repeated (default: any, but only those two on a loopback address without keys)")
	f.StringVar(&o.refDir, "allow-ref-dir", "", "let clients name files of this `folder` as ref_audio")
	f.StringArrayVar(&o.refURLs, "allow-ref-url", nil, "let clients name addresses that start with this `URL` as ref_audio; may be repeated")

	f = flags.Group("Voices")
	f.StringVar(&o.voices, "voices", "", "keep registered voices in this `folder` (default: in memory)")
	f.IntVar(&o.maxVoices, "max-voices", 1000, "register at most `n` voices")
	f.StringArrayVar(&o.aliases, "voice-alias", nil, "another name of a voice, as `NAME=VOICE`; may be repeated (default: OpenAI's names stand for the voices there are)")
	f.StringVar(&o.voice, "default-voice", "", "`voice` of requests that name none")
	f.StringVar(&o.lang, "lang", "auto", "language of requests that name none: a `name`, alias or ISO code")

	f = flags.Group("Limits")
	f.IntVar(&o.maxInput, "max-input", 20000, "`characters` of a text; long ones are spoken piece by piece")
	f.IntVar(&o.maxNew, "max-new", 0, "audio `frames`, 12.5 a second, that a request may ask for, for each piece of a text; 0 = all the model can")
	f.IntVar(&o.maxBody, "max-body", 32, "`MiB` of a request's body")
	f.IntVar(&o.queue, "max-queue", 32, "requests that may wait; `n` + 1 get status 429")
	f.DurationVar(&o.queueTimeout, "queue-timeout", 2*time.Minute, "longest `time` to wait for a turn; 0 = any")
	f.DurationVar(&o.timeout, "request-timeout", 10*time.Minute, "longest `time` for a request in all; 0 = any")
	f.DurationVar(&o.bodyTimeout, "body-timeout", time.Minute, "longest `time` for a request's body to arrive")
	f.DurationVar(&o.writeTimeout, "write-timeout", time.Minute, "longest `time` for a client to take what is sent")
	f.DurationVar(&o.drain, "drain-timeout", 30*time.Second, "longest `time` for requests under way to end after SIGTERM")
	f.BoolVar(&o.strict, "strict", false, "refuse fields that are not known")

	f = o.model.Machine(&flags)
	f.IntVar(&o.model.MaxBatch, "max-batch", 1, "compute up to `n` requests together")

	f = flags.Information(&o.verbose, "what is loaded and how long each stage takes")
	f.BoolVar(&o.checkHealth, "check-health", false, "ask the server at --host and --port whether it is ready, and exit with 0 if so")
	f.StringVar(&o.logFormat, "log-format", "text", "`format` of the log on stderr: text or json")
	f.StringVar(&o.logLevel, "log-level", "info", "log from this `level` on: debug, info, warn or error")
	return flags
}

// newCommand returns the command; it calls serve with the parsed options.
func newCommand(serve func(cmd *cobra.Command, o *options) error) *cobra.Command {
	o := &options{}
	return cli.Command{
		Usage:   "tts-server --model GGUF --codec GGUF [--port N]",
		About:   about,
		Version: version,
		Env:     slices.Concat([]cli.Variable{{Name: keyEnv, Means: "a key that clients must send"}, cli.GGMLDir(), cli.Device(), cli.Threads(), cli.ShareWeights(), cli.Sndfile(), cli.Sonic()}, cli.ONNX(), cli.Hub()),
		Stray:   "requests come over HTTP",
		Flags:   newFlags(o),
		Run:     func(cmd *cobra.Command) error { return serve(cmd, o) },
	}.Cobra()
}

// check refuses what needs no model to be seen wrong.
func (o *options) check() error {
	if o.checkHealth {
		return nil
	}
	if err := o.model.Check(true); err != nil {
		return err
	}
	switch {
	case o.port < 0 || o.port > 65535:
		return cli.Usagef("--port %d is not in 0..65535", o.port)
	case (o.tlsCert == "") != (o.tlsKey == ""):
		return cli.Usagef("--tls-cert and --tls-key need each other")
	case o.tlsClientCA != "" && o.tlsCert == "":
		return cli.Usagef("--tls-client-ca needs --tls-cert")
	case o.logFormat != "text" && o.logFormat != "json":
		return cli.Usagef("--log-format %q is neither text nor json", o.logFormat)
	}
	for _, n := range []struct {
		flag  string
		value int
		least int
	}{{"max-voices", o.maxVoices, 1}, {"max-input", o.maxInput, 1}, {"max-new", o.maxNew, 0}, {"max-body", o.maxBody, 1},
		{"max-queue", o.queue, 0}, {"max-batch", o.model.MaxBatch, 1}} {
		if n.value < n.least || n.value > 1<<30 {
			return cli.Usagef("--%s %d is not in %d..%d", n.flag, n.value, n.least, 1<<30)
		}
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"queue-timeout", o.queueTimeout}, {"request-timeout", o.timeout}, {"body-timeout", o.bodyTimeout},
		{"write-timeout", o.writeTimeout}, {"drain-timeout", o.drain}} {
		if d.value < 0 {
			return cli.Usagef("--%s %s is negative", d.flag, d.value)
		}
	}
	return nil
}

// serverOptions are what the flags say to the server.
func (o *options) serverOptions(log *slog.Logger) (server.Options, error) {
	keys, err := o.allKeys()
	if err != nil {
		return server.Options{}, err
	}
	aliases := map[string]string{}
	for _, a := range o.aliases {
		name, voice, err := server.ParseAlias(a)
		if err != nil {
			return server.Options{}, cli.Usagef("--voice-alias %w", err)
		}
		aliases[name] = voice
	}
	// The server takes 0 for its default, the flags for none.
	orNone := func(n time.Duration) time.Duration {
		if n == 0 {
			return -1
		}
		return n
	}
	queue := o.queue
	if queue == 0 {
		queue = -1
	}
	return server.Options{
		Keys: keys, CORSOrigins: o.origins, VoicesDir: o.voices, MaxVoices: o.maxVoices, Aliases: aliases, DefaultVoice: o.voice,
		Language: o.lang, ReferenceDir: o.refDir, ReferenceURLs: o.refURLs, MaxInput: o.maxInput, MaxFrames: o.maxNew,
		MaxBody: int64(o.maxBody) << 20, Strict: o.strict, Slots: o.model.MaxBatch, MaxQueue: queue, QueueTimeout: orNone(o.queueTimeout),
		RequestTimeout: orNone(o.timeout), BodyTimeout: orNone(o.bodyTimeout), WriteTimeout: orNone(o.writeTimeout),
		Version: version, Logger: log,
	}, nil
}

// allKeys are those of the flags, the file and the environment.
func (o *options) allKeys() ([]string, error) {
	keys := append([]string(nil), o.keys...)
	from := make([]string, len(keys))
	for i := range from {
		from[i] = "--api-key"
	}
	if k := os.Getenv(keyEnv); k != "" {
		keys, from = append(keys, k), append(from, keyEnv)
	}
	if o.keyFile != "" {
		more, err := readKeys(o.keyFile)
		if err != nil {
			return nil, err
		}
		for _, k := range more {
			keys, from = append(keys, k), append(from, "--api-key-file")
		}
	}
	for i, k := range keys {
		if !isKey(k) {
			return nil, cli.Usagef("%s: a key must not be empty, start or end with a space, or have characters other than those of ASCII that can be seen", from[i])
		}
	}
	return keys, nil
}

// isKey tells whether a client can send a key: headers carry ASCII, and lose spaces at the ends.
func isKey(k string) bool {
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	return k != "" && strings.TrimSpace(k) == k && !strings.ContainsFunc(k, odd)
}

// readKeys reads a file with a key a line, as editors of any system write it.
func readKeys(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.IOError{Err: fmt.Errorf("--api-key-file: %w", err)}
	}
	var keys []string
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			keys = append(keys, line)
		}
	}
	if len(keys) == 0 {
		return nil, cli.Inputf("--api-key-file: %s holds no key", path)
	}
	return keys, nil
}

// logger writes to stderr what the flags ask for.
func (o *options) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return nil, cli.Usagef("--log-level %q is not debug, info, warn or error", o.logLevel)
	}
	h := &slog.HandlerOptions{Level: level}
	if o.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, h)), nil
	}
	return slog.New(slog.NewTextHandler(w, h)), nil
}

// engineLogger is the engine's: it tells little of each request unless asked to.
func (o *options) engineLogger(log *slog.Logger) *slog.Logger {
	if o.verbose {
		return log
	}
	return slog.New(onlyWarnings{log.Handler()})
}

// onlyWarnings drops what is less than a warning.
type onlyWarnings struct{ slog.Handler }

func (h onlyWarnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

func (h onlyWarnings) WithAttrs(a []slog.Attr) slog.Handler {
	return onlyWarnings{h.Handler.WithAttrs(a)}
}
func (h onlyWarnings) WithGroup(name string) slog.Handler {
	return onlyWarnings{h.Handler.WithGroup(name)}
}
