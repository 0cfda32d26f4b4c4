package frame

import "gazetteer/fetch"

var outcomeWords = map[fetch.Outcome]string{
	fetch.OK:               "Fetched",
	fetch.Unchanged:        "Unchanged since the last visit",
	fetch.Absent:           "Nothing is published here",
	fetch.Forbidden:        "Closed: it asks for a login",
	fetch.RefusedByRobots:  "Not requested: robots.txt forbids it",
	fetch.TooLarge:         "Too large",
	fetch.InsecureRedirect: "Sent us to an address that is not https",
	fetch.TooManyRedirects: "Sent us on too many times",
	fetch.BadRedirect:      "Sent us on to no usable address",
	fetch.BadMediaType:     "Came as another media type",
	fetch.OtherFormat:      "Another format is published here",
	fetch.Unreadable:       "Could not be read as this format",
	fetch.BlockedAddress:   "Leads to a private address",
	fetch.BadAddress:       "Not an address that can be requested",
	fetch.BadHost:          "Not a public host name",
	fetch.TLSFailed:        "No trusted TLS connection",
	fetch.DNSFailed:        "The name could not be resolved",
	fetch.Timeout:          "No answer in time",
	fetch.Unreachable:      "Could not be reached",
	fetch.Throttled:        "Sent Retry-After",
	fetch.ServerError:      "The server failed",
	fetch.BadStatus:        "Answered with an unexpected status",
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
