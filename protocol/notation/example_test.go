package notation_test

import (
	"fmt"
	"log"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/notation"
)

// Read an endpoint written like the examples of the AGIS draft.
func ExampleToAGIS() {
	out, err := notation.ToAGIS([]byte(`BOOK /table {
  semantic { intent: "Books a table", actor: agent, outcome: "The table is booked" }
  input { required: [party_size (int)] }
  errors { no_table }
}`), conversion.Options{Name: "Alba"})
	if err != nil {
		log.Fatal(err)
	}
	d, _, err := agis.Parse(out.Text, agis.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Service, d.Endpoints[0].Method, d.Endpoints[0].Path)
	fmt.Println(string(protocol.WriteJSON(d.Endpoints[0].Input, "")))
	// Output:
	// Alba BOOK /table
	// {"type":"object","required":["party_size"],"properties":{"party_size":{"type":"integer"}}}
}

// Convert endpoints that are a mapping to the list that the draft asks for.
func ExampleListEndpoints() {
	out, err := notation.ListEndpoints([]byte(`agis: "1.0"
endpoints:
  BOOK /table: # by telephone as well
    errors: [no_table]
`), conversion.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(out.Text))
	// Output:
	// agis: "1.0"
	// endpoints:
	//   - method: BOOK # by telephone as well
	//     path: /table
	//     errors: [no_table]
}

// Rewrite parameter descriptions in the form of the AI Discovery draft.
func ExampleParamsToDraft() {
	out, err := notation.ParamsToDraft([]byte(`{"aiendpoint": "1.0", "capabilities": [{"id": "find", "params": {"city": "name of a city (string, required)"}}]}`), conversion.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(out.Text))
	// Output: {"aiendpoint": "1.0", "capabilities": [{"id": "find", "params": {"city": "string, required -- name of a city"}}]}
}
