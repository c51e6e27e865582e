// Command mktiny writes the tiny random-weight checkpoints, in the layout of the published ones, below a directory.
// What they speak is noise; they are there for tests and for trying things out.
//
//	go run ./tests/golden/mktiny OUTDIR
package main

import (
	"fmt"
	"os"

	"github.com/libqwen/libqwen/tests/golden"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mktiny OUTDIR")
		os.Exit(2)
	}
	if err := golden.WriteCheckpoints(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "mktiny:", err)
		os.Exit(1)
	}
}
