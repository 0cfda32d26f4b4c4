// Gen writes the documents of the small internet: internal/fakenet/testdata/services
// and hosts.json. Its argument is the module's root folder.
package main

import (
	"fmt"
	"os"

	"gazetteer/internal/fakenet/corpus"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen ROOT")
		os.Exit(2)
	}
	if err := corpus.Generate(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
