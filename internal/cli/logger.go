package cli

import (
	"io"
	"log/slog"

	"gazetteer/lint/format"
)

// NewLogger writes text on a terminal and JSON elsewhere, one line an event. A
// value that came from the network, an error that quotes it too, has every hidden
// character escaped: those that move the cursor, and those that reorder a line.
func NewLogger(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	l.UnmarshalText([]byte(level)) // Config.check has refused what does not parse
	options := &slog.HandlerOptions{Level: l, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch v := a.Value.Any().(type) {
		case string:
			a.Value = slog.StringValue(format.Visible(v))
		case error:
			a.Value = slog.StringValue(VisibleLines(v.Error()))
		}
		return a
	}}
	if IsTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}
