package demo

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"gazetteer/internal/cli"
	"gazetteer/protocol/did"
)

// linkPattern finds the links of a page to the same site.
var linkPattern = regexp.MustCompile(`(?:href|src)="(/[^"#]*)`)

// checkAddresses visits the addresses that the demo publishes: the pages and their links, the
// endpoints in every DID document, the inbox of every agent, and the documents of every service of
// the small internet, at their source and in the store. Each address must answer. It does not visit
// the real addresses in the services' own documents.
func (d *demo) checkAddresses(ctx context.Context) (string, error) {
	w := &addressWalk{demo: d, seen: map[string]bool{}, internet: &http.Client{Transport: &http.Transport{
		DialContext: d.net.Dial(nil), TLSClientConfig: &tls.Config{RootCAs: d.net.Roots()},
	}}}
	defer w.internet.CloseIdleConnections()
	inboxes, err := w.walkAgents(ctx)
	if err != nil {
		return "", err
	}
	documents, err := w.walkServices(ctx)
	if err != nil {
		return "", err
	}
	pages := []string{"/", "/?q=payment", "/services", "/agents", "/verbs", "/log", "/status", "/services/" + demoDomain}
	if d.concierge != nil {
		pages = append(pages, "/agents/"+d.concierge.airID)
	}
	for _, path := range []string{"/openapi.json", "/healthz", "/readyz"} {
		if err := w.visitAddress(ctx, http.DefaultClient, d.base+path); err != nil {
			return "", err
		}
	}
	for _, page := range pages {
		if err := w.walkPage(ctx, page); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d addresses, among them the pages and their links, %d inboxes and %d documents", len(w.seen), inboxes, documents), nil
}

// addressWalk remembers the visited addresses.
type addressWalk struct {
	*demo
	internet *http.Client // connects to the small internet
	seen     map[string]bool
}

// walkAgents visits the addresses in the DID documents of all agents and of the registry, and
// returns the number of inboxes.
func (w *addressWalk) walkAgents(ctx context.Context) (inboxes int, err error) {
	var page struct {
		Agents []struct {
			AirID string `json:"air_id"`
		} `json:"agents"`
	}
	if err := w.getJSON(ctx, "/api/v1/agents?limit=100", &page); err != nil {
		return 0, err
	}
	paths := []string{"/.well-known/did.json"}
	for _, a := range page.Agents {
		paths = append(paths, cli.AgentPath(a.AirID, "/did-document"))
	}
	for _, path := range paths {
		var document did.Document
		if err := w.getJSON(ctx, path, &document); err != nil {
			return inboxes, err
		}
		for _, s := range document.Service {
			if s.Type != did.TypeInbox {
				address := s.ServiceEndpoint
				if s.Type == "AIRRegistry" {
					address += "/health" // the endpoint itself is the common prefix of the API's addresses
				}
				if err := w.visitAddress(ctx, http.DefaultClient, address); err != nil {
					return inboxes, fmt.Errorf("%s of %s: %w", s.Type, document.ID, err)
				}
				continue
			}
			inboxes++
			if err := w.postToInbox(ctx, s.ServiceEndpoint); err != nil {
				return inboxes, fmt.Errorf("the inbox of %s: %w", document.ID, err)
			}
		}
	}
	return inboxes, nil
}

// postToInbox sends a request without a body to an inbox. A working inbox refuses it with empty_body;
// any other answer means that mail to this address would be lost.
func (w *addressWalk) postToInbox(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(""))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var problem struct {
		Error string `json:"error"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(&problem); err != nil || problem.Error != "empty_body" {
		return fmt.Errorf("%s answers %s to a request without a body; an inbox refuses it with the error empty_body", address, response.Status)
	}
	w.seen[address] = true
	return nil
}

// walkServices visits the documents of all services, at their source and in the store, and returns
// their number.
func (w *addressWalk) walkServices(ctx context.Context) (documents int, err error) {
	for cursor := ""; ; {
		var page struct {
			Services []struct {
				Host string `json:"host"`
			} `json:"services"`
			Next string `json:"next"`
		}
		if err := w.getJSON(ctx, "/api/v1/services?"+url.Values{"limit": {"100"}, "cursor": {cursor}}.Encode(), &page); err != nil {
			return documents, err
		}
		for _, s := range page.Services {
			n, err := w.walkService(ctx, s.Host)
			if documents += n; err != nil {
				return documents, err
			}
		}
		if cursor = page.Next; cursor == "" {
			return documents, nil
		}
	}
}

func (w *addressWalk) walkService(ctx context.Context, host string) (documents int, err error) {
	path := "/api/v1/services/" + url.PathEscape(host)
	var service struct {
		Documents []struct {
			Kind   string `json:"kind"`
			URL    string `json:"url"`
			Digest string `json:"digest"`
		} `json:"documents"`
	}
	if err := w.getJSON(ctx, path, &service); err != nil {
		return 0, err
	}
	for _, document := range service.Documents {
		documents++
		if err := w.visitAddress(ctx, w.internet, document.URL); err != nil {
			return documents, fmt.Errorf("a document of %s: %w", host, err)
		}
		stored := w.base + path + "/documents/" + document.Kind + "/versions/" + url.PathEscape(document.Digest)
		if err := w.visitAddress(ctx, http.DefaultClient, stored); err != nil {
			return documents, fmt.Errorf("a stored document of %s: %w", host, err)
		}
	}
	return documents, nil
}

// walkPage visits a page and all links to pages of the demo itself.
func (w *addressWalk) walkPage(ctx context.Context, path string) error {
	response, err := w.fetchPage(ctx, path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<20))
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", path, response.Status)
	}
	var links []string
	for _, match := range linkPattern.FindAllSubmatch(text, -1) {
		links = append(links, html.UnescapeString(string(match[1])))
	}
	slices.Sort(links)
	for _, link := range slices.Compact(links) {
		if err := w.visitAddress(ctx, http.DefaultClient, w.base+link); err != nil {
			return fmt.Errorf("a link of %s: %w", path, err)
		}
	}
	return nil
}

// visitAddress requests an address once. It returns an error if the address does not exist or
// fails.
func (w *addressWalk) visitAddress(ctx context.Context, client *http.Client, address string) error {
	if w.seen[address] {
		return nil
	}
	w.seen[address] = true
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 16<<20)); err != nil {
		return err
	}
	// 410 is the page of a host whose owner withdrew it, which a visitor of the demo may try.
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusGone {
		return fmt.Errorf("%s answers %s", address, response.Status)
	}
	return nil
}
