package core

import (
	"encoding/json"
	"os"

	"github.com/libqwen/libqwen/internal/atomicfile"
)

// codeDumpVars are the environment variables that name a file for the generated codes, the first that is set counts. The
// second is that of the rightkit-qts crate.
var codeDumpVars = []string{"QWEN_DUMP_CODES", "RIGHTKIT_QTS_DUMP_CODES"}

// maxDumpedFrames is how many frames of a synthesis are dumped.
const maxDumpedFrames = 32

// codeDump writes the first generated frames of each synthesis to a file, as JSON [[codebook 0, codebook 1 …] …],
// anew after each frame; reference frames are not among them. All methods do nothing on a nil codeDump.
type codeDump struct {
	variable, path string
	frames         [][]int32
}

// startCodeDump empties the file that the environment names; nil if it names none.
func startCodeDump() (*codeDump, error) {
	for _, v := range codeDumpVars {
		if path := os.Getenv(v); path != "" {
			d := &codeDump{variable: v, path: path, frames: [][]int32{}}
			return d, d.write()
		}
	}
	return nil, nil
}

// add writes the file with one more frame.
func (d *codeDump) add(codes []int32) error {
	if d == nil || len(d.frames) == maxDumpedFrames {
		return nil
	}
	d.frames = append(d.frames, append([]int32(nil), codes...))
	return d.write()
}

func (d *codeDump) write() error {
	data, err := json.Marshal(d.frames)
	if err == nil {
		err = atomicfile.Write(d.path, data)
	}
	if err != nil {
		return fail(ErrInvalid, "%s: %w", d.variable, err)
	}
	return nil
}
