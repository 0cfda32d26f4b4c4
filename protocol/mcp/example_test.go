package mcp_test

import (
	"fmt"
	"log"

	"gazetteer/protocol/agis"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/mcp"
)

const document = `{"agis": "1.0", "service": "Alba", "agtp": "agtp://alba.example",
	"vocabulary": {"declared_verbs": ["BOOK"], "domain": "dining"},
	"endpoints": [{"method": "BOOK", "path": "/table",
		"semantic": {"intent": "Books a table", "actor": "agent", "outcome": "The table is booked"},
		"input": {"type": "object"}, "output": {"type": "object"}, "errors": ["no_table"]}]}`

// Turn the endpoints of a service into tools for a language model.
func ExampleFromAGIS() {
	out, err := mcp.FromAGIS([]byte(document), conversion.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", out.Text)
	// Output:
	// {
	//   "tools": [
	//     {
	//       "name": "book_table",
	//       "description": "Books a table",
	//       "inputSchema": {
	//         "type": "object"
	//       }
	//     }
	//   ]
	// }
}

// Turn the tools of an MCP server into the endpoints of an AGIS document.
func ExampleToAGIS() {
	tools := `{"tools": [{"name": "book_table", "description": "Books a table", "inputSchema": {"type": "object"}}]}`
	out, err := mcp.ToAGIS([]byte(tools), conversion.Options{Name: "Alba", URL: "https://alba.example"})
	if err != nil {
		log.Fatal(err)
	}
	d, _, err := agis.Parse(out.Text, agis.Options{})
	if err != nil {
		log.Fatal(err)
	}
	e := d.Endpoints[0]
	fmt.Println(e.Method, e.Path, "-", e.Semantic.Intent)
	// Output: BOOK /table - Books a table
}
