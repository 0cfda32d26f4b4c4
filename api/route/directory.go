package route

import (
	"context"
	"errors"
	"gazetteer/api/answer"
	"gazetteer/registry"
	"gazetteer/registry/directory"
	"time"
)

// NoteWrite notes that something was written, so that lists wait for it.
func (a *Mux) NoteWrite() {
	head := a.Answers.Store.Head().Seq
	for {
		old := a.written.Load()
		if old >= head || a.written.CompareAndSwap(old, head) {
			return
		}
	}
}

// directoryTimeout is how long a list waits for what was just written here.
const directoryTimeout = time.Second

// CurrentDirectory returns the directory of agents, with all that was written through
// this API: who registers and then looks finds the agent.
func (a *Mux) CurrentDirectory(ctx context.Context) (*directory.Directory, error) {
	d := a.Answers.Directory
	if d == nil {
		return nil, answer.ErrNoDirectory
	}
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	filled := min(1, a.Answers.Store.Head().Seq)
	// A directory that is behind answers nearly everything.
	if err := d.WaitFor(ctx, max(a.written.Load(), filled)); err != nil && d.WaitFor(ctx, filled) != nil {
		return nil, NewProblem(NotReady, "the agents are still being read after the start", "ask again in a moment").WithRetry(time.Second)
	}
	return d, nil
}

// InParameter says that the value which err is about came as a parameter.
func InParameter(err error, name string) error {
	if e, ok := errors.AsType[*registry.Error](err); ok {
		return NewProblem(BadParameter, e.Message, e.Help).withRule(e.Code, "").WithLocation(Location{Parameter: name}).WithCause(err)
	}
	return err
}
