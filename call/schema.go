package call

import (
	"bytes"
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// isSchema reports whether a JSON text is a JSON Schema that stands for itself:
// callers refuse a whole list of tools for one schema that is none, and would have
// to fetch what it refers to elsewhere.
func isSchema(text []byte) bool {
	const address = "urn:gazetteer:input"
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return false
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(unloaded{})
	if err := c.AddResource(address, value); err != nil {
		return false
	}
	_, err = c.Compile(address)
	return err == nil
}

// unloaded loads no schema.
type unloaded struct{}

func (unloaded) Load(string) (any, error) { return nil, errors.New("schemas are not fetched") }
