// Package selfdescription publishes the documents from which agents, crawlers and browsers learn
// what this server can do. Start with [New]; documents/ has the texts.
//
//	/.well-known/ai	            AI Discovery document
//	/.well-known/agis.json	     AGIS summary, which leads to
//	/gazetteer.agis	            the AGIS document
//	/.well-known/api-catalog	   RFC 9727, as a linkset (RFC 9264)
//	/.well-known/security.txt	  RFC 9116
//	/robots.txt	                RFC 9309
//	/sitemap.xml	               pages and services
//	/opensearch.xml	            how a browser searches here
//	/llms.txt	                  an overview for language models
//
// The DID document of the registry is a route of the API, /.well-known/did.json.
package selfdescription

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"text/template"
	"time"

	"github.com/gin-gonic/gin"

	"gazetteer/api/answer"
)

// Options are the values in the documents.
type Options struct {
	// PublicURL is the address of this server, for links.
	PublicURL string
	// Contact is an address for reports of security problems, a URL or mailto:. Empty: the page
	// about the crawler, which names a contact.
	Contact string
	// Services lists services for the sitemap; nil: pages only.
	Services func(ctx context.Context, after string, limit int) (answer.ServicePage, error)
	Now      func() time.Time // nil: time.Now
}

// Documents are the documents, ready to be served. Any number of requests may use them at once.
type Documents struct {
	base     string
	contact  string
	fixed    map[string]fixedDocument // by path
	services func(ctx context.Context, after string, limit int) (answer.ServicePage, error)
	now      func() time.Time
}

// A fixedDocument does not change while the server runs.
type fixedDocument struct {
	mediaType string
	text      []byte
}

//go:embed documents
var files embed.FS

// paths are the fixed documents: where each is served, its file and its media type.
var paths = []struct{ path, file, mediaType string }{
	{"/.well-known/ai", "ai.json", "application/json; charset=utf-8"},
	{"/.well-known/agis.json", "agis.json", "application/json"},
	{"/gazetteer.agis", "service.agis", "application/agis"},
	{"/.well-known/api-catalog", "api-catalog.json", `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"`},
	{"/robots.txt", "robots.txt", "text/plain; charset=utf-8"},
	{"/opensearch.xml", "opensearch.xml", "application/opensearchdescription+xml"},
	{"/llms.txt", "llms.txt", "text/plain; charset=utf-8"},
}

// New creates the documents. The error is for a public URL that a document cannot contain.
func New(o Options) (*Documents, error) {
	u, err := url.Parse(o.PublicURL)
	if err != nil || u.Host == "" || strings.ContainsAny(o.PublicURL, "\"<>\\& \n") {
		return nil, fmt.Errorf("the public URL %q is not the address of a server", o.PublicURL)
	}
	d := &Documents{base: strings.TrimSuffix(o.PublicURL, "/"), fixed: map[string]fixedDocument{}, services: o.Services, now: o.Now}
	if d.now == nil {
		d.now = time.Now
	}
	d.contact = cmp.Or(securityContact(o.Contact), d.base+"/bot")
	document := d.base + "/gazetteer.agis"
	if u.Scheme != "https" { // a summary names no address with http (AGIS 11.1)
		document = "agtp://" + u.Host + "/gazetteer.agis"
	}
	for _, p := range paths {
		text, err := d.fillTemplate(p.file, map[string]string{"Base": d.base, "Host": u.Host, "Document": document})
		if err != nil {
			return nil, err
		}
		if path.Ext(p.file) == ".json" {
			var compact bytes.Buffer
			if err := json.Compact(&compact, text); err != nil {
				return nil, fmt.Errorf("compact %s: %w", p.file, err)
			}
			text = compact.Bytes()
		}
		d.fixed[p.path] = fixedDocument{p.mediaType, text}
	}
	return d, nil
}

// securityContact returns a contact as a URI, "" for one that is none (RFC 9116 §2.5.3).
func securityContact(contact string) string {
	u, err := url.Parse(contact)
	switch {
	case err != nil || strings.ContainsAny(contact, " \r\n"):
		return ""
	case u.Scheme == "https" || u.Scheme == "mailto" || u.Scheme == "tel":
		return contact
	case u.Scheme == "" && strings.Contains(contact, "@"):
		return "mailto:" + contact
	default:
		return ""
	}
}

// fillTemplate reads a document with its values filled in.
func (d *Documents) fillTemplate(file string, values map[string]string) ([]byte, error) {
	t, err := template.ParseFS(files, "documents/"+file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, values); err != nil {
		return nil, fmt.Errorf("fill in %s: %w", file, err)
	}
	return b.Bytes(), nil
}

// Mount adds the documents to the engine of the API, which adds tags, compression and limits. Pages
// of any origin may read them.
func (d *Documents) Mount(e *gin.Engine) {
	for at, document := range d.fixed {
		d.handleDocument(e, at, func(context.Context) (fixedDocument, error) { return document, nil })
	}
	d.handleDocument(e, "/.well-known/security.txt", d.securityText)
	d.handleDocument(e, "/sitemap.xml", d.buildSitemap)
}

func (d *Documents) handleDocument(e *gin.Engine, at string, read func(context.Context) (fixedDocument, error)) {
	handler := func(c *gin.Context) {
		document, err := read(c.Request.Context())
		if err != nil {
			c.Error(err)
			c.Status(http.StatusServiceUnavailable)
			return
		}
		h := c.Writer.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Cache-Control", "public, max-age=3600")
		h.Set("Link", `</.well-known/api-catalog>; rel="api-catalog"`)
		c.Data(http.StatusOK, document.mediaType, document.text)
	}
	e.GET(at, handler)
	e.HEAD(at, handler)
}

// securityLife is the shortest validity of security.txt. RFC 9116 §2.5.5 recommends less than a
// year.
const securityLife = 180 * 24 * time.Hour

// securityText returns security.txt. Its end moves once a day.
func (d *Documents) securityText(context.Context) (fixedDocument, error) {
	expires := d.now().UTC().Truncate(24 * time.Hour).Add(securityLife + 24*time.Hour)
	text, err := d.fillTemplate("security.txt", map[string]string{"Base": d.base, "Contact": d.contact, "Expires": expires.Format(time.RFC3339)})
	return fixedDocument{"text/plain; charset=utf-8", text}, err
}

// sitePages are the pages of the sitemap.
var sitePages = []string{"/", "/services", "/verbs", "/namespaces", "/data-classes", "/agents", "/rules", "/validate", "/submit", "/docs", "/mcp", "/bot", "/log", "/status", "/help/search"}

// maxSitemap is the number of services in the sitemap.
const maxSitemap = 1000

// urlSet is a sitemap (sitemaps.org, version 0.9).
type urlSet struct {
	XMLName xml.Name   `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
	URLs    []urlEntry `xml:"url"`
}

type urlEntry struct {
	Location string `xml:"loc"`
	Modified string `xml:"lastmod,omitempty"`
}

// buildSitemap returns the sitemap: the pages, and up to 1,000 services.
func (d *Documents) buildSitemap(ctx context.Context) (fixedDocument, error) {
	var set urlSet
	for _, page := range sitePages {
		set.URLs = append(set.URLs, urlEntry{Location: d.base + page})
	}
	for after := ""; d.services != nil && len(set.URLs) < maxSitemap; {
		page, err := d.services(ctx, after, answer.MaxLimit)
		if err != nil {
			return fixedDocument{}, fmt.Errorf("list the services of the sitemap: %w", err)
		}
		for _, s := range page.Services {
			set.URLs = append(set.URLs, urlEntry{d.base + "/services/" + url.PathEscape(s.Host), s.FetchedAt.UTC().Format(time.DateOnly)})
		}
		if after = page.After; after == "" {
			break
		}
	}
	text, err := xml.Marshal(set)
	if err != nil {
		return fixedDocument{}, fmt.Errorf("write the sitemap: %w", err)
	}
	return fixedDocument{"application/xml; charset=utf-8", append([]byte(xml.Header), text...)}, nil
}
