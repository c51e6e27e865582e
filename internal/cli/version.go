package cli

import (
	"fmt"
	"runtime/debug"
)

// Banner is the line that names a build. The version is what the linker set, or "": then it is what the go command
// recorded of the checkout.
func Banner(version string) string { return "libqwen " + buildVersion(version, debug.ReadBuildInfo) }

// buildVersion falls back on what the go command recorded of the checkout, for builds without the Makefile.
func buildVersion(linked string, read func() (*debug.BuildInfo, bool)) string {
	if linked != "" {
		return linked
	}
	info, ok := read()
	if !ok {
		return "unknown"
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	hash, date := settings["vcs.revision"], settings["vcs.time"]
	if len(hash) < 7 || len(date) < len("2006-01-02") {
		return info.Main.Version // a release, built by `go install …@version`
	}
	return fmt.Sprintf("%s (%s)", hash[:7], date[:len("2006-01-02")])
}
