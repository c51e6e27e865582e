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
func newBlock(stride int, f form) Block {
	b := Block{Res: make([]ResUnit, len(dilations))}
	b.Conv.stride, b.Conv.form = stride, f
	for i, d := range dilations {
		b.Res[i].Conv1.dilation, b.Res[i].Conv1.form, b.Res[i].Conv2.form = d, f, f
	}
	return b
}

// Forward maps Act's result x [C in, T] to the activation that follows the block, [C out, stride·T].
func (b *Block) Forward(x ggml.Tensor, m *memory, i int, next *Snake) ggml.Tensor {
	x.TapF("dac_block%d_snake", i)
	y, x := b.Conv.forward(x, m, then{snake: &b.Res[0].Act1, keep: true})
	y.TapF("dac_block%d_transconv", i)
	for j := range b.Res {
		after := then{add: y, snake: next}
		if j+1 < len(b.Res) {
			after.snake, after.keep = &b.Res[j+1].Act1, true
		}
		y, x = b.Res[j].Forward(x, m, after)
		y.TapF("dac_block%d_res%d", i, j)
	}
	y.TapF("dac_block%d", i)
	return x
}

// Forward maps Act1's result x [C, T] to the sum with the residual, which next holds, and the activation that follows.
func (r *ResUnit) Forward(x ggml.Tensor, m *memory, next then) (sum, activated ggml.Tensor) {
	_, x = r.Conv1.forward(x, m, then{snake: &r.Act2})
	return r.Conv2.forward(x, m, next)
}
