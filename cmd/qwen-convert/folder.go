package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/libqwen/libqwen/convert"
	"github.com/libqwen/libqwen/core/checkpoint"
	"github.com/libqwen/libqwen/internal/cli"
)

// folder converts every checkpoint in src to a file in dst. What cannot be converted does not keep the others from it.
func (a *app) folder(ctx context.Context, src, dst string) error {
	dirs, err := convert.Find(src)
	if err != nil {
		return kind(err)
	}
	if err := os.MkdirAll(dst, 0o777); err != nil {
		return cli.IOError{Err: err}
	}
	made := map[string]string{} // files to the checkpoints that they were made of
	var first error
	failed := 0
	for _, dir := range dirs {
		err := a.member(ctx, dir, dst, made)
		if ctx.Err() != nil {
			return err
		}
		if err == nil {
			continue
		}
		failed++
		if first == nil {
			first = err
		} else {
			a.console.Linef("%v", err)
		}
	}
	if failed > 1 {
		a.console.Linef("%d of %d checkpoints were not converted", failed, len(dirs))
	}
	return first
}

// member converts one of the checkpoints of a folder, unless it has been converted already.
func (a *app) member(ctx context.Context, dir, dst string, made map[string]string) error {
	f, err := checkpoint.Open(dir)
	if err != nil {
		return kind(fmt.Errorf("%s: %w", dir, err))
	}
	defer f.Close()
	typ := a.options.typ
	if a.options.codecType != "" && !convert.IsTalker(f) {
		typ = a.options.codecType
	}
	plan, err := convert.NewConversion(f, typ)
	if err != nil {
		return kind(fmt.Errorf("%s: %w", dir, err))
	}
	path := filepath.Join(dst, convert.FileName(f, typ))
	other, twice := made[path]
	switch _, err := os.Lstat(path); {
	case err == nil && plan.Matches(path, ""):
		made[path] = dir
		return a.tell("%s: matches %s already", path, dir)
	case twice:
		return cli.Usagef("%s and %s are different models, and both would become %s; convert one by itself", other, dir, path)
	case err == nil && !a.options.force:
		return cli.Usagef("%s: exists, and is not what becomes of %s; --force replaces it", path, dir)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return cli.IOError{Err: err}
	}
	show, clear := a.progress()
	err = plan.Write(ctx, a.write(path, show))
	clear()
	if err != nil {
		return kind(fmt.Errorf("%s: %w", dir, err))
	}
	made[path] = dir
	return a.tell("%s: made of %s", path, dir)
}
