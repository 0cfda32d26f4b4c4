package fetch

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// cleanValidator returns a validator of sane length. A shortened validator would be a different
// one, so a longer one is dropped.
func cleanValidator(value string) string {
	if len(value) > 500 {
		return ""
	}
	return value
}

// The bounds of a Retry-After. AI Discovery §4.3 requires that it is respected; a host that named a
// time of years by mistake would never be visited again, so 30 days, the longest time for which a
// document is fresh, are the limit.
const (
	minRetryAfter = time.Second
	maxRetryAfter = 30 * 24 * time.Hour
)

// parseRetryAfter reads a Retry-After header in either form (RFC 9110 §10.2.3) as a
// delay between 1 second and 30 days; 0 when there is none to be read.
func parseRetryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseUint(value, 10, 32)
		if err != nil { // more digits than any delay needs
			return maxRetryAfter
		}
		return min(max(time.Duration(seconds)*time.Second, minRetryAfter), maxRetryAfter)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), minRetryAfter), maxRetryAfter)
}

// parseFreshness returns how long a shared cache may keep an answer, from Cache-Control, Expires
// and Age (RFC 9111 §4.2): 0 when the header does not say, and one nanosecond when it says "not at
// all", to distinguish them.
func parseFreshness(h http.Header, now time.Time) time.Duration {
	fresh, said := parseLifetime(h, now)
	if !said {
		return 0
	}
	if age, err := strconv.ParseUint(h.Get("Age"), 10, 31); err == nil {
		fresh -= time.Duration(age) * time.Second
	}
	return max(fresh, time.Nanosecond)
}

// parseLifetime returns how long an answer is fresh from the moment it was made, and false when the
// header does not say: s-maxage counts before max-age, and that before Expires.
func parseLifetime(h http.Header, now time.Time) (fresh time.Duration, said bool) {
	ages := map[string]time.Duration{}
	for d := range strings.SplitSeq(strings.ToLower(strings.Join(h.Values("Cache-Control"), ",")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(d), "=")
		switch name {
		case "no-store", "no-cache":
			return 0, true
		case "max-age", "s-maxage":
			seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31)
			if errors.Is(err, strconv.ErrRange) {
				seconds, err = 1<<31-1, nil
			}
			if _, twice := ages[name]; err == nil && !twice {
				ages[name] = time.Duration(seconds) * time.Second
			}
		}
	}
	for _, name := range []string{"s-maxage", "max-age"} {
		if age, ok := ages[name]; ok {
			return age, true
		}
	}
	if h.Get("Expires") == "" {
		return 0, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	until, err := http.ParseTime(h.Get("Expires"))
	if err != nil { // "0" above all, which means: over already
		return 0, true
	}
	return until.Sub(now), true
}
