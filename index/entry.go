package index

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
	bleveDocument "github.com/blevesearch/bleve/v2/document"
	api "github.com/blevesearch/bleve_index_api"

	"gazetteer/document"
)

// A field is one of the three texts of an entry that words are looked up in.
type field uint8

// The fields, in the order in which a match is preferred when it is explained.
const (
	actField  field = iota // verb, path nouns, capability id
	whatField              // intent, outcome, parameter hints
	ctxField               // service, domain, data classes, parameter names
	numFields
)

// The keyword fields, for filters.
const (
	verbField      = "verb"
	namespaceField = "ns"
	classField     = "class"

	effectField     = "effect"
	idempotentField = "idempotent"
	levelField      = "level"
)

// idField is bleve's own field of entry ids.
const idField = "_id"

// String returns the field's name in the index and in an answer.
func (f field) String() string {
	return [numFields]string{"act", "what", "ctx"}[f]
}

// An entry is what the index takes from one operation: prepared texts by field,
// and the values of the filters.
type entry struct {
	text      [numFields]string
	service   string // precedes text[ctxField]; the same for all of a document
	verb      string
	namespace string
	classes   []string

	effect, idempotent, level string
}

// maxOperations is how many operations of one document are indexed; an ordinal
// has four hexadecimal digits. A document of 262,144 bytes cannot hold more.
const maxOperations = 1 << 16

// maxListed is how many characters of a list of names (data classes, parameters)
// count.
const maxListed = 500

// entriesOf returns the entries of a document, one an operation and in its
// order.
func entriesOf(d *document.Document) []entry {
	operations := d.Operations[:min(len(d.Operations), maxOperations)]
	service := serviceText(d)
	classes := make([]string, len(d.DataClasses))
	for i, c := range d.DataClasses {
		classes[i] = canonicalClass(c.Name)
	}
	entries := make([]entry, len(operations))
	for i := range operations {
		o := &operations[i]
		entries[i] = entry{
			text:    [numFields]string{actText(o), whatText(o), parameterNames(o)},
			service: service,
			verb:    canonicalVerb(o.Verb),
			// AGIS §8.2(d): the domain qualifies verbs where no namespace does.
			namespace: canonicalNamespace(cmp.Or(d.Service.Namespace, d.Service.Domain)),
			classes:   classes,

			effect:     string(cmp.Or(o.Effect, document.EffectUnknown)),
			idempotent: idempotent(o),
			level:      strconv.Itoa(d.Level),
		}
	}
	return entries
}

// idempotent is what an operation declares about being done twice.
func idempotent(o *document.Operation) string {
	switch {
	case o.Idempotent == nil:
		return "unknown"
	case *o.Idempotent:
		return "yes"
	default:
		return "no"
	}
}

// actText is what the operation is called. What one name already says is not
// said again: an AGIS id is the verb and the path, and the verb of a capability
// was often derived from its id.
func actText(o *document.Operation) string {
	var l joiner
	if o.ID != o.Verb+" "+o.Path {
		l.add(splitName(o.ID))
	}
	if !containsWord(l.String(), o.Verb) {
		l.add(splitName(o.Verb))
	}
	l.add(splitName(o.Path))
	return l.String()
}

// containsWord reports whether word is one of the words of text, in any case.
func containsWord(text, word string) bool {
	for w := range strings.FieldsSeq(text) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// whatText is what the operation says it does.
func whatText(o *document.Operation) string {
	var l joiner
	l.add(splitText(o.Intent))
	l.add(splitText(o.Outcome))
	hints := joiner{limit: maxListed}
	for _, p := range o.Parameters {
		hints.add(splitText(p.Description))
	}
	l.add(hints.String())
	return l.String()
}

// serviceText is what is said of the service as a whole.
func serviceText(d *document.Document) string {
	var l joiner
	l.add(splitText(d.Service.Name))
	l.add(splitText(d.Service.Description))
	l.add(splitName(d.Service.Domain))
	names := joiner{limit: maxListed}
	for _, c := range d.Service.Categories {
		names.add(splitName(c))
	}
	for _, c := range d.DataClasses {
		names.add(splitName(c.Name))
	}
	l.add(names.String())
	return l.String()
}

func parameterNames(o *document.Operation) string {
	names := joiner{limit: maxListed}
	for _, p := range o.Parameters {
		names.add(splitName(p.Name))
	}
	return names.String()
}

// A joiner gathers texts with spaces between, up to a limit in bytes (0: none).
// A text that would pass the limit is left out whole.
type joiner struct {
	strings.Builder
	limit int
}

func (l *joiner) add(s string) {
	if s == "" || l.limit > 0 && l.Len()+len(s) > l.limit {
		return
	}
	if l.Len() > 0 {
		l.WriteByte(' ')
	}
	l.WriteString(s)
}

// printOf returns a short digest of everything the index takes from a document.
// Two documents with one print have the same entries in the same places, so a
// fetch that brought no news for the index changes nothing in it.
func printOf(entries []entry) string {
	h := sha256.New()
	var parts []byte // each with its length before it, so that no two lists read alike
	add := func(part string) {
		parts = binary.AppendUvarint(parts, uint64(len(part)))
		parts = append(parts, part...)
	}
	for i, e := range entries {
		parts = parts[:0]
		if i == 0 {
			add(e.service)
		}
		for _, t := range e.text {
			add(t)
		}
		add(e.verb)
		add(e.namespace)
		add(e.effect)
		add(e.idempotent)
		add(e.level)
		parts = binary.AppendUvarint(parts, uint64(len(e.classes)))
		for _, c := range e.classes {
			add(c)
		}
		h.Write(parts) // never fails
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:printBytes])
}

// printBytes is the length of a print: 48 bits tell two versions of one document
// apart, which is all they are for.
const printBytes = 6

// source names a document: where it was published, and in which format.
type source struct {
	host string
	kind document.Kind
}

// entryID is the id of an entry. Ids sort by host, kind and ordinal among the
// live entries, because a document has one print at a time.
func entryID(s source, print string, ordinal int) string {
	return s.host + "\x00" + string(s.kind) + "\x00" + print + "\x00" + fmt.Sprintf("%04x", ordinal)
}

// splitID takes an id apart. ok is false for an id that entryID did not make,
// which only damage can bring.
func splitID(id string) (s source, print string, ordinal int, ok bool) {
	parts := strings.Split(id, "\x00")
	if len(parts) != 4 || parts[0] == "" {
		return source{}, "", 0, false
	}
	n, err := strconv.ParseUint(parts[3], 16, 16)
	if err != nil || len(parts[3]) != 4 {
		return source{}, "", 0, false
	}
	return source{parts[0], document.Kind(parts[1])}, parts[2], int(n), true
}

// bleveEntries gives the entries of a document the form bleve takes. Nothing is
// stored, no places of terms are kept and no column values: texts come from the
// store, and the scorer needs only how often a term occurs and how long its
// field is.
func bleveEntries(src source, print string, entries []entry, a analysis.Analyzer) []*bleveDocument.Document {
	if len(entries) == 0 {
		return nil
	}
	// Every operation carries the text of its service, which is longer than the
	// rest of it: analysing it once saves half of the work.
	service := afterService{a: a, service: a.Analyze([]byte(entries[0].service))}
	out := make([]*bleveDocument.Document, len(entries))
	for i, e := range entries {
		d := bleveDocument.NewDocument(entryID(src, print, i))
		addText(d, actField, e.text[actField], a)
		addText(d, whatField, e.text[whatField], a)
		addText(d, ctxField, e.text[ctxField], service)
		addKeyword(d, verbField, e.verb)
		addKeyword(d, namespaceField, e.namespace)
		addKeyword(d, effectField, e.effect)
		addKeyword(d, idempotentField, e.idempotent)
		addKeyword(d, levelField, e.level)
		for _, c := range e.classes {
			addKeyword(d, classField, c)
		}
		out[i] = d
	}
	return out
}

// addText adds a field, also when text is empty: the service's may precede it.
func addText(d *bleveDocument.Document, f field, text string, a analysis.Analyzer) {
	d.AddField(bleveDocument.NewTextFieldCustom(f.String(), nil, []byte(text), api.IndexField, a))
}

func addKeyword(d *bleveDocument.Document, name, value string) {
	if value != "" {
		d.AddField(bleveDocument.NewTextFieldCustom(name, nil, []byte(value), api.IndexField|api.SkipFreqNorm, nil))
	}
}

// An afterService analyses what follows the text of a service, with the tokens
// of that text at hand.
type afterService struct {
	a       analysis.Analyzer
	service analysis.TokenStream // only read
}

// Analyze implements analysis.Analyzer.
func (s afterService) Analyze(text []byte) analysis.TokenStream {
	return append(slices.Clip(s.service), s.a.Analyze(text)...)
}
