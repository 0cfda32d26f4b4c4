package frame

import (
	"fmt"
	"strconv"
	"strings"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/protocol"
)

// FormatSize writes a number of bytes for a person.
func FormatSize(n int) string {
	if n < 1024 {
		return FormatCount(n, "byte")
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/1024)
}

// FormatCount writes n things.
func FormatCount(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return FormatNumber(n) + " " + thing + "s"
}

// FormatNumber returns n with separators between thousands.
func FormatNumber(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// KindName names a format, or robots.txt, for people.
func KindName(kind string) string {
	if kind == fetch.KindRobots {
		return "robots.txt"
	}
	return document.Kind(kind).Describe()
}

// TitleOf makes words of the name of a kind of change: "operation-removed" is "Operation removed".
func TitleOf(name string) string {
	if name == "" {
		return name
	}
	return strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "-", " ")
}

var severityNames = map[protocol.Severity]string{
	protocol.Error:   "Error",
	protocol.Warning: "Warning",
	protocol.Info:    "Note",
}

// SeverityName names the severity of a finding for a person.
func SeverityName(s protocol.Severity) string { return severityNames[s] }
