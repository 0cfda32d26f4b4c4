package fakenet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// An endpoint is what a service of the demo reads of an endpoint of its own AGIS document.
type endpoint struct {
	Method string
	Path   string
	Input  schema
	Output schema
}

// A schema is the part of a JSON Schema that the documents of the demo use.
type schema struct {
	Type       string
	Format     string
	Enum       []any
	Required   []string
	Properties map[string]schema
	Items      *schema
}

// answering answers requests over the HTTP binding of AGIS (section 10.1) as the service's own document
// promises, with samples of the declared output. It passes on requests without that binding.
type answering struct {
	documents http.Handler
	endpoints []endpoint
}

// newAnswering returns the handler of a service with an AGIS document in YAML.
func newAnswering(document []byte, documents http.Handler) (http.Handler, error) {
	var read struct{ Endpoints []endpoint }
	if err := yaml.Unmarshal(document, &read); err != nil {
		return nil, fmt.Errorf("read the endpoints of an AGIS document: %w", err)
	}
	return &answering{documents, read.Endpoints}, nil
}

// ServeHTTP implements http.Handler.
func (s *answering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Header.Get("X-AGIS-Method")
	if method == "" {
		s.documents.ServeHTTP(w, r)
		return
	}
	input := make(map[string]any)
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&input); err != nil && !errors.Is(err, io.EOF) {
		writeObject(w, http.StatusBadRequest, map[string]any{"error": "the body is not a JSON object"})
		return
	}
	for _, e := range s.endpoints {
		if e.Method != method || !matchPath(e.Path, r.URL.Path, input) {
			continue
		}
		if missing := e.missing(input); len(missing) > 0 {
			writeObject(w, http.StatusBadRequest, map[string]any{"error": "missing_input", "missing": missing})
			return
		}
		writeObject(w, http.StatusOK, e.Output.sample("", input))
		return
	}
	writeObject(w, http.StatusNotFound, map[string]any{"error": "there is no " + method + " " + r.URL.Path})
}

// missing returns the required names that the input lacks.
func (e *endpoint) missing(input map[string]any) []string {
	return slices.DeleteFunc(slices.Clone(e.Input.Required), func(name string) bool { _, ok := input[name]; return ok })
}

// matchPath reports whether a path is one of a template such as /ride/{id}, and adds the values of its
// placeholders to input.
func matchPath(template, path string, input map[string]any) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	values := make(map[string]any)
	for i, part := range want {
		if name, ok := strings.CutPrefix(part, "{"); ok && got[i] != "" {
			values[strings.TrimSuffix(name, "}")] = got[i]
		} else if part != got[i] {
			return false
		}
	}
	for name, value := range values {
		input[name] = value
	}
	return true
}

// sample returns a value of a schema: what was sent under that name, or one that shows its form.
func (s schema) sample(name string, input map[string]any) any {
	if value, ok := input[name]; ok && s.Type != "array" {
		return value
	}
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type == "object":
		object := make(map[string]any)
		for name, property := range s.Properties {
			object[name] = property.sample(name, input)
		}
		return object
	case s.Type == "array":
		items := schema{Type: "string"}
		if s.Items != nil {
			items = *s.Items
		}
		return []any{items.sample(name, nil), items.sample(name, nil)}
	case s.Type == "integer":
		return 3
	case s.Type == "number":
		return 12.5
	case s.Type == "boolean":
		return true
	case s.Format == "date-time":
		return time.Now().UTC().Truncate(time.Hour).Add(24 * time.Hour).Format(time.RFC3339)
	case s.Format == "date":
		return time.Now().UTC().Add(24 * time.Hour).Format(time.DateOnly)
	case strings.HasSuffix(name, "_id"):
		return strings.ToUpper(strings.TrimSuffix(name, "_id")) + "-1"
	case name == "status":
		return "DONE"
	default:
		return "sample of " + strings.ReplaceAll(name, "_", " ")
	}
}
