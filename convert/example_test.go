package convert_test

import (
	"fmt"
	"log"

	"gazetteer/convert"
)

// List what can be converted to AGIS.
func Example() {
	for _, c := range convert.Conversions {
		if c.To == "agis" {
			fmt.Println(c.From)
		}
	}
	// Output:
	// openapi
	// mcp
	// notation
	// agis-map
	// ai
}

// Convert an OpenAPI description to an AGIS document and list what a person must check.
func ExampleFind() {
	description := []byte(`openapi: 3.1.0
info: {title: Trattoria Alba, description: Tables in the old town., version: "2.1"}
servers: [{url: https://alba.example/api}]
paths:
  /reservations:
    post:
      operationId: bookReservation
      summary: Book a table
      responses: {201: {description: Booked}}
`)
	c, err := convert.Find("openapi", "agis")
	if err != nil {
		log.Fatal(err)
	}
	out, err := c.Do(description, convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(out.Text) > 0)
	for _, r := range out.Reviews[:3] {
		fmt.Println(r.Pointer, r.Message)
	}
	// Output:
	// true
	//  the description does not say how callers authenticate, and AGIS has no member for it: AGTP settles it
	// /agtp from the address of the service; AGTP may be served elsewhere; its path "/api" is left out, and belongs to the calls over HTTP
	// /vocabulary/domain from the name of the service; name the field of business
}
