package toolhost

import (
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
