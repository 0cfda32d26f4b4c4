package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"gazetteer/document"
	"gazetteer/internal/wait"
	"gazetteer/limit"
	"gazetteer/lint/repair"
	"gazetteer/protocol"
)

// maxBytes is how much of one text is read. Readers of documents refuse far less, with the size in
// the message; descriptions to convert may be long.
const maxBytes = 64 << 20

// explainUnreadable returns the reason why a text is not a document of its format, without the steps
// that led to it.
func explainUnreadable(err error) string {
	text := err.Error()
	if _, reason, ok := strings.Cut(text, protocol.ErrUnreadable.Error()+": "); ok {
		return reason
	}
	_, reason, ok := strings.Cut(text, protocol.ErrOtherFormat.Error()+": ")
	switch {
	case !ok:
		return text
	case strings.HasPrefix(reason, "this "), strings.HasPrefix(reason, "the "):
		return reason
	default:
		return "this is a " + protocol.ErrOtherFormat.Error() + ": " + reason
	}
}

// unreadableError returns the error for a text that is not a document of its kind. It names the
// command that repairs the file, if there is a repair.
func (w Environment) unreadableError(name string, kind document.Kind, text []byte, err error) error {
	return inputErrorf("%s: %s%s", name, explainUnreadable(err), w.repairHint(name, kind, text))
}

// repairHint returns a line with the command that repairs a file, "" if there is none.
func (w Environment) repairHint(name string, kind document.Kind, text []byte) string {
	if _, repaired, err := repair.Fix(kind, text); err != nil || len(repaired) == 0 {
		return ""
	}
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return fmt.Sprintf("\nto repair it: %s validate --fix %s", w.Program, name)
}

// readFile reads a file of bounded size.
func readFile(ctx context.Context, name string) ([]byte, error) {
	return wait.ForRead(ctx, func() ([]byte, error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readBounded(f)
	})
}

// readAll reads a text of bounded size.
func readAll(ctx context.Context, r io.Reader) ([]byte, error) {
	return wait.ForRead(ctx, func() ([]byte, error) { return readBounded(r) })
}

func readBounded(r io.Reader) ([]byte, error) {
	text, err := limit.ReadAll(r, maxBytes)
	if errors.Is(err, limit.ErrTooLarge) {
		err = fmt.Errorf("it is longer than %d bytes, which no document is", maxBytes)
	}
	return text, err
}
