package document_test

import (
	"fmt"
	"strings"
	"testing"

	"gazetteer/document"
)

func TestLinksOfDocument(t *testing.T) {
	const id, did = "AIR-7G3K-M9JQ-X2PT", "did:wba:registry.example:agents:AIR-7G3K-M9JQ-X2PT"
	for _, c := range []struct{ name, text, want string }{
		{"a member that no draft has", `{"agent": "` + did + `"}`, did + " " + id + " /agent"},
		{"in a list, deep", `{"meta": {"contact": ["a", {"identity": "did:web:acme.example"}]}}`, "did:web:acme.example  /meta/contact/1/identity"},
		{"another spelling of the host", `{"a": "did:wba:Registry.EXAMPLE:agents:AIR-7G3K-M9JQ-X2PT"}`, did + " " + id + " /a"},
		{"with a fragment", `{"a": "` + did + `#A2AInbox"}`, did + " " + id + " /a"},
		{"with a port", `{"a": "did:wba:localhost%3a8443:agents:AIR-7G3K-M9JQ-X2PT"}`, "did:wba:localhost%3A8443:agents:" + id + " " + id + " /a"},
		{"an AIR ID", `{"air_id": "` + id + `"}`, " " + id + " /air_id"},
		{"the page of an agent", `{"related_services": ["https://registry.example/agents/` + id + `"]}`, did + " " + id + " /related_services/0"},
		{"its DID document", `{"a": "https://registry.example:443/api/v1/agents/` + id + `/did-document"}`, did + " " + id + " /a"},
		{"an agent at a host", `{"related_services": ["agtp://` + id + `@acme.example"]}`, " " + id + " /related_services/0"},
		{"YAML", "agis: \"1.0\"\nagent: " + did + "\n", did + " " + id + " /agent"},
		{"an alias of YAML", "a: &x " + did + "\nb: *x\n", did + " " + id + " /a"},
		{"twice the same", `{"a": "` + did + `", "b": "` + did + `#key-1"}`, did + " " + id + " /a"},

		{"in a sentence", `{"description": "ask ` + did + ` about it"}`, ""},
		{"as the name of a member", `{"` + did + `": 1}`, ""},
		{"an inbox", `{"inbox": "https://relay.example/inbox/` + id + `"}`, ""},
		{"over plain HTTP", `{"a": "http://registry.example/agents/` + id + `"}`, ""},
		{"with a password", `{"a": "https://me:you@registry.example/agents/` + id + `"}`, ""},
		{"a method that is not of the web", `{"a": "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"}`, ""},
		{"an address for a host", `{"a": "did:web:127.0.0.1"}`, ""},
		{"very long", `{"a": "did:web:acme.example:` + strings.Repeat("a", 2000) + `"}`, ""},
		{"neither JSON nor YAML", `{"a": "` + did + `"`, ""},
		{"nothing", ``, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, m := range document.Mentions([]byte(c.text)) {
				got = append(got, m.DID+" "+m.AirID+" "+m.Pointer)
			}
			if text := strings.Join(got, "\n"); text != c.want {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}

func TestDocumentLinksTwentyAtMost(t *testing.T) {
	var all []string
	for i := range 1000 {
		all = append(all, fmt.Sprintf(`"did:web:a%d.example"`, i))
	}
	got := document.Mentions([]byte(`{"a": [` + strings.Join(all, ",") + `]}`))
	if len(got) != 20 || got[19].DID != "did:web:a19.example" {
		t.Errorf("got %d: %v", len(got), got)
	}
}
