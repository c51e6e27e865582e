package hub

import (
	"context"
	"io"
	"net/http"
	"time"
)

// body is the body of an answer. Reading it fails when nothing comes for too long.
type body struct {
	io.ReadCloser
	ctx      context.Context // of the request
	cancel   context.CancelCauseFunc
	patience time.Duration
}

// watch gives an answer a body that does not wait forever; cancel ends the request. A refusal has to come as a whole
// within the time that others have for a single byte.
func watch(ctx context.Context, cancel context.CancelCauseFunc, resp *http.Response, patience time.Duration) {
	b := &body{resp.Body, ctx, cancel, patience}
	if resp.StatusCode >= http.StatusBadRequest {
		time.AfterFunc(patience, b.stall)
	}
	resp.Body = b
}

func (b *body) stall() { b.cancel(fail(ErrNetwork, "no data for %s", b.patience)) }

func (b *body) Read(p []byte) (int, error) {
	timer := time.AfterFunc(b.patience, b.stall)
	defer timer.Stop()
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF && b.ctx.Err() != nil {
		err = context.Cause(b.ctx)
	}
	return n, err
}

func (b *body) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}

// briefTimeouts is how many timeouts an answer that is not a file may take, from the request to its last byte.
const briefTimeouts = 12

// brief bounds all of an answer that is not a file: one whose bytes come one by one stops, too.
func (c *Client) brief(ctx context.Context, what string) (context.Context, context.CancelFunc) {
	most := briefTimeouts * c.config.Timeout
	return context.WithTimeoutCause(ctx, most, fail(ErrNetwork, "%s: the answer takes longer than %s", what, most))
}
