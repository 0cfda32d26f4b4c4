package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"gazetteer/lint/format"
)

// WriteJSON writes v as one line of JSON and escapes all hidden characters. The characters that
// encoding/json does not escape (C1, DEL, bidi controls) can only occur inside strings, where
// \uXXXX means the same.
func WriteJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	return WriteJSONText(w, text)
}

func WriteJSONText(w io.Writer, text []byte) error {
	var b bytes.Buffer
	for _, r := range string(bytes.TrimSpace(text)) {
		switch {
		case !format.Hidden(r) || r == '\n' || r == '\t' || r == '\r':
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// DescribeUndeclared counts the erased leaves of a log that no leaf declares yet.
func DescribeUndeclared(leaves int64) string {
	if leaves == 1 {
		return "1 erased leaf is not declared yet"
	}
	return fmt.Sprintf("%d erased leaves are not declared yet", leaves)
}

// FormatAge returns the rounded time from t to now in words.
func FormatAge(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return FormatSpan(now.Sub(t)) + " ago"
}

// FormatWait returns the time from now to t in words.
func FormatWait(now, t time.Time) string {
	if !t.After(now) {
		return "now"
	}
	d := t.Sub(now)
	for _, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		if rounded := d.Round(unit); rounded >= 2*unit { // almost three days are not two
			return "in " + FormatSpan(rounded)
		}
	}
	return "in " + FormatSpan(d)
}

// FormatSpan writes a time span in one unit, rounded down: "3 days".
func FormatSpan(d time.Duration) string {
	switch {
	case d < 2*time.Second:
		return "1 second"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d seconds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
}

// Plural writes "1 host" and "2 hosts", "1 leaf" and "2 leaves", "1 entry" and "2 entries".
func Plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if stem, ok := strings.CutSuffix(one, "f"); ok {
		return fmt.Sprintf("%d %sves", n, stem)
	}
	if stem, ok := strings.CutSuffix(one, "ry"); ok {
		return fmt.Sprintf("%d %sries", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, one)
}
