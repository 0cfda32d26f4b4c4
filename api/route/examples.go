package route

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
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
	// WebSocket says that the request opens a WebSocket. Answer has its first messages, each a line:
	// those of the client after >, those of the server after <.
	WebSocket bool `json:"websocket,omitempty"`
	Base64    bool `json:"base64,omitempty"` // the answer is no text; Answer has its bytes in Base64
	// MediaType is the media type of the answer.
	MediaType string `json:"media_type,omitempty"`
	// Answer is the answer: JSON with lists cut to two items, or the beginning of a text; of a stream,
	// its first event.
	Answer json.RawMessage `json:"answer"`
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
	if e.WebSocket {
		b.WriteString(" \\\n  --http1.1 -i -N -H 'Connection: Upgrade' -H 'Upgrade: websocket' \\\n  -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: '$(head -c 16 /dev/urandom | base64)")
	}
	if e.Accept != "" {
		b.WriteString(" \\\n  -H 'Accept: " + e.Accept + "'")
	}
	if e.Body != "" {
		b.WriteString(" \\\n  -H 'Content-Type: " + e.BodyType + "' \\\n  -d '" + strings.ReplaceAll(e.Body, "'", `'\''`) + "'")
	}
	if e.Base64 {
		b.WriteString(" | base64")
	}
	return b.String()
}

// addExample puts an example into the description of its operation.
func addExample(op *huma.Operation, method, base string, e Example) error {
	if op.Extensions == nil {
		op.Extensions = map[string]any{}
	}
	samples := []map[string]string{{"lang": "Shell", "label": "curl", "source": e.Curl(base, method)}}
	if e.WebSocket { // OpenAPI has no member for its messages
		var messages string
		if err := json.Unmarshal(e.Answer, &messages); err != nil {
			return fmt.Errorf("read the example messages of %s: %w", op.OperationID, err)
		}
		samples = append(samples, map[string]string{"lang": "JSON", "label": "messages", "source": messages})
	}
	op.Extensions["x-codeSamples"] = samples
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
	content := findContent(op.Responses[status], e.MediaType)
	if content == nil || len(e.Answer) == 0 {
		return nil
	}
	if err := json.Unmarshal(e.Answer, &content.Example); err != nil {
		return fmt.Errorf("read the example answer of %s: %w", op.OperationID, err)
	}
	if schema, ok := content.Example.(map[string]any); ok && e.MediaType == "application/schema+json" {
		// Tools would read the references of a whole schema as parts of the description.
		maps.DeleteFunc(schema, func(_ string, value any) bool { _, isText := value.(string); return !isText })
	}
	return nil
}

// findContent returns the content of a response with a media type, whatever its parameters are; nil if
// there is none.
func findContent(response *huma.Response, mediaType string) *huma.MediaType {
	if response == nil {
		return nil
	}
	for name, content := range response.Content {
		if plain, _, _ := strings.Cut(name, ";"); plain == mediaType {
			return content
		}
	}
	return nil
}
