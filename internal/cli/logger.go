package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"unicode/utf8"

	"gazetteer/lint/format"
)

// maxLine is the length of the longest line of a log, in bytes, with its line end.
const maxLine = 4096

// NewLogger writes text on a terminal and JSON elsewhere, one line an event of at most 4,096 bytes: of a
// line that would be longer, the longest values are cut. A value that came from the network, an error
// that quotes it too, has every hidden character escaped: those that move the cursor, and those that
// reorder a line.
func NewLogger(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	l.UnmarshalText([]byte(level)) // Config.check has refused what does not parse
	options := &slog.HandlerOptions{Level: l}
	if IsTerminal(w) {
		return slog.New(boundedHandler{slog.NewTextHandler(w, options)})
	}
	return slog.New(boundedHandler{slog.NewJSONHandler(w, options)})
}

// A boundedHandler escapes the values of a record and cuts those that are too long for one line. The
// attributes of a logger that was made with With are few and our own: they are escaped, and not counted.
type boundedHandler struct{ slog.Handler }

// What a line has beside its values: time, level, message, the names of its values and what quotes them.
const (
	roomForNames  = 1024
	shortestValue = 64 // no value is cut to less
)

// Handle implements slog.Handler.
func (h boundedHandler) Handle(ctx context.Context, r slog.Record) error {
	attrs := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, escapeAttr(a))
		return true
	})
	limit := maxLine - roomForNames
	for total := lengthOf(attrs, limit); total > maxLine-roomForNames && limit > shortestValue; total = lengthOf(attrs, limit) {
		limit /= 2
	}
	bounded := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	for _, a := range attrs {
		bounded.AddAttrs(clipAttr(a, limit))
	}
	return h.Handler.Handle(ctx, bounded)
}

// WithAttrs implements slog.Handler.
func (h boundedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	escaped := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		escaped[i] = clipAttr(escapeAttr(a), maxLine/16)
	}
	return boundedHandler{h.Handler.WithAttrs(escaped)}
}

// WithGroup implements slog.Handler.
func (h boundedHandler) WithGroup(name string) slog.Handler {
	return boundedHandler{h.Handler.WithGroup(name)}
}

// escapeAttr makes the hidden characters of a text visible. A value of another kind that may hold text
// becomes its JSON.
func escapeAttr(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(format.Visible(a.Value.String()))
	case slog.KindGroup:
		members := make([]slog.Attr, 0, len(a.Value.Group()))
		for _, m := range a.Value.Group() {
			members = append(members, escapeAttr(m))
		}
		a.Value = slog.GroupValue(members...)
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case nil:
		case error:
			a.Value = slog.StringValue(VisibleLines(v.Error()))
		default:
			text, err := json.Marshal(v)
			if err != nil {
				text = fmt.Appendf(nil, "%v", v)
			}
			if len(text) > shortestValue { // what is short goes on as it is
				a.Value = slog.StringValue(format.Visible(string(text)))
			}
		}
	}
	return a
}

// lengthOf is how many bytes the texts among the values take, at most limit each.
func lengthOf(attrs []slog.Attr, limit int) int {
	total := 0
	for _, a := range attrs {
		switch a.Value.Kind() {
		case slog.KindString:
			total += min(quotedLength(a.Value.String()), limit)
		case slog.KindGroup:
			total += lengthOf(a.Value.Group(), limit)
		}
	}
	return total
}

// quotedLength is the length of a text between quotation marks: all but a few visible characters stay.
func quotedLength(s string) int {
	n := len(s)
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' || s[i] == '\n' {
			n++
		}
	}
	return n
}

// clipAttr cuts a text that takes more than limit bytes and says how long it was.
func clipAttr(a slog.Attr, limit int) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		s := a.Value.String()
		if quotedLength(s) <= limit {
			return a
		}
		cut, taken := 0, 0
		for _, c := range s {
			size := quotedLength(string(c))
			if taken+size > limit-32 { // room for what says how long it was
				break
			}
			cut, taken = cut+utf8.RuneLen(c), taken+size
		}
		a.Value = slog.StringValue(fmt.Sprintf("%s… (%d bytes)", s[:cut], len(s)))
	case slog.KindGroup:
		members := make([]slog.Attr, 0, len(a.Value.Group()))
		for _, m := range a.Value.Group() {
			members = append(members, clipAttr(m, limit))
		}
		a.Value = slog.GroupValue(members...)
	}
	return a
}
