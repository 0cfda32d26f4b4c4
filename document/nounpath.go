package document

import (
	"net/url"
	"regexp"
	"strings"
)

// servedBelow matches the parts of an HTTP path that are not part of the noun: where an API is served,
// and its version.
var servedBelow = regexp.MustCompile(`^(api|rest|v[0-9]+(\.[0-9]+)*)$`)

// NounPath returns the path that a call of the operation names, with all placeholders alike and without
// what differs between the formats; "" if it names none. Two documents of a host that describe one
// operation have the same.
func (o *Operation) NounPath() string {
	path := o.Path
	if path == "" { // no AGIS endpoint
		address, err := url.Parse(o.Call.URL)
		if err != nil {
			return ""
		}
		path = address.Path
	}
	var parts []string
	for part := range strings.SplitSeq(strings.ToLower(path), "/") {
		placeholder := strings.HasPrefix(part, "{") || strings.HasPrefix(part, ":")
		switch {
		case part == "", servedBelow.MatchString(part):
		case placeholder && len(parts) == 0: // such as the user of all paths of a service
		case placeholder:
			parts = append(parts, "{}")
		default:
			parts = append(parts, part)
		}
	}
	if last := len(parts) - 1; last > 0 && o.Path == "" && parts[last] == strings.ToLower(o.Verb) {
		parts = parts[:last] // POST /appointments/{id}/book is BOOK /appointments/{id}
	}
	return strings.Join(parts, "/")
}
