package census

import (
	"cmp"
	jsonv1 "encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/index/entry"
	"gazetteer/protocol"
)

// Facts describes one host at a date, as far as the census knows it. Its texts are untrusted.
type Facts struct {
	Host  string
	Added time.Time
	// Visited is when the last visit up to the date ended, zero for none.
	Visited  time.Time
	Standing conformance.Standing
	// Judged says what the standing is taken from: the visit itself, the history, or nothing.
	Judged Source
	// Robots is what robots.txt allows: one of the Robots constants.
	Robots string
	// TLS is the protocol version of the last connection, "" for none.
	TLS string
	// Fetches are the last ones, by kind.
	Fetches   []liveFetch
	Documents []Document
	// Spans say since when the host has published each format, and until when.
	Spans []Span
	// Versions are all stored versions up to the date, by format and time.
	Versions []Version
	// Turns are the changes of its standing up to the date, oldest first.
	Turns []Turn

	all   map[Feature]bool
	lines *factLines
}

// Source says what a standing is taken from.
type Source string

// The sources of a standing.
const (
	FromVisit   Source = "visit"
	FromHistory Source = "history"
	FromNothing Source = "unknown"
)

// Turn is the standing of a host from a time on.
type Turn struct {
	At       time.Time
	Standing conformance.Standing
}

// Span is a time in which a host published a format. Until is zero if it still does.
type Span struct {
	Kind        string
	From, Until time.Time
}

// Version is one stored version of a document.
type Version struct {
	Kind   string
	Seen   time.Time
	Digest string
	Bytes  int
	Level  int
	// First is set for the first version of its format; Severity is what the change from the
	// version before means to callers, "" where that was not compared.
	First    bool
	Severity string

	url string
}

// Document is a document that the host publishes at the date.
type Document struct {
	Kind       string
	Digest     string
	MediaType  string // without parameters, in lower case
	Bytes      int
	Tokens     int // 0 where the bytes are not stored
	Level      int
	Errors     int // findings of each severity
	Warnings   int
	Rules      []string // codes of the errors and warnings, in order, each once
	Verbs      []string // in order, one for each operation
	Counted    []string // those of the operations that count for the host: see countOperations
	Namespaces []string
	Classes    []string // of data
	Categories []string
	Languages  []string
	Fetched    time.Time

	judged     []protocol.Finding // what conformance.Judge needs
	operations []operationRecord  // until they are counted
}

// What robots.txt allows.
const (
	robotsNone    = "none"    // there is no robots.txt
	robotsOpen    = "open"    // it forbids none of the paths that we ask for
	robotsPartly  = "partly"  // it forbids some
	robotsClosed  = "closed"  // it forbids everything
	robotsFailed  = "failed"  // it could not be read, which counts as closed
	robotsUnknown = "unknown" // it was not requested
)

// hostRecord is the part of a crawler.Host that the census reads. Reading all of it takes three
// times as long.
type hostRecord struct {
	Name    string                 `json:"name"`
	Added   time.Time              `json:"added"`
	Visited time.Time              `json:"visited"`
	Fetches map[string]fetchRecord `json:"fetches"`
	Robots  *robotsRecord          `json:"robots"`
	TLS     *struct {
		Version string `json:"version"`
	} `json:"tls"`
}

// robotsRecord is the part of a fetch.Robots that the census reads.
type robotsRecord struct {
	Disallowed fetch.PathSet `json:"disallowed"`
	Open       bool          `json:"open"`
}

// fetchRecord is the part of a fetch.Fetch that the census reads.
type fetchRecord struct {
	Outcome fetch.Outcome `json:"outcome"`
	Status  int           `json:"status"`
	At      time.Time     `json:"at"`
}

// documentRecord is the part of a document.Document that the census reads.
type documentRecord struct {
	Kind      string    `json:"kind"`
	Digest    string    `json:"digest"`
	Size      int       `json:"size"`
	MediaType string    `json:"media_type"`
	FetchedAt time.Time `json:"fetched_at"`
	ChangedAt time.Time `json:"changed_at"`
	Level     int       `json:"level"`
	Service   struct {
		Name       string   `json:"name"`
		Namespace  string   `json:"namespace"`
		Domain     string   `json:"domain"`
		Categories []string `json:"categories"`
		Languages  []string `json:"languages"`
	} `json:"service"`
	Operations  []operationRecord `json:"operations"`
	DataClasses []struct {
		Name string `json:"name"`
	} `json:"data_classes"`
	Findings []struct {
		Code     string            `json:"code"`
		Severity protocol.Severity `json:"severity"`
	} `json:"findings"`
}

// operationRecord is the part of a document.Operation that the census reads: its verb, and what
// identifies it in another document of the host.
type operationRecord struct {
	Verb   string          `json:"verb"`
	Path   string          `json:"path"`
	Intent string          `json:"intent"`
	Effect document.Effect `json:"effect"`
	Call   struct {
		Method string `json:"method"`
		URL    string `json:"url"`
	} `json:"call"`
}

func (r *operationRecord) twinKeys() entry.TwinKeys {
	return entry.TwinKeysOf(&document.Operation{
		Verb: r.Verb, Path: r.Path, Intent: r.Intent, Effect: r.Effect, Call: document.Call{Method: r.Call.Method, URL: r.Call.URL},
	})
}

// versionRecord is the part of a crawler.Version that the census reads.
type versionRecord struct {
	Size  int    `json:"size"`
	Level int    `json:"level"`
	URL   string `json:"url"`
}

// turnRecord is the part of a conformance.Turn that the census reads.
type turnRecord struct {
	At       time.Time            `json:"at"`
	Measured time.Time            `json:"measured"`
	Standing conformance.Standing `json:"standing"`
}

// appendTurn adds a turn to those before it. Where the clock was wrong, Measured has the time that
// it showed later; no turn comes before the one that was recorded before it.
func appendTurn(turns []Turn, r turnRecord) []Turn {
	t := Turn{r.At, r.Standing}
	if !r.Measured.IsZero() {
		t.At = r.Measured
	}
	if n := len(turns); n > 0 && t.At.Before(turns[n-1].At) {
		t.At = turns[n-1].At
	}
	return append(turns, t)
}

// decodeRecord reads a stored record. Records are our own, so a text that is not a record is damage.
func decodeRecord(text []byte, into any) error { return json.Unmarshal(text, into) }

// blockRecord is the part of a crawler.Block that the census reads.
type blockRecord struct {
	By         string    `json:"by"`
	Since      time.Time `json:"since"`
	Subdomains bool      `json:"subdomains"`
}

// newDocument keeps what the census needs of a document.
func newDocument(r *documentRecord, tokens int) Document {
	media, _, _ := strings.Cut(r.MediaType, ";")
	d := Document{
		Kind: r.Kind, Digest: r.Digest, MediaType: strings.ToLower(strings.TrimSpace(media)), Bytes: r.Size, Tokens: tokens, Level: r.Level,
		Fetched: r.FetchedAt, Categories: uniqueWords(append(slices.Clone(r.Service.Categories), r.Service.Domain)), Languages: uniqueWords(r.Service.Languages),
	}
	// AGIS §8.2(d): the domain qualifies verbs where no namespace does.
	d.Namespaces = uniqueWords([]string{cmp.Or(r.Service.Namespace, r.Service.Domain)})
	for _, f := range r.Findings {
		switch f.Severity {
		case protocol.Error:
			if d.Errors++; d.Errors == 1 {
				d.judged = append(d.judged, protocol.Finding{Severity: protocol.Error})
			}
		case protocol.Warning:
			d.Warnings++
		default:
			continue
		}
		d.Rules = append(d.Rules, f.Code)
	}
	for _, f := range r.Findings {
		if conformance.Contradicts(f.Code) {
			d.judged = append(d.judged, protocol.Finding{Code: f.Code, Severity: f.Severity})
		}
	}
	slices.Sort(d.Rules)
	d.Rules = slices.Compact(d.Rules)
	d.operations = r.Operations
	for _, o := range r.Operations {
		d.Verbs = append(d.Verbs, o.Verb)
	}
	slices.Sort(d.Verbs)
	for _, c := range r.DataClasses {
		d.Classes = append(d.Classes, c.Name)
	}
	d.Classes = uniqueWords(d.Classes)
	return d
}

// newDocumentOf is newDocument for a document that was read from its bytes.
func newDocumentOf(d *document.Document, tokens int) (Document, error) {
	var r documentRecord
	text, err := jsonv1.Marshal(d) // as it is stored
	if err = errors.Join(err, decodeRecord(text, &r)); err != nil {
		return Document{}, fmt.Errorf("read a document of %s: %w", d.Host, err)
	}
	return newDocument(&r, tokens), nil
}

// countOperations finds the operations of a host's documents that count for it, as search does: those
// of an alias are at another address, those of a summary are in the full document, if there is one,
// and what two documents describe counts in one of them.
func countOperations(documents []Document) {
	full := slices.ContainsFunc(documents, func(d Document) bool { return describesOperations(d.Kind, len(d.Verbs)) })
	twins := findTwins(documents)
	for i := range documents {
		d := &documents[i]
		if countsOperations(d.Kind, full) {
			d.Counted = d.Verbs
		}
		if yields, _ := entry.TwinKinds(); d.Kind == string(yields) {
			d.Counted = leaveOut(d, twins)
		}
	}
	for i := range documents {
		documents[i].operations = nil
	}
}

// leaveOut returns the verbs of a document without the operations at these indexes.
func leaveOut(d *Document, places map[int]int) []string {
	if len(places) == 0 {
		return d.Verbs
	}
	verbs := make([]string, 0, len(d.operations))
	for n, o := range d.operations {
		if _, out := places[n]; !out {
			verbs = append(verbs, o.Verb)
		}
	}
	slices.Sort(verbs)
	return verbs
}

// findTwins returns the operations that a second document of a host describes, too, by their places in
// the document that yields.
func findTwins(documents []Document) map[int]int {
	yields, remains := entry.TwinKinds()
	find := func(kind document.Kind) int {
		return slices.IndexFunc(documents, func(d Document) bool { return d.Kind == string(kind) })
	}
	first, second := find(yields), find(remains)
	if first < 0 || second < 0 {
		return nil
	}
	return entry.PairTwins(documents[first].twinKeys(), documents[second].twinKeys())
}

func (d *Document) twinKeys() []entry.TwinKeys {
	keys := make([]entry.TwinKeys, len(d.operations))
	for n := range d.operations {
		keys[n] = d.operations[n].twinKeys()
	}
	return keys
}

// uniqueWords returns the texts in lower case and in order, each once, none of them empty.
func uniqueWords(texts []string) []string {
	var words []string
	for _, t := range texts {
		if t = strings.ToLower(strings.TrimSpace(t)); t != "" {
			words = append(words, t)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// robotsState says what the robots.txt of a host allows.
func (h *hostRecord) robotsState() string {
	f, asked := h.Fetches[fetch.KindRobots]
	switch {
	case h.Robots == nil && !asked:
		return robotsUnknown
	case asked && f.Outcome == fetch.Absent:
		return robotsNone
	case asked && f.Outcome != fetch.OK && f.Outcome != fetch.Unchanged:
		return robotsFailed
	case h.Robots == nil:
		return robotsUnknown
	case h.Robots.Open:
		return robotsOpen
	case h.Robots.Disallowed == 0:
		return robotsOpen
	case h.Robots.Disallowed&fetch.EveryPath != 0:
		return robotsClosed
	}
	return robotsPartly
}

// listFetches lists the last fetches, in order of kind.
func (h *hostRecord) listFetches() []liveFetch {
	list := make([]liveFetch, 0, len(h.Fetches))
	for kind, f := range h.Fetches {
		list = append(list, liveFetch{kind, f.Outcome, f.Status})
	}
	slices.SortFunc(list, func(a, b liveFetch) int { return strings.Compare(a.Kind, b.Kind) })
	return list
}

// judgeHost judges a host by its last fetches and current documents.
func judgeHost(fetches []liveFetch, docs []Document) conformance.Standing {
	in := conformance.Input{}
	for _, f := range fetches {
		in.Fetches = append(in.Fetches, fetch.Fetch{Kind: f.Kind, Outcome: f.Outcome, Status: f.Status})
	}
	for _, d := range docs {
		in.Documents = append(in.Documents, document.Document{Kind: document.Kind(d.Kind), Level: d.Level, Findings: d.judged})
	}
	return conformance.Judge(in).Standing()
}

// standingAt returns the standing that the history has for a time, and false before its beginning.
func standingAt(turns []Turn, at time.Time) (conformance.Standing, bool) {
	for _, t := range slices.Backward(turns) {
		if !t.At.After(at) {
			return t.Standing, true
		}
	}
	return conformance.Standing{}, false
}
