package effect_test

import (
	"fmt"

	"gazetteer/protocol/effect"
)

func ExampleCompare() {
	for _, intent := range []string{"Books a table for a guest", "Returns a list of available restaurants"} {
		j := effect.Compare("BOOK", intent)
		fmt.Println(j.Verdict, "-", j.Why)
	}
	// Output:
	// consistent - the intent says what the method says
	// contradicts - the intent says the endpoint reads something ("Returns"), the method BOOK commits to something
}

func ExampleOf() {
	fmt.Println(effect.Of("cancel"), "-", effect.Of("summarize"))
	// Output: end - read compute
}
