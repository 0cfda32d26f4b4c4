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

// maxLine is the maximum length of a log line in bytes, including its line end.
const maxLine = 4096

// NewLogger returns a logger that writes text to a terminal and JSON elsewhere. Each event is one
// line of at most 4,096 bytes; in a longer line the longest values are truncated. In values from
// the network, and in errors that quote them, it escapes all hidden characters: those that move the
// cursor, and those that reorder a line.
func NewLogger(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	l.UnmarshalText([]byte(level)) // Config.check has refused invalid levels
	options := &slog.HandlerOptions{Level: l}
	if IsTerminal(w) {
		return slog.New(boundedHandler{slog.NewTextHandler(w, options)})
	}
	return slog.New(boundedHandler{slog.NewJSONHandler(w, options)})
}

// A boundedHandler escapes the values of a record and truncates values that are too long for one
// line. It escapes the attributes of With but does not count them, because they are few and our
// own.
type boundedHandler struct{ slog.Handler }

// The parts of a line besides its values: time, level, message, the names of its values and the
// quotation marks.
const (
	roomForNames  = 1024
	shortestValue = 64 // no value becomes shorter than this
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

// escapeAttr escapes the hidden characters of a text. It converts other values that may contain
// text to JSON.
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
			if len(text) > shortestValue { // short values stay unchanged
				a.Value = slog.StringValue(format.Visible(string(text)))
			}
		}
	}
	return a
}

// lengthOf returns the number of bytes of the text values, counting at most limit for each.
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

// quotedLength returns the length of a text in quotation marks. Only a few visible characters are
// escaped.
func quotedLength(s string) int {
	n := len(s)
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' || s[i] == '\n' {
			n++
		}
	}
	return n
}

// clipAttr truncates a text of more than limit bytes and adds its original length.
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
			if taken+size > limit-32 { // space for the original length
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
