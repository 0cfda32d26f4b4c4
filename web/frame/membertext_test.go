package frame

import "testing"

func TestTextOfRule(t *testing.T) {
	const want = "<code>service</code> has a name, not &lt;b&gt;: service"
	if got := string(markRule("`service` has a name, not <b>: service")); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	const form = `written <code><span class="one-line">YYYY-MM-DD</span></code> or <code><span class="one-line">YYYY-MM-DD</span>Thh:<wbr>mm:ssZ</code>`
	if got := string(markRule("written `YYYY-MM-DD` or `YYYY-MM-DDThh:mm:ssZ`")); got != form {
		t.Errorf("%s, want %s", got, form)
	}
}

// TestMembersHaveCodeFont checks that a page sets the names of members in the font of code, and neither
// words of English nor what is quoted from a document.
func TestMembersHaveCodeFont(t *testing.T) {
	for text, want := range map[string]string{
		"returns is missing":                         "<code>returns</code> is missing",
		"auth.header is not the name of a header":    "<code>auth.header</code> is not the name of a header",
		"add last_updated to meta":                   "Add <code>last_updated</code> to <code>meta</code>",
		"the method \"auth\" is not a verb":          "The method \"auth\" is not a verb",
		"an entry <b> has no description":            "An entry &lt;b&gt; has no description",
		"serve it at /.well-known/ai, not at a.test": "Serve it at <code>/.<span class=\"one-line\">well-known</span>/ai</code>, not at a.test",
	} {
		if got := string(markSentence(300, text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got, want := string(markAdvice(300, "name the fields of auth")), "Name the fields of <code>auth</code>"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := string(markAdvice(300, "did you mean POST? use GET or POST")), "Did you mean POST? Use GET or POST"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := string(markMembers(12, "version 1.0 is not known")), "<code>version</code> 1.0…"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
