package operator

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/internal/cli"
)

// TestPartProgress checks that progress names each main part once, and how far it is every two seconds.
func TestPartProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		a := &verbs{&cli.App{Streams: cli.Streams{Err: &out}}}
		progress := a.newPartProgress("checking")
		progress("the keys", 0, 0)
		progress("the store", 0, 0)
		for done := range int64(50) { // of a tenth of a second each
			progress("the records of the store", done, 50)
			time.Sleep(100 * time.Millisecond)
		}
		progress("the log of the store", 0, 0)
		progress("the transparency log", 0, 0)
		progress("the leaves of the transparency log", 3, 0)
		time.Sleep(progressInterval)
		progress("the leaves of the transparency log", 7, 0)
		progress("the index", 0, 0)
		progress("the documents in the index", 0, 4)
		const want = `checking the keys
checking the store
checking the records of the store: 20 of at most 50
checking the records of the store: 40 of at most 50
checking the transparency log
checking the leaves of the transparency log: 7
checking the index
`
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", out.String(), want)
		}
	})
}
