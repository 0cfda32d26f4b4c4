package conversion

import (
	"gazetteer/protocol"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
	"regexp"
	"slices"
)

func QuoteJSON(s string) string { return string(protocol.WriteJSON(tree.String(s), "")) }

// A namedType is what a word of the notation means in JSON Schema.
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

// NamedTypes are the words that people write for types.
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

// Words that names of fields end in, by the type they suggest.
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

// GuessType puts the type that a name suggests.
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

// MaxParameters is how many parameters of one operation are taken.
const MaxParameters = 200

// AnySchema is the schema that says nothing.
func AnySchema() *protocol.Node { return tree.Object() }

var UnsafeNameRunes = regexp.MustCompile(`[^A-Za-z0-9_.\-]+`)

const (
	// maxSchemaText is how long a description inside a schema may be.
	MaxSchemaText = 200
	// maxChoices is how many members of a list or an object in a schema are
	// taken.
	MaxChoices = 500
	// maxLiteral is the longest number that readers take.
	MaxLiteral = 32
	// maxKey is the longest name of a property.
	MaxKey = 128
)

// IsShortNumber reports whether n is a number that a document can hold.
func IsShortNumber(n *protocol.Node) bool {
	return tree.IsKind(n, protocol.Number) && len(n.Text) <= MaxLiteral
}

// IsShortScalar reports whether n is a short value without parts.
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

// IsUsableKey reports whether a property's name is short and holds nothing that a
// person does not see.
func IsUsableKey(name string) bool {
	_, control := protocol.ControlRune(name)
	return len(name) <= MaxKey && !control && wording.DropInstruction(name) == name
}

// RequiredNames returns the different names of a list; nil when there are none.
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
