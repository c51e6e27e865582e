package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A section is a struct with its fields, or all functions, or all constants.
type section struct {
	title string
	items []string // "qt_init", "qt_options.device", "QT_STATUS_OK"
}

// readItems reads what qwen.h has from the goldens that the tests of the ABI compare with it.
func readItems(root string) ([]section, error) {
	symbols, err := os.ReadFile(filepath.Join(root, "tests/abi/symbols.golden"))
	if err != nil {
		return nil, err
	}
	layout, err := os.ReadFile(filepath.Join(root, "tests/abi/layout.golden"))
	if err != nil {
		return nil, err
	}
	sections := []section{{title: "Functions", items: strings.Fields(string(symbols))}}
	constants := section{title: "Constants"}
	for line := range strings.Lines(string(layout)) {
		words := strings.Fields(line)
		last := &sections[len(sections)-1]
		switch {
		case len(words) == 3 && words[0] == "struct":
			sections = append(sections, section{title: "struct " + words[1]})
		case len(words) == 2 && strings.HasPrefix(line, " "):
			name := strings.TrimPrefix(last.title, "struct ")
			last.items = append(last.items, name+"."+words[0])
		case len(words) == 2:
			constants.items = append(constants.items, words[0])
		default:
			return nil, fmt.Errorf("layout.golden: %q", line)
		}
	}
	return append(sections, constants), nil
}
