package prompt_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/libqwen/libqwen/core/bpe"
	"github.com/libqwen/libqwen/core/prompt"
	"github.com/libqwen/libqwen/tests/golden"
	"github.com/stretchr/testify/require"
)

// tinyModel is what prompts and their embeddings need of a tiny checkpoint.
type tinyModel struct {
	tok     *bpe.Tokenizer
	vocab   *prompt.Vocab
	tensors map[string]matrix
}

func loadTiny(t *testing.T, name string) *tinyModel {
	dir := filepath.Join(golden.Checkpoints(t), name)
	m := &tinyModel{tok: loadTokenizer(t, dir), tensors: loadTensors(t, filepath.Join(dir, "model.safetensors"))}
	m.vocab = loadVocab(t, dir)
	m.vocab.TextRows = m.tensors[textEmbedding].rows
	m.vocab.CodecRows = m.tensors[codecEmbedding].rows
	require.NoError(t, m.vocab.Check(m.tok))
	return m
}

func readJSON(t *testing.T, file string, v any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, v), file)
}

func loadTokenizer(t *testing.T, dir string) *bpe.Tokenizer {
	var vocab map[string]int32
	readJSON(t, filepath.Join(dir, "vocab.json"), &vocab)
	var added struct {
		Tokens map[int32]struct{ Content string } `json:"added_tokens_decoder"`
	}
	readJSON(t, filepath.Join(dir, "tokenizer_config.json"), &added)
	n := len(vocab) + len(added.Tokens)
	c := bpe.Config{Tokens: make([]string, n), TokenTypes: slices.Repeat([]int32{bpe.Normal}, n)}
	for token, id := range vocab {
		c.Tokens[id] = token
	}
	for id, token := range added.Tokens {
		c.Tokens[id], c.TokenTypes[id] = token.Content, bpe.Control
	}
	f, err := os.Open(filepath.Join(dir, "merges.txt"))
	require.NoError(t, err)
	defer f.Close()
	s := bufio.NewScanner(f)
	require.True(t, s.Scan()) // the header
	for s.Scan() {
		c.Merges = append(c.Merges, s.Text())
	}
	tok, err := bpe.New(c)
	require.NoError(t, err)
	return tok
}

func loadVocab(t *testing.T, dir string) *prompt.Vocab {
	var c struct {
		IMStart   int32  `json:"im_start_token_id"`
		IMEnd     int32  `json:"im_end_token_id"`
		TTSPad    int32  `json:"tts_pad_token_id"`
		TTSBOS    int32  `json:"tts_bos_token_id"`
		TTSEOS    int32  `json:"tts_eos_token_id"`
		ModelSize string `json:"tts_model_size"`
		ModelType string `json:"tts_model_type"`
		Talker    struct {
			Pad       int32            `json:"codec_pad_id"`
			BOS       int32            `json:"codec_bos_id"`
			EOS       int32            `json:"codec_eos_token_id"`
			Think     int32            `json:"codec_think_id"`
			NoThink   int32            `json:"codec_nothink_id"`
			ThinkBOS  int32            `json:"codec_think_bos_id"`
			ThinkEOS  int32            `json:"codec_think_eos_id"`
			Languages map[string]int32 `json:"codec_language_id"`
			Speakers  map[string]int32 `json:"spk_id"`
			Dialects  map[string]any   `json:"spk_is_dialect"`
			Codebooks int              `json:"num_code_groups"`
			Predictor struct {
				VocabSize int `json:"vocab_size"`
			} `json:"code_predictor_config"`
		} `json:"talker_config"`
	}
	readJSON(t, filepath.Join(dir, "config.json"), &c)
	k := c.Talker
	v := &prompt.Vocab{
		ModelType: c.ModelType, ModelSize: c.ModelSize,
		Codec:     prompt.CodecIDs{Pad: k.Pad, BOS: k.BOS, EOS: k.EOS, Think: k.Think, NoThink: k.NoThink, ThinkBOS: k.ThinkBOS, ThinkEOS: k.ThinkEOS},
		Text:      prompt.TextIDs{IMStart: c.IMStart, IMEnd: c.IMEnd, TTSPad: c.TTSPad, TTSBOS: c.TTSBOS, TTSEOS: c.TTSEOS},
		Codebooks: k.Codebooks, CodebookSize: k.Predictor.VocabSize,
	}
	for name, id := range k.Languages {
		v.Languages = append(v.Languages, prompt.Language{Name: name, ID: id})
	}
	for name, id := range k.Speakers {
		dialect, _ := k.Dialects[name].(string) // false: none
		v.Speakers = append(v.Speakers, prompt.Speaker{Name: name, ID: id, Dialect: dialect})
	}
	slices.SortFunc(v.Languages, func(a, b prompt.Language) int { return int(a.ID - b.ID) })
	slices.SortFunc(v.Speakers, func(a, b prompt.Speaker) int { return int(a.ID - b.ID) })
	return v
}

// matrix is a tensor of rows × cols, a vector being one row.
type matrix struct {
	rows, cols int
	data       []float64
}

func (m matrix) row(i int) []float64 { return m.data[i*m.cols : (i+1)*m.cols] }

// apply returns m x, m of shape [out, in] as PyTorch's Linear keeps it.
func (m matrix) apply(x []float64) []float64 {
	y := make([]float64, m.rows)
	for i := range y {
		for j, w := range m.row(i) {
			y[i] += w * x[j]
		}
	}
	return y
}

func add(x, y []float64) []float64 {
	z := slices.Clone(x)
	for i := range z {
		z[i] += y[i]
	}
	return z
}

func loadTensors(t *testing.T, file string) map[string]matrix {
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	n := binary.LittleEndian.Uint64(raw)
	header, data := raw[8:8+n], raw[8+n:]
	var entries map[string]struct {
		DType   string
		Shape   []int
		Offsets [2]int `json:"data_offsets"`
	}
	require.NoError(t, json.Unmarshal(header, &entries))
	tensors := make(map[string]matrix)
	for name, e := range entries {
		if e.DType != "BF16" || len(e.Shape) > 2 {
			continue
		}
		m := matrix{rows: 1, cols: e.Shape[len(e.Shape)-1]}
		if len(e.Shape) == 2 {
			m.rows = e.Shape[0]
		}
		for b := data[e.Offsets[0]:e.Offsets[1]]; len(b) > 0; b = b[2:] {
			m.data = append(m.data, float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b))<<16)))
		}
		tensors[name] = m
	}
	return tensors
}
