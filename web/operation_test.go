package web

import (
	"testing"

	"gazetteer/document"
)

// TestNeedOfParameters checks that a parameter in the path is not called required beside its place.
func TestNeedOfParameters(t *testing.T) {
	for _, c := range []struct {
		in       string
		required bool
		want     string
	}{{"path", true, ""}, {"path", false, ""}, {"query", true, "required"}, {"body", false, "optional"}, {"", true, "required"}} {
		v := operationOf(document.Operation{Parameters: []document.Parameter{{Name: "id", In: c.in, Required: c.required}}}, document.Service{})
		if got := v.Parameters[0].Need; got != c.want {
			t.Errorf("in %q, required %t: %q, want %q", c.in, c.required, got, c.want)
		}
	}
}
