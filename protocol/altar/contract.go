package altar

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The effects that a contract may declare.
const (
	Informational = "informational"
	Reversible    = "reversible"
	Irreversible  = "irreversible"
)

// A Contract is a Tool Contract of section 2: what the Host says a tool is. The draft describes it in
// words; these are its fields here.
type Contract struct {
	// Name is the Host's: 1 to 64 letters, digits, "_" and "-".
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Parameters  []ParameterSchema `json:"parameters,omitempty"`
	// Streaming says that a runtime answers with StreamChunks.
	Streaming bool `json:"streaming,omitempty"`
	// TimeoutMS is how many milliseconds a call may take; 0 leaves it to the Host.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
	// Effect is what a call does to the world; "" when nobody has declared it.
	Effect string `json:"effect,omitempty"`
	// InputSchema is the JSON Schema that the parameters were made from, byte for byte; nil for none.
	// Calls are checked against both.
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
}

const (
	maxContractName = 64
	maxDescription  = 16 << 10
	maxInputSchema  = 256 << 10
)

// CheckName checks the name of a contract.
func CheckName(name string) error {
	if name == "" || len(name) > maxContractName {
		return fmt.Errorf("the name %.80q has %d characters, want 1 to %d", name, len(name), maxContractName)
	}
	if i := strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	}); i >= 0 {
		return fmt.Errorf("the name %q has a character other than letters, digits, _ and -", name)
	}
	return nil
}

// Check checks a contract itself. The error says where it is wrong.
func (c *Contract) Check() error {
	if err := CheckName(c.Name); err != nil {
		return err
	}
	count := 0
	switch {
	case len(c.Description) > maxDescription:
		return fmt.Errorf("contract %s: the description is longer than %d bytes", c.Name, maxDescription)
	case c.TimeoutMS < 0:
		return fmt.Errorf("contract %s: timeout_ms is negative", c.Name)
	case !slices.Contains([]string{"", Informational, Reversible, Irreversible}, c.Effect):
		return fmt.Errorf("contract %s: effect is %q; want informational, reversible or irreversible", c.Name, c.Effect)
	case len(c.InputSchema) > maxInputSchema:
		return fmt.Errorf("contract %s: input_schema is longer than %d bytes", c.Name, maxInputSchema)
	}
	if err := checkSchemas(c.Parameters, "/parameters", 0, &count); err != nil {
		return fmt.Errorf("contract %s: %w", c.Name, err)
	}
	if c.InputSchema != nil {
		if _, err := parseInputSchema(c.InputSchema); err != nil {
			return fmt.Errorf("contract %s: input_schema: %w", c.Name, err)
		}
	}
	return nil
}

// CheckParameters checks the parameters of a call against the contract: members that are missing,
// extra, of a wrong type or null. v is what [ReadValue] returned for the parameters. An integer −0 in it
// becomes 0. The error is an INVALID_PARAMETERS error that names the path of each problem.
//
// The InputSchema is not evaluated here; it only names parameters that the type system cannot express.
func (c *Contract) CheckParameters(v any) *Error {
	members, ok := v.(map[string]any)
	if !ok {
		return ParametersError([]Problem{{"", "is " + describeValue(v) + ", want an object"}})
	}
	var check checker
	check.checkMembers("", members, c.Parameters, c.allowsExtra())
	if len(check.problems) > 0 {
		return ParametersError(check.problems)
	}
	return nil
}

// allowsExtra returns which parameters a call may have that Parameters does not name: those that the
// JSON Schema names or allows.
func (c *Contract) allowsExtra() func(name string) bool {
	if c.InputSchema == nil {
		return nil
	}
	schema, err := parseInputSchema(c.InputSchema)
	if err != nil {
		return nil
	}
	return schema.allowsMember
}

var errNoObject = errors.New("the schema of a tool's input is an object schema")
