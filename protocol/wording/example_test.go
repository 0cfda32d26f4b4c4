package wording_test

import (
	"fmt"

	"gazetteer/protocol/wording"
)

// Find the AGIS method of an operation.
func ExampleVerb() {
	fmt.Println(wording.Verb("cancelOrder", "", "delete"))
	fmt.Println(wording.Verb("", "Books a table", "post"))
	fmt.Println(wording.Verb("", "", "get"))
	// Output:
	// CANCEL
	// BOOK
	// RETRIEVE
}

// Write the intent of an operation that has no summary.
func ExampleGenericIntent() {
	fmt.Println(wording.GenericIntent("CANCEL", []string{"order"}, false))
	fmt.Println(wording.GenericIntent("LIST", []string{"order"}, true))
	// Output:
	// Cancels an order
	// Lists orders
}
