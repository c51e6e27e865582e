package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/libqwen/libqwen/core"
)

// utterLong speaks a text of any length in pieces, and tells which of them the model did not end.
func (s *session) utterLong(ctx context.Context, req *core.Request, emit func([]float32) error) error {
	options := s.longOptions(req)
	if s.talkative() {
		options.Piece = func(p core.Piece) { s.app.console.Linef("%s", describePiece(p)) }
	}
	res, err := s.synthesizeLong(ctx, req, options, emit)
	if err != nil {
		return err
	}
	for i := range res.Pieces {
		s.reportPiece(&res.Pieces[i])
	}
	if s.talkative() {
		pieces := "pieces"
		if len(res.Pieces) == 1 {
			pieces = "piece"
		}
		s.app.console.Linef("%d %s, %s", len(res.Pieces), pieces, summary(&res.Result))
	}
	s.profile(&res.Result)
	return nil
}

func (s *session) longOptions(req *core.Request) core.LongOptions {
	options := core.LongOptions{PieceCharacters: s.options.pieceChars}
	if s.changed("max-new") {
		options.PieceFrames = req.MaxFrames
	}
	return options
}

func (s *session) synthesizeLong(ctx context.Context, req *core.Request, options core.LongOptions, emit func([]float32) error) (core.LongResult, error) {
	all := *req
	all.MaxFrames = wholeFrames
	defer s.watch(&all)()
	req.Progress = all.Progress
	return s.engine.SynthesizeLong(ctx, req, options, emit)
}

// wholeFrames is beyond what the bar's estimate of any text is: the bounds are those of the pieces.
const wholeFrames = 1 << 30

// reportPiece tells what the user may not have expected of a piece.
func (s *session) reportPiece(p *core.PieceResult) {
	switch p.Finish {
	case core.FinishLength:
		bound := "set"
		if s.changed("max-new") {
			bound = "raise"
		}
		s.app.console.Linef("warning: %s: cut off at %d frames (%.1f s) before the model ended it (finish_reason length); try another --seed, or %s --max-new",
			describePiece(p.Piece), p.Frames, seconds(&p.Result), bound)
	case core.FinishEmpty:
		s.app.console.Linef("warning: %s: the model ended it at once (finish_reason empty), nothing of it is heard; try another --seed", describePiece(p.Piece))
	}
}

// describePiece names a piece by its number and first words.
func describePiece(p core.Piece) string {
	const most = 50
	start := []rune(strings.Join(strings.Fields(p.Text), " "))
	if len(start) > most {
		start = append(start[:most:most], '…')
	}
	return fmt.Sprintf("piece %d of %d: %s", p.Index+1, p.Count, string(start))
}
