package english

import "testing"

func TestNearName(t *testing.T) {
	names := []string{"finance", "healthcare", "information-retrieval", "bearer", "apikey", "none", "GET", "POST"}
	for word, want := range map[string]string{
		"finanace": "finance", "Finance": "finance", "api_key": "apikey", "health-care": "healthcare", "baerer": "bearer",
		"pots": "POST", "GTE": "GET", "wholly-other": "", "": "", "no": "", "日本": "", "information_retreival": "information-retrieval",
	} {
		if got := NearName(word, names); got != want {
			t.Errorf("%q is near %q, want %q", word, got, want)
		}
	}
	if got := DidYouMean("finanace", names); got != "did you mean finance? " {
		t.Errorf("%q", got)
	}
}
