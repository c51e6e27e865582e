package main

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// roff is the page as man(7) source.
func (p *page) roff(date string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 %s %s libqwen\n", quote(strings.ToUpper(p.name)), quote(date), quote(p.version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escape(p.name), escape(p.summary()))
	b.WriteString(".SH SYNOPSIS\n")
	for _, usage := range p.usage {
		rest := strings.TrimPrefix(usage, p.name)
		fmt.Fprintf(&b, ".B %s\n%s\n.br\n", escape(p.name), line(strings.TrimSpace(rest)))
	}
	b.WriteString(".SH DESCRIPTION\n")
	writeText(&b, p.about)
	inOptions := false
	for _, part := range p.parts {
		switch {
		case part.isFlags() && !inOptions:
			inOptions = true
			fmt.Fprintf(&b, ".SH OPTIONS\n.SS %s\n", quote(part.title))
		case part.isFlags():
			fmt.Fprintf(&b, ".SS %s\n", quote(part.title))
		default:
			inOptions = false
			fmt.Fprintf(&b, ".SH %s\n", quote(section(part.title)))
		}
		writePart(&b, part)
	}
	return b.String()
}

// summary is the first sentence of the description, or what of it stands before a colon that is not in parentheses.
func (p *page) summary() string {
	text, _, _ := strings.Cut(strings.Join(p.about, " "), ". ")
	if head, _, _ := strings.Cut(text, ": "); strings.Count(head, "(") == strings.Count(head, ")") {
		text = head
	}
	return strings.TrimRight(text, ".")
}

// section is the name that manual pages have for a part.
func section(title string) string {
	if title == "Exit codes" {
		return "EXIT STATUS"
	}
	return strings.ToUpper(title)
}

// writeText writes paragraphs; indented lines stay as they are.
func writeText(b *strings.Builder, lines []string) {
	verbatim := false
	for _, l := range lines {
		if indented := strings.HasPrefix(l, " "); indented != verbatim {
			b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[indented])
			verbatim = indented
		}
		if l == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(line(l) + "\n")
	}
	if verbatim {
		b.WriteString(".fi\n")
	}
}

func writePart(b *strings.Builder, p part) {
	items := p.items()
	if items == nil {
		writeText(b, p.lines)
		return
	}
	if n, err := strconv.Atoi(items[0].tag); err == nil && n == 0 { // codes, which stood in columns
		sort.SliceStable(items, func(i, j int) bool { return number(items[i]) < number(items[j]) })
	}
	for _, i := range items {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", escape(i.tag), line(i.text))
	}
}

func number(i item) int {
	n, _ := strconv.Atoi(i.tag)
	return n
}

var special = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", `\[u2026]`)

func escape(s string) string { return special.Replace(s) }

// line escapes a line of text, which must not begin like a request.
func line(s string) string {
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		return `\&` + escape(s)
	}
	return escape(s)
}

// quote makes one argument of a request.
func quote(s string) string { return `"` + strings.ReplaceAll(escape(s), `"`, `\(dq`) + `"` }
