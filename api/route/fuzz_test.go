package route

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"gazetteer/store"
)

// FuzzCursor checks that no text opens a list but the one that was made for it.
func FuzzCursor(f *testing.F) {
	k := cursorCodec{key: []byte("0123456789abcdef"), now: func() time.Time { return time.Unix(1e9, 0) }}
	log := store.Cursor{Store: "s", Incarnation: 1}
	query := url.Values{"q": {"book"}}
	good := k.EncodeCursor(Cursor{Log: log, Offset: 20}, "search", query)
	f.Add(good, "search", "book")
	f.Add(good, "services", "book")
	f.Add(good[:20], "search", "book")
	f.Fuzz(func(t *testing.T, text, route, q string) {
		c, err := k.DecodeCursor(text, route, url.Values{"q": {q}}, log)
		if ours := text == good && route == "search" && q == "book"; ours != (err == nil) {
			t.Errorf("%q for %s?q=%s: %+v, %v", text, route, q, c, err)
		}
	})
}

// FuzzAcceptEncoding checks that reading the header never fails, and no header that lacks both
// words is taken for gzip.
func FuzzAcceptEncoding(f *testing.F) {
	for header, want := range map[string]bool{
		"gzip": true, "GZIP": true, "br, gzip;q=0.1": true, "*": true, "*;q=0, gzip": true, "gzip;q=0, *": false,
		"": false, "identity": false, "gzip;q=0": false, "gzip;q=0.0": false, "gzip;q=x": false, "x-gzip": false,
	} {
		if got := acceptsGzip([]string{header}); got != want {
			f.Errorf("%q: %v, want %v", header, got, want)
		}
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if acceptsGzip([]string{header}) && !strings.Contains(strings.ToLower(header), "gzip") && !strings.Contains(header, "*") {
			t.Errorf("%q was taken for gzip", header)
		}
	})
}
