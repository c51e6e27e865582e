package server

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/voicefile"
	"github.com/libqwen/libqwen/internal/atomicfile"
)

// cloned is a registered voice.
type cloned struct {
	name    string
	voice   *voicefile.Voice
	created time.Time
}

// inContext tells whether the voice is cloned by continuing its recording, or by the speaker's vector alone.
func (c *cloned) inContext() bool { return c.voice.Transcript != "" && len(c.voice.Codes) > 0 }

// apply makes a request speak with the voice.
func (c *cloned) apply(req *core.Request) {
	req.Voice, req.RefText = &core.Voice{XVector: c.voice.XVector}, ""
	if c.inContext() {
		req.Voice.Codes, req.RefText = c.voice.Codes, c.voice.Transcript
	}
}

// voiceFileSuffix follows the voice's name in the name of its file.
const voiceFileSuffix = ".qvoice"

// voices are the registered voices: in memory, and each in a file of a folder if there is one. Names that differ in
// case only are the same.
type voices struct {
	dir  string // "": they are forgotten when the server ends
	most int

	mu     sync.RWMutex
	byName map[string]*cloned // by folded name
}

// errTooMany says that there is no room for another voice.
var errTooMany = errors.New("too many voices")

// openVoices reads the folder, which is made if it does not exist. Files that are damaged, of another model or of a
// name that could not be registered are left alone and logged.
func openVoices(dir string, most int, model voicefile.Identity, log *slog.Logger) (*voices, error) {
	v := &voices{dir: dir, most: most, byName: map[string]*cloned{}}
	if dir == "" {
		return v, nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("voices: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("voices: %w", err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), voiceFileSuffix)
		if !ok || strings.HasPrefix(name, ".") {
			continue
		}
		c, err := readVoice(filepath.Join(dir, e.Name()), name, model)
		if err == nil && v.byName[foldName(name)] != nil {
			err = fmt.Errorf("%s: another file has that name in other case", name)
		}
		if err != nil {
			log.Warn("voice left out", "file", e.Name(), "error", err.Error())
			continue
		}
		v.byName[foldName(name)] = c
	}
	return v, nil
}

func readVoice(path, name string, model voicefile.Identity) (*cloned, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no file") // a pipe would be waited for
	}
	voice, err := voicefile.ReadVoice(path)
	if err != nil {
		return nil, err
	}
	if err := voice.Check(model); err != nil {
		return nil, err
	}
	return &cloned{name: name, voice: voice, created: info.ModTime()}, nil
}

// get finds a voice.
func (v *voices) get(name string) *cloned {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.byName[foldName(name)]
}

// list is all voices by name.
func (v *voices) list() []*cloned {
	v.mu.RLock()
	defer v.mu.RUnlock()
	all := make([]*cloned, 0, len(v.byName))
	for _, c := range v.byName {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *cloned) int { return strings.Compare(foldName(a.name), foldName(b.name)) })
	return all
}

// put keeps a voice, in place of one that has the name; that one's spelling stays.
func (v *voices) put(name string, voice *voicefile.Voice) (c *cloned, replaced bool, err error) {
	if err := checkName(name); err != nil {
		return nil, false, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	old := v.byName[foldName(name)]
	switch {
	case old != nil:
		name = old.name
	case len(v.byName) >= v.most:
		return nil, false, errTooMany
	}
	if v.dir != "" {
		if err := voicefile.WriteVoice(v.path(name), voice); err != nil {
			return nil, false, err
		}
	}
	c = &cloned{name: name, voice: voice, created: time.Now()}
	v.byName[foldName(name)] = c
	return c, old != nil, nil
}

// remove forgets a voice; it tells whether there was one.
func (v *voices) remove(name string) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.byName[foldName(name)]
	if c == nil {
		return false, nil
	}
	if v.dir != "" {
		if err := os.Remove(v.path(c.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
	}
	delete(v.byName, foldName(name))
	return true, nil
}

func (v *voices) path(name string) string { return filepath.Join(v.dir, name+voiceFileSuffix) }

// checkWritable fails if nothing can be kept in the folder, before anybody tries.
func (v *voices) checkWritable() error {
	if v.dir == "" {
		return nil
	}
	f, err := atomicfile.Create(filepath.Join(v.dir, "probe"))
	if err != nil {
		return fmt.Errorf("voices: %w", err)
	}
	f.Discard()
	return nil
}
