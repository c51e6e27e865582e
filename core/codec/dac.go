package codec

import "github.com/libqwen/libqwen/ggml"

// dilations of a DAC block's residual units; the reference has them in code.
var dilations = [...]int{1, 3, 9}

// Block is a DAC decoder block: Snake, transposed convolution, residual units.
type Block struct {
	Act  Snake     `gguf:"snake" shape:"in"`
	Conv TransConv `gguf:"conv_t" shape:"taps,out,in"`
	Res  []ResUnit `gguf:"res.%d"`
}

// ResUnit is x + conv2(Snake(conv1(Snake(x)))); conv1 is dilated.
type ResUnit struct {
	Act1  Snake `gguf:"act1" shape:"out"`
	Conv1 Conv  `gguf:"conv1" shape:"7,out,out"`
	Act2  Snake `gguf:"act2" shape:"out"`
	Conv2 Conv  `gguf:"conv2" shape:"1,out,out"`
}

// newBlock makes a block of a stride, to be loaded.
func newBlock(stride int) Block {
	b := Block{Conv: TransConv{stride: stride}, Res: make([]ResUnit, len(dilations))}
	for i, d := range dilations {
		b.Res[i].Conv1.dilation = d
	}
	return b
}

// Forward maps x [C in, T] to [C out, stride·T].
func (b *Block) Forward(x ggml.Tensor, m *memory, i int) ggml.Tensor {
	x = b.Act.Forward(x).TapF("dac_block%d_snake", i)
	x = b.Conv.Forward(x, m).TapF("dac_block%d_transconv", i)
	for j := range b.Res {
		x = b.Res[j].Forward(x, m).TapF("dac_block%d_res%d", i, j)
	}
	return x.TapF("dac_block%d", i)
}

// Forward maps x [C, T] to [C, T].
func (r *ResUnit) Forward(x ggml.Tensor, m *memory) ggml.Tensor {
	y := r.Conv1.Forward(r.Act1.Forward(x), m)
	return x.Add(r.Conv2.Forward(r.Act2.Forward(y), m))
}
