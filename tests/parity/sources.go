package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A column is a language: how its names are looked up.
type column struct {
	title string
	index int
	dir   string // where its sources are
	open  func(root string) (lookup, error)
}

// A lookup tells whether a name exists.
type lookup func(name string) bool

var columns = []column{
	{"Python", 0, "bindings/python/src/libqwen", openPython},
	{"Rust", 1, "bindings/rust/libqwen/src", openRust},
	{"Go", 2, "core", openGo},
	{"commands", 3, "cmd", openCommands},
}

// verify looks up every name of the column.
func (c column) verify(root string, table map[string]row) error {
	exists, err := c.open(root)
	if err != nil {
		return fmt.Errorf("parity: %s: %w", c.title, err)
	}
	var errs []error
	for item, cells := range table {
		for _, name := range references(cells[c.index]) {
			if !exists(name) {
				errs = append(errs, fmt.Errorf("parity: %s: %s: %s is not in %s", item, c.title, name, c.dir))
			}
		}
	}
	return errors.Join(errs...)
}

// readAll is the text of all files in the folder whose names match.
func readAll(dir, pattern string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("no %s in %s", pattern, dir)
	}
	var b strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		b.Write(data)
		b.WriteByte('\n')
	}
	return b.String(), nil
}

func matches(text, pattern string) bool { return regexp.MustCompile(pattern).MatchString(text) }

// ---- Python: "devices", "devices(ggml_dir)", "TTS(device)", "TTS.synthesize(text)", "Audio.seed" ----

var pythonName = regexp.MustCompile(`^(?:([A-Z]\w*)\.?)?(\w+)?(?:\((\w*)\))?$`)

func openPython(root string) (lookup, error) {
	if _, err := os.Stat(filepath.Join(root, "bindings/python")); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintln(os.Stderr, "parity: SKIPPED: Python, there is no bindings/python")
		return func(string) bool { return true }, nil
	}
	text, err := readAll(filepath.Join(root, "bindings/python/src/libqwen"), "[a-z_]*.py")
	if err != nil {
		return nil, err
	}
	exported, err := os.ReadFile(filepath.Join(root, "bindings/python/src/libqwen/__init__.py"))
	if err != nil {
		return nil, err
	}
	return func(name string) bool {
		m := pythonName.FindStringSubmatch(name)
		if m == nil {
			return false
		}
		class, member, argument := m[1], m[2], m[3]
		top := class
		if top == "" {
			top = member
		}
		if !matches(string(exported), `\b`+top+`\b`) {
			return false
		}
		scope, indent := text, ""
		if class != "" {
			scope, indent = pythonClass(text, class), "    "
			if scope == "" {
				return false
			}
			if member == "" {
				member = "__init__"
			}
		}
		if argument != "" {
			def := regexp.MustCompile(`(?ms)^`+indent+`(?:async )?def `+member+`\((.*?)^`+indent+`\S|^`+indent+`(?:async )?def `+member+`\(([^\n]*)\n`).FindAllString(scope, -1)
			return slices.ContainsFunc(def, func(d string) bool { return matches(d, `\b`+argument+`\b\s*:`) })
		}
		return member == "__init__" && class != "" ||
			matches(scope, `(?m)^`+indent+`(?:async )?def `+member+`\(|^`+indent+member+`\s*[:=]|self\.`+member+`\s*[:=]`)
	}, nil
}

// pythonClass is the body of a class.
func pythonClass(text, class string) string {
	m := regexp.MustCompile(`(?m)^class ` + class + `\b[^\n]*:\n((?:(?:[ \t][^\n]*)?\n)*)`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1] + " \n"
}

// ---- Rust: "devices", "Engine::open", "Report::seed", "Error::Busy" ----

func openRust(root string) (lookup, error) {
	text, err := readAll(filepath.Join(root, "bindings/rust/libqwen/src"), "*.rs")
	if err != nil {
		return nil, err
	}
	return func(name string) bool {
		of, member, nested := strings.Cut(name, "::")
		if !nested {
			return matches(text, `(?m)^pub (?:fn|struct|enum) `+name+`\b`)
		}
		for _, block := range regexp.MustCompile(`(?ms)^(?:pub struct|pub enum|impl(?:<[^>]*>)?)\s+`+of+`\b[^\n]*\{\n(.*?)^\}`).FindAllStringSubmatch(text, -1) {
			if matches(block[1], `(?m)^    pub (?:fn )?`+member+`\b|^    `+member+`(?:\(| \{|,)`) {
				return true
			}
		}
		return false
	}, nil
}

// ---- Go: "core.Open", "core.Options.Device", "core.Engine.Synthesize" ----

func openGo(root string) (lookup, error) {
	packages := map[string]map[string]bool{}
	return func(name string) bool {
		pkg, rest, _ := strings.Cut(name, ".")
		if packages[pkg] == nil {
			packages[pkg] = exportedNames(root, pkg)
		}
		return packages[pkg][rest]
	}, nil
}

// exportedNames are the names of a package: functions, constants, types, and Type.Field, Type.Method.
func exportedNames(root, pkg string) map[string]bool {
	dir := filepath.Join(root, "core")
	if pkg != "core" {
		dir = filepath.Join(dir, pkg)
	}
	names := map[string]bool{}
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil || f.Name.Name != pkg {
			continue
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				names[receiver(d)+d.Name.Name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					addSpec(names, s)
				}
			}
		}
	}
	return names
}

func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "."
	}
	return "?."
}

func addSpec(names map[string]bool, s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			names[n.Name] = true
		}
	case *ast.TypeSpec:
		names[s.Name.Name] = true
		if t, ok := s.Type.(*ast.StructType); ok {
			for _, f := range t.Fields.List {
				for _, n := range f.Names {
					names[s.Name.Name+"."+n.Name] = true
				}
			}
		}
	}
}

// ---- Commands: "qwen-tts --device" ----

func openCommands(root string) (lookup, error) {
	shared, err := readAll(filepath.Join(root, "internal/cli"), "*.go")
	if err != nil {
		return nil, err
	}
	return func(name string) bool {
		command, flag, ok := strings.Cut(name, " --")
		text, err := readAll(filepath.Join(root, "cmd", command), "*.go")
		if err != nil || !ok {
			return false
		}
		return matches(text+shared, `\.(?:\w+Var|\w+VarP|Bool|BoolP)\((?:[^,"]+, )?"`+regexp.QuoteMeta(flag)+`"`)
	}, nil
}
