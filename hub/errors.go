package hub

import (
	"errors"
	"fmt"
)

// The kinds of failure. Errors of this package wrap one of them, or are those of the context or the file system.
var (
	// ErrInvalid: the name of a repository, revision or selection is malformed, or selects nothing or too much.
	ErrInvalid = errors.New("invalid reference")
	// ErrNotFound: the hub has no such repository, revision or file; or a private one that the token does not open.
	ErrNotFound = errors.New("not found")
	// ErrAccess: the hub wants a token (401), or other rights or accepted terms (403).
	ErrAccess = errors.New("access denied")
	// ErrQuota: the hub answers 429 for longer than we wait.
	ErrQuota = errors.New("too many requests")
	// ErrOffline: offline mode, and the cache does not have it.
	ErrOffline = errors.New("offline")
	// ErrNetwork: the hub cannot be reached, breaks off or answers nonsense.
	ErrNetwork = errors.New("network")
	// ErrCorrupt: what came is not what the hub announced: another hash or size.
	ErrCorrupt = errors.New("corrupt download")
	// ErrDisk: no space is left for it.
	ErrDisk = errors.New("disk full")
)

// fail wraps a formatted message with its kind, which is not part of the text.
func fail(kind error, format string, args ...any) error {
	return &kindError{kind, fmt.Errorf(format, args...)}
}

type kindError struct{ kind, err error }

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }
