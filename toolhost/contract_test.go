package toolhost

import (
	"fmt"
	"strings"
	"testing"

	"gazetteer/document"
	"gazetteer/protocol/altar"
)

// TestEffectOfUndeclaredContracts checks which contracts need a confirmation without a declared effect.
func TestEffectOfUndeclaredContracts(t *testing.T) {
	for _, each := range []struct {
		contract altar.Contract
		want     bool
	}{
		{altar.Contract{Name: "delete_account"}, true},
		{altar.Contract{Name: "deleteAccount"}, true},
		{altar.Contract{Name: "cancel"}, true},
		{altar.Contract{Name: "account-closing", Description: "Permanently deletes the account of a customer."}, true},
		{altar.Contract{Name: "delete_account", Effect: altar.Reversible}, false},
		{altar.Contract{Name: "list_accounts", Description: "Lists the accounts of a customer, also deleted ones."}, false},
		{altar.Contract{Name: "add", Description: "Add two numbers"}, false},
		{altar.Contract{Name: "listAccounts", Effect: altar.Irreversible}, true},
	} {
		if got := isIrreversible(&each.contract); got != each.want {
			t.Errorf("%s (%s): %v", each.contract.Name, each.contract.Description, got)
		}
	}
}

// TestContractOfAJSONSchema checks that a JSON Schema alone gives a contract its parameters, and
// that calls are checked against both.
func TestContractOfAJSONSchema(t *testing.T) {
	const schema = `{"type": "object", "properties": {"a": {"$ref": "#/$defs/positive"}}, "required": ["a"], "$defs": {"positive": {"type": "integer", "minimum": 1}}, "additionalProperties": false}`
	list, err := ReadContracts([]byte(`[{"name": "one", "input_schema": ` + schema + `}]`))
	if err != nil {
		t.Fatal(err)
	}
	if string(list[0].InputSchema) != schema {
		t.Errorf("the schema became %s", list[0].InputSchema)
	}
	c, err := compileContract(Contract{Contract: list[0].Contract})
	if err != nil {
		t.Fatal(err)
	}
	for text, path := range map[string]string{`{"a": 1}`: "", `{"a": 0}`: "/a", `{"a": "1"}`: "/a", `{}`: "/a", `{"a": 1, "b": 2}`: "/b"} {
		value, err := altar.ReadValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := c.checkParameters(value); err != nil {
			got, _ = err.Details["path"].(string)
		}
		if got != path {
			t.Errorf("%s is refused at %q, want %q", text, got, path)
		}
	}
	if _, err := ReadContracts([]byte(`[{"name": "one", "input_schema": {"type": "string"}}]`)); err == nil {
		t.Error("a schema of a string became a contract")
	}
}

// TestContractFilesAreReadStrictly checks that nothing in an operator's file is ignored.
func TestContractFilesAreReadStrictly(t *testing.T) {
	const all = `[{"name": "one", "description": "d", "parameters": [{"name": "n", "type": "array[object]", "description": "d", "required": true, "properties": [{"name": "m", "type": "binary"}]}],
		"streaming": true, "timeout_ms": 5, "effect": "reversible", "allow": ["me"], "runtimes": ["rt"], "when": {"tenant_id": "t"}}]`
	list, err := ReadContracts([]byte(all))
	if err != nil {
		t.Fatal(err)
	}
	if c := list[0]; !c.Streaming || c.TimeoutMS != 5 || c.Effect != "reversible" || c.Allow[0] != "me" || c.Runtimes[0] != "rt" || c.When.TenantID != "t" || c.Parameters[0].Properties[0].Type != "binary" {
		t.Errorf("%+v", c)
	}
	deep, many := strings.Repeat(`[{"name": "p", "type": "object", "properties": `, 18)+"[]"+strings.Repeat("}]", 18), ""
	for i := range 1001 {
		many += fmt.Sprintf(`{"name": "p%d", "type": "string"},`, i)
	}
	for name, text := range map[string]string{
		"no list": `{"name": "one"}`, "broken": `[{"name": "one"}`, "more behind it": `[] []`, "a member of no contract": `[{"name": "one", "timeout": 5}]`, "a member of no parameter": `[{"name": "one", "parameters": [{"name": "a", "type": "string", "enum": ["b"]}]}]`,
		"nobody as null": `[{"name": "one", "allow": null}]`, "no runtime as null": `[{"name": "one"}, {"name": "two", "runtimes": null}]`,
		"a member twice": `[{"name": "one", "allow": ["me"], "allow": []}]`, "a name twice": `[{"name": "one"}, {"name": "one"}]`, "another condition": `[{"name": "one", "when": {"principal_id": "p"}}]`,
		"a wrong type": `[{"name": "one", "allow": "me"}]`, "a fraction": `[{"name": "one", "timeout_ms": 0.5}]`, "too deep": `[{"name": "one", "parameters": ` + deep + `}]`, "too many": `[{"name": "one", "parameters": [` + many[:len(many)-1] + `]}]`,
		"too long": `[{"name": "one", "description": "` + strings.Repeat("x", 17<<10) + `"}]`, "another document": `[{"name": "one", "input_schema": {"type": "object", "properties": {"a": {"$ref": "https://other.example/schema"}}}}]`,
	} {
		list, err := ReadContracts([]byte(text))
		if err == nil {
			_, err = compileContract(Contract{Contract: list[0].Contract})
		}
		if err == nil {
			t.Errorf("%s was read as %+v", name, list)
		}
	}
}

// TestSourceOfAContract checks that the operator sees when a document makes the host call another one.
func TestSourceOfAContract(t *testing.T) {
	for address, want := range map[string]string{
		"https://api.example/tables/{city}":   "api.example find",
		"agtp://api.example":                  "api.example find",
		"https://bank.example/pay":            "api.example find, which calls bank.example",
		"https://api.example:8443/tables":     "api.example find, which calls api.example:8443",
		"https://api.example.evil.test/:city": "api.example find, which calls api.example.evil.test",
	} {
		pin := Pin{Host: "api.example", Operation: "find", Copy: document.Operation{Call: document.Call{URL: address}}}
		if got := pin.DescribeSource(); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
