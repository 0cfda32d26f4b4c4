package conversion

import (
	"fmt"
	"strconv"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
)

// WriteAGIS writes an AGIS document and checks that the reader of the format accepts it.
func WriteAGIS(root *protocol.Node, n *Notes, o Options) (Output, error) {
	reviews := n.Reviews(root)
	out, err := WriteDocument(root, reviews, o.Format)
	if err != nil {
		return Output{}, err
	}
	if _, _, err := agis.Parse(out, agis.Options{}); err != nil {
		return Output{}, fmt.Errorf("the resulting document cannot be used: %w", err)
	}
	return Output{Text: out, Reviews: reviews}, nil
}

// A Simplification is the degree to which an endpoint is replaced by generic text because the
// reader of the format rejected it.
type Simplification uint8

const (
	asRead         Simplification = iota
	LabelledIntent                // a generic sentence precedes the summary in the intent
	PlainIntent                   // the intent is a generic sentence
	PlainVerb                     // the verb is the default of the HTTP method
	PlainContract                 // input and output have names only
	LeftOut
)

// MaxEndpoints is the number of endpoints of one document that readers index.
const MaxEndpoints = agis.MaxEndpoints

func DescribeFirstError(findings []protocol.Finding, err error) string {
	for _, f := range findings {
		if f.Severity == protocol.Error {
			return f.Code + " at " + f.Pointer + ": " + f.Message
		}
	}
	return fmt.Sprint(err)
}

// IndexIn returns the index of the element of a list that a finding is about; list is the pointer of the
// list with a slash. It reports false for a finding about something else.
func IndexIn(list string, f protocol.Finding) (int, bool) {
	rest, ok := strings.CutPrefix(f.Pointer, list)
	number, _, _ := strings.Cut(rest, "/")
	i, err := strconv.Atoi(number)
	return i, ok && err == nil
}

// IntentCodes are the warnings that a generic intent avoids.
var IntentCodes = []string{"AGIS506", "AGIS507", "AGIS518", "AGIS519", "AGIS602"}
