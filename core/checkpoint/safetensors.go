package checkpoint

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"

	"github.com/libqwen/libqwen/internal/mmap"
)

// maxHeader is the largest header that the format allows, in bytes.
const maxHeader = 100_000_000

// maxDims is the largest number of dimensions that any tensor here has.
const maxDims = 8

// dtypes are the safetensors element types and their sizes in bytes.
var dtypes = map[string]int64{
	"BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
	"U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8,
}

// sourceTensor is a tensor of a checkpoint, on disk.
type sourceTensor struct {
	dtype string
	shape []int64 // as in PyTorch: the last is the length of a row
	file  int     // number of the file, among the checkpoint's
	at    int64   // where its data begin in the file
	size  int64   // in bytes
}

// safetensors is an open file of the format
//
//	header length u64  header JSON {name: {dtype, shape, data_offsets: [begin, end]}, ...}  data
//
// with offsets from the start of the data.
type safetensors struct {
	mapping *mmap.File
	tensors map[string]sourceTensor
}

// openSafetensors maps a file and checks its header: whatever it describes lies in the file.
func openSafetensors(path string) (*safetensors, error) {
	file, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	tensors, err := readSafetensors(file, info.Size())
	if err != nil {
		return nil, inputf("%s: %w", path, err)
	}
	if info.Size() > math.MaxInt {
		return nil, inputf("%s: %d bytes are too many for this machine", path, info.Size())
	}
	mapping, err := mmap.Map(file, int(info.Size()))
	if err != nil {
		return nil, fmt.Errorf("%s: map: %w", path, err)
	}
	return &safetensors{mapping, tensors}, nil
}

// openRegular opens a file of the checkpoint for reading. A missing one is an error of the input.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path) // before opening, which would wait if it were a pipe
	if errors.Is(err, os.ErrNotExist) {
		return nil, inputf("%s: missing in %s", filepath.Base(path), filepath.Dir(path))
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, inputf("%s: not a regular file", path)
	}
	return os.Open(path)
}

// readSafetensors reads the header of a file of the given size.
func readSafetensors(r io.ReaderAt, size int64) (map[string]sourceTensor, error) {
	var length [8]byte
	if size < 8 {
		return nil, inputf("not a safetensors file: only %d bytes", size)
	}
	if _, err := r.ReadAt(length[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader {
		if what := pointer(r); what != "" {
			return nil, inputf("not a safetensors file but %s", what)
		}
		return nil, inputf("not a safetensors file: header of %d bytes", n)
	}
	if n > uint64(size-8) {
		return nil, inputf("header of %d bytes in a file of %d: truncated?", n, size)
	}
	if n == 0 {
		return nil, inputf("not a safetensors file: no header")
	}
	header := make([]byte, n)
	if _, err := r.ReadAt(header, 8); err != nil {
		return nil, err
	}
	return parseHeader(header, 8+int64(n), size-8-int64(n))
}

// pointer recognises the small text file that Git LFS leaves in place of a large file.
func pointer(r io.ReaderAt) string {
	const prefix = "version https://git-lfs"
	head := make([]byte, len(prefix))
	if _, err := r.ReadAt(head, 0); err == nil && string(head) == prefix {
		return "a Git LFS pointer; the weights were not downloaded (git lfs pull)"
	}
	return ""
}

// parseHeader checks the header's JSON against the data that follow it: so many bytes, from start on.
func parseHeader(header []byte, start, data int64) (map[string]sourceTensor, error) {
	entries, err := parseObject(header)
	if err != nil {
		return nil, inputf("header: %w", err)
	}
	tensors := make(map[string]sourceTensor, len(entries.names))
	var extents []extent
	for _, name := range entries.names {
		if name == "__metadata__" {
			continue
		}
		var entry struct {
			Dtype   *string  `json:"dtype"`
			Shape   *[]int64 `json:"shape"`
			Offsets *[]int64 `json:"data_offsets"`
		}
		if err := json.Unmarshal(entries.values[name], &entry); err != nil {
			return nil, inputf("header: %s: %v", name, err)
		}
		if entry.Dtype == nil || entry.Shape == nil || entry.Offsets == nil || len(*entry.Offsets) != 2 {
			return nil, inputf("header: %s: dtype, shape and two data_offsets expected", name)
		}
		size, err := sizeOf(*entry.Dtype, *entry.Shape)
		if err != nil {
			return nil, inputf("header: %s: %w", name, err)
		}
		begin, end := (*entry.Offsets)[0], (*entry.Offsets)[1]
		if begin < 0 || end < begin || end-begin != size {
			return nil, inputf("header: %s: data_offsets [%d, %d], but %s %v takes %d bytes",
				name, begin, end, *entry.Dtype, *entry.Shape, size)
		}
		if end > data {
			return nil, inputf("%s: data up to byte %d of %d: truncated download?", name, end, data)
		}
		tensors[name] = sourceTensor{dtype: *entry.Dtype, shape: *entry.Shape, at: start + begin, size: size}
		extents = append(extents, extent{name, begin, end})
	}
	return tensors, checkOverlap(extents)
}

// sizeOf is the number of bytes of a tensor.
func sizeOf(dtype string, shape []int64) (int64, error) {
	width, ok := dtypes[dtype]
	if !ok {
		return 0, inputf("unknown dtype %q", dtype)
	}
	if len(shape) > maxDims {
		return 0, inputf("%d dimensions", len(shape))
	}
	size := uint64(width)
	for _, n := range shape {
		if n < 0 {
			return 0, inputf("shape %v", shape)
		}
		hi, lo := bits.Mul64(size, uint64(n))
		if hi != 0 || lo > math.MaxInt64 {
			return 0, inputf("shape %v overflows", shape)
		}
		size = lo
	}
	return int64(size), nil
}

type extent struct {
	name       string
	begin, end int64
}

func checkOverlap(extents []extent) error {
	slices.SortFunc(extents, func(a, b extent) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	for i := 1; i < len(extents); i++ {
		if a, b := extents[i-1], extents[i]; b.begin < a.end {
			return inputf("%s and %s: their data overlap", a.name, b.name)
		}
	}
	return nil
}
