package agis

import "gazetteer/protocol"

// CheckMethod checks one method identifier by passes 2 and 3 (§4), as Parse checks the methods of a
// document. It is for identifiers outside of documents, such as the one in an X-AGIS-Method header
// (§10.1). The findings have no line and column.
func CheckMethod(token string) []protocol.Finding {
	c := &checker{Report: protocol.NewReport(rules, protocol.Limits{})}
	n := &protocol.Node{Kind: protocol.String, Text: token}
	c.checkMethod(wrapInObject("method", n), token)
	return c.Findings()
}

// CheckPath checks one path by pass 4 (§5), as Parse checks the paths of a document; method is the
// method of the same endpoint. The findings have no line and column.
func CheckPath(method, path string) []protocol.Finding {
	c := &checker{Report: protocol.NewReport(rules, protocol.Limits{})}
	c.checkPath(&protocol.Node{Kind: protocol.String, Text: path}, method)
	return c.Findings()
}

// wrapInObject returns an object with one member.
func wrapInObject(name string, n *protocol.Node) *protocol.Node {
	n.Key = name
	return &protocol.Node{Kind: protocol.Object, Items: []*protocol.Node{n}}
}

// WellFormedNamespace reports whether a namespace can be used in a header and in namespace.VERB
// (§8.2(d), §10.1): lowercase letters, digits and hyphens.
func WellFormedNamespace(s string) bool { return namespaceForm.MatchString(s) }
