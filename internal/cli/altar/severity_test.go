package altar

import "testing"

// TestChangesWithoutEffectAreNamed checks that a change without effect on callers does not read as
// "a change waits: none".
func TestChangesWithoutEffectAreNamed(t *testing.T) {
	for severity, want := range map[string]string{"none": "nothing that callers notice", "medium": "medium"} {
		if got := describeSeverity(severity); got != want {
			t.Errorf("%s: %q, want %q", severity, got, want)
		}
	}
}
