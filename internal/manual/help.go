package main

import (
	"errors"
	"regexp"
	"strings"
)

// A page is what --help says, taken apart.
type page struct {
	name    string
	version string // "libqwen abc (date)", or ""
	about   []string
	usage   []string
	parts   []part // flags by group, exit codes, environment, examples
}

// A part is a headline and the indented lines below it.
type part struct {
	title string
	lines []string
}

var headline = regexp.MustCompile(`^([A-Z].*):$`)

// parseHelp takes the help of a command apart: a version line if there is one, text, "Usage: …" in one line or in
// indented ones, and parts.
func parseHelp(name, help string) (*page, error) {
	p := &page{name: name}
	lines := strings.Split(strings.TrimRight(help, "\n"), "\n")
	if strings.HasPrefix(lines[0], "libqwen ") {
		p.version, lines = lines[0], lines[1:]
	}
	for len(lines) > 0 && !strings.HasPrefix(lines[0], "Usage:") {
		p.about, lines = append(p.about, lines[0]), lines[1:]
	}
	if p.about = trimBlank(p.about); len(p.about) == 0 {
		return nil, errors.New("it does not say what the command does")
	}
	if len(lines) == 0 {
		return nil, errors.New("it has no line \"Usage:\"")
	}
	for _, line := range lines {
		if usage, ok := strings.CutPrefix(line, "Usage: "); ok {
			p.usage = append(p.usage, usage)
		} else if m := headline.FindStringSubmatch(line); m != nil {
			p.parts = append(p.parts, part{title: m[1]})
		} else if n := len(p.parts); n > 0 {
			p.parts[n-1].lines = append(p.parts[n-1].lines, line)
		}
	}
	kept := p.parts[:0]
	for _, part := range p.parts {
		part.lines = trimBlank(part.lines)
		if part.title != "Usage" {
			kept = append(kept, part)
			continue
		}
		for _, line := range part.lines {
			p.usage = append(p.usage, strings.TrimSpace(line))
		}
	}
	p.parts = kept
	return p, nil
}

// trimBlank takes empty lines away from both ends.
func trimBlank(lines []string) []string {
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// An item is a flag, variable or code, and what it means.
type item struct{ tag, text string }

var (
	flagLine = regexp.MustCompile(`^ +((?:-\w, )?--[\w-]+(?: \S+)?) {2,}(.*)$`)
	otherTag = regexp.MustCompile(`^ {2}(\S+) {2,}(\S.*)$`)
	codeItem = regexp.MustCompile(`(\d+) {2}(\S.*?)(?: {2,}|$)`)
	codeLine = regexp.MustCompile(`^ *\d+ {2}\S`)
)

// items are the lines of a part as a list; nil if they are none. Exit codes may stand in columns.
func (p part) items() (items []item) {
	for _, line := range p.lines {
		if codeLine.MatchString(line) {
			for _, m := range codeItem.FindAllStringSubmatch(line, -1) {
				items = append(items, item{m[1], m[2]})
			}
			continue
		}
		m := flagLine.FindStringSubmatch(line)
		if m == nil {
			m = otherTag.FindStringSubmatch(line)
		}
		if m == nil {
			return nil
		}
		items = append(items, item{m[1], m[2]})
	}
	return items
}

// isFlags tells whether a part is a group of flags.
func (p part) isFlags() bool {
	for _, i := range p.items() {
		if !strings.HasPrefix(i.tag, "-") {
			return false
		}
	}
	return len(p.items()) > 0
}
