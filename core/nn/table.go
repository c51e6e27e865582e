package nn

import (
	"fmt"

	"github.com/libqwen/libqwen/ggml"
	"github.com/libqwen/libqwen/ggml/gguf"
)

// Table is a large embedding table of which few rows are ever read. Reading all of it to look for values that are not
// finite would take a third of the time of loading, so Check looks at the rows that are asked for.
type Table struct {
	Tensor ggml.Tensor // [width, rows]

	info *gguf.TensorInfo
	data []byte
}

// LoadFrom implements Custom for a table [width, rows].
func (t *Table) LoadFrom(l *Loader, name string, shape []int) (err error) {
	if t.Tensor, err = l.tensor(name+".weight", shape, "rows"); err != nil {
		return err
	}
	if l.checking {
		return nil
	}
	t.info = l.file.Tensor(name + ".weight")
	t.data = l.file.Data(t.info)
	l.sparse[t.info] = true
	return nil
}

// Check returns an error that names the table if a row is not finite or does not exist.
func (t *Table) Check(rows []int32) error {
	n := len(t.data) / int(t.info.Shape[1])
	for _, r := range rows {
		if r < 0 || int64(r) >= t.info.Shape[1] {
			return fmt.Errorf("%s: no row %d", t.info.Name, r)
		}
		if t.info.Type.FirstNonFinite(t.data[int(r)*n:][:n]) >= 0 {
			return fmt.Errorf("%s: row %d is not finite (%w)", t.info.Name, r, gguf.ErrFormat)
		}
	}
	return nil
}
