package answer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"gazetteer/census"
	"gazetteer/census/tally"
	"gazetteer/lint"
	"gazetteer/protocol"
)

// ErrNoFigure: no figure has this name.
var ErrNoFigure = errors.New("nothing is counted under this name")

// A NoFigureError is [ErrNoFigure] with the name.
type NoFigureError struct {
	Name     string
	Question string // about similar names, "" for none
}

func (e *NoFigureError) Error() string {
	text := fmt.Sprintf("nothing is counted under %q", CleanText(e.Name, 60))
	if e.Question != "" {
		text += ": " + e.Question
	}
	return text
}

func (e *NoFigureError) Unwrap() error { return ErrNoFigure }

// FigureFamily returns the family of figures with a name. The error is a *[NoFigureError].
func FigureFamily(name string) (census.Family, error) {
	f, ok := census.FamilyOf(name)
	if !ok {
		return f, &NoFigureError{name, census.SuggestFamily(name)}
	}
	return f, nil
}

// Stats returns the figures of all hosts, some seconds old. The error is [ErrNoCensus].
func (a *Answers) Stats(context.Context) (*census.Stats, error) {
	if a.Census == nil {
		return nil, ErrNoCensus
	}
	return a.Census.Stats(), nil
}

// CountedHosts is a part of the list behind a figure.
type CountedHosts struct {
	Figure census.Feature
	Hosts  []string
	// All says how many hosts the figure counts, Of how many it could count: the known hosts, and for a
	// rule about documents those with a document of its format.
	All tally.Count
	Of  int
	// At is when they were counted.
	At time.Time
	// After is the place where the next part begins, "" on the last.
	After string
	// Note says why a figure counts nothing by its definition, "" for all others.
	Note string
}

// CountedHosts lists hosts that a figure counts, in the order in which this server first read them.
// The error is a *[NoFigureError] for an unknown name, or [ErrNoCensus].
func (a *Answers) CountedHosts(_ context.Context, figure, after string, limit int) (CountedHosts, error) {
	if a.Census == nil {
		return CountedHosts{}, ErrNoCensus
	}
	f, ok := census.ParseFeature(figure)
	if !ok {
		return CountedHosts{}, &NoFigureError{figure, census.SuggestFeature(figure)}
	}
	from := uint64(0)
	if after != "" {
		var err error
		if from, err = strconv.ParseUint(after, 10, 32); err != nil {
			return CountedHosts{}, ErrNoFigure
		}
	}
	found := a.Census.Hosts(f, uint32(from), limit)
	list := CountedHosts{Figure: f, Hosts: found.Hosts, All: found.All, Of: found.Of, At: found.At}
	if found.All.Hosts == 0 {
		list.Note = explainUncounted(f)
	}
	if found.Last > 0 {
		list.After = strconv.FormatUint(uint64(found.Last), 10)
	}
	return list, nil
}

// explainUncounted says why the census counts nothing under a feature of a known name; "" if it could.
func explainUncounted(f census.Feature) string {
	if f.Family != "rule" {
		return ""
	}
	rule, ok := lint.Rule(f.Value)
	if !ok || rule.Severity > protocol.Info {
		return ""
	}
	return rule.Code + " has the severity " + rule.Severity.String() + ", and the census counts only errors and warnings"
}
