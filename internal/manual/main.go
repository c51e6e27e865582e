// Command manual makes the manual pages and shell completions of the commands: what --help prints becomes a page, so
// that both always say the same; completions are cobra's.
//
//	manual FOLDER COMMAND…      FOLDER gets the files, laid out as in /usr/share
//
// SOURCE_DATE_EPOCH, seconds, is the date of the pages.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: manual FOLDER COMMAND…")
		os.Exit(2)
	}
	for _, command := range os.Args[2:] {
		if err := write(os.Args[1], command); err != nil {
			fmt.Fprintf(os.Stderr, "manual: %s: %v\n", command, err)
			os.Exit(1)
		}
	}
}

// write makes the files of one command.
func write(share, command string) error {
	name := filepath.Base(command)
	help, err := exec.Command(command, "--help").Output()
	if err != nil {
		return fmt.Errorf("--help: %w", err)
	}
	page, err := parseHelp(name, string(help))
	if err != nil {
		return fmt.Errorf("--help: %w", err)
	}
	man := page.roff(date())
	cmd := &cobra.Command{Use: name} // the scripts ask the command itself for everything else
	for _, file := range []struct {
		path  string
		write func(path string) error
	}{
		{"man/man1/" + name + ".1", func(p string) error { return os.WriteFile(p, []byte(man), 0o644) }},
		{"bash-completion/completions/" + name, func(p string) error { return cmd.GenBashCompletionFileV2(p, true) }},
		{"zsh/site-functions/_" + name, cmd.GenZshCompletionFile},
		{"fish/vendor_completions.d/" + name + ".fish", func(p string) error { return cmd.GenFishCompletionFile(p, true) }},
	} {
		path := filepath.Join(share, file.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := file.write(path); err != nil {
			return err
		}
	}
	return nil
}

// date of the pages, "" if it is not known.
func date() string {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return ""
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly)
}
