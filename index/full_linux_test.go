package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gazetteer/document"
	"gazetteer/internal/need"
	"gazetteer/internal/teststore"
	"gazetteer/store"
)

// TestFullDisk lets the disk of the index run full in the midst of a batch. What
// the index then says it has is what lies on the disk, and it goes on by itself
// when there is room.
func TestFullDisk(t *testing.T) {
	disk := need.Tmpfs(t, "size=8m")
	s := teststore.New(t)
	dir, ballast := filepath.Join(disk, "index"), filepath.Join(disk, "ballast")
	log := newLogged()
	x := openIndex(t, s, dir, log)
	x.firstRetry = time.Millisecond
	stop := running(t, x)
	docs := realServices(t)
	put(t, s, docs[:20]...)
	catchUp(t, x, s)

	before := failToWrite(t, x, s, log, ballast, docs[20:])
	if at := x.Cursor().Seq; at > before {
		t.Errorf("the disk was full at %d, and the index says it has %d", before, at)
	}
	must(t, os.Remove(ballast))
	catchUp(t, x, s)
	checkAgainstStore(t, x, s)

	// An index that is opened from the full disk has what its cursor says.
	before = failToWrite(t, x, s, log, ballast, docs)
	stop()
	must(t, x.Close())
	if strings.Contains(log.String(), "rebuilding") {
		t.Errorf("it was rebuilt: %s", log)
	}
	elsewhere := filepath.Join(t.TempDir(), "index")
	must(t, os.CopyFS(elsewhere, os.DirFS(dir)))
	log = newLogged()
	x = openIndex(t, s, elsewhere, log)
	if at := x.Cursor().Seq; at > before {
		t.Errorf("on the disk is said to be %d, of %d that was written", at, before)
	}
	catchUpOnce(t, x, s)
	checkAgainstStore(t, x, s)
	if log.String() != "" {
		t.Errorf("what is on the disk is not sound: %s", log)
	}
}

// failToWrite fills the disk and puts documents until a batch of them could not be
// written, and returns the sequence before it. What bleve removes meanwhile makes
// room, so one filling may not do.
func failToWrite(t *testing.T, x *Index, s store.Store, log *logged, ballast string, docs []*document.Document) (before uint64) {
	t.Helper()
	for round := 0; ; round++ {
		before = s.Head().Seq
		fill(t, ballast)
		var changed []*document.Document
		for _, d := range docs {
			c := *d
			c.Service.Description += fmt.Sprintf(" change %d of %d", round, before)
			changed = append(changed, &c)
		}
		put(t, s, changed...)
		ctx, failed := context.WithTimeout(t.Context(), catchUpTime)
		watched := make(chan bool)
		go func() {
			for {
				select {
				case line := <-log.lines:
					if strings.Contains(line, "could not be written") {
						failed()
						watched <- true
						return
					}
				case <-ctx.Done():
					watched <- false
					return
				}
			}
		}()
		written := x.WaitFor(ctx, s.Head().Seq)
		failed()
		switch refused := <-watched; {
		case refused:
			return before
		case written != nil:
			t.Fatalf("neither written nor refused: %v, %s", written, log)
		}
	}
}

// fill makes a file longer until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	must(t, err)
	defer f.Close() // nobody reads it
	for _, size := range []int{64 << 10, 512, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}
