package rulepages

import (
	"slices"
	"strings"
	"testing"

	"gazetteer/lint"
)

// TestRulesLeadToTheirSections checks that the page of a rule links each section that its source names.
func TestRulesLeadToTheirSections(t *testing.T) {
	const agis, ai = "https://datatracker.ietf.org/doc/html/draft-hood-independent-agis-01", "https://datatracker.ietf.org/doc/html/draft-aiendpoint-ai-discovery-00"
	for source, want := range map[string][]sourcePart{
		"AI Discovery §3.3":           {{"AI Discovery §3.3", ai + "#section-3.3"}},
		"AGIS §8.2(d), §10.1":         {{"AGIS §8.2(d)", agis + "#section-8.2"}, {", ", ""}, {"§10.1", agis + "#section-10.1"}},
		"AGIS §7, C.2":                {{"AGIS §7", agis + "#section-7"}, {", ", ""}, {"C.2", agis + "#appendix-C.2"}},
		"AI Discovery §3, appendix B": {{"AI Discovery §3", ai + "#section-3"}, {", ", ""}, {"appendix B", ai + "#appendix-B"}},
		"RFC 9110 §15.5.14":           {{"RFC 9110 §15.5.14", "https://www.rfc-editor.org/rfc/rfc9110#section-15.5.14"}},
		"RFC 8259":                    {{"RFC 8259", "https://www.rfc-editor.org/rfc/rfc8259"}},
		"llms.txt":                    {{"llms.txt", ""}},
		"lint":                        nil,
	} {
		if got := sourceParts(source); !slices.Equal(got, want) {
			t.Errorf("%s: %q", source, got)
		}
	}
	for _, r := range lint.Rules() {
		for _, p := range sourceParts(r.Section) {
			if (strings.Contains(p.Text, "§") || strings.Contains(p.Text, "appendix")) && !strings.Contains(p.Address, "#") {
				t.Errorf("%s: %q leads to %q", r.Code, p.Text, p.Address)
			}
		}
	}
}
