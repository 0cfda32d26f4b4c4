package repair

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/notation"
)

// versionText quotes a version 1.0 that is written as a number, and shortens one with a "v" or a third
// part.
func versionText(r *reading, n *protocol.Node) []protocol.Edit {
	if n.Kind != protocol.Number {
		switch strings.TrimPrefix(strings.ToLower(strings.TrimSpace(n.Str())), "v") {
		case "1", "1.0", "1.0.0":
			return r.replaceText(n, "1.0")
		}
		return nil
	}
	if v, err := strconv.ParseFloat(n.Text, 64); err != nil || v != 1 {
		return nil
	}
	return r.replaceLiteral(n, `"1.0"`)
}

// booleanText removes the quotes from "true" and "false".
func booleanText(r *reading, n *protocol.Node) []protocol.Edit {
	if n.Kind != protocol.String || n.Text != "true" && n.Text != "false" {
		return nil
	}
	return r.replaceLiteral(n, n.Text)
}

// plainNumber matches short numbers that JSON and YAML read alike.
var plainNumber = regexp.MustCompile(`\A(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,9})?\z`)

// numberText removes the quotes from a number.
func numberText(r *reading, n *protocol.Node) []protocol.Edit {
	if n.Kind != protocol.String || !plainNumber.MatchString(n.Text) {
		return nil
	}
	return r.replaceLiteral(n, n.Text)
}

// anyUpperCase changes a word to upper case.
func anyUpperCase(r *reading, n *protocol.Node) []protocol.Edit {
	return r.replaceText(n, strings.ToUpper(n.Str()))
}

// upperCase changes a word to upper case if the result is one of words.
func upperCase(words ...string) remedy {
	return func(r *reading, n *protocol.Node) []protocol.Edit {
		if word := strings.ToUpper(strings.TrimSpace(n.Str())); slices.Contains(words, word) {
			return r.replaceText(n, word)
		}
		return nil
	}
}

// sameLetters replaces a word by the one of words with the same letters.
func sameLetters(words ...string) remedy {
	return func(r *reading, n *protocol.Node) []protocol.Edit {
		for _, word := range words {
			if normalizeName(strings.TrimSpace(n.Str())) == word {
				return r.replaceText(n, word)
			}
		}
		return nil
	}
}

// normalizeName removes the differences in letter case, hyphens and underscores.
func normalizeName(s string) string { return strings.ToLower(separators.Replace(s)) }

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

// languageTag writes en_US as en-US. It leaves a tag alone that has the right form but no registered
// language, such as english_US: the result would be valid and still wrong.
func languageTag(r *reading, n *protocol.Node) []protocol.Edit {
	tag := strings.ReplaceAll(n.Str(), "_", "-")
	if tag == n.Text || !aidiscovery.WellFormedLanguage(tag) {
		return nil
	}
	if _, err := language.Parse(tag); err != nil {
		return nil
	}
	return r.replaceText(n, tag)
}

// categoryList puts a category that is not in an array into one.
func categoryList(r *reading, n *protocol.Node) []protocol.Edit {
	if category := strings.ToLower(strings.TrimSpace(n.Str())); aidiscovery.IsCategory(category) {
		return r.replaceLiteral(n, "["+quoteJSON(category)+"]")
	}
	return nil
}

// languageList puts the tag of a language that is not in an array into one.
func languageList(r *reading, n *protocol.Node) []protocol.Edit {
	tag := strings.ReplaceAll(strings.TrimSpace(n.Str()), "_", "-")
	if tag == "" || !aidiscovery.WellFormedLanguage(tag) {
		return nil
	}
	if _, err := language.Parse(tag); err != nil {
		return nil
	}
	return r.replaceLiteral(n, "["+quoteJSON(tag)+"]")
}

func paramDialect(_ *reading, n *protocol.Node) []protocol.Edit {
	if e, ok := notation.ParamDialect(n); ok {
		return []protocol.Edit{e}
	}
	return nil
}

// dateTimeText rewrites a date with slashes, year first, and a date and time with an offset or fractions
// of a second in the form of the draft: the same second in UTC (AI Discovery §3.7).
func dateTimeText(r *reading, n *protocol.Node) []protocol.Edit {
	text := strings.TrimSpace(n.Str())
	if at, err := time.Parse("2006/01/02", text); err == nil {
		return r.replaceText(n, at.Format(time.DateOnly))
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.UTC().Year() < 1000 || at.UTC().Year() > 9999 {
		return nil
	}
	return r.replaceText(n, at.UTC().Format("2006-01-02T15:04:05Z"))
}

// endpointList converts endpoints from a mapping to a list.
func endpointList(r *reading, n *protocol.Node) []protocol.Edit {
	if n.Pointer != "/endpoints" {
		return nil // an endpoint inside the list
	}
	edits, err := notation.MapForm(r.body, r.root)
	if err != nil {
		return nil
	}
	return edits
}

// declareVerb adds the method of an endpoint to the declared verbs.
func declareVerb(r *reading, n *protocol.Node) []protocol.Edit {
	verb := strings.ToUpper(n.Str())
	for _, f := range agis.CheckMethod(verb) {
		if f.Severity == protocol.Error {
			return nil // the method will be renamed
		}
	}
	list := r.nodeAt("/vocabulary/declared_verbs")
	if list == nil || list.Kind != protocol.Array || agis.MeantVerb(verb, list.Strs()) != "" {
		return nil
	}
	return r.addElement(list, verb)
}

// declareVerbs adds the list of verbs to a vocabulary without one: those of the endpoints.
func declareVerbs(r *reading, n *protocol.Node) []protocol.Edit {
	if n.Pointer != "/vocabulary" || n.Kind != protocol.Object {
		return nil // the list exists but holds something else
	}
	var verbs []string
	for _, e := range r.nodeAt("/endpoints").Elements() {
		verb := strings.ToUpper(e.Member("method").Str())
		for _, f := range agis.CheckMethod(verb) {
			if f.Severity == protocol.Error {
				return nil
			}
		}
		if !slices.Contains(verbs, verb) {
			verbs = append(verbs, verb)
		}
	}
	if len(verbs) == 0 {
		return nil
	}
	return r.addMember(n, "declared_verbs", verbs)
}

// transition matches a line with an unquoted state transition as its value, which YAML reads as a
// list followed by text (AGIS §10.1).
var transition = regexp.MustCompile(`(?m)^[ \t]*(?:- +)?[A-Za-z_][A-Za-z0-9_.-]*:[ \t]+(\[[^\]\r\n#"]*\][ \t]*->[ \t]*[^\r\n#"]*?)[ \t]*\r?$`)

// quoteTransitions quotes all such values.
func quoteTransitions(body []byte) []protocol.Edit {
	var edits []protocol.Edit
	for _, m := range transition.FindAllSubmatchIndex(body, -1) {
		edits = append(edits, protocol.Edit{Offset: m[2], End: m[3], Text: quoteJSON(string(body[m[2]:m[3]]))})
	}
	return edits
}

func quoteJSON(s string) string {
	return string(protocol.WriteJSON(&protocol.Node{Kind: protocol.String, Text: s}, ""))
}
