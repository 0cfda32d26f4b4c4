package document_test

import (
	"fmt"

	"gazetteer/document"
)

func ExampleFormatOf() {
	f, ok := document.FormatOf(document.AGISSummary)
	fmt.Println(ok, f.Name, f.WellKnown, f.MediaTypes[0])
	// Output: true AGIS summary /.well-known/agis.json application/json
}

func ExampleListKinds() {
	fmt.Println(document.ListKinds([]document.Kind{document.AI, document.AGIS, document.AGISSummary}, "or"))
	// Output: ai, agis or agis-summary
}

func ExampleMentions() {
	for _, m := range document.Mentions([]byte(`{"agent": "did:wba:registry.example:agents:AIR-7G3K-M9JQ-X2PT"}`)) {
		fmt.Println(m.Pointer, m.AirID)
	}
	// Output: /agent AIR-7G3K-M9JQ-X2PT
}
