package openapi_test

import (
	"fmt"
	"log"

	"gazetteer/convert/openapi"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/conversion"
)

const kennel = `{"swagger": "2.0", "info": {"title": "Kennel", "version": "1"}, "host": "kennel.example", "paths": {
	"/dogs": {"get": {"summary": "Lists dogs", "responses": {"200": {"description": "ok"}}}},
	"/dogs/{id}": {"delete": {"operationId": "removeDog", "parameters": [{"name": "id", "in": "path", "type": "string"}]}}}}`

// Read the endpoints that a description becomes.
func ExampleToAGIS() {
	out, err := openapi.ToAGIS([]byte(kennel), conversion.Options{})
	if err != nil {
		log.Fatal(err)
	}
	d, _, err := agis.Parse(out.Text, agis.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range d.Endpoints {
		fmt.Println(e.Method, e.Path, "-", e.Semantic.Intent)
	}
	// Output:
	// LIST /dogs - Lists dogs
	// REMOVE /dogs/{id} - Removes a dog
}

// Read the capabilities that a description becomes.
func ExampleToAIDiscovery() {
	out, err := openapi.ToAIDiscovery([]byte(kennel), conversion.Options{})
	if err != nil {
		log.Fatal(err)
	}
	d, _, err := aidiscovery.Parse(out.Text, aidiscovery.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range d.Capabilities {
		fmt.Println(c.ID, c.Method, c.Endpoint)
	}
	// Output:
	// get_dogs GET https://kennel.example/dogs
	// remove_dog DELETE https://kennel.example/dogs/{id}
}
