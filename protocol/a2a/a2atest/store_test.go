package a2atest_test

import (
	"testing"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2atest"
)

func TestMemoryStore(t *testing.T) {
	a2atest.TestStore(t, a2atest.Options{PerThread: 5, Open: func(*testing.T) a2a.Store { return &a2a.MemoryStore{PerThread: 5} }})
}
