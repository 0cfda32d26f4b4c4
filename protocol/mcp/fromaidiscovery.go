package mcp

import (
	"cmp"
	"fmt"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

// FromAIDiscovery converts an AI Discovery document into the result of an MCP tools/list request:
// one tool for each capability, with its parameters as the input schema. How a capability is called
// over HTTP has no place in MCP; a review says so. It fails for a text that is not an AI Discovery
// document and for a document without capabilities.
func FromAIDiscovery(text []byte, o conversion.Options) (conversion.Output, error) {
	doc, findings, err := aidiscovery.Parse(text, aidiscovery.Options{})
	if err != nil {
		return conversion.Output{}, fmt.Errorf("convert AI Discovery to MCP: %w", err)
	}
	if len(doc.Capabilities) == 0 {
		return conversion.Output{}, fmt.Errorf("convert AI Discovery to MCP: the document has no capabilities: %s", conversion.DescribeFirstError(findings, nil))
	}
	var notes conversion.Notes
	notes.Add(nil, "method, endpoint and authentication of the capabilities are left out: MCP has no members for them, the server of the tools makes the calls")
	if worst, _ := protocol.Worst(findings); worst == protocol.Error {
		notes.Add(nil, "the AI Discovery document breaks its draft: "+conversion.DescribeFirstError(findings, nil))
	}
	tools, taken := tree.Array(), map[string]bool{}
	for _, c := range doc.Capabilities {
		tools.Items = append(tools.Items, capabilityTool(c, o, &notes, taken))
	}
	root := tree.Object("tools", tools)
	reviews := notes.Reviews(root)
	return conversion.Output{Text: append(protocol.WriteJSON(root, "  "), '\n'), Reviews: reviews}, nil
}

// capabilityTool builds the tool of one capability. taken holds the names in use.
func capabilityTool(c aidiscovery.Capability, o conversion.Options, notes *conversion.Notes, taken map[string]bool) *protocol.Node {
	name := cmp.Or(wording.SnakeCase(c.ID, maxToolName), "capability")
	tool := tree.Object()
	if n := tree.Put(tool, "name", tree.String(wording.UniqueName(name, maxToolName, taken))); n.Text != c.ID {
		notes.Add(n, "from the capability id "+protocol.Quote(c.ID)+", which is not a tool name or is used twice")
	}
	description := c.Description
	if c.Returns != "" {
		description += "\n Returns: " + wording.OneLine(c.Returns)
	}
	tree.Put(tool, "description", tree.String(description))
	properties := tree.Object()
	var required []string
	for _, p := range c.Params {
		if properties.Member(p.Name) != nil {
			continue
		}
		tree.Put(properties, p.Name, conversion.ParamSchema(p.Param))
		if p.Required {
			required = append(required, p.Name)
		}
	}
	for _, name := range aidiscovery.PathParams(c.Endpoint) {
		if properties.Member(name) != nil {
			continue
		}
		n := tree.Put(properties, name, tree.Object("type", "string"))
		notes.Add(n, "the description does not declare this parameter of the path")
		required = append(required, name)
	}
	input := tree.Put(tool, "inputSchema", tree.Object("type", "object", "properties", properties))
	if len(required) > 0 {
		tree.Put(input, "required", tree.Strings(required...))
	}
	if o.Extended {
		addMethodHints(tool, strings.ToUpper(c.Method))
	}
	return tool
}

// addMethodHints adds the annotations that follow from an HTTP method (RFC 9110 §9.2).
func addMethodHints(tool *protocol.Node, method string) {
	switch method {
	case "GET", "HEAD":
		tree.Put(tool, "annotations", tree.Object("readOnlyHint", true))
	case "PUT", "DELETE":
		tree.Put(tool, "annotations", tree.Object("readOnlyHint", false, "idempotentHint", true))
	}
}
