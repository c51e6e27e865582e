package hub

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// DefaultEndpoint is the hub that is asked where HF_ENDPOINT does not name another.
const DefaultEndpoint = "https://huggingface.co"

// Config says which hub to ask, and where to keep what it sends. FromEnv fills it as huggingface_hub would.
type Config struct {
	Endpoint string // URL of the hub
	Token    string // "" asks as nobody
	CacheDir string
	Offline  bool          // only what the cache has
	Timeout  time.Duration // without an answer, or without a byte of one, until a connection counts as dead; 0 = 10 s
	Backoff  time.Duration // before the first retry; it doubles with each one; 0 = 1 s

	Transport http.RoundTripper // nil: a transport that follows HTTPS_PROXY, HTTP_PROXY and NO_PROXY
	UserAgent string
	Logger    *slog.Logger   // nil logs nothing
	Progress  func(Progress) // called as bytes arrive; may be nil
}

// Progress tells how far a pull is, in bytes. Sizes that the hub does not tell count 0.
type Progress struct {
	File        string
	Done, Total int64 // of all files of the pull
}

const (
	defaultTimeout = 10 * time.Second
	defaultBackoff = time.Second
)

// FromEnv reads HF_ENDPOINT, HF_TOKEN (or the file that HF_TOKEN_PATH names, else HF_HOME/token), HF_HUB_CACHE,
// HF_HOME, XDG_CACHE_HOME, HF_HUB_OFFLINE and HF_HUB_DOWNLOAD_TIMEOUT, with the older names of some of them.
func FromEnv(getenv func(string) string) Config {
	home := expand(getenv, first(getenv("HF_HOME"), filepath.Join(first(getenv("XDG_CACHE_HOME"), "~/.cache"), "huggingface")))
	c := Config{
		Endpoint: first(getenv("HF_ENDPOINT"), DefaultEndpoint),
		CacheDir: expand(getenv, first(getenv("HF_HUB_CACHE"), getenv("HUGGINGFACE_HUB_CACHE"), filepath.Join(home, "hub"))),
		Offline:  isTrue(first(getenv("HF_HUB_OFFLINE"), getenv("TRANSFORMERS_OFFLINE"))),
		Token:    token(getenv, home),
	}
	if s, err := strconv.Atoi(getenv("HF_HUB_DOWNLOAD_TIMEOUT")); err == nil && s > 0 {
		c.Timeout = time.Duration(s) * time.Second
	}
	return c
}

func token(getenv func(string) string, home string) string {
	if t := first(clean(getenv("HF_TOKEN")), clean(getenv("HUGGING_FACE_HUB_TOKEN"))); t != "" {
		return t
	}
	if isTrue(getenv("HF_HUB_DISABLE_IMPLICIT_TOKEN")) {
		return ""
	}
	data, err := os.ReadFile(expand(getenv, first(getenv("HF_TOKEN_PATH"), filepath.Join(home, "token"))))
	if err != nil {
		return "" // not logged in
	}
	return clean(string(data))
}

// clean takes away the line breaks and spaces that come along when a token is copied.
func clean(token string) string {
	return strings.TrimSpace(strings.NewReplacer("\r", "", "\n", "").Replace(token))
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func isTrue(v string) bool {
	switch strings.ToUpper(v) {
	case "1", "ON", "YES", "TRUE":
		return true
	}
	return false
}

// expand replaces ~ at the start and $VARIABLES.
func expand(getenv func(string) string, path string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		if home, err := os.UserHomeDir(); err == nil {
			path = home + path[1:]
		}
	}
	return os.Expand(path, func(name string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return "$" + name // as it was: not every $ is a variable
	})
}

// check refuses what no request could be made from.
func (c *Config) check() error {
	if c.CacheDir == "" {
		return fail(ErrInvalid, "cache folder: missing")
	}
	for _, r := range c.Token {
		if r <= ' ' || r > '~' {
			return fail(ErrInvalid, "token: holds %s, which no token does", strings.Trim(fmt.Sprintf("%q", r), "'"))
		}
	}
	return nil
}
