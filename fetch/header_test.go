package fetch

import (
	"net/http"
	"testing"
	"time"
)

func TestFreshness(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"nothing said", http.Header{}, 0},
		{"max-age", http.Header{"Cache-Control": {"public, max-age=3600"}}, time.Hour},
		{"in quotes and capitals", http.Header{"Cache-Control": {`Max-Age="3600"`}}, time.Hour},
		{"in a second header", http.Header{"Cache-Control": {"public", "max-age=60"}}, time.Minute},
		{"the first of two counts", http.Header{"Cache-Control": {"max-age=60, max-age=3600"}}, time.Minute},
		{"s-maxage counts before max-age", http.Header{"Cache-Control": {"max-age=60, s-maxage=3600"}}, time.Hour},
		{"less the age", http.Header{"Cache-Control": {"max-age=3600"}, "Age": {"600"}}, 50 * time.Minute},
		{"older than its age", http.Header{"Cache-Control": {"max-age=60"}, "Age": {"600"}}, 1},
		{"zero", http.Header{"Cache-Control": {"max-age=0"}}, 1},
		{"no-cache counts before max-age", http.Header{"Cache-Control": {"max-age=3600, no-cache"}}, 1},
		{"no-store", http.Header{"Cache-Control": {"no-store"}, "Expires": {at(time.Hour)}}, 1},
		{"rubbish", http.Header{"Cache-Control": {"max-age=soon, ,=,max-age"}}, 0},
		{"more than can be", http.Header{"Cache-Control": {"max-age=99999999999999999999"}}, (1<<31 - 1) * time.Second},
		{"Expires", http.Header{"Expires": {at(2 * time.Hour)}}, 2 * time.Hour},
		{"Expires by the clock of the host", http.Header{"Expires": {at(2 * time.Hour)}, "Date": {at(time.Hour)}}, time.Hour},
		{"Expires in the past", http.Header{"Expires": {at(-time.Hour)}}, 1},
		{"Expires of 0", http.Header{"Expires": {"0"}}, 1},
		{"max-age counts before Expires", http.Header{"Cache-Control": {"max-age=60"}, "Expires": {at(time.Hour)}}, time.Minute},
	} {
		if got := parseFreshness(c.header, now); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
