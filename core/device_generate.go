package core

import (
	"fmt"
	"time"

	"github.com/libqwen/libqwen/ggml"
)

// openWhole prepares to compute whole frames on a device with memory of its own. Where that lacks an operation, and where
// stages are wanted, codes are drawn on the host.
func (s *session) openWhole(e *Engine) error {
	if e.be.Host() || s.dump != nil {
		return nil
	}
	frames, shared, err := e.lm.NewFrames(s.talker)
	if err != nil {
		return err
	}
	if shared {
		frames.Close()
		e.log.Warn(e.be.Name + ": codes are drawn on the host")
		return nil
	}
	s.whole = frames
	return nil
}

// nextWhole is next in one run on the device, from the logits of the frame's code 0 to those of the frame after. The time
// counts as the Talker's.
func (s *session) nextWhole(u *utterance) ([]int32, error) {
	begin := time.Now()
	codes, err := s.whole.Next(s.frames, u.sampler)
	u.result.Timings.Talker += time.Since(begin)
	if err != nil || codes[0] == s.engine.vocab.Codec.EOS {
		return nil, err
	}
	s.frames++
	return codes, nil
}

// reportMemory logs what is in use of the memory of devices that have their own, by whomever.
func (e *Engine) reportMemory() {
	for i, be := range []*ggml.Backend{e.be, e.codecBE} {
		if be.Host() || i > 0 && be == e.be {
			continue
		}
		if free, total := be.Memory(); total > 0 {
			e.log.Info(fmt.Sprintf("[Perf] DeviceMemory %s %.0f of %.0f MiB in use", be.Name, mib(total-free), mib(total)))
		}
	}
}
