package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestKeptAnswersAreNeverOld: whoever was told that a write is done reads it,
// while others ask for the same answer in all its forms.
func TestKeptAnswersAreNeverOld(t *testing.T) {
	h := newHouse(t, options{})
	a := register(t, h)
	path := "/api/v1/agents/" + a.AirID
	done := make(chan struct{})
	var readers sync.WaitGroup
	for _, zip := range []string{"", "gzip"} {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					if r := h.ask("GET", path, "", "Accept-Encoding", zip); r.StatusCode != 200 {
						t.Errorf("%s", r.Status)
						return
					}
				}
			}
		})
	}
	tags := map[string]bool{}
	for i := range 60 {
		text := fmt.Sprintf("version %d %s", i, strings.Repeat("long enough to be compressed ", 60))
		if r := h.ask("PUT", path, `{"description": "`+strings.TrimSpace(text)+`"}`, "Content-Type", jsonType, "X-Agent-Secret", a.Secret); r.StatusCode != 200 {
			t.Fatalf("%s %s", r.Status, r.body)
		}
		for range 2 { // the second is kept
			plain := h.get(path, 200)
			if !strings.Contains(string(plain.body), fmt.Sprintf("version %d ", i)) {
				t.Fatalf("after write %d: %.120s", i, plain.body)
			}
			zipped := h.get(path, 200, "Accept-Encoding", "gzip")
			if zipped.Header.Get("Content-Encoding") != "gzip" || unzip(t, zipped.body) != string(plain.body) {
				t.Fatalf("after write %d: the compressed form is another", i)
			}
			if h.get(path, 304, "If-None-Match", plain.Header.Get("ETag")); zipped.Header.Get("ETag") == plain.Header.Get("ETag") {
				t.Fatal("two forms have one tag")
			}
			tags[plain.Header.Get("ETag")] = true
		}
	}
	close(done)
	readers.Wait()
	if len(tags) != 60 {
		t.Errorf("%d tags of 60 answers", len(tags))
	}
	// A log line is written for a kept answer, too, with its route.
	line := h.log.lines(t, "request")
	if last := line[len(line)-1]; last["route"] != "/api/v1/agents/:air_id" {
		t.Errorf("%v", last)
	}
}
