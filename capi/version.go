//go:build cgo

package main

import "runtime/debug"

// version is "<git hash> (<commit date>)": set by the build (-X main.version=…), else taken from what the go
// command recorded about the working tree.
var version = ""

func versionString() (string, error) {
	if version != "" {
		return version, nil
	}
	hash, date := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				hash = s.Value[:min(7, len(s.Value))]
			case "vcs.time":
				date = s.Value[:min(len("2006-01-02"), len(s.Value))]
			}
		}
	}
	return hash + " (" + date + ")", nil
}
