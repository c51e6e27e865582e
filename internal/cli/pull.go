package cli

import (
	"cmp"
	"context"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/libqwen/libqwen/hub"
)

// A Puller fetches models for a command: it shows a bar of the bytes, and warnings.
type Puller struct {
	Console *Console
	Stderr  io.Writer
	Bar     bool // show a progress bar on Stderr
	Offline bool // whatever HF_HUB_OFFLINE says
	Version string
}

// client asks the hub that the environment names.
func (p Puller) client() (*hub.Client, func(), error) {
	c := hub.FromEnv(os.Getenv)
	c.Offline = c.Offline || p.Offline
	c.UserAgent = "libqwen/" + cmp.Or(p.Version, "unknown")
	c.Logger = p.Console.Logger()
	done := func() {}
	if p.Bar {
		b := &byteBar{puller: p}
		c.Progress, done = b.update, func() { p.Console.Status(nil) }
	}
	client, err := hub.New(c)
	return client, done, err
}

// List asks what a repository has.
func (p Puller) List(ctx context.Context, ref hub.Ref) (*hub.Listing, error) {
	client, done, err := p.client()
	if err != nil {
		return nil, err
	}
	defer done()
	return client.List(ctx, ref)
}

// Pull chooses the files of a model and fetches those that the cache lacks.
func (p Puller) Pull(ctx context.Context, ref hub.Ref) (hub.Choice, *hub.Snapshot, error) {
	client, done, err := p.client()
	if err != nil {
		return hub.Choice{}, nil, err
	}
	defer done()
	l, err := client.List(ctx, ref)
	if err != nil {
		return hub.Choice{}, nil, err
	}
	choice, err := hub.Choose(l.Files, ref.Want)
	if err != nil {
		return hub.Choice{}, nil, Usagef("%s: %w", ref.Repo, err)
	}
	snapshot, err := client.Pull(ctx, l, choice.Files())
	return choice, snapshot, err
}

// byteBar is the progress bar of a pull.
type byteBar struct {
	puller Puller
	pb     *progressbar.ProgressBar
	drawn  time.Time
}

func (b *byteBar) update(p hub.Progress) {
	if b.pb == nil {
		b.pb = progressbar.NewOptions64(max(p.Total, 1),
			progressbar.OptionSetWriter(b.puller.Stderr),
			progressbar.OptionShowBytes(true),
			progressbar.OptionSetWidth(24),
			progressbar.OptionShowDescriptionAtLineEnd(),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetTheme(progressbar.ThemeASCII))
		b.puller.Console.Status(func() { _ = b.pb.Clear() })
	}
	if now := time.Now(); now.Sub(b.drawn) >= 100*time.Millisecond || p.Done == p.Total {
		b.drawn = now
		b.puller.Console.Update(func() {
			b.pb.Describe(p.File)
			_ = b.pb.Set64(min(p.Done, p.Total))
		})
	}
}
