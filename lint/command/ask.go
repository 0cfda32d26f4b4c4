package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"gazetteer/internal/wait"
	"gazetteer/lint/format"
	"gazetteer/protocol"
)

// An asker asks questions: a person at a terminal, who may try again, or a file with one answer a
// line, where a wrong answer ends the run.
type asker struct {
	Environment
	lines *bufio.Reader
	live  bool
	asked int
	// proposed says that the last answer was an empty line, which took the proposal.
	proposed bool
}

func newAsker(w Environment) *asker {
	return &asker{Environment: w, lines: bufio.NewReader(w.In), live: isTerminal(w.In)}
}

// A question is one question with its default.
type question struct {
	text, example string
	// usual is the answer used for an empty one. optional allows an empty answer.
	usual    string
	optional bool
	// matters marks an answer about effect or authentication: it is reviewed when the proposal was
	// taken.
	matters bool
	// faults returns the findings about an answer. An error must be corrected; a warning is shown
	// once, and the same answer is then accepted; an info is only shown.
	faults func(answer string) []protocol.Finding
}

// askQuestion returns the answer to q, trimmed.
func (a *asker) askQuestion(ctx context.Context, q question) (string, error) {
	a.asked++
	fmt.Fprintf(a.Err, "\n%s\n", q.text)
	if q.example != "" {
		fmt.Fprintf(a.Err, "  for example: %s\n", q.example)
	}
	doubted := ""
	for {
		answer, err := a.readAnswer(ctx, q.usual)
		if err != nil {
			return "", err
		}
		if answer == "" && q.optional {
			return "", nil
		}
		faults := a.judgeAnswer(q, answer)
		worst, any := protocol.Worst(faults)
		switch {
		case !any:
			return answer, nil
		case worst < protocol.Warning, worst < protocol.Error && (!a.live || answer == doubted):
			a.showFaults(faults)
			return answer, nil
		}
		if !a.live {
			return "", usageErrorf("answer %d, %s: %s", a.asked, protocol.Quote(answer), inWords(faults[0]))
		}
		a.showFaults(faults)
		if doubted = answer; worst < protocol.Error {
			fmt.Fprintln(a.Err, "  Give the same answer again to keep it.")
		}
	}
}

func (a *asker) judgeAnswer(q question, answer string) []protocol.Finding {
	if answer == "" {
		return []protocol.Finding{{Severity: protocol.Error, Message: "an answer is needed here"}}
	}
	if q.faults == nil {
		return nil
	}
	return q.faults(answer)
}

// readAnswer reads one line.
func (a *asker) readAnswer(ctx context.Context, usual string) (string, error) {
	if usual != "" {
		fmt.Fprintf(a.Err, "  [%s] ", format.Visible(usual))
	} else {
		fmt.Fprint(a.Err, "  > ")
	}
	line, err := wait.ForRead(ctx, func() (string, error) { return a.lines.ReadString('\n') })
	if ctx.Err() != nil {
		fmt.Fprintln(a.Err)
		return "", ctx.Err()
	}
	if errors.Is(err, io.EOF) && line == "" {
		fmt.Fprintln(a.Err)
		return "", usageErrorf("the input ends at question %d: give one answer a line, an empty line for the value in brackets", a.asked)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", inputErrorf("read answer %d: %v", a.asked, err)
	}
	if len(line) > 10000 {
		return "", usageErrorf("answer %d is longer than any document allows", a.asked)
	}
	line = strings.TrimSpace(line)
	if !a.live {
		fmt.Fprintln(a.Err, format.Visible(line))
	}
	if a.proposed = line == ""; a.proposed {
		return usual, nil
	}
	return line, nil
}

func (a *asker) showFaults(faults []protocol.Finding) {
	for _, f := range faults {
		fmt.Fprintf(a.Err, "  %s\n", format.Visible(inWords(f)))
	}
}

// inWords returns a finding as one sentence with its rule.
func inWords(f protocol.Finding) string {
	text := f.Message
	if f.Help != "" {
		text += "; " + f.Help
	}
	if f.Code != "" {
		text += " [" + f.Code + "]"
	}
	return text
}

// newNote returns a remark that needs no other answer.
func newNote(f string, args ...any) []protocol.Finding {
	return []protocol.Finding{{Severity: protocol.Info, Message: fmt.Sprintf(f, args...)}}
}

// newFault returns a finding without a rule.
func newFault(f string, args ...any) []protocol.Finding {
	return []protocol.Finding{{Severity: protocol.Error, Message: fmt.Sprintf(f, args...)}}
}
