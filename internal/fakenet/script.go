package fakenet

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Script is one test case of a reader of published documents: what servers
// answer when Start is fetched, and what a reader should make of it.
type Script struct {
	ID        string           `json:"id"`
	Start     string           `json:"start"`
	Exchanges []ScriptExchange `json:"exchanges"`
	Expect    ScriptExpect     `json:"expect"`
}

// A ScriptExchange is one answer. The answers of one URL are given in turn; the
// last one repeats. A URL without any is 404.
type ScriptExchange struct {
	URL     string            `json:"url"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	// Body may be a placeholder: see [ReadScripts].
	Body    string `json:"body"`
	DelayMS int    `json:"delay_ms"` // before the answer
}

// A ScriptExpect is what a reader should make of a script. Codes and Warnings
// are all rules of these severities that the transport breaks.
type ScriptExpect struct {
	// Outcome is document, alias-only, absent, refused, retry-later or unchanged.
	Outcome        string   `json:"outcome"`
	Codes          []string `json:"codes"`
	Warnings       []string `json:"warnings"`
	NeverRequested []string `json:"never_requested"`
	MaxRequests    int      `json:"max_requests"` // 0: any number
	// Identity is the host that the document is filed under, Base what relative
	// addresses in it resolve against; "" when there is no document.
	Identity string `json:"identity"`
	Base     string `json:"base"`
}

// ReadScripts reads a file of scripts and replaces the placeholders in bodies: $MIN and $OTHER are
// the given documents, $PAD300K and $PAD_TO_n are min with white space after it up to 300 KiB and n
// bytes, and $GZIP_50M_OF_SPACES is 50 MB of spaces, compressed.
func ReadScripts(path string, min, other []byte) ([]Script, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read scripts: %w", err)
	}
	var file struct {
		Cases []Script `json:"cases"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("read scripts %s: %w", path, err)
	}
	for _, s := range file.Cases {
		for i := range s.Exchanges {
			x := &s.Exchanges[i]
			if x.Body, err = scriptBody(x.Body, string(min), string(other)); err != nil {
				return nil, fmt.Errorf("read scripts %s: %s: %w", path, s.ID, err)
			}
		}
	}
	return file.Cases, nil
}

// scriptBody returns the value of a placeholder, and other bodies unchanged.
func scriptBody(body, min, other string) (string, error) {
	size, pad := strings.CutPrefix(body, "$PAD_TO_")
	switch {
	case body == "$MIN":
		return min, nil
	case body == "$OTHER":
		return other, nil
	case body == "$PAD300K":
		size, pad = strconv.Itoa(300<<10), true
	case body == "$GZIP_50M_OF_SPACES":
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		for range 50 {
			if _, err := io.WriteString(w, strings.Repeat(" ", 1<<20)); err != nil {
				return "", err
			}
		}
		return packed.String(), w.Close()
	}
	if pad {
		n, err := strconv.Atoi(size)
		if err != nil || n < len(min) {
			return "", fmt.Errorf("the placeholder %q has no usable size", body)
		}
		return min + strings.Repeat(" ", n-len(min)), nil
	}
	if strings.HasPrefix(body, "$") {
		return "", fmt.Errorf("nothing is known of the placeholder %q", body)
	}
	return body, nil
}

// CheckRequests returns an error for each of the requests, or their number, that the script forbids.
func (s Script) CheckRequests(requests []Request) error {
	var errs []error
	starts := 0
	for _, r := range requests {
		scheme := "http"
		if r.TLS {
			scheme = "https"
		}
		address := scheme + "://" + r.Host + r.Path
		if slices.Contains(s.Expect.NeverRequested, address) {
			errs = append(errs, fmt.Errorf("%s was requested", address))
		}
		if address == s.Start {
			starts++
		}
	}
	if s.Expect.MaxRequests > 0 && starts > s.Expect.MaxRequests {
		errs = append(errs, fmt.Errorf("%s was requested %d times, want at most %d", s.Start, starts, s.Expect.MaxRequests))
	}
	return errors.Join(errs...)
}

// Play adds every host that a script names.
func (n *Net) Play(s Script) error {
	t := &scriptHandler{answers: map[string][]ScriptExchange{}}
	hosts := map[string]bool{}
	for _, x := range s.Exchanges {
		u, err := url.Parse(x.URL)
		if err != nil {
			return fmt.Errorf("play %s: %w", s.ID, err)
		}
		hosts[u.Hostname()] = true
		t.answers[x.URL] = append(t.answers[x.URL], x)
	}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		n.Handle(host, t)
	}
	return nil
}

// scriptHandler answers as a script says.
type scriptHandler struct {
	mu      sync.Mutex // guards the following fields
	answers map[string][]ScriptExchange
}

func (t *scriptHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	x, ok := t.nextExchange(scheme + "://" + r.Host + r.URL.RequestURI())
	if !ok {
		http.NotFound(w, r)
		return
	}
	if x.DelayMS > 0 {
		timer := time.NewTimer(time.Duration(x.DelayMS) * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
	}
	w.Header()["Content-Type"] = nil // no guess where the script has none
	for name, value := range x.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(x.Status)
	_, _ = io.WriteString(w, x.Body) // a client that leaves early is what some cases are about
}

// nextExchange takes the answer that is due.
func (t *scriptHandler) nextExchange(address string) (ScriptExchange, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	answers := t.answers[address]
	if len(answers) == 0 {
		return ScriptExchange{}, false
	}
	if len(answers) > 1 {
		t.answers[address] = answers[1:]
	}
	return answers[0], true
}
