package agis

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gazetteer/protocol"
)

// checkHeader is pass 1 for the top-level members (§8.1).
func (c *checker) checkHeader(root *protocol.Node) {
	d := &c.doc
	c.checkFields(root, slices.Concat(topFields, linkFields)...)
	d.Version = c.checkVersion(root)
	d.Service = c.readName(root, "service", "AGIS113", "the human-readable name of the service")
	d.AGTP = c.checkAGTP(root)
	d.Description = root.Member("description").Str()
	d.Links = readLinks(root)
	vocabulary := root.Member("vocabulary")
	d.ServiceVersion = root.Member("version").Str()
	if d.ServiceVersion == "" {
		d.ServiceVersion = vocabulary.Member("version").Str()
	}
	if n := root.Member("description"); isEmpty(n) {
		c.Add("AGIS119", placeOfAbsence(n, root), "description is missing or empty", "say in a sentence what the service is for")
	} else if n.Kind != protocol.String {
		c.Add("AGIS119", n, "description is "+describeKind(n.Kind)+", not a string", "say in a sentence what the service is for")
	}
	if isEmpty(root.Member("version")) && isEmpty(vocabulary.Member("version")) {
		c.Add("AGIS120", root, "version is missing", `add the version of your service, for example version: "1.0.0"`)
	}
	if n := root.Member("schemas"); n != nil && n.Kind != protocol.Object {
		c.Add("AGIS123", n, "schemas is "+describeKind(n.Kind)+", not a mapping", "write schemas: {NAME: {type: object, …}}")
	}
}

// readLinks reads the members of §11.1 with addresses and protocols.
func readLinks(root *protocol.Node) Links {
	return Links{
		AGISDocument:         root.Member("agis_document").Str(),
		InteractionProtocols: root.Member("interaction_protocols").Strs(),
		RelatedServices:      root.Member("related_services").Strs(),
		MCPToolsList:         root.Member("mcp_tools_list").Str(),
	}
}

func (c *checker) checkVersion(root *protocol.Node) string {
	n := root.Member("agis")
	const help = `write agis: "1.0"`
	switch {
	case isEmpty(n):
		c.Add("AGIS110", placeOfAbsence(n, root), "agis is missing", help)
		return ""
	case c.yaml && n.Kind == protocol.Number && n.Text == "1.0":
		c.Add("AGIS112", n, "agis: 1.0 without quotes is a number", help)
		return n.Text
	case n.Str() != "1.0":
		c.Add("AGIS111", n, "agis is "+quoteNode(n)+", not the string \"1.0\"", help)
	}
	return n.Str()
}

// readName reads a required text.
func (c *checker) readName(parent *protocol.Node, field, code, what string) string {
	n := parent.Member(field)
	if isEmpty(n) {
		c.Add(code, placeOfAbsence(n, parent), field+" is missing or empty", "add "+field+": "+what)
		return ""
	}
	if n.Kind != protocol.String {
		help := "put the text in quotes"
		if n.Kind == protocol.Array || n.Kind == protocol.Object {
			help = "write one text: " + what
		}
		c.Add(code, n, field+" is "+describeKind(n.Kind)+", not a string", help)
	}
	return n.Str()
}

// isAGTP reports whether a text is an agtp:// address with a host.
func isAGTP(address string) bool {
	u, err := url.Parse(address)
	return err == nil && strings.EqualFold(u.Scheme, "agtp") && u.Hostname() != ""
}

func (c *checker) checkAGTP(root *protocol.Node) string {
	address := c.readName(root, "agtp", "AGIS114", "the AGTP address of the service, for example agtp://service.example.com")
	if address != "" && !isAGTP(address) {
		c.Add("AGIS115", root.Member("agtp"), "agtp is not an agtp:// address with a host", "write the absolute URL, for example agtp://service.example.com")
	}
	return address
}

// checkEndpoints is pass 1 for the list of endpoints: it returns those that are
// mappings.
func (c *checker) checkEndpoints(root *protocol.Node) []*protocol.Node {
	n := root.Member("endpoints")
	const help = "write a list of mappings with method, path, semantic, input, output and errors"
	if isEmpty(n) {
		c.Add("AGIS116", placeOfAbsence(n, root), "endpoints is missing or empty", help)
		return nil
	}
	if n.Kind != protocol.Array {
		message, help := "endpoints is "+describeKind(n.Kind)+", not a list", help
		if n.Kind == protocol.Object && strings.Contains(n.Items[0].Key, " /") {
			message += `; "METHOD /path" as a key is the notation of the draft's examples only`
			help = `write each as an entry that begins with "- method:" and "path:"; "validate --fix" does it for you`
		}
		c.Add("AGIS117", n, message, help)
		return nil
	}
	if len(n.Items) > MaxEndpoints {
		c.AddKey("AGIS106", n, fmt.Sprintf("there are %d endpoints; only the first %d are indexed", len(n.Items), MaxEndpoints), "split the service into smaller services")
	}
	var out []*protocol.Node
	for _, item := range n.Items {
		if item.Kind != protocol.Object {
			c.Add("AGIS117", item, "an endpoint is "+describeKind(item.Kind)+", not a mapping", help)
			continue
		}
		out = append(out, item)
	}
	return out
}

// readEndpoint reads the typed endpoint; later passes check it.
func (c *checker) readEndpoint(n *protocol.Node) Endpoint {
	c.checkFields(n, endpointFields...)
	e := Endpoint{
		Method:   n.Member("method").Str(),
		Path:     n.Member("path").Str(),
		Semantic: readSemantic(n.Member("semantic")),
		Input:    n.Member("input"),
		Output:   n.Member("output"),
		Proposed: n.Member("proposed").True(),
		Pointer:  n.Pointer,
	}
	for _, item := range n.Member("errors").Elements() {
		name := item.Str()
		if item.Kind == protocol.Object {
			name = item.Member("name").Str()
		}
		if name != "" {
			e.Errors = append(e.Errors, ErrorCondition{Name: name, Description: item.Member("description").Str()})
		}
	}
	return e
}

// sensitivities are the impact tiers of §8.3 and the scale that its examples use.
var sensitivities = map[string]bool{
	"informational": true, "reversible": true, "irreversible": true, "low": true, "medium": true, "high": true,
}

// checkManifest is pass 1 for the data manifest (§8.3).
func (c *checker) checkManifest(root *protocol.Node) {
	n := root.Member("data_manifest")
	c.booleanField(root, "pre_auth_discovery", "AGIS136")
	c.doc.PreAuthDiscovery = root.Member("pre_auth_discovery").True() || n.Member("pre_auth_discovery").True()
	negotiable := root.Member("vocabulary").Member("negotiable").True()
	if n == nil || n.Kind == protocol.Null && negotiable {
		if negotiable {
			c.Add("AGIS130", root.Member("vocabulary").Member("negotiable"), "negotiable is true, but there is no data_manifest", "add data_manifest with available_data, or leave negotiable out")
		}
		return
	}
	const help = "write available_data as a list of mappings, each with class and description"
	list := n.Member("available_data")
	if n.Kind != protocol.Object || list == nil || list.Kind != protocol.Array {
		c.Add("AGIS131", placeOfAbsence(list, n), "data_manifest has no list available_data", help)
		return
	}
	c.checkFields(n, manifestFields...)
	c.booleanField(n, "pre_auth_discovery", "AGIS136")
	if len(list.Items) == 0 && negotiable {
		c.Add("AGIS132", list, "available_data is empty, yet negotiable is true", "list the data classes that can be requested")
	}
	manifest := &DataManifest{PreAuthDiscovery: n.Member("pre_auth_discovery").True()}
	seen := map[string]bool{}
	for _, item := range list.Items {
		if item.Kind != protocol.Object || item.Member("class").Str() == "" {
			c.Add("AGIS131", item, "an entry of available_data is not a mapping with a class", help)
			continue
		}
		manifest.Available = append(manifest.Available, c.dataClass(item, seen))
	}
	c.doc.DataManifest = manifest
}

func (c *checker) dataClass(n *protocol.Node, seen map[string]bool) DataClass {
	c.checkFields(n, dataFields...)
	c.booleanField(n, "requires_authorization", "AGIS136")
	class := n.Member("class").Str()
	if seen[class] {
		c.Add("AGIS137", n.Member("class"), "the data class "+protocol.Quote(class)+" is listed twice", "keep one entry for it")
	}
	seen[class] = true
	if c.doc.PreAuthDiscovery {
		c.checkDisclosure(n)
	}
	authorized := n.Member("requires_authorization").True()
	sensitivity := strings.ToLower(n.Member("sensitivity").Str())
	switch m := n.Member("sensitivity"); {
	case m == nil:
	case !sensitivities[sensitivity]:
		c.Add("AGIS133", m, "sensitivity is "+quoteNode(m)+", not one of the known values", "use informational, reversible or irreversible")
	case sensitivity == "low" || sensitivity == "medium" || sensitivity == "high":
		c.Add("AGIS134", m, "sensitivity uses the scale of the draft's example, not the one of its text", "both are accepted; informational, reversible and irreversible are the values of the text")
	}
	if (sensitivity == "high" || sensitivity == "irreversible") && !authorized {
		c.Add("AGIS135", n, "the data class "+protocol.Quote(class)+" is sensitive, but does not require authorization", "add requires_authorization: true")
	}
	return DataClass{
		Class: class, Description: n.Member("description").Str(), Formats: n.Member("formats").Strs(),
		Sensitivity: sensitivity, RequiresAuthorization: authorized,
	}
}

func (c *checker) booleanField(parent *protocol.Node, field, code string) {
	n := parent.Member(field)
	if n == nil || n.Kind == protocol.Bool {
		return
	}
	help := "write true or false without quotes"
	switch strings.ToLower(n.Str()) {
	case "yes", "y", "on":
		help = "write true: yes and on are texts in YAML 1.2, also without quotes"
	case "no", "n", "off":
		help = "write false: no and off are texts in YAML 1.2, also without quotes"
	}
	c.Add(code, n, field+" is "+describeKind(n.Kind)+", not true or false", help)
}
