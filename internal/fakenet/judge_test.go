package fakenet

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"gazetteer/document"
)

// A judge visits a host with a plain http.Client and says what came of it in
// the crawler's words. It is slow and simple on purpose: it shows that the
// labels are true, without the crawler.
type judge struct {
	client   *http.Client
	patience time.Duration
}

// visit asks for everything a visit asks for and returns the outcome by kind.
func (j judge) visit(host string) map[string]string {
	got := map[string]string{}
	disallow, outcome := j.robots(host)
	ask := func(kind document.Kind, where string) []byte {
		if outcome != "" {
			got[string(kind)] = outcome
			return nil
		}
		u, err := url.Parse(where)
		if err != nil {
			got[string(kind)] = err.Error()
			return nil
		}
		for _, p := range disallow {
			if strings.HasPrefix(u.Path, p) {
				got[string(kind)] = "refused-by-robots"
				return nil
			}
		}
		body, result := j.fetch(kind, host, where)
		got[string(kind)] = result
		return body
	}
	ask(document.AI, "https://"+host+pathAI)
	if got["ai"] == "absent" {
		ask(document.AIAlias, "https://"+host+pathAlias)
	}
	if summary := ask(document.AGISSummary, "https://"+host+pathSummary); summary != nil {
		d, err := document.Read(document.Input{Kind: document.AGISSummary, Host: host, Bytes: summary})
		if err != nil {
			return got
		}
		for _, l := range d.Links {
			if l.Rel == document.RelAGISDocument && strings.HasPrefix(l.URL, "https://") {
				ask(document.AGIS, l.URL)
			}
		}
	}
	return got
}

// robots returns the paths that are forbidden to Gazetteer, or the outcome that
// settles the whole visit.
func (j judge) robots(host string) (disallow []string, outcome string) {
	resp, err := j.client.Get("https://" + host + "/robots.txt")
	if err != nil {
		return nil, failure(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 500 {
		return nil, "refused-by-robots"
	}
	if resp.StatusCode != http.StatusOK {
		return nil, ""
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, failure(err)
	}
	groups := map[string][]string{}
	agent := ""
	for line := range strings.Lines(string(text)) {
		field, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch field {
		case "User-agent":
			agent = value
			groups[agent] = []string{}
		case "Disallow":
			groups[agent] = append(groups[agent], value)
		}
	}
	if own, ok := groups["Gazetteer"]; ok {
		return own, ""
	}
	return groups["*"], ""
}

// fetch follows at most five redirects and returns the body of a readable
// document.
func (j judge) fetch(kind document.Kind, host, where string) (body []byte, outcome string) {
	ctx, cancel := context.WithTimeout(context.Background(), j.patience)
	defer cancel()
	for hops := 0; ; hops++ {
		r, err := http.NewRequestWithContext(ctx, "GET", where, nil)
		if err != nil {
			return nil, "bad-redirect"
		}
		r.Header.Set("Accept-Encoding", "gzip")
		switch {
		case r.URL.Scheme != "https":
			return nil, "insecure-redirect"
		case net.ParseIP(r.URL.Hostname()) != nil:
			return nil, "blocked-address"
		case hops > 5:
			return nil, "too-many-redirects"
		}
		resp, err := j.client.Do(r)
		if err != nil {
			return nil, failure(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode/100 == 3 {
			to, err := resp.Location()
			if err != nil {
				return nil, "bad-redirect"
			}
			where = to.String()
			continue
		}
		return j.read(kind, host, resp)
	}
}

func (j judge) read(kind document.Kind, host string, resp *http.Response) (body []byte, outcome string) {
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, "absent"
	case http.StatusForbidden:
		return nil, "forbidden"
	case http.StatusTooManyRequests:
		return nil, "throttled"
	case http.StatusServiceUnavailable:
		return nil, "server-error"
	default:
		return nil, resp.Status
	}
	format, _ := document.FormatOf(kind)
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || !slices.Contains(format.MediaTypes, media) {
		return nil, "bad-media-type"
	}
	var from io.Reader = resp.Body
	if resp.Header.Get("Content-Encoding") == "gzip" {
		if from, err = gzip.NewReader(from); err != nil {
			return nil, "unreadable"
		}
	}
	body, err = io.ReadAll(io.LimitReader(from, sizeLimit+1))
	if err != nil {
		return nil, failure(err)
	}
	if len(body) > sizeLimit {
		return nil, "too-large"
	}
	_, err = document.Read(document.Input{Kind: kind, Host: host, Bytes: bytes.Clone(body)})
	switch {
	case errors.Is(err, document.ErrOtherFormat):
		return nil, "other-format"
	case err != nil:
		return nil, "unreadable"
	}
	return body, "ok"
}

// failure names an error of the client.
func failure(err error) string {
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &dns):
		return "dns"
	case errors.As(err, &certificate):
		return "tls"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	default:
		return "unreachable"
	}
}
