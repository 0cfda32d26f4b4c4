package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"gazetteer/api/route"
	"gazetteer/registry/audit"
)

// Kinds of a [LogLock].
const (
	LockNone    = "none"
	LockFile    = "file"
	LockWitness = "witness"
)

// A LogLock describes the lock that keeps two copies of the data directory from signing two
// histories.
type LogLock struct {
	Kind string `json:"kind" enum:"none,file,witness"`
	// Apart is set if the lock is on another disk than the data directory.
	Apart bool `json:"apart" doc:"it is not on the disk of the data directory"`
	// AnsweredAt is when a witness last answered; nil for never since the start.
	AnsweredAt *time.Time `json:"answered_at,omitempty" doc:"when a witness that is the lock has answered last"`
}

// A LogStatus is the state of the transparency log. It contains no file name and no address; the
// server's own log does.
type LogStatus struct {
	Origin       string    `json:"origin" doc:"the name of the log"`
	Leaves       int64     `json:"leaves" doc:"under the newest checkpoint"`
	Bytes        int64     `json:"bytes" doc:"of its files"`
	CheckpointAt time.Time `json:"checkpoint_at" doc:"when the newest checkpoint was signed"`
	Behind       uint64    `json:"behind" doc:"writes of the store that the newest checkpoint does not cover"`
	Signs        bool      `json:"signs" doc:"what is written is signed"`
	Halted       *HaltView `json:"halted,omitempty" doc:"why nothing is signed until the operator has repaired it"`
	// Undeclared is set while the log cannot sign, Unerased while some leaves cannot be erased.
	Undeclared int          `json:"undeclared,omitempty" doc:"erased leaves that no leaf declares yet"`
	Unerased   int          `json:"unerased,omitempty" doc:"deleted records whose content could not be erased yet"`
	Lock       LogLock      `json:"lock"`
	Witnesses  []WitnessRow `json:"witnesses,omitempty" doc:"who cosigns the log"`

	full  bool   // the only reason why it cannot sign is a full disk
	block string // why it cannot sign at the moment, for the public
}

// A HaltView says why a log is halted.
type HaltView struct {
	Cause string    `json:"cause" enum:"witness,lock,damage"`
	Since time.Time `json:"since"`
}

// A WitnessRow is the last result of a witness.
type WitnessRow struct {
	Witness    string     `json:"witness" doc:"the name of its key"`
	AnsweredAt *time.Time `json:"answered_at,omitempty" doc:"when it has cosigned last; absent for never since the start"`
	Failing    bool       `json:"failing" doc:"it did not cosign at the last request"`
}

// logStatus returns the state of the log; nil without a log.
func (a *API) logStatus() *LogStatus {
	if a.Answers.Log == nil {
		return nil
	}
	s := a.Answers.Log.Status()
	v := &LogStatus{Origin: s.Origin, Leaves: s.Leaves, Bytes: s.Bytes, CheckpointAt: s.SignedAt.UTC(), Behind: s.Behind, Signs: s.Signs(), Undeclared: s.Undeclared, Unerased: s.Unerased, Lock: a.logLock,
		full: !s.Growing && (errors.Is(s.Blocked, syscall.ENOSPC) || errors.Is(s.Blocked, syscall.EDQUOT))}
	v.block = describeBlock(s, v.full)
	if s.Halt != nil {
		v.Halted = &HaltView{Cause: s.Halt.Cause, Since: s.Halt.Since}
	}
	if !s.LockAnswered.IsZero() {
		v.Lock.AnsweredAt = utcTime(s.LockAnswered)
	}
	if a.witnesses == nil {
		return v
	}
	for _, w := range a.witnesses() {
		row := WitnessRow{Witness: w.Witness, Failing: w.Err != nil}
		if !w.Answered.IsZero() {
			row.AnsweredAt = utcTime(w.Answered)
		}
		v.Witnesses = append(v.Witnesses, row)
	}
	return v
}

func utcTime(t time.Time) *time.Time {
	t = t.UTC()
	return &t
}

// haltTexts describe the causes of a halt for the public.
var haltTexts = map[string]string{
	audit.CauseWitness: "a witness contradicts it",
	audit.CauseLock:    "another process signs for it",
	audit.CauseDamage:  "a file of it is damaged",
}

// A writeChecker is a store that reports whether it accepts writes.
type writeChecker interface {
	CheckWrites() error
}

// possibleWork returns which kinds of work are possible. One cause is one problem: what follows from
// an earlier problem is not listed.
func (a *API) possibleWork(ready bool, log *LogStatus) route.Work {
	states := a.StatesComplete()
	w := route.Work{Read: ready && states, Write: true}
	if !ready {
		w.Problems = append(w.Problems, "read: the index is behind the store, so answers are not complete yet")
	}
	if ready && !states {
		w.Problems = append(w.Problems, "read: the states of hosts are behind the store, so the filter is: does not find all hosts yet")
	}
	if s, ok := a.Answers.Store.(writeChecker); ok && s.CheckWrites() != nil {
		w.Write = false
		w.Problems = append(w.Problems, "write: the disk is full, a file of the store was removed, or the store has failed; its operator frees disk space or lowers min_free_bytes, and finds more in the server's log")
	}
	switch {
	case log == nil:
		w.Problems = append(w.Problems, "sign: this server has no transparency log")
	case log.Halted != nil:
		w.Problems = append(w.Problems, fmt.Sprintf("sign: the transparency log signs nothing more since %s, because %s; its operator repairs that, and then runs: gazetteer registry resume-signing",
			log.Halted.Since.Format(time.RFC3339), haltTexts[log.Halted.Cause]))
	case !log.Signs && !w.Write && log.full: // for the same reason
	case !log.Signs:
		w.Problems = append(w.Problems, "sign: the transparency log cannot sign at the moment: "+log.block)
	default:
		w.Sign = true
	}
	return w
}

// describeBlock describes for the public why a log cannot sign at the moment.
func describeBlock(s audit.Status, full bool) string {
	switch {
	case s.Growing:
		return "it does not have all leaves of its last checkpoint yet, as after a restore, and adds them from the store"
	case full:
		return "its disk is full"
	case errors.Is(s.Blocked, audit.ErrLock):
		return "the witness that is its lock does not answer, or refuses"
	default:
		return "its files cannot be written"
	}
}

type readinessInput struct {
	Work string `query:"work" enum:"read,write,sign" default:"read" doc:"the kind of work to check; 503 while it is not possible"`
}

func (a *API) getReadiness(_ context.Context, in *readinessInput) (*route.Output[route.Readiness], error) {
	index, head := a.Answers.Index.Cursor(), a.Answers.Store.Head()
	ready := a.Ready.ObserveCursors(index, head)
	w := a.possibleWork(ready, a.logStatus())
	out := route.JSON(route.Readiness{Status: "ready", Work: w, Index: index.Seq, Store: head.Seq})
	if s := a.Answers.Standing; s != nil {
		out.Body.States = s.Cursor().Seq
	}
	if !w.Read {
		what, at := "the states of hosts are", out.Body.States
		if !ready {
			what, at = "the index is", index.Seq
		}
		return nil, route.NewProblem(route.NotReady, fmt.Sprintf("%s at sequence %d, the store at %d: answers are not complete yet", what, at, head.Seq),
			"ask again in a moment").WithRetry(time.Second)
	}
	if in.Work == "write" && !w.Write || in.Work == "sign" && !w.Sign {
		// Without a problem of its own, the one before is the cause.
		at := max(slices.IndexFunc(w.Problems, func(p string) bool { return strings.HasPrefix(p, in.Work+": ") }), 0)
		return nil, route.NewProblem(route.NotReady, w.Problems[at], "read the other kinds of work at /readyz; ask again once the operator has repaired this").WithRetry(time.Minute)
	}
	if f := a.Answers.Feed; f != nil {
		out.Body.Changes = f.Cursor().Seq
	}
	if c := a.Answers.Census; c != nil {
		out.Body.Figures = c.Stats().Cursor.Seq
	}
	if !w.Write || !w.Sign {
		out.Body.Status = "limited"
	}
	return out, nil
}

// writeLogMetrics writes the state of the log, and which kinds of work are possible.
func writeLogMetrics(b *bytes.Buffer, s ServerStatus, gauge func(string, float64)) {
	for _, kind := range []struct {
		name     string
		possible bool
	}{{"read", s.Work.Read}, {"write", s.Work.Write}, {"sign", s.Work.Sign}} {
		gauge("work_possible"+formatLabels("work", kind.name), boolGauge(kind.possible))
	}
	if s.Log == nil {
		return
	}
	age := func(t time.Time) float64 { return max(s.At.Sub(t).Seconds(), 0) }
	gauge("log_leaves", float64(s.Log.Leaves))
	gauge("log_bytes", float64(s.Log.Bytes))
	gauge("log_behind", float64(s.Log.Behind))
	gauge("log_undeclared", float64(s.Log.Undeclared))
	gauge("log_unerased", float64(s.Log.Unerased))
	gauge("log_checkpoint_age_seconds", age(s.Log.CheckpointAt))
	gauge("log_lock_apart", boolGauge(s.Log.Lock.Apart))
	for _, cause := range []string{audit.CauseWitness, audit.CauseLock, audit.CauseDamage} {
		gauge("log_halted"+formatLabels("cause", cause), boolGauge(s.Log.Halted != nil && s.Log.Halted.Cause == cause))
	}
	// For a witness that never answered, the time counts from the start.
	since := func(t *time.Time) float64 {
		if t == nil {
			return age(s.Started)
		}
		return age(*t)
	}
	if s.Log.Lock.Kind == LockWitness {
		gauge("log_lock_answer_age_seconds", since(s.Log.Lock.AnsweredAt))
	}
	for _, w := range s.Log.Witnesses {
		label := formatLabels("witness", w.Witness)
		gauge("log_witness_answer_age_seconds"+label, since(w.AnsweredAt))
		metrics.WriteGaugeFloat64(b, "gazetteer_log_witness_failing"+label, boolGauge(w.Failing))
	}
}
