package route

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A slowWriter records that its write was interrupted.
type slowWriter struct {
	http.ResponseWriter
	interrupted bool
}

func (w *slowWriter) SetWriteDeadline(time.Time) error {
	w.interrupted = true
	return nil
}

// TestSlowReadersHoldLittleMemory checks that large answers that no client reads take no more
// memory than the limit. New answers replace the oldest, but each has a minimum time.
func TestSlowReadersHoldLittleMemory(t *testing.T) {
	now := time.Now()
	all := transfers{now: func() time.Time { return now }, max: 100}
	begin := func(bytes int) (*slowWriter, func(), bool) {
		w := &slowWriter{ResponseWriter: httptest.NewRecorder()}
		end, ok := all.begin(w, bytes)
		return w, end, ok
	}
	first, endFirst, ok := begin(60)
	if !ok {
		t.Fatal("the first answer is refused")
	}
	if _, _, ok := begin(60); ok || first.interrupted {
		t.Errorf("a second answer within %s: sent %v, the first interrupted %v", minTransfer, ok, first.interrupted)
	}
	now = now.Add(minTransfer)
	second, endSecond, ok := begin(60)
	if !ok || !first.interrupted {
		t.Errorf("a second answer later: sent %v, the first interrupted %v", ok, first.interrupted)
	}
	endFirst() // its write has failed
	if _, end, ok := begin(40); !ok || second.interrupted {
		t.Errorf("an answer that has room: sent %v, another interrupted %v", ok, second.interrupted)
	} else {
		end()
	}
	endSecond()
	if all.bytes != 0 || all.open.Len() != 0 {
		t.Errorf("%d bytes of %d answers remain", all.bytes, all.open.Len())
	}
	if _, _, ok := begin(101); ok {
		t.Error("an answer above the limit is sent")
	}
}
