package entry

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
	bleveDocument "github.com/blevesearch/bleve/v2/document"
	api "github.com/blevesearch/bleve_index_api"

	"gazetteer/document"
	"gazetteer/index/query"
	"gazetteer/index/tokens"
	"gazetteer/index/translate"
	"gazetteer/protocol"
)

// A document becomes one entry for each of its operations, one for its service and one for each of
// its data classes. Only the service's entry contains the texts about the whole service; a search
// applies them to its operations.

// A Field is one of the texts of an entry in which words are searched.
type Field uint8

// The fields, in the order in which a match is preferred when it is explained.
const (
	ActField  Field = iota // of an operation: verb, path nouns, capability id
	WhatField              // of an operation: intent, outcome, parameter hints
	CtxField               // of an operation: parameter names; of a service: its description
	HeldField              // of a data class: its name and description
	NumFields
)

// String returns the field's name in the index and in an answer.
func (f Field) String() string {
	return [NumFields]string{"act", "what", "ctx", "held"}[f]
}

// IDField is bleve's own field of entry ids.
const IDField = "_id"

// A keyword is the value of a keyword field.
type keyword struct{ field, value string }

// An Entry is the indexed content of one operation, service or data class: prepared texts by field,
// and the values of the filters.
type Entry struct {
	Text     [NumFields]string
	keywords []keyword
}

// MaxOperations is the maximum number of indexed operations of one document; an ordinal has two
// bytes. A document of 262,144 bytes cannot hold more.
const MaxOperations = 1 << 16

// MaxClassEntries is the maximum number of data classes of one document with an entry.
const MaxClassEntries = 1 << 12

// maxListed is the number of characters of a list of names (data classes, parameters) that count.
const maxListed = 500

// OperationTexts returns the prepared texts of the entry of an operation.
func OperationTexts(o *document.Operation) [NumFields]string {
	return [NumFields]string{ActField: ActText(o), WhatField: whatText(o), CtxField: parameterNames(o)}
}

// TranslationsOf returns the translated words of the purpose of an operation, which are indexed with
// its description.
func TranslationsOf(o *document.Operation) []translate.Translation {
	return translationsFrom(o, translate.LanguageOf(o.Intent))
}

// translationsFrom returns the translated words of an operation that is described in a language.
func translationsFrom(o *document.Operation, language string) []translate.Translation {
	return append(translate.TranslateText(language, o.Intent), translate.TranslateText(language, o.Outcome)...)
}

// ServiceTranslationsOf returns the translated words of the description of the whole service.
func ServiceTranslationsOf(d *document.Document) []translate.Translation {
	return translate.TranslateText(translate.LanguageOf(d.Service.Description), d.Service.Description)
}

// withMeanings returns a text with the English meanings of its words, each once.
func withMeanings(text string, words []translate.Translation) string {
	if len(words) == 0 {
		return text
	}
	var meanings []string
	for _, w := range words {
		for _, m := range w.Meanings {
			if !slices.Contains(meanings, m) {
				meanings = append(meanings, m)
			}
		}
	}
	return text + " " + strings.Join(meanings, " ")
}

// OperationEntry is the entry of an operation.
func OperationEntry(o *document.Operation) Entry {
	e := Entry{Text: OperationTexts(o)}
	language := translate.LanguageOf(o.Intent)
	e.Text[WhatField] = withMeanings(e.Text[WhatField], translationsFrom(o, language))
	e.addKeyword(query.VerbField, query.CanonicalVerb(o.Verb))
	class, _ := ClassOf(o)
	e.addKeyword(query.EffectField, EffectValue(o, class))
	e.addKeyword(ClassField, classValue(o, class, language))
	e.addKeyword(TwinField, twinKeysOf(o, class).Value())
	e.addKeyword(query.IdempotentField, idempotentValue(o))
	e.addKeyword(query.CapabilityField, query.CanonicalWord(o.Capability))
	e.addKeyword(query.ProtocolField, query.CanonicalWord(o.Call.Protocol))
	return e
}

// ServiceEntry is the entry of the service that a document describes.
func ServiceEntry(d *document.Document) Entry {
	e := Entry{Text: [NumFields]string{CtxField: withMeanings(ServiceText(d), ServiceTranslationsOf(d))}}
	// AGIS §8.2(d): the domain qualifies verbs where no namespace does.
	e.addKeyword(query.NamespaceField, query.CanonicalWord(cmp.Or(d.Service.Namespace, d.Service.Domain)))
	e.addKeyword(query.DomainField, query.CanonicalWord(d.Service.Domain))
	e.addKeyword(ServiceNameField, ServiceName(d.Service.Name))
	e.addKeyword(ServiceNameField, HostName(d.Host))
	e.addKeyword(query.AuthField, cmp.Or(query.CanonicalWord(d.Service.Auth), query.UnknownValue))
	e.addKeyword(query.LevelField, strconv.Itoa(d.Level))
	e.addKeyword(query.StateField, StateOf(d))
	e.addKeyword(query.SourceField, string(d.Source))
	for _, c := range d.DataClasses {
		e.addKeyword(query.ClassField, query.CanonicalWord(c.Name))
	}
	for _, p := range d.Service.Protocols {
		e.addKeyword(query.ProtocolField, query.CanonicalWord(p))
	}
	for _, c := range d.Service.Categories {
		e.addKeyword(query.CategoryField, query.CanonicalWord(c))
	}
	for _, l := range d.Service.Languages {
		tag := query.CanonicalWord(l)
		e.addKeyword(query.LanguageField, tag)
		if primary, _, regional := strings.Cut(tag, "-"); regional {
			e.addKeyword(query.LanguageField, primary) // lang:en finds en-GB, too
		}
	}
	return e
}

// ClassEntry is the entry of a data class.
func ClassEntry(c *document.DataClass) Entry {
	var l textJoiner
	l.addText(tokens.PrepareName(c.Name))
	l.addText(tokens.PrepareText(c.Description))
	return Entry{Text: [NumFields]string{HeldField: l.String()}}
}

// addKeyword appends a keyword unless it is already present.
func (e *Entry) addKeyword(field, value string) {
	if k := (keyword{field, value}); value != "" && !slices.Contains(e.keywords, k) {
		e.keywords = append(e.keywords, k)
	}
}

// StateOf returns the conformance state of a document.
func StateOf(d *document.Document) string {
	switch worst, any := protocol.Worst(d.Findings); {
	case any && worst >= protocol.Error:
		return query.StateInvalid
	case any && worst >= protocol.Warning:
		return query.StateFlawed
	}
	return query.StateValid
}

// idempotentValue returns an operation's declaration of idempotency.
func idempotentValue(o *document.Operation) string {
	switch {
	case o.Idempotent == nil:
		return query.UnknownValue
	case *o.Idempotent:
		return "yes"
	default:
		return "no"
	}
}

// ActText returns the names of the operation without repetitions: an AGIS id consists of the verb
// and the path, and the verb of a capability was often derived from its id.
func ActText(o *document.Operation) string {
	var l textJoiner
	if o.ID != o.Verb+" "+o.Path {
		l.addText(tokens.PrepareName(o.ID))
	}
	if !containsWord(l.String(), o.Verb) {
		l.addText(tokens.PrepareName(o.Verb))
	}
	l.addText(tokens.PrepareName(o.Path))
	return l.String()
}

// containsWord reports whether word is one of the words of text, in any case.
func containsWord(text, word string) bool {
	return slices.ContainsFunc(strings.Fields(text), func(w string) bool { return strings.EqualFold(w, word) })
}

// whatText returns the description of the operation's purpose.
func whatText(o *document.Operation) string {
	var l textJoiner
	l.addText(tokens.PrepareText(o.Intent))
	l.addText(tokens.PrepareText(o.Outcome))
	hints := textJoiner{limit: maxListed}
	for _, p := range o.Parameters {
		hints.addText(tokens.PrepareText(p.Description))
	}
	l.addText(hints.String())
	return l.String()
}

// ServiceText returns the description of the whole service.
func ServiceText(d *document.Document) string {
	var l textJoiner
	l.addText(tokens.PrepareText(d.Service.Name))
	l.addText(tokens.PrepareText(d.Service.Description))
	l.addText(tokens.PrepareName(d.Service.Domain))
	names := textJoiner{limit: maxListed}
	for _, c := range d.Service.Categories {
		names.addText(tokens.PrepareName(c))
	}
	for _, c := range d.DataClasses {
		names.addText(tokens.PrepareName(c.Name))
	}
	l.addText(names.String())
	return l.String()
}

func parameterNames(o *document.Operation) string {
	names := textJoiner{limit: maxListed}
	for _, p := range o.Parameters {
		names.addText(tokens.PrepareName(p.Name))
	}
	return names.String()
}

// A textJoiner joins texts with spaces, up to a limit in bytes (0: none). It omits a text that
// would exceed the limit.
type textJoiner struct {
	strings.Builder
	limit int
}

func (l *textJoiner) addText(s string) {
	if s == "" || l.limit > 0 && l.Len()+len(s) > l.limit {
		return
	}
	if l.Len() > 0 {
		l.WriteByte(' ')
	}
	l.WriteString(s)
}

// Source names a document: where it was published, and in which format.
type Source struct {
	Host string
	Kind document.Kind
}

// A Kind is the kind of an entry.
type Kind uint8

const (
	KindOperation Kind = iota
	KindService
	KindClass
)

// PrintBytes is the length of a fingerprint: 48 bits tell two versions of one document apart.
const PrintBytes = 6

// kindCodes has the kinds of documents in ids: the code of each is its place, counted from 'a'. They
// are sorted, so that ids are sorted as kinds are.
var kindCodes = []document.Kind{document.AGIS, document.AGISSummary, document.AI, document.AIAlias, document.LLMS}

// HasKind reports whether the index has entries for documents of a kind.
func HasKind(k document.Kind) bool { return slices.Contains(kindCodes, k) }

// afterOperations begins the places of the other entries of a document, longer than that of any
// operation, so that they come after it.
const afterOperations = "\xff\xff"

// ID is the id of an entry: host, NUL, kind, fingerprint and place. Live entries are sorted by host,
// document kind, entry kind and ordinal, because a document has one fingerprint at a time. bleve
// stores each id as it is, so it is short.
func ID(s Source, print string, of Kind, ordinal int) string {
	id := make([]byte, 0, len(s.Host)+2+len(print)+2*len(afterOperations))
	id = append(append(id, s.Host...), 0, 'a'+byte(slices.Index(kindCodes, s.Kind)))
	id = append(id, print...)
	switch of {
	case KindService:
		return string(append(append(id, afterOperations...), 's'))
	case KindClass:
		id = append(id, afterOperations...)
		id = append(id, 't')
	}
	return string(binary.BigEndian.AppendUint16(id, uint16(ordinal)))
}

// SplitID splits an id. ok is false for an invalid id, which only damage can cause.
func SplitID(id string) (s Source, print string, of Kind, ordinal int, ok bool) {
	host, rest, _ := strings.Cut(id, "\x00")
	if host == "" || len(rest) < 1+PrintBytes || int(rest[0]-'a') >= len(kindCodes) {
		return Source{}, "", 0, 0, false
	}
	s, print, rest = Source{host, kindCodes[rest[0]-'a']}, rest[1:1+PrintBytes], rest[1+PrintBytes:]
	if len(rest) > 2 {
		switch rest[:len(afterOperations)+1] {
		case afterOperations + "s":
			return s, print, KindService, 0, len(rest) == len(afterOperations)+1
		case afterOperations + "t":
			of, rest = KindClass, rest[len(afterOperations)+1:]
		}
	}
	if len(rest) != 2 {
		return Source{}, "", 0, 0, false
	}
	return s, print, of, int(binary.BigEndian.Uint16([]byte(rest))), true
}

// BleveEntry converts an entry to bleve's form. It stores no texts, positions of terms or column
// values: texts come from the store, and the scorer needs only the frequency of a term and the
// length of its field.
func BleveEntry(id string, e Entry, a analysis.Analyzer) *bleveDocument.Document {
	d := bleveDocument.NewDocument(id)
	for f, text := range e.Text {
		if text != "" {
			d.AddField(bleveDocument.NewTextFieldCustom(Field(f).String(), nil, []byte(text), api.IndexField, a))
		}
	}
	for _, k := range e.keywords {
		d.AddField(bleveDocument.NewTextFieldCustom(k.field, nil, []byte(k.value), api.IndexField|api.SkipFreqNorm, nil))
	}
	return d
}
