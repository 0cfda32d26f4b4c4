package frame

import "gazetteer/fetch"

var outcomeWords = map[fetch.Outcome]string{
	fetch.OK:               "Fetched",
	fetch.Unchanged:        "Unchanged since the last visit",
	fetch.Absent:           "Not found",
	fetch.Forbidden:        "Requires authentication",
	fetch.RefusedByRobots:  "Not requested: disallowed by robots.txt",
	fetch.TooLarge:         "Too large",
	fetch.InsecureRedirect: "Redirect to an address that is not https",
	fetch.TooManyRedirects: "Too many redirects",
	fetch.BadRedirect:      "Redirect without a usable address",
	fetch.BadMediaType:     "Wrong media type",
	fetch.OtherFormat:      "Another format is published here",
	fetch.Unreadable:       "Not readable as this format",
	fetch.BlockedAddress:   "Resolves to a private address",
	fetch.BadAddress:       "Not a valid address",
	fetch.BadHost:          "Not a public host name",
	fetch.TLSFailed:        "No valid TLS connection",
	fetch.DNSFailed:        "The name does not resolve",
	fetch.Timeout:          "Timed out",
	fetch.Unreachable:      "Could not connect",
	fetch.Throttled:        "Asked to wait (Retry-After)",
	fetch.ServerError:      "Server error",
	fetch.BadStatus:        "Unexpected status",
	fetch.OptedOut:         "Not requested: opted out by the owner",
	fetch.CatchAll:         "Answers every path alike",
}

// DescribeOutcome returns the words for the outcome of a fetch.
func DescribeOutcome(o fetch.Outcome) string {
	if w, ok := outcomeWords[o]; ok {
		return w
	}
	return string(o)
}
