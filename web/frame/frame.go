// Package frame has the parts that all pages share: the layout, the style sheet and the scripts,
// the headers of an answer, and the pages for errors. Begin with [New] and [Frame.Handle].
//
// Most of the text on a page is untrusted. Three rules keep it harmless: html/template escapes it,
// characters that hide or reorder text are written as U+XXXX (text.go), and only https addresses
// become links (links.go). The content security policy adds protection to all three.
package frame

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
)

// Options configure New.
type Options struct {
	// Log gets one line for each page that failed through our own fault. Nil discards them.
	Log *slog.Logger
	// Now returns the time from which "3 minutes ago" counts. Nil means time.Now.
	Now func() time.Time
	// Building reports whether the index is being built. Nil is never.
	Building func() bool
	// Explain returns the page for an error that is no Problem, and nil for an unknown error.
	// building says whether the index was being built.
	Explain func(err error, building bool) *Problem
	// Links are added to the navigation.
	Links []Link
	// PublicURL is the address of this server in the commands that pages show. It is never taken
	// from a request, whose Host header any client can choose. Empty means http://localhost.
	PublicURL string
	// Panics counts the pages that ended in a panic, for the metrics. Nil counts nothing.
	Panics *atomic.Uint64
}

// Frame has the parts that all pages share: layout, style, headers, and the error page. After the
// last AddTemplates it is safe for concurrent use.
type Frame struct {
	log       *slog.Logger
	panics    *atomic.Uint64
	Now       func() time.Time
	building  func() bool
	explain   func(err error, building bool) *Problem
	links     []Link
	assets    assets
	shared    *template.Template
	templates map[string]*template.Template
	// BaseAddress is the address of this server for commands that a page shows, without a final slash.
	BaseAddress string
}

//go:embed templates/*.html
var frameFiles embed.FS

// New prepares the frame.
func New(o Options) *Frame {
	f := &Frame{log: o.Log, panics: cmp.Or(o.Panics, new(atomic.Uint64)), Now: o.Now, building: o.Building, explain: o.Explain, links: o.Links, assets: readAssets(), templates: map[string]*template.Template{}, BaseAddress: strings.TrimSuffix(cmp.Or(o.PublicURL, "http://localhost"), "/")}
	f.log = cmp.Or(f.log, slog.New(slog.DiscardHandler))
	if f.Now == nil {
		f.Now = time.Now
	}
	if f.building == nil {
		f.building = func() bool { return false }
	}
	if f.explain == nil {
		f.explain = func(error, bool) *Problem { return nil }
	}
	f.shared = template.Must(template.New("").Funcs(template.FuncMap{
		"text":      breakable,
		"clip":      clipEscaped,
		"rule":      markRule,
		"finding":   markSentence,
		"advice":    markAdvice,
		"path":      clipPath,
		"code":      clipCode,
		"line":      formatSourceLine,
		"plain":     PlainText,
		"asset":     f.assets.addressOf,
		"verb":      VerbPath,
		"agent":     AgentPath,
		"digits":    FormatNumber,
		"links":     func() []Link { return f.links },
		"kindname":  KindName,
		"lookalike": describeLookalike,
	}).ParseFS(frameFiles, "templates/layout.html", "templates/parts.html"))
	f.templates["problem"] = template.Must(template.Must(f.shared.Clone()).ParseFS(frameFiles, "templates/problem.html"))
	return f
}

// AddTemplates adds the templates of the pages, templates/NAME.html in files, all with common.html.
// The files are part of the program, so it panics if one cannot be parsed.
func (f *Frame) AddTemplates(files fs.FS) {
	const common = "templates/common.html"
	shared := f.shared
	if _, err := fs.Stat(files, common); err == nil {
		shared = template.Must(template.Must(shared.Clone()).ParseFS(files, common))
	}
	paths, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		panic(err)
	}
	for _, p := range paths {
		if p != common {
			f.templates[strings.TrimSuffix(path.Base(p), ".html")] = template.Must(template.Must(shared.Clone()).ParseFS(files, p))
		}
	}
}

// A WebPage is one page, ready to be rendered.
type WebPage struct {
	Name        string // of the template
	Title       string
	Description string // for search engines, "" for none
	Status      int    // 200 when 0
	Body        any
	Main        template.HTML // the page as RenderMain made it before, in place of Body
	Location    string        // where to go instead, for a redirect
	Live        bool          // shows results while a person types
	JSON        string        // address of the same as JSON, "" for none
	Feeds       string        // query of the feeds of the page's subject, "" for those of all changes
	// Operator is the navigation of an operator's page, which no cache stores; nil on all others.
	Operator []PageLink
	building bool     // the index is not whole, so something may be missing
	unknown  []string // parameters in the address that the page does not have
}

// A PageLink is an entry of a page's navigation.
type PageLink struct {
	Path, Title string
	Text        string // what the page shows, in a few words
	Current     bool   // the link leads to the page itself
}

// layoutData is the data of the layout template. defaultDescription describes pages that have no
// description of their own.
const defaultDescription = "Gazetteer finds services for agents, shows how to call them, and which agents serve them."

type layoutData struct {
	Title, Description, JSON, Feeds string
	Section                         string
	Live                            bool
	Building                        bool
	Operator                        []PageLink
	Unknown                         []string
	Body                            any
	Main                            template.HTML
}

// Handle returns the handler of a page: it renders the view that work returns, or the page for an
// error or a panic. A page says which parameters in its address are not among the given names.
func (f *Frame) Handle(work func(c *gin.Context) (WebPage, error), parameters ...string) gin.HandlerFunc {
	return func(c *gin.Context) {
		building := f.building()
		v, err := f.callGuarded(work, c)
		building = building || f.building()
		if err != nil {
			v = f.errorPage(c, err, building)
		} else if c.Request.Method != http.MethodPost {
			v.unknown = unknownParameters(c.Request.URL.Query(), parameters)
		}
		v.building = building
		if v.Location != "" {
			setSecurityHeaders(c.Writer.Header())
			c.Redirect(v.Status, v.Location)
			return
		}
		html, err := f.renderPage(v)
		if err != nil {
			v = f.errorPage(c, err, building)
			if html, err = f.renderPage(v); err != nil {
				f.log.Error("render the error page", "error", err)
				c.Status(http.StatusInternalServerError)
				return
			}
		}
		writePage(c, v, html)
	}
}

// callGuarded runs work, counts its panic and returns it as an error.
func (f *Frame) callGuarded(work func(c *gin.Context) (WebPage, error), c *gin.Context) (v WebPage, err error) {
	defer func() {
		if r := recover(); r != nil {
			f.panics.Add(1)
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return work(c)
}

func (f *Frame) renderPage(v WebPage) ([]byte, error) {
	var b bytes.Buffer
	data := layoutData{Title: v.Title, Description: cmp.Or(v.Description, defaultDescription), JSON: v.JSON, Feeds: v.Feeds, Section: v.Name, Live: v.Live, Building: v.building, Operator: v.Operator, Unknown: v.unknown, Body: v.Body, Main: v.Main}
	if err := f.templates[v.Name].ExecuteTemplate(&b, "layout", data); err != nil {
		return nil, fmt.Errorf("render %s: %w", v.Name, err)
	}
	return b.Bytes(), nil
}

// RenderMain renders a page without what surrounds it, for a View that is shown to many readers.
func (f *Frame) RenderMain(name string, body any) (template.HTML, error) {
	var b strings.Builder
	if err := f.templates[name].ExecuteTemplate(&b, "main", body); err != nil {
		return "", fmt.Errorf("render %s: %w", name, err)
	}
	return template.HTML(b.String()), nil
}

// NotFound answers with the page for an address where nothing is. It is for
// [api.API.SetNotFound].
func (f *Frame) NotFound(c *gin.Context) {
	f.Handle(func(*gin.Context) (WebPage, error) { return WebPage{}, ErrNoPage })(c)
}
