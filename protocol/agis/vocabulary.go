package agis

import (
	"regexp"
	"strings"

	"gazetteer/protocol"
)

// checkVocabulary is pass 7 (§8.2), and the part of pass 1 about the same block.
func (c *checker) checkVocabulary(root *protocol.Node, endpoints []*protocol.Node) {
	n := root.Member("vocabulary")
	if isEmpty(n) || n.Kind != protocol.Object {
		message := "vocabulary is missing or empty"
		if !isEmpty(n) {
			message = "vocabulary is " + describeKind(n.Kind) + ", not a mapping"
		}
		c.Add("AGIS118", placeOfAbsence(n, root), message, "add vocabulary with declared_verbs and domain")
		return
	}
	c.checkFields(n, vocabularyFields...)
	c.booleanField(n, "negotiable", "AGIS136")
	v := &c.doc.Vocabulary
	v.Domain, v.Namespace, v.Version = n.Member("domain").Str(), n.Member("namespace").Str(), n.Member("version").Str()
	v.Negotiable = n.Member("negotiable").True()
	if v.Domain == "" {
		c.Add("AGIS705", placeOfAbsence(n.Member("domain"), n), "domain is missing", "name the field of business, for example hospitality")
	}
	if m := n.Member("namespace"); m != nil && !namespaceForm.MatchString(m.Str()) {
		c.Add("AGIS706", m, "namespace is not one short word of lowercase letters", "use letters, digits and hyphens, for example acme-reservations")
	}
	c.checkDeclaredVerbs(n, root, endpoints)
}

var namespaceForm = regexp.MustCompile(`\A[a-z][a-z0-9]*(?:-[a-z0-9]+)*\z`)

// checkDeclaredVerbs compares declared_verbs with the methods of the endpoints, without
// letter case (§4.1(e)).
func (c *checker) checkDeclaredVerbs(n, root *protocol.Node, endpoints []*protocol.Node) {
	list := n.Member("declared_verbs")
	if list == nil || list.Kind != protocol.Array || len(list.Strs()) != len(list.Items) {
		c.Add("AGIS701", placeOfAbsence(list, n), "declared_verbs is missing or not a list of strings", "list every method of the endpoints, for example [BOOK, FIND]")
		return
	}
	c.doc.Vocabulary.DeclaredVerbs = list.Strs()
	declared := map[string]bool{}
	for _, item := range list.Items {
		verb := strings.ToUpper(item.Text)
		if declared[verb] {
			c.Add("AGIS704", item, "the verb "+protocol.Quote(item.Text)+" is declared twice", "remove one of them")
		}
		declared[verb] = true
	}
	used := map[string]bool{}
	for i, e := range c.doc.Endpoints {
		verb := strings.ToUpper(e.Method)
		if verb != "" && !declared[verb] && !used[verb] {
			help := "add it to vocabulary.declared_verbs"
			if meant := c.meant[endpoints[i]]; meant != "" {
				help = "correct its spelling if " + meant + " is meant; otherwise " + help
			}
			c.Add("AGIS702", endpoints[i].Member("method"), "the method "+protocol.Quote(e.Method)+" is not declared in the vocabulary", help)
		}
		used[verb] = true
	}
	// Unused verbs are known only if every endpoint could be read.
	if used[""] || len(endpoints) == 0 || len(endpoints) != len(root.Member("endpoints").Elements()) {
		return
	}
	for _, item := range list.Items {
		if verb := strings.ToUpper(item.Text); !used[verb] {
			c.Add("AGIS703", item, "the verb "+protocol.Quote(item.Text)+" is declared, but no endpoint uses it", "remove it, or add the endpoint")
			used[verb] = true
		}
	}
}
