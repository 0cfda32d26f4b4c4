package planted

import "testing"

func TestGoroutine(t *testing.T) {
	usedByTests()
	go func() { t.Fatal() }() // want testinggoroutine SA2002
}

func Testlower(t *testing.T) {} // want tests
