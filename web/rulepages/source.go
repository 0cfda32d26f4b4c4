package rulepages

import (
	"regexp"
	"strings"
)

// A sourcePart is a part of the source of a rule; Address is that of the section it names, or "".
type sourcePart struct{ Text, Address string }

// drafts has the addresses of the texts that rules refer to, by name.
var drafts = map[string]string{
	"AI Discovery": "https://datatracker.ietf.org/doc/html/draft-aiendpoint-ai-discovery-00",
	"AGIS":         "https://datatracker.ietf.org/doc/html/draft-hood-independent-agis-01",
}

// Forms of the sections in a source: "§3.3" and "§4.1(d)", whose letter is a point of a list without
// an address, and "C.2" and "appendix B".
var (
	sectionForm  = regexp.MustCompile(`§([0-9]+(?:\.[0-9]+)*)(?:\([a-z]\))?$`)
	appendixForm = regexp.MustCompile(`^(?:appendix )?([A-Z](?:\.[0-9]+)*)$`)
)

// sourceParts links the sections in the source of a rule, such as "AGIS §8.2(d), §10.1", to the text
// of the draft or RFC.
func sourceParts(source string) []sourcePart {
	if source == "lint" {
		return nil // the basis says whose rule it is
	}
	name := source
	if at := strings.IndexRune(source, '§'); at > 0 {
		name = strings.TrimSpace(source[:at])
	}
	text := drafts[name]
	if number, ok := strings.CutPrefix(name, "RFC "); ok {
		text = "https://www.rfc-editor.org/rfc/rfc" + number
	}
	if text == "" {
		return []sourcePart{{Text: source}}
	}
	var parts []sourcePart
	for n, part := range strings.Split(source, ", ") {
		if n > 0 {
			parts = append(parts, sourcePart{Text: ", "})
		}
		anchor := ""
		if m := sectionForm.FindStringSubmatch(part); m != nil {
			anchor = "#section-" + m[1]
		} else if m := appendixForm.FindStringSubmatch(part); m != nil {
			anchor = "#appendix-" + m[1]
		}
		parts = append(parts, sourcePart{part, text + anchor})
	}
	return parts
}
