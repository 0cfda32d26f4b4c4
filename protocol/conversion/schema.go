package conversion

import (
	"regexp"
	"slices"

	"gazetteer/protocol"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

func QuoteJSON(s string) string { return string(protocol.WriteJSON(tree.String(s), "")) }

// A NamedType is the type and format in JSON Schema of a word.
type NamedType struct {
	Type, Format string
}

func (t NamedType) ApplyTo(n *protocol.Node) {
	if t.Type != "" && n.Member("type") == nil {
		tree.Put(n, "type", tree.String(t.Type))
	}
	if t.Format != "" && n.Member("format") == nil {
		tree.Put(n, "format", tree.String(t.Format))
	}
}

// NamedTypes maps the words that people write for types.
var NamedTypes = map[string]NamedType{
	"string": {"string", ""}, "str": {"string", ""}, "text": {"string", ""}, "varchar": {"string", ""}, "char": {"string", ""},
	"int": {"integer", ""}, "integer": {"integer", ""}, "int32": {"integer", ""}, "int64": {"integer", ""}, "long": {"integer", ""},
	"number": {"number", ""}, "float": {"number", ""}, "double": {"number", ""}, "decimal": {"number", ""},
	"bool": {"boolean", ""}, "boolean": {"boolean", ""}, "flag": {"boolean", ""},
	"array": {"array", ""}, "list": {"array", ""}, "object": {"object", ""}, "map": {"object", ""}, "dict": {"object", ""}, "json": {"object", ""},
	"null": {"null", ""},
	"date": {"string", "date"}, "time": {"string", "time"}, "datetime": {"string", "date-time"}, "date-time": {"string", "date-time"},
	"timestamp": {"string", "date-time"}, "duration": {"string", "duration"},
	"uuid": {"string", "uuid"}, "email": {"string", "email"}, "uri": {"string", "uri"}, "url": {"string", "uri"},
	"hostname": {"string", "hostname"}, "ipv4": {"string", "ipv4"}, "ipv6": {"string", "ipv6"},
}

// Words at the end of field names, by the type that they suggest.
var (
	integerNames = []string{"count", "size", "quantity", "qty", "limit", "offset", "page", "number", "total", "age", "minutes",
		"seconds", "hours", "days", "guests", "seats", "year", "priority", "rank", "version"}
	decimalNames = []string{"amount", "price", "cost", "rate", "balance", "latitude", "longitude", "lat", "lon", "lng", "score",
		"percentage", "percent", "ratio", "distance", "weight", "temperature", "fee"}
	booleanFirst = []string{"is", "has", "include", "allow", "enable", "can", "should"}
	booleanNames = []string{"enabled", "active", "confirmed", "available", "success", "verified"}
	dateNames    = []string{"date", "birthday"}
	momentNames  = []string{"datetime", "timestamp", "at", "time"}
)

// GuessType sets the type that a field name suggests.
func GuessType(n *protocol.Node, name string) {
	words := wording.IdentifierWords(name)
	first, last := "", ""
	if len(words) > 0 {
		first, last = words[0], words[len(words)-1]
	}
	t := NamedType{Type: "string"}
	switch {
	case len(words) > 1 && slices.Contains(booleanFirst, first) || slices.Contains(booleanNames, last):
		t.Type = "boolean"
	case slices.Contains(integerNames, last):
		t.Type = "integer"
	case slices.Contains(decimalNames, last):
		t.Type = "number"
	case slices.Contains(dateNames, last):
		t.Format = "date"
	case slices.Contains(momentNames, last) && (last != "at" || len(words) > 1):
		t.Format = "date-time"
	case last == "email":
		t.Format = "email"
	case last == "url" || last == "uri":
		t.Format = "uri"
	}
	if t.Type == "string" && t.Format == "" && (last == "ids" || wording.IsPlural(last) && last != "status" && last != "address") {
		t.Type = "array"
	}
	t.ApplyTo(n)
}

// MaxParameters is the highest number of parameters of one operation.
const MaxParameters = 200

// AnySchema returns the schema that accepts any value.
func AnySchema() *protocol.Node { return tree.Object() }

var UnsafeNameRunes = regexp.MustCompile(`[^A-Za-z0-9_.\-]+`)

const (
	// MaxSchemaText is the length limit of a description inside a schema, in characters.
	MaxSchemaText = 200
	// MaxChoices is the highest number of entries copied from one list or object of a schema.
	MaxChoices = 500
	// MaxLiteral is the length of the longest number that readers accept, in bytes.
	MaxLiteral = 32
	// MaxKey is the length of the longest property name, in bytes.
	MaxKey = 128
)

// IsShortNumber reports whether n is a number that readers of documents accept.
func IsShortNumber(n *protocol.Node) bool {
	return tree.IsKind(n, protocol.Number) && len(n.Text) <= MaxLiteral
}

// IsShortScalar reports whether n is a scalar that is short enough for a document.
func IsShortScalar(n *protocol.Node) bool {
	switch n.Kind {
	case protocol.Array, protocol.Object:
		return false
	case protocol.Number:
		return IsShortNumber(n)
	default:
		return len(n.Text) <= 500
	}
}

// IsUsableKey reports whether a property name is short and free of hidden characters.
func IsUsableKey(name string) bool {
	_, control := protocol.ControlRune(name)
	return len(name) <= MaxKey && !control && wording.DropInstruction(name) == name
}

// RequiredNames returns the distinct usable names of a list, nil when there are none.
func RequiredNames(m *protocol.Node) *protocol.Node {
	seen := map[string]bool{}
	out := tree.Array()
	for _, name := range m.Strs() {
		if !seen[name] && IsUsableKey(name) && len(seen) < MaxChoices {
			seen[name] = true
			out.Items = append(out.Items, tree.String(name))
		}
	}
	if len(out.Items) == 0 {
		return nil
	}
	return out
}
