package main

import (
	"fmt"
	"strings"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/cli"
)

// listSpeakers prints one name per line, so that a script can read them. The talker's file alone is read.
func (s *session) listSpeakers() error {
	info, err := s.inspect()
	if err != nil {
		return err
	}
	if len(info.Speakers) == 0 {
		s.app.console.Linef("the model (%s) has no named speakers", info.Type)
	}
	for _, name := range info.Speakers {
		if _, err := fmt.Fprintln(s.app.stdout, name); err != nil {
			return cli.IOError{Err: err}
		}
	}
	return nil
}

// listDevices prints one device per line, then what ggml is made of.
func (a *app) listDevices() error {
	devices, err := core.Devices("")
	if err != nil {
		return err
	}
	info, err := core.SystemInfo("")
	if err != nil {
		return err
	}
	for _, d := range devices {
		if _, err := fmt.Fprintf(a.stdout, "%-12s %-6s %s\n", d.Name, d.Type, describeDevice(d)); err != nil {
			return cli.IOError{Err: err}
		}
	}
	if _, err := fmt.Fprintln(a.stdout, strings.TrimSpace(info)); err != nil {
		return cli.IOError{Err: err}
	}
	return nil
}

func describeDevice(d core.DeviceInfo) string {
	if d.MemoryTotal == 0 {
		return d.Description + ", " + d.Verdict()
	}
	return fmt.Sprintf("%s (%.1f of %.1f GiB free), %s", d.Description, gib(d.MemoryFree), gib(d.MemoryTotal), d.Verdict())
}

func gib(bytes uint64) float64 { return float64(bytes) / (1 << 30) }
