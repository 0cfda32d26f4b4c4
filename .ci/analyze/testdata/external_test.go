package planted_test

import (
	"testing"

	"planted"
)

func TestWrapper(t *testing.T) {
	planted.Logf("%d", "text")          // want printf
	n := planted.Copy(planted.Locked{}) // want SA4006
	n = 2
	t.Log(n)
}
