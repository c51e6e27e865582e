package prompt

import "errors"

// What of an input is at fault. Every error of [Build] and [CheckText] is an
// [*Error] that wraps one of these.
var (
	ErrText     = errors.New("text")
	ErrLanguage = errors.New("lang")
	ErrSpeaker  = errors.New("speaker")
	ErrInstruct = errors.New("instruct")
	ErrRefText  = errors.New("ref_text")
	ErrRefCodes = errors.New("ref_codes")

	// ErrVocab: the model file's ids or tokenizer cannot make prompts ([Vocab.Check]).
	ErrVocab = errors.New("vocab")
)

// Error is a fault in one field of an input.
type Error struct {
	Kind   error  // one of the Err… variables; its text is the name of the field
	Reason string // what is wrong
}

func (e *Error) Error() string { return e.Kind.Error() + ": " + e.Reason }
func (e *Error) Unwrap() error { return e.Kind }

// Field returns the name of the field at fault, for example "text".
func (e *Error) Field() string { return e.Kind.Error() }
