package codec

import (
	"fmt"

	"github.com/libqwen/libqwen/core/nn"
	"github.com/libqwen/libqwen/ggml"
)

// SEANet brings samples to rows of features: a convolution, stages of residual units and a strided convolution each,
// and a last convolution, with ELU before all but the first.
type SEANet struct {
	first  Conv
	stages []SEANetStage
	last   Conv
	module int // number of the last convolution
}

// SEANetStage lowers the rate and doubles the channels.
type SEANetStage struct {
	units  []SEANetUnit
	down   StridedConv
	module int // number of the first unit
}

// SEANetUnit is x + conv2(ELU(conv1(ELU(x)))); conv1 may be dilated.
type SEANetUnit struct {
	Conv1 Conv `gguf:"blk.1" shape:"taps,outer,inner"`
	Conv2 Conv `gguf:"blk.3" shape:"1,inner,outer"`
}

// module is the number of a stage's module j. The reference counts all modules, and the names of tensors have that
// number: the first convolution, then the stages' units, ELU and strided convolution, ELU and the last convolution.
func (c *EncoderConfig) module(stage, j int) int { return 1 + stage*(c.Residuals+2) + j }

func convName(module int) string { return fmt.Sprintf(encoderPrefix+"conv.%d", module) }
func unitName(module int) string { return fmt.Sprintf(encoderPrefix+"res.%d", module) }

func (s *SEANet) load(l *nn.Loader, c *EncoderConfig) error {
	n := len(c.Strides)
	if err := s.first.LoadFrom(l, convName(0), []int{c.Kernels.First, 1, c.Channels[0]}); err != nil {
		return err
	}
	s.stages = make([]SEANetStage, n)
	for i := range s.stages {
		if err := s.stages[i].load(l, c, i); err != nil {
			return err
		}
	}
	s.module = c.module(n, 1)
	return s.last.LoadFrom(l, convName(s.module), []int{c.Kernels.Last, c.Channels[n], c.Width})
}

func (s *SEANetStage) load(l *nn.Loader, c *EncoderConfig, i int) error {
	in, out := c.Channels[i], c.Channels[i+1]
	s.module, s.units = c.module(i, 0), make([]SEANetUnit, c.Residuals)
	for j := range s.units {
		s.units[j].Conv1.dilation = c.dilation(j)
		dims := nn.Dims{"taps": c.Kernels.Residual, "outer": in, "inner": in / c.Compress}
		if err := l.Load(&s.units[j], unitName(s.module+j), dims); err != nil {
			return err
		}
	}
	s.down.stride = c.Strides[i]
	return s.down.LoadFrom(l, convName(c.module(i, c.Residuals+1)), []int{2 * s.down.stride, in, out})
}

// Forward maps samples [1, T] to [width, T/r], r the product of all strides; what is missing to a whole step of a
// stage is taken for zero.
func (s *SEANet) Forward(x ggml.Tensor, m *memory) ggml.Tensor {
	x = s.first.Forward(x, m).Tap("seanet_layer0")
	for i := range s.stages {
		x = s.stages[i].Forward(x, m)
	}
	return s.last.Forward(x.ELU(), m).TapF("seanet_layer%d", s.module).Tap("seanet_out")
}

// Forward maps x [C, T] to [2C, T/stride].
func (s *SEANetStage) Forward(x ggml.Tensor, m *memory) ggml.Tensor {
	for j := range s.units {
		x = s.units[j].Forward(x, m).TapF("seanet_layer%d", s.module+j)
	}
	return s.down.Forward(x.ELU(), m).TapF("seanet_layer%d", s.module+len(s.units)+1)
}

// Forward maps x [C, T] to [C, T].
func (u *SEANetUnit) Forward(x ggml.Tensor, m *memory) ggml.Tensor {
	y := u.Conv1.Forward(x.ELU(), m)
	return x.Add(u.Conv2.Forward(y.ELU(), m))
}

func (s *SEANet) convs() []rated {
	list := []rated{{past: &s.first.past}}
	for i := range s.stages {
		for j := range s.stages[i].units {
			list = append(list, rated{past: &s.stages[i].units[j].Conv1.past})
		}
		list = append(list, rated{past: &s.stages[i].down.past})
	}
	return append(list, rated{past: &s.last.past})
}

// StridedConv is a causal convolution whose taps are a multiple of its stride s. Seen as rows of s·C channels, its
// input has one for each output and a few that overlap: an ordinary convolution with K/s taps.
type StridedConv struct {
	Conv
	stride int
}

// LoadFrom implements nn.Custom for a kernel [K, C in, C out].
func (c *StridedConv) LoadFrom(l *nn.Loader, name string, shape []int) error {
	k, in, out := shape[0], shape[1], shape[2]
	var err error
	if c.weight, err = loadKernel(l, name, k, in, out); err != nil {
		return err
	}
	c.taps, c.dilation = k/c.stride, 1
	c.past = past{channels: c.stride * in, rows: c.taps - 1}
	c.bias, err = repeated(l, name+".bias", out, 1)
	return err
}

// loadKernel loads a kernel [K, C in, C out] as [K·C in, C out].
func loadKernel(l *nn.Loader, name string, k, in, out int) (ggml.Tensor, error) {
	return relaid(l, name+".weight", []int{k, in, out}, func(dst, src []float32) { relayConv(dst, src, k, in) }, k*in, out)
}

// Forward maps x [C in, T] to [C out, T/s], after zeros up to a whole step.
func (c *StridedConv) Forward(x ggml.Tensor, m *memory) ggml.Tensor {
	return c.Conv.Forward(steps(zeroPadded(x, c.stride, m), c.stride), m)
}

// zeroPadded appends rows of zeros to x [C, T] up to a multiple of n.
func zeroPadded(x ggml.Tensor, n int, m *memory) ggml.Tensor {
	missing := (n - x.Dim(1)%n) % n
	if missing == 0 {
		return x
	}
	return x.Concat(m.b.Input("zeros", ggml.F32, x.Dim(0), missing), 1) // an input that is never set
}

// steps puts n rows of x [C, T] side by side, [n·C, T/n].
func steps(x ggml.Tensor, n int) ggml.Tensor { return x.Reshape(x.Dim(0)*n, x.Dim(1)/n) }
