package api_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"gazetteer/api"
	"gazetteer/document"
)

// TestUnusualNamesCanBeRequested checks that every name of a namespace, data class or verb in a
// list can be requested, whatever characters it contains.
func TestUnusualNamesCanBeRequested(t *testing.T) {
	h := newTestServer(t, options{})
	odd := []string{"a/b", "..", ".", "x.y.z", "50%", "a%2Fb", "a+b", "two words", "a;b", "a&b=c?d#e", "가나 다", "<b>", "😀", `c:\d`, "//", "/lead", "trail/"}
	for i, name := range odd {
		text := strings.ReplaceAll(agisText("NAME", "Books a restaurant table for the requesting agent"), "NAME", strings.ReplaceAll(name, `\`, `\\`))
		text = strings.Replace(text, `"class": "reservation"`, fmt.Sprintf(`"class": %q`, name), 1)
		if i%2 == 1 { // verbs are invented, too
			text = strings.Replace(text, `"method": "BOOK"`, fmt.Sprintf(`"method": %q`, "BOOK"+name), 1)
		}
		h.publish(fmt.Sprintf("odd%d.example", i), document.AGIS, "application/json", text, seen)
	}
	names := 0
	for _, n := range readAs[api.NamespaceList](h, "/api/v1/namespaces?limit=100", 200).Namespaces {
		names++
		if page := readAs[api.NamespacePage](h, "/api/v1/namespaces/"+url.PathEscape(n.Namespace), 200); page.NamespaceCount.Namespace != n.Namespace {
			t.Errorf("namespace %q opens as %q", n.Namespace, page.NamespaceCount.Namespace)
		}
	}
	for _, c := range readAs[api.ClassList](h, "/api/v1/data-classes?limit=100", 200).Classes {
		names++
		if page := readAs[api.DataClassPage](h, "/api/v1/data-classes/"+url.PathEscape(c.Class), 200); page.Class != c.Class {
			t.Errorf("class %q opens as %q", c.Class, page.Class)
		}
	}
	for _, v := range readAs[api.VerbList](h, "/api/v1/verbs?limit=100", 200).Verbs {
		if page := readAs[api.VerbPage](h, "/api/v1/verbs/"+url.PathEscape(v.Verb), 200); page.Verb != v.Verb {
			t.Errorf("verb %q opens as %q", v.Verb, page.Verb)
		}
	}
	if names < len(odd) {
		t.Errorf("only %d odd names are listed", names)
	}
}
