package httpruntime

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/protocol/altar"
)

// TestRateLimiter checks that requests above the rate of a host wait for their turn, and are
// refused at once if their time would be over before that.
func TestRateLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p rateLimiter
		begun := time.Now()
		send := func(host string, timeout time.Duration, code altar.Code, at time.Duration) {
			t.Helper()
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			defer cancel()
			err := p.awaitTurn(ctx, host, 2)
			if code == "" && err != nil || code != "" && (err == nil || err.Code != code) {
				t.Errorf("%v, want %q", err, code)
			}
			if took := time.Since(begun); took != at {
				t.Errorf("after %s, want %s", took, at)
			}
		}
		send("a.example", time.Second, "", 0)
		time.Sleep(10 * time.Second)
		send("a.example", time.Second, "", 10*time.Second)
		send("a.example", 30*time.Second, altar.ExecutionFailed, 10*time.Second)
		send("b.example", time.Second, "", 10*time.Second)
		send("a.example", 2*time.Minute, "", time.Minute)
		send("a.example", 2*time.Minute, "", time.Minute+10*time.Second)
		for range 3 { // without a declared rate nothing waits
			if err := p.awaitTurn(context.Background(), "a.example", 0); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(begun); took != time.Minute+10*time.Second {
			t.Errorf("after %s", took)
		}
	})
}
