package conversion

import (
	"fmt"
	"gazetteer/protocol"
	"gazetteer/protocol/agis"
)

// WriteAGIS writes an AGIS document and makes sure that it can be read.
func WriteAGIS(root *protocol.Node, n *Notes, o Options) (Output, error) {
	reviews := n.Reviews(root)
	out, err := WriteDocument(root, reviews, o.Format)
	if err != nil {
		return Output{}, err
	}
	if _, _, err := agis.Parse(out, agis.Options{}); err != nil {
		return Output{}, fmt.Errorf("the document that comes of it cannot be used: %w", err)
	}
	return Output{Text: out, Reviews: reviews}, nil
}

// Simplification says how carefully an endpoint is to be written, because our own reader
// did not take it as it was.
type Simplification uint8

const (
	asRead        Simplification = iota
	PlainIntent                  // the intent says the generic sentence
	PlainVerb                    // the verb is that of the HTTP method
	PlainContract                // input and output say nothing but names
	LeftOut
)

// MaxEndpoints is how many endpoints of a document readers index.
const MaxEndpoints = agis.MaxEndpoints

func DescribeFirstError(findings []protocol.Finding, err error) string {
	for _, f := range findings {
		if f.Severity == protocol.Error {
			return f.Code + " at " + f.Pointer + ": " + f.Message
		}
	}
	return fmt.Sprint(err)
}

// careful codes are warnings that another intent answers.
var IntentCodes = []string{"AGIS506", "AGIS507", "AGIS518", "AGIS519", "AGIS602"}
