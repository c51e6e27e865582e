package main

import (
	"fmt"
	"strings"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/cli"
)

// listSpeakers prints one name per line, so that a script can read them. The talker's file alone is read.
func (s *session) listSpeakers() error {
	info, err := core.Inspect(s.model())
	if err != nil {
		return err
	}
	if len(info.Speakers) == 0 {
		s.app.console.Linef("the model (%s) has no named speakers", info.Type)
	}
	for _, name := range info.Speakers {
		if err := cli.Tell(s.app.stdout, "%s", name); err != nil {
			return err
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
		if err := cli.Tell(a.stdout, "%-12s %-6s %s", d.Name, d.Type, describeDevice(d)); err != nil {
			return err
		}
	}
	return cli.Tell(a.stdout, "%s", strings.TrimSpace(info))
}

func describeDevice(d core.DeviceInfo) string {
	if d.MemoryTotal == 0 {
		return d.Description + ", " + d.Verdict()
	}
	return fmt.Sprintf("%s (%.1f of %.1f GiB free), %s", d.Description, gib(d.MemoryFree), gib(d.MemoryTotal), d.Verdict())
}

func gib(bytes uint64) float64 { return float64(bytes) / (1 << 30) }
