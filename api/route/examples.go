package route

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// An Example is a recorded request to an operation with its answer. A test of package api records
// the examples and keeps them current.
type Example struct {
	Target   string `json:"target"` // path and query
	Body     string `json:"body,omitempty"`
	BodyType string `json:"body_type,omitempty"`
	Signed   bool   `json:"signed,omitempty"` // the request carries a signature, which is left out here
	Status   int    `json:"status"`
	Token    bool   `json:"token,omitempty"`  // the request carries a bearer token, which is left out here
	Accept   string `json:"accept,omitempty"` // the header Accept, if the operation requires one
	// MediaType is the media type of the answer.
	MediaType string `json:"media_type,omitempty"`
	// Answer is the answer: JSON with lists cut to two items, or text. Absent for other bytes.
	Answer json.RawMessage `json:"answer,omitempty"`
}

//go:embed examples.json
var examplesText []byte

// Examples returns the examples by operation ID. Callers must not change them.
func Examples() (map[string]Example, error) { return readExamples() }

var readExamples = sync.OnceValues(func() (map[string]Example, error) {
	var examples map[string]Example
	if err := json.Unmarshal(examplesText, &examples); err != nil {
		return nil, fmt.Errorf("read the examples of the API: %w", err)
	}
	return examples, nil
})

// Curl returns the request of an example as a command.
func (e Example) Curl(base, method string) string {
	var b strings.Builder
	b.WriteString("curl ")
	if method != "GET" && !(method == "POST" && e.Body != "") {
		b.WriteString("-X " + method + " ")
	}
	b.WriteString("'" + strings.ReplaceAll(base+e.Target, "'", "%27") + "'")
	if e.Signed {
		b.WriteString(" \\\n  -H 'Signature-Input: …' -H 'Signature: …'")
	}
	if e.Token {
		b.WriteString(" \\\n  -H 'Authorization: Bearer …'")
	}
	if e.Accept != "" {
		b.WriteString(" \\\n  -H 'Accept: " + e.Accept + "'")
	}
	if e.Body != "" {
		b.WriteString(" \\\n  -H 'Content-Type: " + e.BodyType + "' \\\n  -d '" + strings.ReplaceAll(e.Body, "'", `'\''`) + "'")
	}
	return b.String()
}

// addExample puts an example into the description of its operation.
func addExample(op *huma.Operation, method, base string, e Example) error {
	if op.Extensions == nil {
		op.Extensions = map[string]any{}
	}
	op.Extensions["x-codeSamples"] = []map[string]string{{"lang": "Shell", "label": "curl", "source": e.Curl(base, method)}}
	if e.Status >= http.StatusBadRequest {
		return nil // a refusal shows nothing that its schema does not
	}
	if e.Body != "" && op.RequestBody != nil {
		if content := op.RequestBody.Content[e.BodyType]; content != nil {
			if !strings.HasSuffix(e.BodyType, "json") {
				content.Example = e.Body
			} else if err := json.Unmarshal([]byte(e.Body), &content.Example); err != nil {
				return fmt.Errorf("read the example body of %s: %w", op.OperationID, err)
			}
		}
	}
	status := fmt.Sprint(e.Status)
	if op.Responses[status] == nil {
		status = "default"
	}
	response := op.Responses[status]
	// A JSON Schema as an example would be read as a part of the description.
	if response == nil || len(e.Answer) == 0 || e.MediaType == "application/schema+json" || e.MediaType == "application/x-ndjson" {
		return nil
	}
	if content := response.Content[e.MediaType]; content != nil {
		if err := json.Unmarshal(e.Answer, &content.Example); err != nil {
			return fmt.Errorf("read the example answer of %s: %w", op.OperationID, err)
		}
	}
	return nil
}
