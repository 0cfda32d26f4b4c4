package changepages

import (
	"fmt"
	"slices"
	"strings"

	"gazetteer/changefeed"
	"gazetteer/protocol/did"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// A namedFilter is a filter of the feed with one value.
type namedFilter struct{ Name, Label, Value string }

// addressFilters are the filters of the feed that an address can have, as in the API, and the form of
// the page does not.
var addressFilters = []struct{ name, label string }{{"kind", "kind"}, {"verb", "verb"}, {"ns", "namespace"}, {"rule", "rule"}, {"agent", "agent"}}

// readAddressFilters adds the filters in the address to filter, and returns them.
func readAddressFilters(c *gin.Context, filter *changefeed.Filter) ([]namedFilter, error) {
	var found []namedFilter
	for _, f := range addressFilters {
		for _, value := range c.QueryArray(f.name) {
			if value = strings.TrimSpace(value); value != "" {
				found = append(found, namedFilter{f.name, f.label, value})
			}
		}
	}
	for _, f := range found {
		switch f.Name {
		case "kind":
			if kind := changefeed.Kind(strings.ToLower(f.Value)); slices.Contains(changefeed.Kinds(), kind) {
				filter.Kinds = append(filter.Kinds, kind)
				continue
			}
			return nil, frame.BadRequest(fmt.Sprintf("%q is no kind of change", frame.ClipPlain(40, f.Value)), "The kinds are "+listKinds()+".")
		case "verb":
			filter.Verbs = append(filter.Verbs, f.Value)
		case "ns":
			filter.Namespaces = append(filter.Namespaces, f.Value)
		case "rule":
			filter.Rules = append(filter.Rules, f.Value)
		case "agent":
			if did.CheckAirID(f.Value) != nil {
				return nil, frame.BadRequest(fmt.Sprintf("%q is not an AIR ID", frame.ClipPlain(60, f.Value)), "An AIR ID looks like AIR-7G3K-M9JQ-X2PT.")
			}
			filter.Agents = append(filter.Agents, f.Value)
		}
	}
	return found, nil
}

// listKinds lists the kinds of changes in one line.
func listKinds() string {
	var kinds []string
	for _, k := range changefeed.Kinds() {
		kinds = append(kinds, string(k))
	}
	return strings.Join(kinds, ", ")
}
