package census

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gazetteer/fetch"
	"gazetteer/internal/psl"
	"gazetteer/lint/format"
)

// A factFile is a file of facts in the folder.
type factFile struct {
	Name, Title string
	Columns     []string
}

// factFiles have one line for each host, document and so on.
var factFiles = []factFile{
	{"hosts", "one line for each host", []string{"host", "added", "visited", "judged_from", "class", "reachable", "well_formed", "conformant", "consistent", "answers", "level", "robots", "tls", "formats", "documents", "operations", "versions", "domain"}},
	{"documents", "one line for each current document", []string{"host", "format", "digest", "bytes", "tokens", "operations", "level", "errors", "warnings", "fetched", "rules", "media_type", "namespace", "languages", "categories", "data_classes"}},
	{"versions", "one line for each stored version of a document", []string{"host", "format", "seen", "digest", "bytes", "level", "first", "severity"}},
	{"spans", "one line for each format of a host: since when it is published, and until when if it no longer is", []string{"host", "format", "from", "until"}},
	{"turns", "one line for each recorded change of a host's class or states, and for its first sight", []string{"host", "at", "class", "reachable", "well_formed", "conformant", "consistent", "answers", "level"}},
}

// factLines are the lines of one host in the files of facts, and its object in hosts.ndjson.zst.
// They are made by the goroutine that reads the facts.
type factLines struct {
	csv  [5][]byte
	json []byte
}

// sanitizeCell makes an untrusted text safe for terminals and for programs that read cells as
// formulas.
func sanitizeCell(text string) string {
	text = format.Visible(text)
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}

func sanitizeCells(texts []string) string {
	safe := make([]string, len(texts))
	for i, t := range texts {
		safe[i] = format.Visible(t)
	}
	return sanitizeCell(strings.Join(safe, "; "))
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// hostObject is a host in hosts.ndjson.zst.
type hostObject struct {
	Host      string            `json:"host"`
	Domain    string            `json:"domain"`
	Added     string            `json:"added"`
	Visited   string            `json:"visited,omitempty"`
	Judged    Source            `json:"judged_from"`
	Class     string            `json:"class"`
	States    map[string]string `json:"states"`
	Level     int               `json:"level,omitempty"`
	Robots    string            `json:"robots,omitempty"`
	TLS       string            `json:"tls,omitempty"`
	Outcomes  map[string]string `json:"outcomes,omitempty"`
	Documents []documentObject  `json:"documents,omitempty"`
}

type documentObject struct {
	Format     string   `json:"format"`
	Digest     string   `json:"digest"`
	Bytes      int      `json:"bytes"`
	Tokens     int      `json:"tokens,omitempty"`
	Level      int      `json:"level"`
	Fetched    string   `json:"fetched"`
	MediaType  string   `json:"media_type,omitempty"`
	Rules      []string `json:"rules,omitempty"`
	Verbs      []string `json:"verbs,omitempty"`
	Counted    []string `json:"counted_verbs,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	Languages  []string `json:"languages,omitempty"`
	Categories []string `json:"categories,omitempty"`
	Classes    []string `json:"data_classes,omitempty"`
}

// renderLines writes the lines of a host.
func renderLines(h *Facts) (*factLines, error) {
	l := new(factLines)
	var buffers [5]bytes.Buffer
	var writers [5]*csv.Writer
	for i := range writers {
		writers[i] = csv.NewWriter(&buffers[i])
	}
	published := map[string]bool{}
	operations := 0
	for _, d := range h.Documents {
		published[d.Kind] = true
		operations += len(d.Counted)
	}
	s := h.Standing
	number := func(n int) string { return fmt.Sprint(n) }
	write := func(i int, cells ...string) { writers[i].Write(cells) } // into memory, which does not fail
	write(0, h.Host, formatTime(h.Added), formatTime(h.Visited), string(h.Judged), string(s.Class), verdictCell(s.Reachable), verdictCell(s.WellFormed), verdictCell(s.Conformant), verdictCell(s.Consistent), verdictCell(s.Answers),
		number(s.Level), h.Robots, sanitizeCell(h.TLS), joinKinds(published), number(len(h.Documents)), number(operations), number(len(h.Versions)), psl.Registered(h.Host))
	for _, d := range h.Documents {
		write(1, h.Host, d.Kind, d.Digest, number(d.Bytes), number(d.Tokens), number(len(d.Verbs)), number(d.Level), number(d.Errors), number(d.Warnings), formatTime(d.Fetched),
			strings.Join(d.Rules, " "), sanitizeCell(d.MediaType), sanitizeCells(d.Namespaces), sanitizeCells(d.Languages), sanitizeCells(d.Categories), sanitizeCells(d.Classes))
	}
	for _, v := range h.Versions {
		first := "no"
		if v.First {
			first = "yes"
		}
		write(2, h.Host, v.Kind, formatTime(v.Seen), v.Digest, number(v.Bytes), number(v.Level), first, v.Severity)
	}
	for _, p := range h.Spans {
		write(3, h.Host, p.Kind, formatTime(p.From), formatTime(p.Until))
	}
	for _, t := range h.Turns {
		s := t.Standing
		write(4, h.Host, formatTime(t.At), string(s.Class), verdictCell(s.Reachable), verdictCell(s.WellFormed), verdictCell(s.Conformant), verdictCell(s.Consistent), verdictCell(s.Answers), number(s.Level))
	}
	for i, w := range writers {
		w.Flush()
		l.csv[i] = buffers[i].Bytes()
	}
	text, err := json.Marshal(newHostObject(h))
	if err != nil {
		return nil, fmt.Errorf("write the facts of %s: %w", h.Host, err)
	}
	l.json = append(text, '\n')
	return l, nil
}

func newHostObject(h *Facts) hostObject {
	o := hostObject{Host: h.Host, Domain: psl.Registered(h.Host), Added: formatTime(h.Added), Visited: formatTime(h.Visited), Judged: h.Judged, Class: string(h.Standing.Class), States: map[string]string{}, Level: h.Standing.Level, Robots: h.Robots, TLS: h.TLS, Outcomes: map[string]string{}}
	for _, f := range standingFeatures(h.Standing) {
		if name, verdict, found := strings.Cut(f.Value, "="); found && f.Family == "state" {
			o.States[name] = verdict
		}
	}
	for _, f := range h.Fetches {
		if f.Kind != fetch.KindRobots {
			o.Outcomes[f.Kind] = string(f.Outcome)
		}
	}
	for _, d := range h.Documents {
		o.Documents = append(o.Documents, documentObject{
			Format: d.Kind, Digest: d.Digest, Bytes: d.Bytes, Tokens: d.Tokens, Level: d.Level, Fetched: formatTime(d.Fetched), MediaType: d.MediaType,
			Rules: d.Rules, Verbs: d.Verbs, Counted: d.Counted, Namespaces: d.Namespaces, Languages: d.Languages, Categories: d.Categories, Classes: d.Classes,
		})
	}
	return o
}

func verdictCell[T ~string](v T) string {
	if v == "" {
		return "unknown"
	}
	return string(v)
}
