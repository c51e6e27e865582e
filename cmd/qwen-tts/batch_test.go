package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/atomicfile"
	"github.com/libqwen/libqwen/internal/cli"
	"github.com/libqwen/libqwen/internal/testenv"
	"github.com/libqwen/libqwen/tests/golden"
)

// result reads a result file.
func result(t *testing.T, dir, name string) (r itemResult) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(testenv.Content(t, filepath.Join(dir, name+".json"))), &r))
	return r
}

// items writes a file of items.
func items(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "items.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path
}

// Every item is spoken as it would be alone, whatever its neighbours are.
func TestBatchSpeaksLikeSingles(t *testing.T) {
	dir, single := t.TempDir(), filepath.Join(t.TempDir(), "x.wav")
	var lines []string
	for i := range 6 {
		lines = append(lines, fmt.Sprintf(`{"id": "s%d", "text": "Sentence number %d.", "seed": %d, "max_new": %d}`, i, i, i, 3+i))
	}
	lines = append(lines, `{"id": "greedy", "text": "Hello.", "greedy": true, "lang": "en", "instruct": "calm", "format": "wav32", "max_new_tokens": 4}`)
	_, stderr := mustRun(t, "", vivian(t, "--batch", items(t, lines...), "--out-dir", dir, "--concurrency", "3")...)
	assert.Contains(t, stderr, "qwen-tts: 7 items: 7 spoken, 0 were done before, 0 failed; ")
	assert.Len(t, testenv.Names(t, dir), 14, "nothing but audio and results")

	mustRun(t, "Sentence number 4.", vivian(t, "--seed", "4", "--max-new", "7", "-o", single)...)
	assertClose(t, decode(t, testenv.Content(t, single)), decode(t, testenv.Content(t, filepath.Join(dir, "s4.wav"))))
	r := result(t, dir, "s4")
	assert.True(t, r.OK)
	assert.Nil(t, r.Error)
	assert.Equal(t, "s4.wav", r.Audio)
	assert.Equal(t, []any{7, int64(4), 0.56, "length"}, []any{r.Frames, r.Seed, r.Seconds, string(r.Finish)})
	assert.Len(t, r.Warnings, 1)
	assert.Greater(t, r.Total, 0.0)

	mustRun(t, "Hello.", vivian(t, "--greedy", "--lang", "en", "--instruct", "calm", "--format", "wav32", "--max-new", "4", "-o", single)...)
	assertClose(t, decode(t, testenv.Content(t, single)), decode(t, testenv.Content(t, filepath.Join(dir, "greedy.wav"))))
}

// Two runs of the same items in one folder share them: the one waits for what the other has begun.
func TestTwoBatchesOfTheSameItems(t *testing.T) {
	const n = 24
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf(`{"id": "s%d", "text": "Sentence number %d.", "max_new": 8}`, i, i))
	}
	dir, path := t.TempDir(), items(t, lines...)
	args := vivian(t, "--batch", path, "--out-dir", dir, "--concurrency", "2")
	var runs sync.WaitGroup
	var told [2]string
	for i := range told {
		runs.Go(func() { _, told[i] = mustRun(t, "", args...) })
	}
	runs.Wait()
	all := 0
	for _, line := range told {
		var total, spoken, before int
		_, err := fmt.Sscanf(line[strings.Index(line, "qwen-tts: ")+len("qwen-tts: "):], "%d items: %d spoken, %d were done before, 0 failed", &total, &spoken, &before)
		require.NoError(t, err, line)
		assert.Equal(t, []int{n, n}, []int{total, spoken + before}, line)
		all += spoken
	}
	assert.Less(t, all, n+n/2, "an item may be spoken twice between the audio's appearing and the result's")
	assert.Len(t, testenv.Names(t, dir), 2*n)
	_, stderr := mustRun(t, "", args...)
	assert.Contains(t, stderr, fmt.Sprintf("0 spoken, %d were done before", n))
}

func TestBatchResumes(t *testing.T) {
	dir := t.TempDir()
	one, two, three := `{"id": "one", "text": "One.", "max_new": 3}`, `{"id": "two", "text": "Two.", "max_new": 3}`, `{"id": "three", "text": "Three.", "max_new": 3}`
	args := func(lines ...string) []string { return vivian(t, "--batch", items(t, lines...), "--out-dir", dir) }
	mustRun(t, "", args(one, two)...)
	before := testenv.Content(t, filepath.Join(dir, "two.json"))

	_, stderr := mustRun(t, "", args(one, two)...)
	assert.Contains(t, stderr, "2 items: 0 spoken, 2 were done before, 0 failed\n")

	changed := strings.Replace(one, "One.", "Another one.", 1)
	_, stderr = mustRun(t, "", args(changed, two, three)...)
	assert.Contains(t, stderr, "3 items: 2 spoken, 1 were done before, 0 failed")
	assert.Equal(t, before, testenv.Content(t, filepath.Join(dir, "two.json")))

	require.NoError(t, os.Truncate(filepath.Join(dir, "two.wav"), 10))
	require.NoError(t, os.Remove(filepath.Join(dir, "three.wav")))
	_, stderr = mustRun(t, "", args(changed, two, three)...)
	assert.Contains(t, stderr, "2 spoken, 1 were done before")

	_, stderr = mustRun(t, "", append(args(changed, two, three), "--temp", "0.5")...)
	assert.Contains(t, stderr, "3 spoken, 0 were done before", "the flags count, too")
}

func TestBatchGoesOnAfterFailures(t *testing.T) {
	dir := t.TempDir()
	lines := []string{
		`{"id": "good", "text": "Good.", "max_new": 3}`,
		`{"id": "nobody", "text": "Hello.", "speaker": "nobody"}`,
		`{"id": "typo", "text": "Hello.", "sped": 2}`,
		`{"text": "Hello."}`,
		`not JSON`,
		`{"id": "GOOD", "text": "Hello."}`,
		`{"id": "cloned", "text": "Hello.", "speaker": "", "voice": "none.qvoice"}`,
		`{"id": "endless", "text": "Hello.", "max_new": 1000000}`,
		`{"id": "last", "text": "Last.", "max_new": 3}`,
	}
	path := items(t, lines...)
	code, stdout, stderr := run(t.Context(), "", vivian(t, "--batch", path, "--out-dir", dir)...)
	assert.Equal(t, cli.ExitPartial, code, stderr)
	assert.Empty(t, stdout)
	assert.ElementsMatch(t, []string{"good.wav", "good.json", "last.wav", "last.json", "nobody.json", "cloned.json", "endless.json"}, testenv.Names(t, dir))
	for _, want := range []string{
		`failed: line 2 (nobody): speaker: `, `failed: line 3 (typo): unknown field "sped"; there are id, `, "failed: line 4: id: missing\n",
		"failed: line 5: not a JSON object: ", `failed: line 6 (GOOD): id: "GOOD" would have the files of line 1`,
		"failed: line 7 (cloned): voice: open ", "failed: line 8 (endless): max_new_tokens: 1000000 is not in 1..",
		"9 items: 2 spoken, 0 were done before, 7 failed; ", "7 of 9 items failed",
	} {
		assert.Contains(t, stderr, want)
	}
	r := result(t, dir, "nobody")
	assert.False(t, r.OK)
	assert.Equal(t, "invalid", r.Error.Kind)
	assert.Empty(t, r.Audio)
	assert.Equal(t, "io", result(t, dir, "cloned").Error.Kind)

	// Only the failed are tried again, and what is changed replaces what was there.
	lines[1] = strings.Replace(lines[1], `"nobody"}`, `"vivian", "max_new": 3}`, 1)
	lines[0] = strings.Replace(lines[0], "3}", "-3}", 1)
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
	code, _, stderr = run(t.Context(), "", vivian(t, "--batch", path, "--out-dir", dir)...)
	assert.Equal(t, cli.ExitPartial, code)
	assert.Contains(t, stderr, "9 items: 1 spoken, 1 were done before, 7 failed")
	assert.NotContains(t, testenv.Names(t, dir), "good.wav", "that of the text before is not taken for this one's")
	assert.True(t, result(t, dir, "nobody").OK)
}

func TestBatchFailFast(t *testing.T) {
	dir := t.TempDir()
	bad := items(t, `{"id": "a", "text": "A.", "max_new": 3}`, `{"id": "b"}`)
	code, _, stderr := run(t.Context(), "", "--model", "none.gguf", "--codec", "none.gguf", "--batch", bad, "--out-dir", dir, "--fail-fast")
	assert.Equal(t, cli.ExitModel, code, stderr)

	code, _, stderr = run(t.Context(), "", vivian(t, "--batch", bad, "--out-dir", dir, "--fail-fast")...)
	assert.Equal(t, cli.ExitPartial, code, stderr)
	assert.Contains(t, stderr, "failed: line 2 (b): text: missing\n")
	assert.Contains(t, stderr, "2 items: 0 spoken, 0 were done before, 1 failed, 1 left")
	assert.Empty(t, testenv.Names(t, dir))

	late := items(t, `{"id": "a", "text": "A.", "speaker": "nobody"}`, `{"id": "b", "text": "B."}`, `{"id": "c", "text": "C."}`)
	code, _, stderr = run(t.Context(), "", vivian(t, "--batch", late, "--out-dir", dir, "--fail-fast", "--concurrency", "1")...)
	assert.Equal(t, cli.ExitPartial, code, stderr)
	assert.Contains(t, stderr, "3 items: 0 spoken, 0 were done before, 1 failed, 2 left")
	assert.Equal(t, []string{"a.json"}, testenv.Names(t, dir))
}

// A result that cannot be written ends the run: nothing that follows could be kept.
func TestBatchEndsWhereResultsCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "a.wav"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "b.json"), 0o700))
	path := items(t, `{"id": "a", "text": "A.", "max_new": 3}`, `{"id": "b", "text": "B.", "max_new": 3}`, `{"id": "c", "text": "C."}`)
	code, _, stderr := run(t.Context(), "", vivian(t, "--batch", path, "--out-dir", dir, "--concurrency", "1")...)
	assert.Equal(t, cli.ExitIO, code, stderr)
	assert.Contains(t, stderr, "failed: line 1 (a): ")
	assert.Contains(t, stderr, "b.json")
	assert.Equal(t, "io", result(t, dir, "a").Error.Kind)
	assert.NotContains(t, testenv.Names(t, dir), "c.json")
}

// Ctrl-C leaves what is done, nothing of what is not, and the next run goes on from there.
func TestBatchInterrupted(t *testing.T) {
	dir := t.TempDir()
	path := items(t, `{"id": "short", "text": "A.", "max_new": 3}`, `{"id": "long1", "text": "B."}`, `{"id": "long2", "text": "C."}`)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "short.json")); err == nil {
				cancel(cli.Interrupted{Signal: os.Interrupt})
			}
		}
	}()
	code, _, stderr := run(ctx, "", vivian(t, "--batch", path, "--out-dir", dir)...)
	assert.Equal(t, 130, code, stderr)
	assert.Contains(t, stderr, "3 items: 1 spoken, 0 were done before, 0 failed, 2 left; ")
	assert.True(t, strings.HasSuffix(stderr, "qwen-tts: stopped\n"), stderr)
	assert.ElementsMatch(t, []string{"short.wav", "short.json"}, testenv.Names(t, dir))

	_, stderr = mustRun(t, "", vivian(t, "--batch", path, "--out-dir", dir, "--max-new", "4")...)
	assert.Contains(t, stderr, "3 items: 2 spoken, 1 were done before, 0 failed")
}

// Voices: of the flags, of the item, and a transcript in the item; files beside the items.
func TestBatchVoices(t *testing.T) {
	dir, clip := t.TempDir(), golden.Path(t, "audio", "speech_24k.wav")
	path := items(t,
		`{"id": "shared", "text": "Hello.", "seed": 1}`,
		`{"id": "own", "text": "Hello.", "seed": 1, "ref_audio": "clip.wav", "ref_text": "What is said."}`,
		`{"id": "vector", "text": "Hello.", "seed": 1, "x_vector_only": true}`,
		`{"id": "both", "text": "Hello.", "voice": "x.qvoice", "ref_wav": "clip.wav"}`)
	require.NoError(t, os.Symlink(clip, filepath.Join(filepath.Dir(path), "clip.wav")))
	code, _, stderr := run(t.Context(), "", tiny(t, "tiny-base-17", "--batch", path, "--out-dir", dir, "--max-new", "4", "--ref-wav", clip)...)
	assert.Equal(t, cli.ExitPartial, code)
	assert.Contains(t, stderr, "failed: line 4 (both): ref_wav and voice exclude each other\n")
	assert.Contains(t, stderr, "4 items: 3 spoken")

	transcript := filepath.Join(t.TempDir(), "clip.txt")
	require.NoError(t, os.WriteFile(transcript, []byte("What is said."), 0o600))
	single := filepath.Join(t.TempDir(), "x.wav")
	for id, args := range map[string][]string{"shared": nil, "own": {"--ref-text", transcript}, "vector": {"--x-vector-only"}} {
		mustRun(t, "Hello.", tiny(t, "tiny-base-17", append(args, "--seed", "1", "--max-new", "4", "--ref-wav", clip, "-o", single)...)...)
		assertClose(t, decode(t, testenv.Content(t, single)), decode(t, testenv.Content(t, filepath.Join(dir, id+".wav"))))
	}
}

func TestBatchLongTexts(t *testing.T) {
	dir := t.TempDir()
	mustRun(t, `{"id": "book", "text": "First sentence. Second sentence.", "long": true, "piece_chars": 16, "max_new": 3}`,
		vivian(t, "--batch", "-", "--out-dir", dir)...)
	r := result(t, dir, "book")
	assert.Equal(t, 2, r.Pieces)
	assert.Equal(t, 6, r.Frames)
	assert.Len(t, r.Warnings, 2)
}

func TestBatchShowsABar(t *testing.T) {
	dir := t.TempDir()
	_, stderr := mustRun(t, "", vivian(t, "--batch", items(t, `{"id": "a", "text": "A.", "max_new": 3}`), "--out-dir", dir, "--progress")...)
	assert.Contains(t, stderr, "0 of 1 items")
	assert.Contains(t, stderr, "1 of 1 items  0.2 s of audio in ")
}

func TestBatchUsage(t *testing.T) {
	model := []string{"--model", "talker.gguf", "--codec", "codec.gguf"}
	for want, args := range map[string][]string{
		"--batch needs --out-dir":                          {"--batch", "x"},
		"--out-dir, --concurrency and --fail-fast need":    {"-o", "x.wav", "--concurrency", "3"},
		"--batch excludes -o, --text and --stream-by-line": {"--batch", "x", "--out-dir", "d", "-o", "x.wav"},
		"--batch excludes --dump, --profile and --save":    {"--batch", "x", "--out-dir", "d", "--dump", "x"},
		"--concurrency: -1 is negative":                    {"--batch", "x", "--out-dir", "d", "--concurrency", "-1"},
		"--piece-chars: -1 is negative":                    {"--batch", "x", "--out-dir", "d", "--long", "--piece-chars", "-1"},
	} {
		code, _, stderr := run(t.Context(), "", append(args, model...)...)
		assert.Equal(t, cli.ExitUsage, code)
		assert.Contains(t, stderr, want)
	}
	dir := t.TempDir()
	code, _, stderr := run(t.Context(), "", append(model, "--batch", filepath.Join(dir, "none"), "--out-dir", filepath.Join(dir, "out"))...)
	assert.Equal(t, cli.ExitIO, code, stderr)
	assert.Contains(t, stderr, "--batch: open ")
	code, _, stderr = run(t.Context(), "", append(model, "--batch", "-", "--out-dir", filepath.Join(items(t), "out"))...)
	assert.Equal(t, cli.ExitIO, code, stderr)
	assert.Contains(t, stderr, "--out-dir: ")
	code, _, stderr = run(t.Context(), "", append(vivian(t), "--batch", items(t, `{"id": "a", "text": "A."}`), "--out-dir", filepath.Join(dir, "out"), "--concurrency", "5000")...)
	assert.Equal(t, cli.ExitUsage, code, stderr)
	assert.Contains(t, stderr, "--concurrency: 5000 is not in 0..1024")
}

func TestItemLines(t *testing.T) {
	o := &options{}
	newFlags(o) // sets the defaults
	for line, want := range map[string]string{
		`[]`:                                                      "not a JSON object: it does not begin with {",
		`{"id": "a"`:                                              "not a JSON object: ",
		`{"id": "a"} {}`:                                          "more than one JSON object",
		`{"id": "a", "id": "b"}`:                                  "id: given twice",
		`{"id": 7, "text": "x"}`:                                  "id: want a string that is not empty, found 7",
		`{"id": "", "text": ""}`:                                  "id: want a string that is not empty",
		`{"id": "a", "text": 7}`:                                  "text: want a string, found 7",
		`{"id": "a", "text": "x", "seed": "7"}`:                   `seed: want a number, found "7"`,
		`{"id": "a", "text": "x", "seed": 1.5}`:                   "seed: ",
		`{"id": "a", "text": "x", "greedy": 1}`:                   "greedy: want true or false, found 1",
		`{"id": "a", "text": "x", "Text": "y"}`:                   `unknown field "Text"`,
		`{"id": "a", "text": "x", "temp": 1, "temperature": 1}`:   "temperature: given twice, by another name too",
		`{"id": "a", "text": "x", "threads": 1}`:                  `unknown field "threads"`,
		`{"id": "a", "text": " "}`:                                "text: missing",
		`{"id": "a", "text": "x", "format": "aac"}`:               `"aac" is not written`,
		`{"id": "a", "text": "x", "speed": 9}`:                    "speed: 9 is not in",
		`{"id": "a", "text": "x", "text_layout": "wide"}`:         "text_layout: ",
		`{"id": "a", "text": "x", "piece_chars": 9}`:              "piece_chars needs long",
		`{"id": "a", "text": "x", "ref_text": "y"}`:               "ref_text needs ref_wav, voice, or ref_spk with ref_rvq",
		`{"id": "a", "text": "x", "speaker": "y", "voice": "z"}`:  "speaker and voice exclude each other",
		`{"id": "` + strings.Repeat("a", 201) + `", "text": "x"}`: "id: 201 bytes, at most 200 are taken",
	} {
		_, err := newItemReader(o, "").read(1, line)
		assert.ErrorContains(t, err, want, line)
	}
	it, err := newItemReader(o, "folder").read(3, `{"id": "a/b", "text": "x", "seed": null, "voice": "v.qvoice", "top_k": 3}`)
	require.NoError(t, err)
	assert.Equal(t, "a_b", it.name)
	assert.Equal(t, filepath.Join("folder", "v.qvoice"), it.options.voice)
	assert.Equal(t, map[string]bool{"text": true, "voice": true, "top-k": true}, it.set)
}

func TestFileNames(t *testing.T) {
	for id, want := range map[string]string{
		"chapter 1": "chapter 1", "第一章": "第一章", "../../etc/passwd": "_._.._etc_passwd", "..": "__", "a\\b:c*\x00\n": "a_b_c___",
		".hidden": "_hidden", "-o": "_o", "end. ": "end._", "NUL": "_NUL", "com1.x": "_com1.x", "/": "_", "e\u0301": "é",
	} {
		got, err := fileName(id)
		require.NoError(t, err)
		assert.Equal(t, want, got, id)
	}
	assert.Equal(t, foldName("STRASSE"), foldName("straße"))
	assert.Equal(t, foldName("É"), foldName("e\u0301"))
}

func FuzzFileName(f *testing.F) {
	f.Add("../a")
	f.Add("a\xff/..")
	f.Fuzz(func(t *testing.T, id string) {
		if id == "" {
			return
		}
		name, err := fileName(id)
		if err != nil {
			return
		}
		assert.Equal(t, name, filepath.Base(name))
		assert.True(t, filepath.IsLocal(name), "%q", name)
		assert.LessOrEqual(t, len(name), maxName+1)
	})
}

func FuzzItemLine(f *testing.F) {
	f.Add(`{"id": "a", "text": "x", "seed": 1, "voice": null, "speed": 1e999}`)
	f.Add(`{"id": [{"a": {}}], "text": {}}`)
	o := &options{}
	newFlags(o)
	f.Fuzz(func(t *testing.T, line string) {
		it, err := newItemReader(o, "").read(1, line)
		if err == nil {
			assert.NotEmpty(t, it.name)
			assert.NotEmpty(t, it.options.text)
		}
	})
}

// The hash changes with whatever the audio depends on, and with nothing else.
func TestItemHash(t *testing.T) {
	dir := t.TempDir()
	file := func(name, data string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
		return path
	}
	o := &options{}
	newFlags(o)
	hash := func(line string) string {
		h, err := newHasher(nil, o, func(string) bool { return false })
		require.NoError(t, err)
		it, err := newItemReader(o, dir).read(1, line)
		require.NoError(t, err)
		return h.of(it)
	}
	plain := hash(`{"id": "a", "text": "x"}`)
	assert.Equal(t, plain, hash(`{"text": "x", "id": "b", "seed": null}`))
	assert.NotEqual(t, plain, hash(`{"id": "a", "text": "y"}`))
	assert.NotEqual(t, plain, hash(`{"id": "a", "text": "x", "top_k": 50}`))
	file("v.qvoice", "one")
	voice := hash(`{"id": "a", "text": "x", "voice": "v.qvoice"}`)
	file("w.qvoice", "one")
	assert.Equal(t, voice, hash(`{"id": "a", "text": "x", "voice": "w.qvoice"}`))
	file("v.qvoice", "two")
	assert.NotEqual(t, voice, hash(`{"id": "a", "text": "x", "voice": "v.qvoice"}`))

	// Models: what they hold counts, not where they are.
	common := func(path string) string {
		h, err := newHasher([]core.Options{{TalkerPath: path}}, o, nil)
		require.NoError(t, err)
		return h.common
	}
	big := strings.Repeat("x", 1<<20)
	model := common(file("m.gguf", big))
	assert.Equal(t, model, common(file("n.gguf", big)))
	assert.NotEqual(t, model, common(file("n.gguf", big+"x")))
	assert.NotEqual(t, model, common(file("n.gguf", "y"+big[1:])))
	_, err := newHasher([]core.Options{{TalkerPath: filepath.Join(dir, "none")}}, o, nil)
	assert.Error(t, err)
}

// TestAPanicFailsItsItemAlone: the worker that speaks it goes on.
func TestAPanicFailsItsItemAlone(t *testing.T) {
	p := &performance{batch: &session{}, item: &item{}} // without anything that it needs
	path := filepath.Join(t.TempDir(), "a.wav")
	out, err := atomicfile.Create(path)
	require.NoError(t, err)
	defer out.Discard()
	assert.ErrorContains(t, p.run(t.Context(), out), "panic: runtime error")
	assert.NoFileExists(t, path)
}

// TestPythonHasTheSameFields: items of libqwen.bulk and libqwen.ray are those of --batch, with the same names and types.
func TestPythonHasTheSameFields(t *testing.T) {
	source, err := os.ReadFile(filepath.FromSlash("../../bindings/python/src/libqwen/bulk.py"))
	require.NoError(t, err)
	dict := func(name string) map[string]string {
		block := regexp.MustCompile(`(?ms)^` + name + `\b[^\n]*= \{(.*?)^\}`).FindSubmatch(source)
		require.NotNil(t, block, name)
		found := map[string]string{}
		for _, m := range regexp.MustCompile(`"(\w+)": "?(\w+)`).FindAllSubmatch(block[1], -1) {
			found[string(m[1])] = string(m[2])
		}
		return found
	}
	fields, aliases := dict("FIELDS"), dict("ALIASES")
	python := maps.Clone(fields)
	for name, field := range aliases {
		require.Contains(t, fields, field)
		python[name] = fields[field]
		assert.Equal(t, itemFields[field], itemFields[name], "%s is %s in Python", name, field)
	}
	for _, name := range []string{"do_sample", "subtalker_do_sample"} { // what the C ABI calls greedy, for each of the two
		require.Contains(t, python, name)
		delete(python, name)
	}
	types := map[string]string{"string": "str", "bool": "bool", "int": "int", "int64": "int", "float32": "float"}
	ours := map[string]string{}
	flags := newForm().flags
	for name, flag := range itemFields {
		ours[name] = types[flags.Lookup(flag).Value.Type()]
	}
	assert.Equal(t, ours, python)
}
