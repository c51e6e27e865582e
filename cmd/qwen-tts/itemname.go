package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxName bounds the name of an item's files, bytes: file systems take 255, of which a temporary name needs some.
const maxName = 200

// devices are names that Windows keeps for devices, with any ending.
var deviceNames = []string{"con", "prn", "aux", "nul",
	"com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
	"lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9"}

// fileName is the name of an item's files, without their endings: its id, where letters, digits, '.', '-', '_' and inner
// spaces stay and '_' stands for everything else, so that it leads to no other folder and is a name on every system.
func fileName(id string) (string, error) {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune(".-_ ", r) {
			return r
		}
		return '_'
	}, norm.NFC.String(id))
	if len(name) > maxName {
		return "", fmt.Errorf("%d bytes, at most %d are taken", len(name), maxName)
	}
	if name[0] == '.' || name[0] == ' ' || name[0] == '-' { // hidden files, "..", what programs take for a flag
		name = "_" + name[1:]
	}
	if last := len(name) - 1; name[last] == '.' || name[last] == ' ' { // Windows drops them
		name = name[:last] + "_"
	}
	stem, _, _ := strings.Cut(strings.ToLower(name), ".")
	if slices.Contains(deviceNames, strings.TrimRight(stem, " ")) {
		name = "_" + name
	}
	return name, nil
}

// foldName is the same for names that some file system takes for the same.
func foldName(name string) string { return norm.NFC.String(cases.Fold().String(name)) }
