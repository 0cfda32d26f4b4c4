package relay

import "testing"

// TestRefusalsAreExplained checks that the operator reads what each reason of a refusal means.
func TestRefusalsAreExplained(t *testing.T) {
	for _, reason := range RefusalReasons() {
		if DescribeRefusal(reason) == "" {
			t.Errorf("the reason %s has no text", reason)
		}
	}
	if text := DescribeRefusal("unheard of"); text != "" {
		t.Errorf("an unknown reason has the text %q", text)
	}
}
