package route_test

import (
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"testing"
	"unsafe"

	"gazetteer/api/route"
)

// deepCalls uses 1 kB of stack for each of its calls of itself.
//
//go:noinline
func deepCalls(n int) byte {
	var frame [1 << 10]byte
	if n > 0 {
		frame[n] = deepCalls(n-1) + 1
	}
	return frame[n]
}

// TestStackOfRequests checks that the stack of a new connection is not copied while a handler makes
// deep calls: its variables stay where they are.
func TestStackOfRequests(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection moves stacks, too
	moved := true
	s := httptest.NewUnstartedServer(nil)
	s.Config = route.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		var here byte
		before := uintptr(unsafe.Pointer(&here))
		deepCalls(12)
		moved = uintptr(unsafe.Pointer(&here)) != before
	}), nil)
	s.Start()
	defer s.Close()
	r, err := s.Client().Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if moved {
		t.Error("the stack was copied while the handler ran")
	}
}
