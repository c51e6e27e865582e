package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/core/audio"
	"github.com/libqwen/libqwen/internal/cli"
)

// anchors are what a designed voice says, so that a base model can clone it: two calm sentences of some 7 seconds.
var anchors = []struct{ language, code, text string }{
	{"english", "en", "Good evening. Today I walked home along the river, and for a while it felt as if the whole city had gone quiet."},
	{"chinese", "zh", "晚上好。今天我沿着河边走回家，有那么一会儿，整座城市好像都安静了下来。"},
	{"japanese", "ja", "こんばんは。今日は川沿いを歩いて家に帰りました。しばらくの間、街全体が静かになったように感じました。"},
	{"korean", "ko", "안녕하세요. 오늘은 강을 따라 걸어서 집에 왔어요. 잠시 동안 온 도시가 조용해진 것 같았어요."},
	{"german", "de", "Guten Abend. Heute bin ich am Fluss entlang nach Hause gegangen, und eine Weile war es, als wäre die ganze Stadt still geworden."},
	{"french", "fr", "Bonsoir. Aujourd'hui, j'ai longé la rivière à pied jusqu'à la maison, et pendant un moment, toute la ville semblait silencieuse."},
	{"italian", "it", "Buonasera. Oggi ho camminato lungo il fiume fino a casa, e per un momento sembrava che tutta la città fosse in silenzio."},
	{"spanish", "es", "Buenas noches. Hoy he vuelto a casa caminando junto al río, y por un momento parecía que toda la ciudad estaba en silencio."},
	{"portuguese", "pt", "Boa noite. Hoje voltei para casa a pé, ao longo do rio, e por um momento parecia que a cidade inteira tinha ficado em silêncio."},
	{"russian", "ru", "Добрый вечер. Сегодня дорога домой шла вдоль реки, и на минуту показалось, что весь город затих."},
}

// maxAnchor bounds an anchor, frames: 30 seconds. A longer one means that the model does not find an end.
const maxAnchor = 375

// anchorText is --anchor-text, or what fits the language; the default language is English.
func (o *options) anchorText() (string, error) {
	if o.anchor != "" {
		return o.anchor, nil
	}
	lang := strings.ToLower(strings.TrimSpace(o.lang))
	if lang == "" || lang == "auto" {
		lang = anchors[0].language
	}
	code, _, _ := strings.Cut(strings.ReplaceAll(lang, "_", "-"), "-")
	for _, a := range anchors {
		if lang == a.language || code == a.code {
			return a.text, nil
		}
	}
	return "", cli.Usagef("--anchor-text is missing: there is no default for --lang %q", o.lang)
}

// checkDesign looks at both models of --design before anything is spoken.
func (s *session) checkDesign() error {
	designer, err := core.Inspect(s.model())
	if err != nil {
		return err
	}
	if designer.Type != designModel {
		return cli.ModeError{Err: fmt.Errorf("--design: --model must be a voice_design model, this is a %s model", designer.Type)}
	}
	base, err := core.Inspect(s.base())
	if err != nil {
		return fmt.Errorf("--base: %w", err)
	}
	if base.Type != baseModel {
		return cli.ModeError{Err: fmt.Errorf("--base must be a base model, this is a %s model", base.Type)}
	}
	if base.Codebooks != designer.Codebooks || base.CodebookSize != designer.CodebookSize {
		return cli.ModeError{Err: fmt.Errorf("--base: it writes %d codebooks of %d, --model %d of %d: one --codec does not fit both",
			base.Codebooks, base.CodebookSize, designer.Codebooks, designer.CodebookSize)}
	}
	return nil
}

// renderAnchor lets a voice_design model speak in the voice of --design, and makes a reference of that. The model is
// closed when this returns.
func (s *session) renderAnchor(ctx context.Context) (r reference, err error) {
	o := s.options
	text, err := o.anchorText()
	if err != nil {
		return r, err
	}
	engine, err := s.load(1)
	if err != nil {
		return r, err
	}
	defer engine.Close()
	req := s.newRequest(engine)
	req.Text, req.Instruct = text, o.design
	req.MaxFrames, req.DumpDir = min(req.MaxFrames, maxAnchor), ""
	res, err := s.synthesize(ctx, engine, &req, func(pcm []float32) error {
		r.audio = append(r.audio, pcm...)
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("--design: %w", err)
	}
	if s.talkative() {
		s.app.console.Linef("anchor: %s", summary(&res))
	}
	if res.Finish == core.FinishLength {
		s.app.console.Linef("warning: --design: the model did not end the anchor text within %d frames, so that only the speaker's vector of the voice is used; try another --seed or --anchor-text", res.Frames)
	} else {
		r.text = text
	}
	return r, s.judgeAnchor(r)
}

// judgeAnchor looks at an anchor as at any recording: a model may fall silent, or skip most of the text.
func (s *session) judgeAnchor(r reference) error {
	clip := &audio.Clip{Samples: r.audio, Rate: core.SampleRate, Channels: 1}
	report := cli.Examine(clip, r.text)
	if err := report.Err(); err != nil {
		return fmt.Errorf("--design: the voice's recording, try another --seed: %w", err)
	}
	s.app.console.Warn("--design: the voice's recording; another --seed may make a better one", report.Warnings)
	return nil
}
