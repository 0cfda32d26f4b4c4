package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"

	"gazetteer/internal/exit"
	"gazetteer/lint/format"
	"gazetteer/protocol"
)

// strangeError returns the error of an answer that no Gazetteer gives, with what it is instead.
func (c *Client) strangeError(what string) error {
	return exit.Networkf("%s did not answer as Gazetteer would: %s", c.place(), what)
}

// Decode decodes a JSON answer into v. It refuses the JSON of other programs, which has no member of v: it
// would be read as an empty answer.
func (c *Client) Decode(raw []byte, v any) error {
	err := json.Unmarshal(raw, v)
	kind, isKind := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case isKind && kind.Field != "":
		return c.strangeError(fmt.Sprintf("its JSON has a %s as %s", kind.Value, format.Visible(protocol.ClipRunes(kind.Field, maxShownAnswer))))
	case err != nil && !isKind && json.Valid(raw):
		return c.strangeError("its JSON has a value that Gazetteer does not write")
	case err != nil, !hasMemberOf(raw, v):
		return c.strangeError(DescribeBody(raw))
	}
	return nil
}

// hasMemberOf reports whether a JSON value can be meant for v, a pointer: whether it is an object with one of
// the members of the struct there, or empty where all of them can be left out.
func hasMemberOf(raw []byte, v any) bool {
	to := reflect.TypeOf(v).Elem()
	if to.Kind() == reflect.Pointer {
		to = to.Elem()
	}
	if to.Kind() != reflect.Struct {
		return string(raw) != "null"
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return false
	}
	named, required := false, false
	for _, field := range reflect.VisibleFields(to) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() || field.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		named = true
		required = required || !strings.Contains(options, "omit")
		for member := range members {
			if strings.EqualFold(member, name) {
				return true
			}
		}
	}
	return !named || len(members) == 0 && !required
}

// maxShownAnswer is the number of runes of a stranger's answer that an error shows.
const maxShownAnswer = 60

// titlePattern matches the title of a web page.
var titlePattern = regexp.MustCompile(`(?is)<title[^>]*>([^<]*)</title>`)

// pagePattern matches the beginning of a web page.
var pagePattern = regexp.MustCompile(`(?i)^<(?:!doctype|html|head|body|script|meta)\b`)

// DescribeBody says in one line what the body of an answer is that no Gazetteer gives.
func DescribeBody(raw []byte) string {
	text := strings.TrimSpace(protocol.ClipBytes(string(raw[:min(len(raw), 4<<10)]), 4<<10))
	shown := joinLines(format.Visible(protocol.ClipRunes(joinLines(text), maxShownAnswer)))
	switch {
	case text == "":
		return "its answer is empty"
	case !utf8.ValidString(text):
		return "it sent bytes that are no text"
	case pagePattern.MatchString(text):
		title := ""
		if m := titlePattern.FindStringSubmatch(text); m != nil {
			title = joinLines(html.UnescapeString(m[1]))
		}
		if title == "" {
			return "it sent a web page"
		}
		return fmt.Sprintf("it sent a web page, %q", protocol.ClipRunes(title, maxShownAnswer))
	case json.Valid(raw):
		return "it sent other JSON, " + shown
	case text[0] == '{' || text[0] == '[':
		return "its JSON is malformed or cut off"
	}
	return "it sent other text, " + shown
}

// strangeRefusal returns the error of a refusal that no Gazetteer sends, false for others. A proxy can
// have sent it in place of a Gazetteer.
func (c *Client) strangeRefusal(response *http.Response, body []byte, code string) (error, bool) {
	status := response.StatusCode
	answered := fmt.Sprintf("%d %s", status, http.StatusText(status))
	below := code == noRouteCode && c.hasPath()
	switch {
	case status < 400 || !below && isProblem(body):
		return nil, false
	case isOfStranger(status):
		return fmt.Errorf("there is no Gazetteer at %s: the server there answered %s", c.place(), answered), true
	case status == http.StatusBadGateway, status == http.StatusGatewayTimeout: // no Gazetteer sends them
		return fmt.Errorf("the proxy at %s answered %s: the server behind it does not answer; try again in a minute", c.place(), answered), true
	case status == http.StatusBadRequest && strings.HasPrefix(c.Base, "http://") && strings.Contains(string(body), "HTTPS"):
		return fmt.Errorf("%s speaks HTTPS and not HTTP: begin the address with https://", c.place()), true
	}
	return fmt.Errorf("%s answered %s, and not as Gazetteer would: %s", c.place(), answered, DescribeBody(body)), true
}

// hasPath reports whether the address of the server has a path.
func (c *Client) hasPath() bool {
	_, rest, _ := strings.Cut(c.Base, "://")
	return strings.Contains(rest, "/")
}

// isOfStranger reports whether a server other than Gazetteer answers with a status to its addresses
// and methods. A proxy answers with others before a Gazetteer that is down.
func isOfStranger(status int) bool {
	return status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented
}

// isProblem reports whether a body is a problem of a Gazetteer, or an error of the AIR reference.
func isProblem(body []byte) bool {
	var p problem
	return json.Unmarshal(body, &p) == nil && p.formatText() != ""
}
