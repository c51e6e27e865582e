package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// load is what the clients do.
type load struct {
	url               string
	clients, requests int
	frames            int
	text, voice       string
	format            string
	abuse             bool
}

// result is what came of it.
type result struct {
	first, whole []time.Duration // of each request, sorted
	took         time.Duration
	bytes        int64
}

func (l load) body(seed int) []byte {
	b, _ := json.Marshal(map[string]any{"input": l.text, "voice": l.voice, "response_format": l.format, "stream": true,
		"max_new_tokens": l.frames, "seed": seed}) // of such values it never fails
	return b
}

// run sends the requests, so many at a time. Any that fails is an error.
func (l load) run(ctx context.Context) (*result, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: l.clients}}
	defer client.CloseIdleConnections()
	r := &result{}
	var mu sync.Mutex
	var errs []error
	next := make(chan int, l.requests)
	for i := range l.requests {
		next <- i
	}
	close(next)
	begin := time.Now()
	var group sync.WaitGroup
	for range l.clients {
		group.Go(func() {
			for i := range next {
				first, whole, n, err := l.ask(ctx, client, i)
				mu.Lock()
				if err != nil {
					errs = append(errs, fmt.Errorf("request %d: %w", i, err))
				}
				r.first, r.whole, r.bytes = append(r.first, first), append(r.whole, whole), r.bytes+n
				mu.Unlock()
			}
		})
	}
	group.Wait()
	r.took = time.Since(begin)
	slices.Sort(r.first)
	slices.Sort(r.whole)
	if len(errs) > 0 {
		return nil, fmt.Errorf("%d of %d requests failed: %w", len(errs), l.requests, errs[0])
	}
	return r, nil
}

// ask sends one request and reads the answer.
func (l load) ask(ctx context.Context, client *http.Client, seed int) (first, whole time.Duration, n int64, err error) {
	begin := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+"/v1/audio/speech", bytes.NewReader(l.body(seed)))
	if err != nil {
		return 0, 0, 0, err
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, 0, 0, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1000))
		return 0, 0, 0, fmt.Errorf("%s: %s", res.Status, text)
	}
	one := make([]byte, 1)
	if _, err := io.ReadFull(res.Body, one); err != nil {
		return 0, 0, 0, fmt.Errorf("no audio: %w", err)
	}
	first = time.Since(begin)
	n, err = io.Copy(io.Discard, res.Body)
	if err == nil && res.Trailer.Get("X-Finish-Reason") == "" {
		err = errors.New("the audio has no end")
	}
	return first, time.Since(begin), n + 1, err
}

// quantile of sorted values.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// table is the result in Markdown.
func (r *result) table(l load) string {
	var b strings.Builder
	seconds := r.took.Seconds()
	fmt.Fprintf(&b, "| %d requests of %d frames, %d clients, %s | |\n|---|---|\n", l.requests, l.frames, l.clients, l.format)
	fmt.Fprintf(&b, "| first audio, p50, p99 | %s, %s |\n", ms(quantile(r.first, .5)), ms(quantile(r.first, .99)))
	fmt.Fprintf(&b, "| whole request, p50, p99 | %s, %s |\n", ms(quantile(r.whole, .5)), ms(quantile(r.whole, .99)))
	fmt.Fprintf(&b, "| requests a second | %.2f |\n", float64(l.requests)/seconds)
	fmt.Fprintf(&b, "| seconds of audio a second, at most | %.2f |\n", float64(l.requests*l.frames)*.08/seconds)
	fmt.Fprintf(&b, "| failures | 0 |\n")
	return b.String()
}

// abuse lets clients of every bad kind loose at once, and returns how many there were. Their connections are closed
// when it returns, but for those of the slow readers, whose ends the server must find out itself.
func abuse(ctx context.Context, l load) int {
	const each = 10
	host := strings.TrimPrefix(l.url, "http://")
	long := l
	long.frames = 200
	speak := fmt.Sprintf("POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(long.body(1)), long.body(1))
	kinds := []func(c net.Conn){
		func(c net.Conn) { // goes away in the queue or at the model
			_, _ = io.WriteString(c, speak)
			c.Close()
		},
		func(c net.Conn) { // goes away in the middle of the audio
			_, _ = io.WriteString(c, speak)
			_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
			_, _ = io.CopyN(io.Discard, c, 5000)
			c.Close()
		},
		func(c net.Conn) { _, _ = io.WriteString(c, speak) }, // never reads
		func(c net.Conn) { // sends half a body
			_, _ = io.WriteString(c, speak[:len(speak)-10])
			c.Close()
		},
		func(c net.Conn) { // sends what is no JSON
			_, _ = io.WriteString(c, "POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{\"input\":")
			_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
			_, _ = io.Copy(io.Discard, io.LimitReader(c, 100))
			c.Close()
		},
		func(c net.Conn) { // sends what is no HTTP
			_, _ = c.Write(bytes.Repeat([]byte{0xff, 0, '\n'}, 1000))
			c.Close()
		},
		func(c net.Conn) { _, _ = io.WriteString(c, "POST /v1/audio/speech HTT") }, // stops in its headers
	}
	var group sync.WaitGroup
	n := 0
	for range each {
		for _, k := range kinds {
			n++
			group.Go(func() {
				if c, err := (&net.Dialer{}).DialContext(ctx, "tcp", host); err == nil {
					k(c)
				}
			})
		}
	}
	group.Wait()
	return n
}
