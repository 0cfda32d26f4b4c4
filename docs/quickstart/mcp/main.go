// Mcp asks a server over MCP, with the official SDK, for operations and for the agents that serve them.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx := context.Background()
	address := cmp.Or(os.Getenv("BASE"), "http://127.0.0.1:8080") + "/mcp"
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: address}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	arguments := map[string]any{"query": "book a table", "within_tokens": 500}
	for _, tool := range []string{"search_operations", "find_agents"} {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			log.Fatal(err)
		}
		for _, part := range result.Content {
			if text, ok := part.(*mcp.TextContent); ok { // JSON, as in StructuredContent
				fmt.Println(tool, text.Text)
			}
		}
		if result.IsError {
			os.Exit(1)
		}
	}
}
