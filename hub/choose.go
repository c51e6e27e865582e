package hub

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Want is what a user wants of a repository that holds several models. Empty fields are left to the choice.
type Want struct {
	Size  string // "0.6b", "1.7b"
	Mode  string // "base", "customvoice", "voicedesign"
	Quant string // "Q8_0", "Q4_K_M", "F16" …
}

func (w Want) String() string {
	return strings.Join(slices.DeleteFunc([]string{w.Size, w.Mode, w.Quant}, func(s string) bool { return s == "" }), "-")
}

var (
	sizeName  = regexp.MustCompile(`^\d+(\.\d+)?b$`)
	quantName = regexp.MustCompile(`^(f32|f16|bf16|i?q\d[a-z0-9_]*)$`)
)

// Modes are the kinds of checkpoint, as file names spell them.
var modes = []string{"base", "customvoice", "voicedesign"}

// ParseWant reads a size, a mode and a type of weights, any of them and in any order: "1.7b-customvoice-Q8_0".
func ParseWant(s string) (w Want, err error) {
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '-' || r == ',' }) {
		lower := strings.ToLower(part)
		field, value := &w.Quant, strings.ToUpper(part)
		switch mode := strings.ReplaceAll(lower, "_", ""); {
		case slices.Contains(modes, mode):
			field, value = &w.Mode, mode
		case sizeName.MatchString(lower):
			field, value = &w.Size, lower
		case !quantName.MatchString(lower):
			return w, fail(ErrInvalid, "%q: not a size (1.7b), a mode (%s) or a type of weights (Q8_0)", part, strings.Join(modes, ", "))
		}
		if *field != "" {
			return w, fail(ErrInvalid, "%q: %s and %s exclude each other", s, *field, value)
		}
		*field = value
	}
	return w, nil
}

// Choice is the files of one model, and what else it needs to speak; "" where the repository has none. Names are
// those of the listing.
type Choice struct {
	Talker    string // GGUF of the talker, or of the whole language model
	Codec     string // GGUF of the 12 Hz speech tokenizer
	Predictor string // GGUF of the code predictor, where that is apart
	Tokenizer string // GGUF of the text tokenizer, where that is apart
	Vocoder   string // ONNX file that decodes codes
	Weights   string // of the vocoder, where they are not in its file

	Checkpoint []string // instead of all these: the files of an original checkpoint
}

// Files are all files of the choice, in the order of the fields.
func (c Choice) Files() []string {
	files := []string{c.Talker, c.Codec, c.Predictor, c.Tokenizer, c.Vocoder, c.Weights}
	return append(slices.DeleteFunc(files, func(s string) bool { return s == "" }), c.Checkpoint...)
}

// role is what a file holds.
type role int

const (
	other role = iota
	talker
	bundle
	predictor
	tokenizer
	codec
	vocoder
)

// file is what a name tells.
type file struct {
	name string
	role role
	Want
}

var (
	quantSuffix = regexp.MustCompile(`[-_.](f32|f16|bf16|i?q\d[a-z0-9_]*)\.gguf$`)
	sizePart    = regexp.MustCompile(`(?:^|[-_])(\d+(?:\.\d+)?b)(?:[-_.]|$)`)
	modePart    = regexp.MustCompile(`(?:^|[-_])(base|custom[-_]?voice|voice[-_]?design)(?:[-_.]|$)`)
)

// parse reads the name of a file as the known repositories form it.
func parse(name string) file {
	base := strings.ToLower(path.Base(name))
	f := file{name: name}
	if m := quantSuffix.FindStringSubmatch(base); m != nil {
		f.Quant = strings.ToUpper(m[1])
	}
	if m := sizePart.FindStringSubmatch(base); m != nil {
		f.Size = m[1]
	}
	if m := modePart.FindStringSubmatch(base); m != nil {
		f.Mode = strings.NewReplacer("-", "", "_", "").Replace(m[1])
	}
	f.role = roleOf(base, f.Mode)
	return f
}

func roleOf(base, mode string) role {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(base, p) })
	}
	switch {
	case strings.HasSuffix(base, ".onnx"):
		if has("vocoder") {
			return vocoder
		}
	case !strings.HasSuffix(base, ".gguf"):
	case has("code-predictor", "code_predictor"):
		return predictor
	case has("tokenizer") && mode == "":
		return codec
	case has("tokenizer"):
		return tokenizer
	case has("talker"):
		return talker
	case mode != "" && has("tts"):
		return bundle
	}
	return other
}

// preference lists the types of weights of each role, the one to take first in front.
var preference = map[role][]string{
	talker:    {"Q8_0", "BF16", "F16", "Q6_K", "Q5_K_M", "Q5_K", "Q5_K_S", "Q4_K_M", "Q4_K", "Q4_K_S", "F32"},
	bundle:    {"Q8_0", "BF16", "F16", "Q6_K", "Q5_K_M", "Q5_K", "Q5_K_S", "Q4_K_M", "Q4_K", "Q4_K_S", "F32"},
	predictor: {"F16", "Q8_0", "Q6_K", "Q5_K", "Q4_K"},
	codec:     {"F32", "BF16", "F16", "Q8_0"}, // small, and every bit of it is heard
}

func (f file) rank() int {
	if i := slices.Index(preference[f.role], f.Quant); i >= 0 {
		return i
	}
	return len(preference[f.role])
}

// is tells whether a file has the wanted type of weights; "Q4_K" stands also for its mixtures.
func (f file) is(quant string) bool {
	return f.Quant == quant || strings.HasPrefix(f.Quant, quant+"_")
}

// Choose picks the files of one model out of the names of a repository.
func Choose(names []string, w Want) (Choice, error) {
	var files []file
	for _, n := range names {
		files = append(files, parse(n))
	}
	models := filter(files, func(f file) bool { return f.role == talker || f.role == bundle })
	if len(models) == 0 {
		return withoutTalker(names, files, w)
	}
	fits := filter(models, func(f file) bool {
		return (w.Size == "" || f.Size == w.Size) && (w.Mode == "" || f.Mode == w.Mode) && (w.Quant == "" || f.is(w.Quant))
	})
	if len(fits) == 0 {
		return Choice{}, fail(ErrInvalid, "no model is %s; there are %s", w, list(models))
	}
	best := slices.MinFunc(fits, func(a, b file) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), strings.Compare(a.name, b.name))
	})
	for _, f := range fits {
		if f.Size != best.Size || f.Mode != best.Mode {
			return Choice{}, fail(ErrInvalid, "several models fit, name one after a colon: %s", list(fits))
		}
	}
	return companions(files, best), nil
}

// companions adds to a talker or bundle what goes with it.
func companions(files []file, f file) Choice {
	c := Choice{Talker: f.name}
	pick := func(r role, same bool) string {
		fits := filter(files, func(g file) bool { return g.role == r && (!same || g.Size == f.Size && g.Mode == f.Mode) })
		if len(fits) == 0 {
			return ""
		}
		return slices.MinFunc(fits, func(a, b file) int {
			return cmp.Or(cmp.Compare(otherThan(a, f), otherThan(b, f)), cmp.Compare(a.rank(), b.rank()), strings.Compare(a.name, b.name))
		}).name
	}
	if f.role == talker {
		c.Predictor, c.Tokenizer = pick(predictor, true), pick(tokenizer, true)
	}
	c.Codec, c.Vocoder = pick(codec, false), pick(vocoder, false)
	if weights := c.Vocoder + ".data"; slices.ContainsFunc(files, func(f file) bool { return f.name == weights }) {
		c.Weights = weights
	}
	return c
}

// otherThan sorts code predictors with the talker's type of weights before others.
func otherThan(g, f file) int {
	if g.role == predictor && g.Quant != f.Quant {
		return 1
	}
	return 0
}

// withoutTalker chooses of a repository that has a codec only, or an original checkpoint.
func withoutTalker(names []string, files []file, w Want) (Choice, error) {
	if c := checkpoint(names); c != nil {
		if w.Quant != "" {
			return Choice{}, fail(ErrInvalid, "this is an original checkpoint, there is no %s of it; qwen-convert and qwen-quantize make one", w.Quant)
		}
		return Choice{Checkpoint: c}, nil
	}
	codecs := filter(files, func(f file) bool { return f.role == codec && (w.Quant == "" || f.is(w.Quant)) })
	if len(codecs) == 0 || w.Size != "" || w.Mode != "" {
		return Choice{}, fail(ErrInvalid, "no model that fits: neither GGUF files with usual names (qwen-talker-1.7b-base-Q8_0.gguf) nor a checkpoint (config.json, model.safetensors)")
	}
	best := slices.MinFunc(codecs, func(a, b file) int { return cmp.Compare(a.rank(), b.rank()) })
	return Choice{Codec: best.name}, nil
}

// checkpoint lists the files of an original checkpoint, which lie at the top and in speech_tokenizer; nil if it is none.
func checkpoint(names []string) (files []string) {
	weights := false
	for _, n := range names {
		if dir := path.Dir(n); dir != "." && dir != "speech_tokenizer" {
			continue
		}
		switch path.Ext(n) {
		case ".safetensors":
			weights = true
		case ".json", ".txt":
		default:
			continue
		}
		files = append(files, n)
	}
	if !weights || !slices.Contains(names, "config.json") {
		return nil
	}
	return files
}

func filter(files []file, keep func(file) bool) (kept []file) {
	for _, f := range files {
		if keep(f) {
			kept = append(kept, f)
		}
	}
	return kept
}

// list names what files are, each once.
func list(files []file) string {
	var names []string
	for _, f := range files {
		names = append(names, first(f.Want.String(), f.name))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	const most = 24
	if n := len(names); n > most {
		names = append(names[:most], fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(names, ", ")
}
