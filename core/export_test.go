package core

import "github.com/libqwen/libqwen/core/lm"

// LimitMemory refuses larger allocations for the language models, as if there were no memory for them. Nothing may be
// under way.
func (e *Engine) LimitMemory(bytes uint64) { e.be.Limit(bytes) }

// CacheBytes of the group's talker. Nothing may be under way.
func (e *Engine) CacheBytes() uint64 { return e.group.talker.Bytes() }

// BreakGroup makes all that the group's talker does panic, until mend is called. Nothing may be under way.
func (e *Engine) BreakGroup() (mend func()) {
	talker := e.group.talker
	e.group.talker = &lm.Talker{}
	return func() { e.group.talker = talker }
}
