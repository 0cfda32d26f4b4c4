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

// A Contract is a Tool Contract of section 2: the Host's description of a tool. The draft describes
// it in words; these fields are our form of it.
type Contract struct {
	// Name is the name that the Host uses: 1 to 64 letters, digits, "_" and "-".
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Parameters  []ParameterSchema `json:"parameters,omitempty"`
	// Streaming says that a runtime answers with StreamChunks.
	Streaming bool `json:"streaming,omitempty"`
	// TimeoutMS is how many milliseconds a call may take; 0 leaves it to the Host.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
	// Effect is the effect of a call on the world; "" if it is undeclared.
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

// Check checks the contract itself. The error names the place of the problem.
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
// extra, of a wrong type or null. v is the result of [ReadValue] for the parameters. It replaces an
// integer −0 in v by 0. The error is an INVALID_PARAMETERS error that names the path of each
// problem.
//
// It does not evaluate the InputSchema, which here only names the parameters that the type system
// cannot express.
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

// allowsExtra reports which parameters a call may have beyond Parameters: those that the JSON
// Schema names or allows.
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
