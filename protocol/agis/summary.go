package agis

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"gazetteer/protocol"
)

// ParseSummary reads the summary at /.well-known/agis.json (§11.1) and applies the rules that need
// no other document. The error is for bytes that are not a JSON object: it wraps
// [protocol.ErrUnreadable]; the summary is then nil and the finding says why.
func ParseSummary(text []byte, o Options) (*Summary, []protocol.Finding, error) {
	o.Limits = o.Limits.OrDefault()
	c := &checker{Report: protocol.NewReport(rules, o.Limits)}
	const help = "serve a single JSON object, as UTF-8"
	root, err := protocol.ReadJSON(text, o.Limits)
	if err != nil {
		syntax, ok := errors.AsType[*protocol.SyntaxError](err)
		if !ok {
			syntax = &protocol.SyntaxError{Message: err.Error()}
		}
		c.AddSyntax("WK101", syntax, cmp.Or(protocol.DescribeJSONRepair(syntax.Message), help))
		return nil, c.Findings(), fmt.Errorf("read AGIS summary: %w: %w", protocol.ErrUnreadable, err)
	}
	if root.Kind != protocol.Object {
		c.Add("WK101", root, "the summary is "+describeKind(root.Kind)+", not an object", help)
		return nil, c.Findings(), fmt.Errorf("read AGIS summary: %w: top level is %s", protocol.ErrUnreadable, describeKind(root.Kind))
	}
	return c.readSummary(root), c.Findings(), nil
}

func (c *checker) readSummary(root *protocol.Node) *Summary {
	c.summaryRequired(root)
	c.summaryRecommended(root)
	c.summaryMethods(root)
	c.summarySensitivity(root)
	c.summaryTypes(root)
	c.summaryLinks(root)
	c.summaryTexts(root)
	if n := root.Member("capability_summary"); n != nil && n.Kind != protocol.Array {
		c.Add("WK112", n, "capability_summary is "+describeKind(n.Kind)+", not a list", "write a list of "+strings.Join(capabilities, ", "))
	}
	for _, item := range root.Member("capability_summary").Elements() {
		if !slices.Contains(capabilities, item.Str()) {
			c.Add("WK112", item, "capability_summary has a value that is not one of the six classes", "use "+strings.Join(capabilities, ", "))
		}
	}
	s := &Summary{
		Version:           root.Member("agis").Str(),
		Service:           root.Member("service").Str(),
		AGTP:              root.Member("agtp").Str(),
		Domain:            root.Member("domain").Str(),
		Namespace:         root.Member("namespace").Str(),
		Negotiable:        root.Member("negotiable").True(),
		CapabilitySummary: root.Member("capability_summary").Strs(),
		DataClasses:       root.Member("data_classes").Strs(),
		PreAuthDiscovery:  root.Member("pre_auth_discovery").True(),
		ServiceVersion:    root.Member("version").Str(),
		Links:             readLinks(root),
		Root:              root,
	}
	for _, item := range root.Member("methods").Elements() {
		if item.Kind == protocol.String {
			s.Methods = append(s.Methods, SummaryMethod{Name: item.Text, Pointer: item.Pointer})
		}
	}
	return s
}

func (c *checker) summaryRequired(root *protocol.Node) {
	for _, field := range []string{"agis", "service", "agtp", "agis_document"} {
		n := root.Member(field)
		switch {
		case isEmpty(n):
			c.Add("WK102", placeOfAbsence(n, root), field+" is missing or empty", "add "+field)
		case n.Kind != protocol.String:
			c.Add("WK102", n, field+" is "+describeKind(n.Kind)+", not a string", "put it in quotes")
		case field == "agis" && n.Text != "1.0":
			c.Add("WK102", n, "agis is "+quoteNode(n)+", not \"1.0\"", `write "agis": "1.0"`)
		case field == "agtp" && !isAGTP(n.Text):
			c.Add("WK102", n, "agtp is not an agtp:// address with a host", "write the absolute URL, for example agtp://service.example.com")
		}
	}
	n := root.Member("methods")
	switch {
	case n == nil:
		c.Add("WK102", root, "methods is missing", `list the verbs of the service, for example ["BOOK", "FIND"]`)
	case n.Kind != protocol.Array || len(n.Strs()) != len(n.Items):
		c.Add("WK102", n, "methods is not a list of strings", `list the verbs of the service, for example ["BOOK", "FIND"]`)
	case len(n.Items) == 0:
		c.Add("WK102", n, "methods is empty", `list the verbs of the service, for example ["BOOK", "FIND"]`)
	}
	if n := root.Member("agis_document"); !isEmpty(n) && n.Kind == protocol.String && !isURI(n.Text) {
		c.Add("WK103", n, "agis_document is not an agtp:// or https:// address", "write the address of the full document")
	}
}

func (c *checker) summaryRecommended(root *protocol.Node) {
	var absent []string
	for _, field := range []string{"domain", "namespace", "negotiable", "capability_summary", "data_classes", "pre_auth_discovery", "version"} {
		if root.Member(field) == nil {
			absent = append(absent, field)
		}
	}
	if len(absent) > 0 {
		c.Add("WK109", root, strings.Join(absent, ", ")+": in the draft's summary and absent here", "add what the service has; it helps to be found")
	}
}

// summaryTypes reports optional members whose values have another type than those of the draft's
// summary (WK116).
func (c *checker) summaryTypes(root *protocol.Node) {
	for _, field := range []string{"domain", "namespace", "version"} {
		if n := root.Member(field); n != nil && n.Kind != protocol.String {
			c.Add("WK116", n, field+" is "+describeKind(n.Kind)+", not a string", "put it in quotes")
		}
	}
	for _, field := range []string{"negotiable", "pre_auth_discovery"} {
		c.booleanField(root, field, "WK116")
	}
	if n := root.Member("data_classes"); n != nil && n.Kind != protocol.Array {
		c.Add("WK116", n, "data_classes is "+describeKind(n.Kind)+", not a list", `list the names of the classes, for example ["reservation"]`)
	}
}

func (c *checker) summaryMethods(root *protocol.Node) {
	if n := root.Member("methods"); len(n.Elements()) > MaxEndpoints {
		c.AddKey("WK114", n, fmt.Sprintf("there are %d methods; only the first %d are indexed", len(n.Items), MaxEndpoints), "split the service into smaller services")
	}
	for _, item := range root.Member("methods").Elements() {
		if item.Kind != protocol.String {
			continue
		}
		f := methodFault(item.Text)
		if item.Text == "" {
			f = methodError{message: "a method is empty", help: "remove it", code: "AGIS201"}
		}
		if f.code != "" {
			c.Add("WK104", item, f.message, f.help)
		}
	}
}

// sensitivityNames are members that describe the sensitivity of data, in the form of [foldName].
var sensitivityNames = []string{"sensitivity", "datasensitivity", "sensitivitylevel", "datamanifest"}

// summarySensitivity reports details that a summary must not reveal (§11.1(b)).
func (c *checker) summarySensitivity(n *protocol.Node) {
	for _, m := range n.Items {
		name := foldName(m.Key)
		ofClass := strings.HasPrefix(m.Pointer, "/data_classes/") && (name == "requiresauthorization" || name == "impacttier")
		if ofClass || slices.Contains(sensitivityNames, name) {
			c.AddKey("WK105", m, "the summary exposes "+protocol.Quote(m.Key), "name the data classes only; details belong in the full document")
			continue
		}
		c.summarySensitivity(m)
	}
}

// summaryTexts reports texts that hide something from the reader (WK115).
func (c *checker) summaryTexts(n *protocol.Node) {
	for _, m := range n.Items {
		for _, text := range []string{m.Key, m.Str()} {
			if found, ok := protocol.Instruction(text); ok {
				c.Add("WK115", m, "the text "+protocol.Quote(text)+" holds "+protocol.DescribeInstruction(found), deceitHelp)
			}
		}
		c.summaryTexts(m)
	}
}

var interactionProtocols = []string{"request", "negotiate", "confirm", "query"}

func (c *checker) summaryLinks(root *protocol.Node) {
	protocols := root.Member("interaction_protocols")
	if protocols != nil && protocols.Kind != protocol.Array {
		c.Add("WK106", protocols, "interaction_protocols is "+describeKind(protocols.Kind)+", not a list", "write a list of "+strings.Join(interactionProtocols, ", "))
	}
	for _, item := range protocols.Elements() {
		if !slices.Contains(interactionProtocols, item.Str()) {
			c.Add("WK106", item, "interaction_protocols has a value that the draft does not define", "use "+strings.Join(interactionProtocols, ", "))
		}
	}
	if protocols != nil && root.Member("negotiable").True() != slices.Contains(protocols.Strs(), "negotiate") {
		c.Add("WK108", protocols, "negotiable and interaction_protocols disagree on whether the service negotiates", "list negotiate exactly when negotiable is true")
	}
	if n := root.Member("related_services"); n != nil && n.Kind != protocol.Array {
		c.Add("WK107", n, "related_services is "+describeKind(n.Kind)+", not a list", "write a list of agtp:// or https:// addresses")
	}
	for _, item := range root.Member("related_services").Elements() {
		switch {
		case !isURI(item.Str()):
			c.Add("WK107", item, "a related service is not an agtp:// or https:// address", "write the absolute URL, for example agtp://payments.example.com")
		case !namesDomain(item.Str()):
			c.Add("WK107", item, "the address of a related service names no domain that can be visited", "name the host by its domain, for example agtp://payments.example.com")
		}
	}
	if n := root.Member("mcp_tools_list"); n != nil && !isURI(n.Str()) {
		c.Add("WK113", n, "mcp_tools_list is not an agtp:// or https:// address", "write the absolute URL of the tools list")
	}
}

// namesDomain reports whether a crawler can visit the host of an address: a name of the public DNS,
// and no port but 443. IP addresses in any spelling, single labels and names of private networks
// are none.
func namesDomain(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || strings.HasSuffix(u.Host, ":") || u.Port() != "" && u.Port() != "443" {
		return false
	}
	// Clients map full-width digits and dots to plain ones (UTS #46).
	host := strings.ReplaceAll(strings.ToLower(norm.NFKC.String(u.Hostname())), "。", ".")
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := labels[len(labels)-1]
	hex, isHex := strings.CutPrefix(last, "0x")
	switch {
	case strings.Contains(host, ":"), len(host) > maxDomainName, len(labels) == 1, slices.ContainsFunc(labels, func(l string) bool { return !isDomainLabel(l) }):
		return false
	case strings.TrimFunc(last, unicode.IsDigit) == "", isHex && strings.Trim(hex, "0123456789abcdef") == "":
		return false // an IPv4 address, by the URL standard
	}
	return !slices.Contains(privateNames, last) && !strings.HasSuffix("."+strings.Join(labels, "."), ".home.arpa")
}

// The lengths of a domain name and of its labels in ASCII (RFC 1035).
const (
	maxDomainName  = 253
	maxDomainLabel = 63
)

// isDomainLabel reports whether a label can be one of a domain name, in ASCII or another script.
func isDomainLabel(label string) bool {
	outside := func(r rune) bool { return r != '-' && !unicode.In(r, unicode.L, unicode.M, unicode.Nd) }
	return label != "" && label != "xn--" && utf8.RuneCountInString(label) <= maxDomainLabel && !strings.ContainsFunc(label, outside) &&
		!strings.HasPrefix(label, "-") && !strings.HasSuffix(label, "-")
}

// privateNames are top-level names below which nothing is public (RFC 6761, RFC 6762, RFC 7686,
// RFC 9476, ICANN's reservation of "internal").
var privateNames = []string{"localhost", "local", "internal", "onion", "alt"}

// isURI reports whether s is an address with scheme agtp or https and a host.
func isURI(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "agtp" || u.Scheme == "https") && u.Hostname() != ""
}
