package fetch

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// validator keeps a validator of sane length. A part of one would be another, so
// a longer one is not kept at all.
func validator(value string) string {
	if len(value) > 500 {
		return ""
	}
	return value
}

const (
	leastRetryAfter = time.Second
	mostRetryAfter  = 24 * time.Hour
)

// retryAfter reads a Retry-After header in either form (RFC 9110 §10.2.3) as a
// delay between 1 second and 24 hours; 0 when there is none to be read.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseUint(value, 10, 32)
		if err != nil { // more digits than any delay needs
			return mostRetryAfter
		}
		return min(max(time.Duration(seconds)*time.Second, leastRetryAfter), mostRetryAfter)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), leastRetryAfter), mostRetryAfter)
}

// freshness reads how long an answer stays fresh from Cache-Control and Age
// (RFC 9111 §4.2): 0 when it does not say, a nanosecond when it says "not at
// all", so that both can be told apart.
func freshness(h http.Header) time.Duration {
	const stale = time.Nanosecond
	directives := strings.Split(strings.ToLower(strings.Join(h.Values("Cache-Control"), ",")), ",")
	fresh := time.Duration(0)
	for _, d := range directives {
		name, value, _ := strings.Cut(strings.TrimSpace(d), "=")
		switch name {
		case "no-store", "no-cache":
			return stale
		case "max-age":
			seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31)
			if errors.Is(err, strconv.ErrRange) {
				seconds, err = 1<<31-1, nil
			}
			if err == nil {
				fresh = max(time.Duration(seconds)*time.Second, stale)
			}
		}
	}
	age, err := strconv.ParseUint(h.Get("Age"), 10, 31)
	if err == nil && fresh > 0 {
		fresh = max(fresh-time.Duration(age)*time.Second, stale)
	}
	return fresh
}
