package boltfile

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// mappedKB returns how many kilobytes of a file are in the memory of this process.
func mappedKB(t *testing.T, name string) (total int) {
	t.Helper()
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer maps.Close()
	inside := false
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		switch fields := strings.Fields(lines.Text()); {
		case !strings.HasSuffix(fields[0], ":"): // a new mapping: its addresses, rights and file
			inside = strings.HasSuffix(lines.Text(), name)
		case inside && fields[0] == "Rss:":
			kilobytes, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			total += kilobytes
		}
	}
	return total
}

// TestReleaseListed shows that a reader of long lists gives the pages of the file back, and that they
// can be read again.
func TestReleaseListed(t *testing.T) {
	f := openValues(t, t.TempDir())
	defer f.Close()
	const size = 4 << 20
	if _, err := f.Write(t.Context(), Request{Writes: 1, Bytes: size, Write: func(tx *Tx) (refused, err error) {
		tx.MarkChanged()
		return nil, tx.Bucket(valuesBucket).Put([]byte("large"), make([]byte, size))
	}}); err != nil {
		t.Fatal(err)
	}
	read := func(tx *bolt.Tx) (n int) {
		for _, b := range tx.Bucket(valuesBucket).Get([]byte("large")) {
			n += 1 + int(b)
		}
		return n
	}
	if err := f.View("test", func(tx *bolt.Tx) error {
		if n := read(tx); n != size {
			t.Errorf("%d bytes, want %d", n, size)
		}
		before := mappedKB(t, "values.bolt")
		f.ReleaseListed(tx, releaseListed-1)
		if kept := mappedKB(t, "values.bolt"); before < size>>10 || kept < size>>10 {
			t.Errorf("%d kB of the file in memory after reading it, %d before the limit: want %d", before, kept, size>>10)
		}
		f.ReleaseListed(tx, 1)
		if kept := mappedKB(t, "values.bolt"); kept > size>>11 {
			t.Errorf("%d kB of the file in memory after the release", kept)
		}
		if n := read(tx); n != size {
			t.Errorf("%d bytes after the release, want %d", n, size)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
