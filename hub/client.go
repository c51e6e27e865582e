package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Client asks one hub. It is safe for concurrent use; several processes may share a cache.
type Client struct {
	config Config
	base   *url.URL
	http   *http.Client
	log    *slog.Logger

	maxUnannounced int64 // bounds a file whose size the hub does not tell, bytes; only small ones come without
}

// New makes a client; nothing is asked yet.
func New(c Config) (*Client, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	base, err := url.Parse(strings.TrimRight(c.Endpoint, "/"))
	if err != nil || base.Scheme != "https" && base.Scheme != "http" || base.Host == "" {
		return nil, fail(ErrInvalid, "endpoint %q: not a URL of the form https://HOST", userInfo.ReplaceAllString(c.Endpoint, "xxxxx@"))
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if c.Backoff <= 0 {
		c.Backoff = defaultBackoff
	}
	if c.Transport == nil {
		c.Transport = newTransport(c.Timeout)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	never := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{config: c, base: base, http: &http.Client{Transport: c.Transport, CheckRedirect: never}, log: c.Logger, maxUnannounced: 1 << 30}, nil
}

// userInfo is what comes before the host in a URL, or in what should be one: a password perhaps.
var userInfo = regexp.MustCompile(`[^/]*@`)

func newTransport(timeout time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: timeout}).DialContext,
		TLSHandshakeTimeout:   timeout,
		ResponseHeaderTimeout: timeout,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true, // sizes and hashes are of the content as it is
		IdleConnTimeout:       time.Minute,
	}
}

// maxRedirects is how often a request may be sent elsewhere.
const maxRedirects = 10

// request is what is asked of the hub.
type request struct {
	method string
	path   string // after the endpoint, escaped
	header http.Header
	stop   func(*http.Response) bool // a redirect that is an answer already
}

// do sends a request and follows redirects by itself, so that the token goes to the hub and nowhere else. The
// commit header that a redirect may carry is handed on to the answer.
func (c *Client) do(ctx context.Context, r request) (*http.Response, error) {
	at := c.base.JoinPath("/")
	at, err := at.Parse(c.base.String() + r.path)
	if err != nil {
		return nil, fail(ErrInvalid, "%s: %w", r.path, err)
	}
	commit := ""
	for range maxRedirects {
		resp, err := c.send(ctx, r, at)
		if err != nil {
			return nil, err
		}
		commit = first(commit, resp.Header.Get(headerCommit))
		location := resp.Header.Get("Location")
		if resp.StatusCode/100 != 3 || location == "" || r.stop != nil && r.stop(resp) {
			resp.Header.Set(headerCommit, commit)
			return resp, nil
		}
		resp.Body.Close()
		next, err := at.Parse(location)
		if err != nil || next.Scheme != "https" && next.Scheme != "http" || next.Host == "" {
			return nil, fail(ErrNetwork, "%s: redirected to %q, which is no address", at.Redacted(), location)
		}
		if at.Scheme == "https" && next.Scheme != "https" {
			return nil, fail(ErrNetwork, "%s: redirected to %s, away from https", at.Redacted(), next.Host)
		}
		at = next
	}
	return nil, fail(ErrNetwork, "%s: more than %d redirects", c.base.Host, maxRedirects)
}

func (c *Client) send(ctx context.Context, r request, at *url.URL) (_ *http.Response, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer func() {
		if err != nil {
			cancel(nil)
		}
	}()
	req, err := http.NewRequestWithContext(ctx, r.method, at.String(), nil)
	if err != nil {
		return nil, fail(ErrNetwork, "%s: %w", at.Redacted(), err)
	}
	for k, v := range r.header {
		req.Header[k] = v
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", first(c.config.UserAgent, "libqwen"))
	if c.config.Token != "" && sameOrigin(at, c.base) {
		req.Header.Set("Authorization", "Bearer "+c.config.Token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, networkError(ctx, at, err)
	}
	watch(ctx, cancel, resp, c.config.Timeout)
	return resp, nil
}

// networkError tells what went wrong without the query of the URL, in which signed addresses carry their key.
func networkError(ctx context.Context, at *url.URL, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return fail(ErrNetwork, "%s: %w", at.Host, err)
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	return first(u.Port(), map[string]string{"https": "443", "http": "80"}[u.Scheme])
}

const (
	headerCommit     = "X-Repo-Commit"
	headerLinkedETag = "X-Linked-Etag"
	headerLinkedSize = "X-Linked-Size"
	headerErrorCode  = "X-Error-Code"
	headerErrorText  = "X-Error-Message"
)

// statusError is an answer that is a refusal.
type statusError struct {
	error
	code  int
	after time.Duration // how long the hub asks to wait; 0 if it does not say
}

func (e *statusError) Unwrap() error { return e.error }

// refusal is the error that a status is; what names what was asked for. The body is closed.
func (c *Client) refusal(resp *http.Response, repo, what string) error {
	defer resp.Body.Close()
	text := resp.Header.Get(headerErrorText)
	if text == "" && resp.Request.Method != http.MethodHead {
		text = bodyError(resp)
	}
	if text != "" {
		text = ": " + text
	}
	e := &statusError{code: resp.StatusCode, after: retryAfter(resp.Header)}
	kind := resp.Header.Get(headerErrorCode)
	switch {
	case kind == "GatedRepo":
		e.error = fail(ErrAccess, "%s: gated: accept its terms at %s/%s, and set HF_TOKEN to a token of that account%s", what, c.base.Redacted(), repo, text)
	case kind == "RepoNotFound" || kind == "" && e.code == http.StatusUnauthorized && c.config.Token == "":
		e.error = fail(ErrNotFound, "%s: the hub has no such repository, or it is private%s", what, c.tokenHint())
	case e.code == http.StatusUnauthorized:
		e.error = fail(ErrAccess, "%s: the token is not accepted (401)%s", what, text)
	case e.code == http.StatusForbidden:
		e.error = fail(ErrAccess, "%s: access denied (403)%s%s", what, text, c.tokenHint())
	case e.code == http.StatusNotFound:
		e.error = fail(ErrNotFound, "%s: not found%s", what, text)
	case e.code == http.StatusTooManyRequests:
		e.error = fail(ErrQuota, "%s: too many requests (429)%s%s", what, text, c.tokenHint())
	default:
		e.error = fail(ErrNetwork, "%s: %s answers %s%s", what, resp.Request.URL.Host, resp.Status, text)
	}
	return e
}

// tokenHint says what may help who asked without a token.
func (c *Client) tokenHint() string {
	if c.config.Token == "" {
		return " (no token was sent: HF_TOKEN)"
	}
	return ""
}

// bodyError is the message of {"error": "…"}, the start of another text body, or "".
func bodyError(resp *http.Response) string {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if m := errorField.FindSubmatch(body); m != nil {
		if s, err := strconv.Unquote(string(m[1])); err == nil {
			return s
		}
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
		line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
		return line[:min(len(line), 200)]
	}
	return ""
}

var errorField = regexp.MustCompile(`"error"\s*:\s*("(?:[^"\\]|\\.)*")`)

var rateLimit = regexp.MustCompile(`;\s*r\s*=\s*0\s*;\s*t\s*=\s*(\d+)`)

// retryAfter reads Retry-After in seconds or, for a used-up quota, RateLimit: "name";r=0;t=SECONDS.
func retryAfter(h http.Header) time.Duration {
	s := h.Get("Retry-After")
	if m := rateLimit.FindStringSubmatch(h.Get("RateLimit")); m != nil && s == "" {
		s = m[1]
	}
	if n, err := strconv.ParseUint(s, 10, 20); err == nil {
		return time.Duration(n) * time.Second
	}
	return 0
}

const (
	maxRetries = 5
	maxWait    = 5 * time.Minute // asked for by the hub; longer is given up at once
)

// retry calls try until it succeeds, fails for good, or has failed maxRetries times in a row without getting further.
// try returns whether it got further.
func (c *Client) retry(ctx context.Context, what string, try func() (further bool, err error)) error {
	for n := 0; ; n++ {
		further, err := try()
		if err == nil || ctx.Err() != nil || !transient(err) {
			return err
		}
		if unknownHost(err) { // without a network there is no use in waiting
			return fmt.Errorf("%w (without a network, HF_HUB_OFFLINE=1 takes what is cached; HF_ENDPOINT names another hub)", err)
		}
		if further {
			n = 0
		}
		wait := c.delay(n, err)
		if n >= maxRetries || wait > maxWait {
			return err
		}
		c.log.Warn(fmt.Sprintf("%s: %v; trying again in %s", what, err, wait.Round(100*time.Millisecond)))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// transient tells whether another try may help.
func transient(err error) bool {
	var status *statusError
	if errors.As(err, &status) {
		return status.code == http.StatusTooManyRequests || status.code == http.StatusRequestTimeout || status.code >= 500
	}
	return errors.Is(err, ErrNetwork)
}

// unknownHost tells whether the name of the hub is not known.
func unknownHost(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// delay doubles from try to try, with some chance so that many clients do not come back at once; what the hub asks
// for comes first.
func (c *Client) delay(n int, err error) time.Duration {
	var status *statusError
	if errors.As(err, &status) && status.after > 0 {
		return status.after
	}
	d := c.config.Backoff << min(n, maxRetries)
	return d/2 + rand.N(d/2+1)
}
