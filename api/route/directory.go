package route

import (
	"context"
	"errors"
	"gazetteer/api/answer"
	"gazetteer/registry"
	"gazetteer/registry/directory"
	"time"
)

// NoteWrite records a write, so that lists wait for it.
func (a *Mux) NoteWrite() {
	head := a.Answers.Store.Head().Seq
	for {
		old := a.written.Load()
		if old >= head || a.written.CompareAndSwap(old, head) {
			return
		}
	}
}

// directoryTimeout is how long a list waits for a write of this process.
const directoryTimeout = time.Second

// CurrentDirectory returns the directory of agents once it contains every write of this API, so
// that a client finds the agent that it has just registered.
func (a *Mux) CurrentDirectory(ctx context.Context) (*directory.Directory, error) {
	d := a.Answers.Directory
	if d == nil {
		return nil, answer.ErrNoDirectory
	}
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	filled := min(1, a.Answers.Store.Head().Seq)
	// A directory that is slightly behind answers nearly everything.
	if err := d.WaitFor(ctx, max(a.written.Load(), filled)); err != nil && d.WaitFor(ctx, filled) != nil {
		return nil, NewProblem(NotReady, "the agents are still being read after the start", "ask again in a moment").WithRetry(time.Second)
	}
	return d, nil
}

// InParameter marks an error as being about the value of a parameter.
func InParameter(err error, name string) error {
	if e, ok := errors.AsType[*registry.Error](err); ok {
		return NewProblem(BadParameter, e.Message, e.Help).withRule(e.Code, "").WithLocation(Location{Parameter: name}).WithCause(err)
	}
	return err
}
