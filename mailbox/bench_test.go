package mailbox_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"gazetteer/mailbox"
	"gazetteer/protocol/a2a"
	"gazetteer/store/boltfile"
)

// BenchmarkSearch looks through 10,000 messages of about a kilobyte: the figure behind the decision to
// keep no index.
func BenchmarkSearch(b *testing.B) {
	box, err := mailbox.Open(b.Context(), filepath.Join(b.TempDir(), "agent.mail"), bob, mailbox.Options{Keys: keysOf(2), File: boltfile.Options{MinFree: -1}})
	must(b, err)
	var file bytes.Buffer
	fmt.Fprintf(&file, `{"format":"gazetteer-mailbox-1","owner":%q}`+"\n", bob)
	filler := bytes.Repeat([]byte("some words of a message that is neither long nor short "), 8)
	for i := range 10_000 {
		e, err := a2a.Sign(a2a.Message{From: alice, To: bob, Timestamp: time.Now(), Body: offer(fmt.Sprintf("message number-%d %s", i, filler), 1)}, a2a.Wire, keyOf(1))
		must(b, err)
		line, err := mailbox.Message{Stored: time.Now(), Envelope: e.Text, Content: a2a.FormatBody(e.Body)}.JSON()
		must(b, err)
		file.Write(line)
	}
	began := time.Now()
	if n, err := box.Import(b.Context(), &file); err != nil || n != 10_000 {
		b.Fatal(n, err)
	}
	b.Logf("10,000 messages imported in %s", time.Since(began).Round(time.Millisecond))
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			if got, err := box.Search(b.Context(), "number-7777", mailbox.MessageFilter{}); err != nil || len(got) != 1 {
				b.Fatal(len(got), err)
			}
		}
	})
	b.Run("open", func(b *testing.B) { // what each operation pays for taking turns with other processes
		for b.Loop() {
			if _, err := box.FindThread(b.Context(), "none"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
