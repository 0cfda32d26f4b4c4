package did_test

import (
	"fmt"

	"gazetteer/protocol/did"
)

func ExampleParseWeb() {
	w, err := did.ParseWeb("did:wba:registry.example:agents:AIR-7G3K-M9JQ-X2PT")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w.Host, w.Addresses()[0])
	// Output: registry.example https://registry.example/agents/AIR-7G3K-M9JQ-X2PT/did.json
}

func ExampleParseMultikey() {
	key, err := did.ParseMultikey("z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK")
	fmt.Println(len(key), err)
	// Output: 32 <nil>
}

func ExampleClaimHandle() {
	_, err := did.ClaimHandle("a handle with spaces")
	fmt.Println(err != nil)
	handle, err := did.ClaimHandle("acme_notes")
	fmt.Println(handle, err)
	// Output:
	// true
	// acme_notes <nil>
}
