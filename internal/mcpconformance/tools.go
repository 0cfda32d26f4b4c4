package mcpconformance

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// AddTools adds the tools that the scenarios of [Content] call.
func AddTools(s *mcp.Server) {
	text := &mcp.TextContent{Text: "This is a simple text response for testing."}
	// The smallest content that can be: the suite looks at kinds and members, not at pictures.
	image := &mcp.ImageContent{Data: []byte{0x89, 'P', 'N', 'G'}, MIMEType: "image/png"}
	resource := &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content."}}
	for name, content := range map[string][]mcp.Content{
		"test_simple_text":            {text},
		"test_image_content":          {image},
		"test_audio_content":          {&mcp.AudioContent{Data: []byte("RIFF"), MIMEType: "audio/wav"}},
		"test_embedded_resource":      {resource},
		"test_multiple_content_types": {text, image, resource},
	} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "A tool of the conformance suite."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: content}, nil, nil
		})
	}
	mcp.AddTool(s, &mcp.Tool{Name: "test_error_handling", Description: "A tool that fails."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("this tool intentionally returns an error for testing")
	})
	s.AddTool(&mcp.Tool{Name: "json_schema_2020_12_tool", Description: "A tool with members of JSON Schema 2020-12.", InputSchema: json.RawMessage(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"type": "object",
		"$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
		"properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
		"additionalProperties": false
	}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{text}}, nil
	})
}
