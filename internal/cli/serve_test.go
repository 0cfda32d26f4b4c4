package cli

import (
	"strings"
	"testing"
)

func TestInvitationNamesTheDataDirectory(t *testing.T) {
	a := &App{DataDir: "my data"}
	text := a.formatInvitation("http://127.0.0.1:9112", true)
	for _, want := range []string{"\n  gazetteer --data-dir 'my data' crawl example.com\n", "\n  gazetteer --data-dir 'my data' search book a table\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	if text := a.formatInvitation("http://127.0.0.1:9112", false); strings.Contains(text, "crawl") {
		t.Errorf("it proposes to crawl to a server that does not: %q", text)
	}
}
