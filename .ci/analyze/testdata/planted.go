// Package planted contains mistakes that the linters must find.
package planted

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Locked is used by the tests, too.
type Locked struct {
	mu sync.Mutex
	N  int32 `json:n` // want structtag
}

// Copy copies a lock.
func Copy(l Locked) int32 { // want copylocks
	l.mu.Lock()
	defer l.mu.Unlock()
	l.N = atomic.AddInt32(&l.N, 1) // want atomic
	return l.N
}

// Logf is a wrapper of a function that formats, which the external test calls.
func Logf(format string, arguments ...any) { fmt.Fprintf(os.Stderr, format, arguments...) }

// Do makes the other mistakes.
func Do(text string) error {
	slog.Info("a", "b")      // want slog
	fmt.Printf("%d\n", text) // want printf SA5009
	signals := make(chan os.Signal)
	signal.Notify(signals)          // want sigchanyzer SA1017
	if text == "a" || text == "a" { // want bools SA4000
		return nil
	}
	regexp.MustCompile("(")             // want SA1000
	strings.Replace(text, "a", "b", -1) // want SA4017
	if strings.Index(text, "x") != -1 { // want S1003
		return errors.New("Capital.") // want ST1005
	}
	fmt.Sprint(time.Now().Format("2006-02-01")) // want unusedresult timeformat SA4017
	return nil
	panic(text) // want unreachable
}

func usedByTests() {}

func usedByNobody() {} // want U1000
