package frame

import (
	"net/url"
	"slices"
	"strings"
)

// maxUnknown is how many unknown parameters of an address a page names.
const maxUnknown = 3

// campaignParameters are added to links by other sites, and are meant for no page.
var campaignParameters = []string{"fbclid", "gclid", "ref", "source"}

// unknownParameters returns the names in an address that are not among the known ones, sorted; not
// those with which other sites mark links.
func unknownParameters(query url.Values, known []string) []string {
	var unknown []string
	for name := range query {
		if !slices.Contains(known, name) && !slices.Contains(campaignParameters, name) && !strings.HasPrefix(name, "utm_") {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown[:min(len(unknown), maxUnknown)]
}
