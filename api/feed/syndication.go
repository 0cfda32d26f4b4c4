package feed

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/route"
	"gazetteer/changefeed"
	"gazetteer/document/diff"
)

const (
	atomType     = "application/atom+xml"
	jsonFeedType = "application/feed+json"
	feedTitle    = "Gazetteer: changes"
	feedSubtitle = "New, changed, removed and returned services and agents of the agent web"
)

// syndicationInput is the input of the feeds for feed readers.
type syndicationInput struct {
	base   string // of absolute addresses
	Before string `query:"before" maxLength:"1200" doc:"where older changes begin, from the link to the next page"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"how many changes on one page, 1 to 100"`
}

// Resolve records the address of the server (huma.Resolver).
func (in *syndicationInput) Resolve(ctx huma.Context) []error {
	scheme := "http"
	if ctx.TLS() != nil {
		scheme = "https"
	}
	in.base = scheme + "://" + ctx.Host()
	return nil
}

// syndication is a page of the feed for feed readers.
type syndication struct {
	base, self, next string // absolute addresses; next is "" on the last page
	filters          string // as a query with "?", "" for none
	title            string
	updated          time.Time
	changes          []Change
}

// readSyndication reads a page, newest first.
func (a *Routes) readSyndication(ctx context.Context, in *syndicationInput, path string) (*syndication, error) {
	filter, err := readChangeFilter(route.Query(ctx))
	if err != nil {
		return nil, err
	}
	before, err := a.parsePosition(in.Before, "before")
	if err != nil {
		return nil, err
	}
	page, err := a.Answers.LatestChanges(ctx, filter, before, in.Limit)
	if err != nil {
		return nil, err
	}
	s := &syndication{base: in.base, changes: ViewChanges(page.Items), updated: time.Unix(0, 0).UTC()}
	if a.publicURL != "" {
		s.base = strings.TrimSuffix(a.publicURL, "/")
	}
	s.self = s.base + path
	query := route.Query(ctx)
	if len(query) > 0 {
		s.self += "?" + query.Encode()
	}
	s.title = feedTitle
	query = maps.Clone(query)
	query.Del("before")
	query.Del("limit")
	if len(query) > 0 {
		s.filters = "?" + query.Encode()
		s.title += describeFilters(query)
	}
	if page.More {
		s.next = s.base + changesAddress(ctx, path, "before", a.formatPosition(page.Next))
	}
	for _, c := range s.changes {
		if c.At.After(s.updated) {
			s.updated = c.At.UTC()
		}
	}
	return s, nil
}

// describeFilters ends the title of a feed with filters, so that several feeds of one server can be told
// apart in a reader.
func describeFilters(query url.Values) string {
	text := ""
	if hosts := query["host"]; len(hosts) > 0 {
		text = " of " + strings.Join(hosts, ", ")
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if name != "host" {
			text += ", " + name + " " + strings.Join(query[name], ", ")
		}
	}
	return text
}

// absoluteURL turns the path of a page into an address.
func (s *syndication) absoluteURL(path string) string {
	if path == "" {
		return s.base + "/changes"
	}
	return s.base + path
}

// changeText describes a change in plain text, with a line for each change of the document.
func changeText(c Change) string {
	lines := []string{c.Title + "."}
	for _, change := range c.Changes {
		line := strings.ToUpper(change.Severity.String()[:1]) + change.Severity.String()[1:] + ": " + strings.ReplaceAll(string(change.Kind), "-", " ")
		if change.Operation != "" {
			line += ", " + change.Operation
		}
		if change.From != "" || change.To != "" {
			line += ": " + quoteOrNothing(change.From) + " → " + quoteOrNothing(change.To)
		}
		lines = append(lines, line+". "+change.Kind.Help()+".")
	}
	if c.MoreChanges > 0 {
		lines = append(lines, fmt.Sprintf("And %d more.", c.MoreChanges))
	}
	if len(c.RulesBroken) > 0 {
		lines = append(lines, "Rules broken: "+strings.Join(c.RulesBroken, ", ")+".")
	}
	if len(c.RulesRepaired) > 0 {
		lines = append(lines, "Rules satisfied again: "+strings.Join(c.RulesRepaired, ", ")+".")
	}
	return strings.Join(lines, "\n")
}

func quoteOrNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return `"` + text + `"`
}

// changeTags returns the words that readers filter by.
func changeTags(c Change) []string {
	list := []string{string(c.Kind)}
	if c.Severity > diff.None {
		list = append(list, "severity-"+c.Severity.String())
	}
	return append(list, c.Verbs...)
}

// The elements of Atom (RFC 4287) that the feed uses. The standard encoder escapes texts and
// replaces characters that XML cannot hold.
type (
	atomFeed struct {
		XMLName  xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		ID       string      `xml:"id"`
		Title    string      `xml:"title"`
		Subtitle string      `xml:"subtitle"`
		Updated  string      `xml:"updated"`
		Author   atomAuthor  `xml:"author"`
		Links    []atomLink  `xml:"link"`
		Entries  []atomEntry `xml:"entry"`
	}
	atomAuthor struct {
		Name string `xml:"name"`
	}
	atomLink struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr,omitempty"`
		Href string `xml:"href,attr"`
	}
	atomEntry struct {
		ID         string         `xml:"id"`
		Title      string         `xml:"title"`
		Published  string         `xml:"published"`
		Updated    string         `xml:"updated"`
		Links      []atomLink     `xml:"link"`
		Categories []atomCategory `xml:"category"`
		Content    string         `xml:"content"`
	}
	atomCategory struct {
		Term string `xml:"term,attr"`
	}
)

func (a *Routes) sendAtom(ctx context.Context, in *syndicationInput) (*route.PageOutput, error) {
	s, err := a.readSyndication(ctx, in, route.ChangesPath+"/atom")
	if err != nil {
		return nil, err
	}
	feed := atomFeed{
		ID: s.base + route.ChangesPath + "/atom" + s.filters, Title: s.title, Subtitle: feedSubtitle, Updated: s.updated.Format(time.RFC3339), Author: atomAuthor{"Gazetteer"},
		Links: []atomLink{{"self", atomType, s.self}, {"alternate", "text/html", s.base + "/changes" + s.filters}},
	}
	if s.next != "" {
		feed.Links = append(feed.Links, atomLink{"next", atomType, s.next})
	}
	for _, c := range s.changes {
		e := atomEntry{
			ID: c.ID, Title: c.Title, Published: publishedTime(c.Item).Format(time.RFC3339), Updated: c.At.UTC().Format(time.RFC3339),
			Links: []atomLink{{"alternate", "text/html", s.absoluteURL(c.Page)}}, Content: changeText(c),
		}
		for _, t := range changeTags(c) {
			e.Categories = append(e.Categories, atomCategory{t})
		}
		feed.Entries = append(feed.Entries, e)
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	if err := xml.NewEncoder(&b).Encode(feed); err != nil {
		return nil, fmt.Errorf("write the Atom feed: %w", err)
	}
	b.WriteByte('\n')
	return &route.PageOutput{ContentType: atomType + "; charset=utf-8", Body: b.Bytes()}, nil
}

// publishedTime returns when a change first appeared in the feed.
func publishedTime(i changefeed.Item) time.Time {
	if !i.Since.IsZero() {
		return i.Since.UTC()
	}
	return i.At.UTC()
}

// The members of JSON Feed 1.1 that the feed uses.
type (
	jsonFeed struct {
		Version     string           `json:"version"`
		Title       string           `json:"title"`
		HomePage    string           `json:"home_page_url"`
		FeedURL     string           `json:"feed_url"`
		NextURL     string           `json:"next_url,omitempty"`
		Description string           `json:"description"`
		Language    string           `json:"language"`
		Authors     []jsonFeedAuthor `json:"authors"`
		Items       []jsonFeedItem   `json:"items"`
	}
	jsonFeedAuthor struct {
		Name string `json:"name"`
	}
	jsonFeedItem struct {
		ID        string   `json:"id"`
		URL       string   `json:"url"`
		Title     string   `json:"title"`
		Content   string   `json:"content_text"`
		Published string   `json:"date_published"`
		Modified  string   `json:"date_modified"`
		Tags      []string `json:"tags"`
		Change    Change   `json:"_gazetteer"`
	}
)

func (a *Routes) sendJSONFeed(ctx context.Context, in *syndicationInput) (*route.PageOutput, error) {
	s, err := a.readSyndication(ctx, in, route.ChangesPath+"/feed.json")
	if err != nil {
		return nil, err
	}
	feed := jsonFeed{
		Version: "https://jsonfeed.org/version/1.1", Title: s.title, HomePage: s.base + "/changes" + s.filters, FeedURL: s.self, NextURL: s.next,
		Description: feedSubtitle, Language: "en", Authors: []jsonFeedAuthor{{"Gazetteer"}}, Items: []jsonFeedItem{},
	}
	for _, c := range s.changes {
		feed.Items = append(feed.Items, jsonFeedItem{
			ID: c.ID, URL: s.absoluteURL(c.Page), Title: c.Title, Content: changeText(c), Tags: changeTags(c), Change: c,
			Published: publishedTime(c.Item).Format(time.RFC3339), Modified: c.At.UTC().Format(time.RFC3339),
		})
	}
	text, err := json.Marshal(feed)
	if err != nil {
		return nil, fmt.Errorf("write the JSON feed: %w", err)
	}
	return &route.PageOutput{ContentType: jsonFeedType, Body: append(text, '\n')}, nil
}
