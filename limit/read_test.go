package limit

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadAll(t *testing.T) {
	if text, err := ReadAll(strings.NewReader("four"), 4); string(text) != "four" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := ReadAll(strings.NewReader("fives"), 4); text != nil || !errors.Is(err, ErrTooLarge) {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := ReadAll(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("four"))), 4); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("a reader that fails: %v", err)
	}
}

// TestReadOrDrain checks that a refused body is read to its end if the client sends it anyway, and
// that nothing of it is read if the client waits for permission or the body is very large.
func TestReadOrDrain(t *testing.T) {
	for name, c := range map[string]struct {
		length int64
		expect string
		left   int
	}{
		"sent anyway":          {10, "", 0},
		"waits for permission": {10, "100-continue", 10},
		"very large":           {maxDrain + 1, "", 10},
	} {
		r := httptest.NewRequest("POST", "/", nil)
		body := strings.NewReader("0123456789")
		r.Body, r.ContentLength = io.NopCloser(body), c.length
		r.Header.Set("Expect", c.expect)
		if _, err := ReadOrDrain(r, 4); !errors.Is(err, ErrTooLarge) || body.Len() != c.left {
			t.Errorf("%s: error %v, %d bytes left, want %d", name, err, body.Len(), c.left)
		}
	}
}
