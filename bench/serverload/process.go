package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// process is the server under load.
type process struct {
	cmd *exec.Cmd
	url string
}

// startServer starts the command with more flags and waits until it is ready.
func startServer(ctx context.Context, command []string, more ...string) (*process, error) {
	if len(command) == 0 {
		return nil, errors.New("the server's command is missing")
	}
	p := &process{cmd: exec.CommandContext(ctx, command[0], append(command[1:], more...)...)}
	log, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(log)
	for p.url == "" && lines.Scan() {
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
			p.url = line.Address
		} else if !strings.HasPrefix(lines.Text(), "{") {
			fmt.Fprintln(os.Stderr, lines.Text())
		}
	}
	if p.url == "" {
		return nil, fmt.Errorf("the server ended: %w", p.cmd.Wait())
	}
	go func() {
		for lines.Scan() { // one that is not read would stand still
		}
		_, _ = io.Copy(io.Discard, log)
	}()
	return p, p.ready(ctx)
}

// health is what the server says of itself.
type health struct {
	Status           string
	Running, Waiting int
}

func (p *process) ready(ctx context.Context) error {
	return p.until(ctx, "become ready", func(h health) bool { return h.Status == "ok" })
}

func (p *process) idle(ctx context.Context) error {
	return p.until(ctx, "become idle", func(h health) bool { return h.Running == 0 && h.Waiting == 0 })
}

func (p *process) until(ctx context.Context, what string, ok func(health) bool) error {
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		res, err := http.Get(p.url + "/health")
		if err != nil {
			return err
		}
		var h health
		err = json.NewDecoder(res.Body).Decode(&h)
		res.Body.Close()
		if err != nil || ok(h) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return fmt.Errorf("the server does not %s", what)
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	_ = p.cmd.Wait()
}

// memory is the resident memory of the server, bytes (Linux only).
func (p *process) memory() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("memory: the system does not tell")
}
