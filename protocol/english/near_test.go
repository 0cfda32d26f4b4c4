package english

import "testing"

// TestIsNear checks that IsNear excludes no verb that Near finds.
func TestIsNear(t *testing.T) {
	found := 0
	for _, word := range []string{"bok", "book", "bokk", "resreve", "cancl", "every", "word", "tranfser", "ab", "", "日本語", "a-very-long-word-that-nobody-writes"} {
		for _, verb := range Near(word, 1000) {
			if found++; !IsNear(word, verb) {
				t.Errorf("%q is near %q by Near alone", word, verb)
			}
		}
	}
	if found < 50 {
		t.Errorf("Near found %d verbs", found)
	}
	for word, verb := range map[string]string{"bok": "cancel", "ab": "abc", "reserve": "purchase", "": ""} {
		if IsNear(word, verb) {
			t.Errorf("%q is near %q", word, verb)
		}
	}
}
