// Command parity writes docs/parity.md: where each function, field and constant of qwen.h is found in the bindings and
// the commands. What there is to find comes from the ABI's goldens, where it is found from parity.tsv; both must cover
// each other, and every name that the table gives must exist in the sources.
//
//	go run ./tests/parity          writes the page
//	go run ./tests/parity -check   fails if it would change
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const page = "docs/parity.md"

func main() {
	check := len(os.Args) == 2 && os.Args[1] == "-check"
	if len(os.Args) > 1 && !check {
		fmt.Fprintln(os.Stderr, "usage: parity [-check]")
		os.Exit(2)
	}
	if err := run(".", check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run makes the page of the repository at root.
func run(root string, check bool) error {
	table, err := readTable(filepath.Join(root, "tests/parity/parity.tsv"))
	if err != nil {
		return err
	}
	items, err := readItems(root)
	if err != nil {
		return err
	}
	errs := []error{covers(items, table)}
	for _, c := range columns {
		errs = append(errs, c.verify(root, table))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\nparity: tests/parity/parity.tsv has to say where everything of qwen.h is found", err)
	}
	made := render(items, table)
	path := filepath.Join(root, page)
	if !check {
		return os.WriteFile(path, made, 0o644)
	}
	if there, err := os.ReadFile(path); err != nil || !bytes.Equal(there, made) {
		return fmt.Errorf("parity: %s is out of date: go run ./tests/parity", page)
	}
	return nil
}

// A row says where one thing of qwen.h is found, a cell for each column.
type row []string

// readTable reads parity.tsv: lines of "thing, then a cell for each column", separated by tabs. '#' starts a comment.
func readTable(path string) (map[string]row, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	table := map[string]row{}
	for n, line := range strings.Split(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 1+len(columns) {
			return nil, fmt.Errorf("%s:%d: %d cells, want %d", path, n+1, len(cells), 1+len(columns))
		}
		for i, c := range cells {
			if strings.TrimSpace(c) == "" {
				return nil, fmt.Errorf("%s:%d: cell %d is empty", path, n+1, i+1)
			}
		}
		if table[cells[0]] != nil {
			return nil, fmt.Errorf("%s:%d: %s is there twice", path, n+1, cells[0])
		}
		table[cells[0]] = cells[1:]
	}
	return table, nil
}

// covers compares what there is with what the table knows.
func covers(items []section, table map[string]row) error {
	var errs []error
	there := map[string]bool{}
	for _, s := range items {
		for _, i := range s.items {
			there[i] = true
			if table[i] == nil {
				errs = append(errs, fmt.Errorf("parity: %s: no line", i))
			}
		}
	}
	for i := range table {
		if !there[i] {
			errs = append(errs, fmt.Errorf("parity: %s: not in qwen.h", i))
		}
	}
	return errors.Join(errs...)
}

// references are the names in a cell; a note in parentheses is none.
func references(cell string) (names []string) {
	if strings.HasPrefix(cell, "(") {
		return nil
	}
	for _, name := range strings.Split(cell, "; ") {
		names = append(names, strings.TrimSpace(name))
	}
	return names
}

// render writes the page.
func render(sections []section, table map[string]row) []byte {
	var b bytes.Buffer
	b.WriteString(`# The same things in every language

Where each function, field and constant of [include/qwen.h](../include/qwen.h) is found. This page is made by
` + "`go run ./tests/parity`" + `, which fails if something of the header is missing here, or a name here is not in the sources.
A note in parentheses says who does it instead.
`)
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n| C |", s.title)
		for _, c := range columns {
			fmt.Fprintf(&b, " %s |", c.title)
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
		for _, i := range s.items {
			_, short, nested := strings.Cut(i, ".")
			if !nested {
				short = i
			}
			fmt.Fprintf(&b, "| `%s` |", short)
			for _, cell := range table[i] {
				b.WriteString(" " + formatCell(cell) + " |")
			}
			b.WriteString("\n")
		}
	}
	return b.Bytes()
}

func formatCell(cell string) string {
	names := references(cell)
	if names == nil {
		return cell
	}
	for i, name := range names {
		names[i] = "`" + name + "`"
	}
	return strings.Join(names, ", ")
}
