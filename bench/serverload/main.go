// Command serverload starts a server and lets many clients speak with it at once: how long they wait for their first
// audio, how much the server speaks in all, whether anything fails, and whether memory grows. Clients that misbehave can
// be among them.
//
//	serverload [flags] -- build/bin/tts-server --model talker.gguf --codec codec.gguf
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	var l load
	flag.IntVar(&l.clients, "clients", 8, "clients at a time")
	flag.IntVar(&l.requests, "requests", 200, "requests in all")
	flag.IntVar(&l.frames, "frames", 25, "frames of each request, 80 ms each")
	flag.StringVar(&l.text, "text", "The quick brown fox jumps over the lazy dog.", "what is spoken")
	flag.StringVar(&l.voice, "voice", "default", "the voice")
	flag.StringVar(&l.format, "format", "pcm", "the format")
	flag.BoolVar(&l.abuse, "abuse", true, "afterwards, clients that read slowly, go away, or send nonsense")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, l, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "serverload:", err)
		os.Exit(1)
	}
}

// run starts the server, measures, and prints.
func run(ctx context.Context, l load, command []string) error {
	p, err := startServer(ctx, command, "--port", "0", "--log-format", "json", "--max-queue", fmt.Sprint(2*l.clients+16))
	if err != nil {
		return err
	}
	defer p.stop()
	l.url = p.url
	warm := l
	warm.requests = max(l.requests/4, l.clients) // buffers and caches reach their size
	if _, err := warm.run(ctx); err != nil {
		return fmt.Errorf("warming up: %w", err)
	}
	before, err := p.memory()
	if err != nil {
		return err
	}
	r, err := l.run(ctx)
	if err != nil {
		return err
	}
	after, err := p.memory()
	if err != nil {
		return err
	}
	fmt.Print(r.table(l))
	fmt.Printf("| memory before, after | %.1f MiB, %.1f MiB |\n", mib(before), mib(after))
	if l.abuse {
		if err := l.misbehave(ctx, p); err != nil {
			return err
		}
	}
	if grown := after - before; float64(grown) > .05*float64(before)+8*(1<<20) {
		return fmt.Errorf("memory grew by %.1f MiB", mib(grown))
	}
	return nil
}

// misbehave lets clients misbehave, and then asks for speech as if nothing had been.
func (l load) misbehave(ctx context.Context, p *process) error {
	n := abuse(ctx, l)
	if err := p.idle(ctx); err != nil { // what was asked for and not taken back is still spoken
		return err
	}
	begin := time.Now()
	one := l
	one.requests, one.clients = 1, 1
	r, err := one.run(ctx)
	if err != nil {
		return fmt.Errorf("after %d misbehaving clients: %w", n, err)
	}
	after, err := p.memory()
	if err != nil {
		return err
	}
	fmt.Printf("| after %d misbehaving clients: first audio, whole request, memory | %s, %s, %.1f MiB |\n", n, ms(r.first[0]), ms(time.Since(begin)), mib(after))
	return nil
}

func mib(bytes int64) float64   { return float64(bytes) / (1 << 20) }
func ms(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond)) }
