package agis

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/english"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/yaml"
)

// Options sets the limits of [Parse] and the level that a document must reach. The zero value is
// usable.
type Options struct {
	Limits protocol.Limits
	// Level is the conformance level of §3.3 that the document must reach. At 2, an endpoint
	// without a field that Level 2 requires (Table 4) is an error (AGIS520); below, it is a hint.
	Level int
}

// rulesOfLevel returns the rules by code, with their severities at the level.
func (o Options) rulesOfLevel() map[string]protocol.Rule {
	if o.Level >= 2 {
		return rulesOfLevelTwo
	}
	return rules
}

// Parse reads one full AGIS document, in JSON or YAML, and runs the validation passes on it.
// Problems of the document are findings. The error is for bytes that are not an AGIS document: it
// wraps [protocol.ErrUnreadable]; the document is then nil and the findings say why. A document that
// cannot be read only because of merge keys (<<) is checked as if they were written out.
func Parse(text []byte, o Options) (*Document, []protocol.Finding, error) {
	o.Limits = o.Limits.OrDefault()
	c := &checker{Report: protocol.NewReport(o.rulesOfLevel(), o.Limits), level: o.Level, limits: o.Limits}
	text, _ = protocol.TrimBOM(text) // YAML allows one (YAML 1.2 §5.2)
	root, isYAML, err := readText(text, o.Limits)
	if err != nil {
		if !c.checkMerged(text, err) {
			c.reportUnreadable(text, err)
		}
		return nil, c.Findings(), fmt.Errorf("read AGIS document: %w: %w", protocol.ErrUnreadable, err)
	}
	if root.Kind != protocol.Object {
		c.reportNoMapping(text, root)
		return nil, c.Findings(), fmt.Errorf("read AGIS document: %w: top level is %s", protocol.ErrUnreadable, describeKind(root.Kind))
	}
	c.yaml = isYAML
	return c.readDocument(root), c.Findings(), nil
}

// readText reads JSON if the text begins like JSON, else YAML (§10 requires both). YAML's flow
// style begins like JSON too, so a text that is invalid JSON is tried as YAML; if that fails as
// well, the first error is returned.
func readText(text []byte, l protocol.Limits) (root *protocol.Node, isYAML bool, err error) {
	trimmed := bytes.TrimLeft(text, " \t\r\n")
	comment := bytes.HasPrefix(trimmed, []byte("//")) || bytes.HasPrefix(trimmed, []byte("/*")) // YAML hardly begins so, and is tried as well
	if !comment && (len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[') {
		root, err = yaml.Read(text, l)
		return root, true, err
	}
	root, err = protocol.ReadJSON(text, l)
	if problemOf(err) == protocol.Invalid {
		root, yamlErr := yaml.Read(text, l)
		if problemOf(yamlErr) != protocol.Invalid {
			return root, true, yamlErr
		}
	}
	return root, false, err
}

// problemOf returns the reason why a text could not be read, 0 for none.
func problemOf(err error) protocol.Problem {
	if syntax, ok := errors.AsType[*protocol.SyntaxError](err); ok {
		return syntax.Problem
	}
	return 0
}

// checker runs the passes on a tree and fills the typed document.
type checker struct {
	*protocol.Report
	doc    Document
	limits protocol.Limits
	yaml   bool // the text was YAML
	// level is the requested conformance level.
	level int
	// refused holds the endpoints whose method passes 2 and 3 refuse; suggested counts the searches
	// for a better method.
	refused   map[*protocol.Node]bool
	suggested int
	// meant holds the declared verbs that misspelled methods of endpoints probably mean.
	meant map[*protocol.Node]string
	// told holds the texts for which AGIS519 has been reported.
	told    map[*protocol.Node]bool
	schemas schemaCheck
	// inputs remembers the required names of a schema that endpoints share.
	inputs map[*protocol.Node]map[string]bool
}

// quoteNode returns a value in quotes for a message, or the name of its kind if it is not a text.
func quoteNode(n *protocol.Node) string {
	switch n.Kind {
	case protocol.String, protocol.Number:
		return protocol.Quote(n.Text)
	default:
		return describeKind(n.Kind)
	}
}

// describeKind returns the name of a kind with its article: "a list".
func describeKind(k protocol.Kind) string {
	switch k {
	case protocol.Null:
		return "empty"
	case protocol.Array:
		return "a list"
	case protocol.Object:
		return "a mapping"
	case protocol.Bool:
		return "the value true or false"
	default:
		return "a " + k.String()
	}
}

// isEmpty reports whether a field is absent or has no value.
func isEmpty(n *protocol.Node) bool {
	if n == nil {
		return true
	}
	switch n.Kind {
	case protocol.Null:
		return true
	case protocol.String:
		return strings.TrimSpace(n.Text) == ""
	case protocol.Array, protocol.Object:
		return len(n.Items) == 0
	default:
		return false
	}
}

// placeOfAbsence returns the node to which a missing value is reported: the empty value, or else
// its parent.
func placeOfAbsence(n, parent *protocol.Node) *protocol.Node {
	if n != nil {
		return n
	}
	return parent
}

// The fields that the draft defines, by block.
var (
	topFields      = []string{"agis", "service", "agtp", "description", "version", "endpoints", "vocabulary", "schemas", "data_manifest"}
	linkFields     = []string{"agis_document", "interaction_protocols", "related_services", "mcp_tools_list", "pre_auth_discovery"}
	endpointFields = []string{"method", "path", "semantic", "input", "output", "errors", "proposed"}
	semanticFields = []string{"intent", "actor", "outcome", "capability", "confidence_guidance", "impact_tier",
		"is_idempotent", "parameter_hints", "state_transition", "mcp_tool_name"}
	vocabularyFields = []string{"declared_verbs", "domain", "namespace", "version", "negotiable"}
	manifestFields   = []string{"available_data", "pre_auth_discovery"}
	dataFields       = []string{"class", "description", "formats", "sensitivity", "requires_authorization"}
	summaryFields    = []string{"agis", "service", "agtp", "agis_document", "methods", "domain", "namespace", "negotiable", "capability_summary",
		"data_classes", "interaction_protocols", "pre_auth_discovery", "version", "related_services", "mcp_tools_list"}
)

// MemberNames returns the fields that the draft defines for the object of a full document at a JSON
// Pointer (§6, §8), nil if it defines no object there.
func MemberNames(pointer string) []string {
	switch protocol.PointerShape(pointer) {
	case "":
		return topFields
	case "/endpoints/*":
		return endpointFields
	case "/endpoints/*/semantic":
		return semanticFields
	case "/vocabulary":
		return vocabularyFields
	case "/data_manifest":
		return manifestFields
	case "/data_manifest/available_data/*":
		return dataFields
	}
	return nil
}

// SummaryMemberNames does the same for the object of a summary (§11.1).
func SummaryMemberNames(pointer string) []string {
	if pointer != "" {
		return nil
	}
	return summaryFields
}

// checkFields reports names that are misspelled (AGIS121) or unknown (AGIS122).
func (c *checker) checkFields(n *protocol.Node, names ...string) {
	for _, m := range tree.Members(n) {
		if slices.Contains(names, m.Key) {
			continue
		}
		key := foldName(m.Key)
		i := slices.IndexFunc(names, func(name string) bool { return sameFolded(name, key) })
		if i >= 0 {
			c.AddKey("AGIS121", m, "the field name "+protocol.Quote(m.Key)+" is not lower snake_case", "write "+names[i])
			continue
		}
		help := "readers ignore it; remove it, or check the spelling"
		if near := english.NearName(m.Key, names); near != "" {
			help = "did you mean " + near + "? Readers pass over this one"
		} else if slices.Contains(names, "semantic") && slices.Contains(semanticFields, m.Key) {
			help = "move it under semantic: readers look for it there"
		}
		c.AddKey("AGIS122", m, "the draft names no field "+protocol.Quote(m.Key)+" here", help)
	}
}

// foldName returns a name in lower case without separators.
func foldName(s string) string { return strings.ToLower(separators.Replace(s)) }

var separators = strings.NewReplacer("_", "", "-", "")

// sameFolded reports whether fold(name) is folded, for a name of the draft,
// which is in lower case.
func sameFolded(name, folded string) bool {
	for part := range strings.SplitSeq(name, "_") {
		var ok bool
		if folded, ok = strings.CutPrefix(folded, part); !ok {
			return false
		}
	}
	return folded == ""
}

// readDocument runs the passes in the order of §9.1.
func (c *checker) readDocument(root *protocol.Node) *Document {
	d := &c.doc
	d.Root, d.refs = root, newReferences(root)
	if d.refs.hasAny() {
		c.schemas.visited = map[*protocol.Node]bool{}
	}
	c.checkHeader(root)
	c.checkManifest(root)
	endpoints := c.checkEndpoints(root)
	for _, n := range endpoints {
		d.Endpoints = append(d.Endpoints, c.readEndpoint(n))
	}
	for i, n := range endpoints { // pass 2 and 3
		c.checkMethod(n, d.Endpoints[i].Method)
	}
	c.checkPaths(endpoints)
	c.checkSemantics(endpoints)
	c.checkIntents(endpoints)
	c.checkVocabulary(root, endpoints)
	for _, n := range endpoints { // pass 8
		c.checkContract(n)
	}
	c.sharedSchemas(root)
	return d
}
