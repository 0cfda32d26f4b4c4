package httpsig

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/dunglas/httpsfv"
)

// secretFields are header fields whose values must not occur in an error.
var secretFields = []string{"authorization", "cookie", "proxy-authorization", "x-admin-key", "x-agent-secret"}

// hidden replaces the value of a secret field in a signature base that is shown.
const hidden = "(hidden)"

// signatureBase returns the signature base (RFC 9421 §2.5), and the same with the values
// of secret fields hidden.
func signatureBase(m Message, list httpsfv.InnerList) (signed, shown string, err error) {
	var b, show strings.Builder
	seen := map[string]bool{}
	for _, item := range list.Items {
		id, err := httpsfv.Marshal(item)
		if err != nil {
			return "", "", &Error{Code: CodeSyntax, Message: "a covered component cannot be written: " + err.Error()}
		}
		if seen[id] {
			return "", "", &Error{Code: CodeSyntax, Message: fmt.Sprintf("the component %s is covered twice", id),
				Help: "name each component once (RFC 9421 §2)"}
		}
		seen[id] = true
		value, err := componentValue(m, id, item)
		if err != nil {
			return "", "", err
		}
		b.WriteString(id + ": " + value + "\n")
		if name, _ := item.Value.(string); slices.Contains(secretFields, name) {
			value = hidden
		}
		show.WriteString(id + ": " + value + "\n")
	}
	params, err := httpsfv.Marshal(list)
	if err != nil {
		return "", "", &Error{Code: CodeSyntax, Message: "the parameters of the signature cannot be written: " + err.Error()}
	}
	last := `"@signature-params": ` + params
	return b.String() + last, show.String() + last, nil
}

// componentValue returns the value of one covered component.
func componentValue(m Message, id string, item httpsfv.Item) (string, error) {
	name, ok := item.Value.(string)
	if !ok || name == "" {
		return "", &Error{Code: CodeSyntax, Message: fmt.Sprintf("the component %s is not a string", id)}
	}
	if strings.HasPrefix(name, "@") {
		return derivedValue(m, id, name, item.Params)
	}
	return fieldValue(m, id, name, item.Params)
}

func unknownComponent(id, help string) *Error {
	return &Error{Code: CodeComponent, Message: fmt.Sprintf("the component %s is not known for a request", id), Help: help}
}

// derivedValue returns the value of a component whose name begins with "@"
// (RFC 9421 §2.2).
func derivedValue(m Message, id, name string, params *httpsfv.Params) (string, error) {
	if name == "@query-param" {
		return queryParam(m, id, params)
	}
	if len(params.Names()) > 0 {
		return "", unknownComponent(id, "cover it without parameters")
	}
	query := ""
	if m.Query != "" {
		query = "?" + m.Query
	}
	switch name {
	case "@method":
		return m.Method, nil
	case "@authority":
		return m.authority(), nil
	case "@scheme":
		return strings.ToLower(m.Scheme), nil
	case "@path":
		return m.path(), nil
	case "@query":
		return "?" + m.Query, nil
	case "@request-target":
		return m.path() + query, nil
	case "@target-uri":
		return strings.ToLower(m.Scheme) + "://" + m.authority() + m.path() + query, nil
	}
	return "", unknownComponent(id, "of those that begin with @ there are @method, @authority, @scheme, @path, @query, @query-param, @request-target and @target-uri")
}

// queryParam returns the value of @query-param (RFC 9421 §2.2.8).
func queryParam(m Message, id string, params *httpsfv.Params) (string, error) {
	name, ok := params.Get("name")
	text, isText := name.(string)
	if !ok || !isText || len(params.Names()) != 1 {
		return "", unknownComponent(id, `write "@query-param";name="…"`)
	}
	values, err := url.ParseQuery(m.Query)
	if err != nil {
		return "", &Error{Code: CodeComponent, Message: "the query cannot be read, so no parameter of it can be covered", Help: "cover @query"}
	}
	for given, list := range values {
		if escapeQuery(given) != text {
			continue
		}
		if len(list) > 1 {
			return "", &Error{Code: CodeComponent, Message: fmt.Sprintf("%s occurs %d times in the query", id, len(list)), Help: "cover @query"}
		}
		return escapeQuery(list[0]), nil
	}
	return "", &Error{Code: CodeComponent, Message: fmt.Sprintf("the query has no parameter for %s", id), Got: "?" + m.Query}
}

// escapeQuery is the percent-encoding of RFC 9421 §2.2.8: space becomes %20.
func escapeQuery(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// fieldValue returns the value of a header field (RFC 9421 §2.1).
func fieldValue(m Message, id, name string, params *httpsfv.Params) (string, error) {
	if name != strings.ToLower(name) {
		return "", &Error{Code: CodeSyntax, Message: fmt.Sprintf("the name of the component %s is not in lowercase", id)}
	}
	values := m.Header.Values(name)
	if name == "host" && len(values) == 0 {
		values = []string{m.Authority} // net/http takes it out of the header
	}
	if len(values) == 0 {
		return "", &Error{Code: CodeComponent, Message: fmt.Sprintf("the request has no header %s, which the signature covers", name),
			Help: "send the header, or sign without it; a proxy may have removed it"}
	}
	values = slices.Clone(values)
	for i, v := range values {
		values[i] = strings.TrimSpace(v)
	}
	names := params.Names()
	switch {
	case len(names) == 0:
		return strings.Join(values, ", "), nil
	case len(names) == 1 && names[0] == "bs":
		return byteSequences(values), nil
	case len(names) == 1 && names[0] == "key":
		return memberValue(id, name, values, params)
	}
	return "", unknownComponent(id, "of the parameters only key and bs are known")
}

// byteSequences is the parameter bs (RFC 9421 §2.1.3).
func byteSequences(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = ":" + base64.StdEncoding.EncodeToString([]byte(v)) + ":"
	}
	return strings.Join(out, ", ")
}

// memberValue is the parameter key (RFC 9421 §2.1.2): one member of a dictionary.
func memberValue(id, name string, values []string, params *httpsfv.Params) (string, error) {
	key, _ := params.Get("key")
	text, ok := key.(string)
	dictionary, err := httpsfv.UnmarshalDictionary(values)
	if !ok || err != nil {
		return "", &Error{Code: CodeComponent, Message: fmt.Sprintf("the header %s is no dictionary, as %s needs", name, id)}
	}
	value, ok := dictionary.Get(text)
	if !ok {
		return "", &Error{Code: CodeComponent, Message: fmt.Sprintf("the header %s has no member for %s", name, id)}
	}
	written, err := httpsfv.Marshal(value)
	if err != nil {
		return "", &Error{Code: CodeComponent, Message: fmt.Sprintf("the member for %s cannot be written: %v", id, err)}
	}
	return written, nil
}
