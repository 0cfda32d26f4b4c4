package history_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/web/history"
)

func open(t *testing.T, path string) *history.History {
	t.Helper()
	h, err := history.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestSamplesOutliveTheServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	began := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	h := open(t, path)
	for i := range 3 {
		if err := h.Add(history.Sample{At: began.Add(time.Duration(i) * time.Minute), Known: i}); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"at":"2026-03-14T09:0`) // killed while it wrote
	f.Close()
	got := open(t, path).Samples(began.Add(time.Minute))
	if len(got) != 2 || got[0].Known != 1 || got[1].Known != 2 {
		t.Errorf("after opening again: %v", got)
	}
}

func TestFileStaysSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.jsonl")
		h := open(t, path)
		ctx, stop := context.WithTimeout(t.Context(), 3*history.Span+time.Minute)
		defer stop()
		h.Run(ctx, func() (history.Sample, bool) { return history.Sample{At: time.Now()}, true }, func(err error) { t.Error(err) })
		kept := h.Samples(time.Time{})
		if first := kept[0].At; time.Since(first) > history.Span+2*history.Interval {
			t.Errorf("the oldest sample is of %s ago", time.Since(first))
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 400<<10 {
			t.Errorf("the file has %d bytes", info.Size())
		}
		if again := open(t, path).Samples(time.Time{}); !again[len(again)-1].At.Equal(kept[len(kept)-1].At) {
			t.Error("the newest sample is lost")
		}
	})
}

func TestDirectoryIsReported(t *testing.T) {
	if _, err := history.Open(t.TempDir()); err == nil {
		t.Error("a directory was opened as a file")
	}
}
