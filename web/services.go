package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/lint"
	"gazetteer/protocol"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// serviceView is all that is known of one host.
type serviceView struct {
	Host        string
	Name        string
	Lang        string
	Description string
	Published   bool // the host publishes at least one document
	Facts       []fact
	TestSet     bool
	// NamespaceWarning says that the namespace is the name of another domain, "" if it is not.
	NamespaceWarning string
	Docs             frame.ExternalLink
	Operations       []listedOperation
	Total            int // operations of all documents
	First            int
	Last             int
	Pages            frame.PageLinks
	Agents           *joinedView // nil where no agents are kept
	DataClasses      []classView
	Documents        []documentView
	MoreClasses      int
	Related          []string
	MoreRelated      int
	Similar          []similarView
	State            stateView
	Explained        explanationView
}

// classView is a class of data with its page.
type classView struct {
	document.DataClass
	Address string
}

// A fact is one line of the head of a service.
type fact struct {
	Name  string
	Links []frame.Link // values, each with its page, "" for none
}

type listedOperation struct {
	operationView
	calling
	Kind   string
	Also   *listedOperation // the same operation as another document describes it, nil without one
	Wanted bool             // the address asked for this one
}

type documentView struct {
	ID       string // fragment
	KindID   string
	Kind     string
	Alias    bool
	URL      frame.ExternalLink
	Size     string
	Digest   string
	Media    string
	Fetched  frame.Moment
	Changed  frame.Moment
	Source   string
	Level    string
	Findings []findingView
	More     int // findings that are not shown
	Counts   string
	Stale    string // why the document is stale, "" if it is not
	Versions []versionView
	Older    int // versions that are not shown
}

// findingView is a finding with every place in the document where it is made.
type findingView struct {
	protocol.Finding
	ID     string // to link to it, "" for none
	Word   string // Error, Warning or Note
	Tone   string // class of the mark
	First  spot
	Others []spot
	More   int // places that are not shown
}

type spot struct {
	Position string // line 4, column 12
	Pointer  string
	Anchor   string // of the line on this page, "" when that is not shown
}

type versionView struct {
	Digest string
	Seen   frame.Moment
	Size   string
	Diff   string // address of what changed since the version before, "" for the first
}

type stateView struct {
	Added    frame.Moment
	Visited  frame.Moment
	Due      frame.Moment
	FoundOn  string
	Failures int
	Fetches  []fetchView
	Robots   string // verdict
	RobotsAt frame.Moment
	Why      string // the rule or failure behind it
	Closed   []string
	TLS      string       // what the last connection rested on
	Expires  frame.Moment // of the certificate
}

type fetchView struct {
	Kind      string
	URL       string
	Outcome   string
	Good      bool
	Detail    string
	Status    int
	At        frame.Moment
	Took      string
	Redirects []string
}

const (
	maxFindings = 50 // sorts of findings shown for each document; the API has all
	maxSpots    = 20 // places shown for each
	maxVersions = 10
	maxListed   = 100 // classes of data, related hosts
)

// servicePage is the page of one host. With op (and kind) in the query it opens at that operation.
func (p *Pages) servicePage(c *gin.Context) (frame.WebPage, error) {
	host := c.Param("host")
	number, err := frame.PageNumber(c)
	if err != nil {
		return frame.WebPage{}, err
	}
	s, err := p.answers.Service(c.Request.Context(), host)
	if err != nil {
		return frame.WebPage{}, p.hostError(c.Request.Context(), host, err)
	}
	if s.Host != host { // another spelling; each service has one address
		return frame.WebPage{Status: http.StatusSeeOther, Location: frame.ServicePath(s.Host)}, nil
	}
	v := p.serviceHead(s)
	claim, found, err := p.answers.NamespaceClaim(c.Request.Context(), host, s.Namespace)
	if err != nil {
		return frame.WebPage{}, err
	}
	if found && claim.Foreign() {
		v.NamespaceWarning = concernWords[claim.Relation] + ": " + claim.Proof + "."
	}
	explained, err := p.answers.ExplainService(c.Request.Context(), s)
	if err != nil {
		return frame.WebPage{}, err
	}
	v.Explained = p.explanationOf(explained)
	all := operationsOf(s)
	if at := placeOf(all, c.Query("op"), c.Query("kind")); at >= 0 {
		all[at].Wanted = true
		number = at/frame.PerPage + 1
	}
	first := min((number-1)*frame.PerPage, len(all))
	v.Operations = all[first:min(first+frame.PerPage, len(all))]
	fitPrograms(host, v.Operations)
	v.Total, v.First, v.Last = len(all), first+1, first+len(v.Operations)
	v.Pages = frame.LinkPages(frame.ServicePath(host), url.Values{}, number, len(all), frame.PerPage)
	if v.Published {
		if v.Agents, err = p.joinedAgents(c.Request.Context(), host); err != nil {
			return frame.WebPage{}, err
		}
		if v.Similar, err = p.similarServices(c.Request.Context(), host); err != nil {
			return frame.WebPage{}, err
		}
	}
	return frame.WebPage{Name: "service", Title: frame.PlainText(v.Name), Description: cmp.Or(frame.ClipPlain(200, v.Description), "What "+host+" offers to agents: its operations, how each is called, and when its documents were read."),
		Feeds: feedsOf(s.Host), Body: v}, nil
}

// feedsOf returns the query of the feeds of a host.
func feedsOf(host string) string { return "?" + url.Values{"host": {host}}.Encode() }

func (p *Pages) serviceHead(s answer.Service) serviceView {
	v := serviceView{
		Host:        s.Host,
		Name:        cmp.Or(s.Name, s.Host),
		Description: s.Description,
		Published:   len(s.Documents) > 0,
		State:       p.stateOf(s.State),
	}
	add := func(name, value, address string) {
		if value == "" {
			return
		}
		i := slices.IndexFunc(v.Facts, func(f fact) bool { return f.Name == name })
		if i < 0 {
			i = len(v.Facts)
			v.Facts = append(v.Facts, fact{Name: name})
		}
		if link := (frame.Link{Text: value, Address: address}); !slices.Contains(v.Facts[i].Links, link) && len(v.Facts[i].Links) < maxListed {
			v.Facts[i].Links = append(v.Facts[i].Links, link)
		}
	}
	if s.Namespace != "" {
		add("Namespace", s.Namespace, namespaceListing.valueAddress(strings.ToLower(s.Namespace)))
	}
	for _, c := range s.Categories {
		add("Category", c, categoryPath(c))
		v.TestSet = v.TestSet || c == testCategory
	}
	var classes []document.DataClass
	for _, d := range s.Documents {
		sv := d.Service
		add("Authentication", facetText("auth", sv.Auth), "")
		for _, l := range sv.Languages {
			address := ""
			if q, ok := (query.Query{}).Toggled("lang", l); ok {
				address = searchPath(q.String())
			}
			name := frame.DescribeLanguage(l)
			if len(sv.Languages) == 1 && l == "en" { // AI Discovery §3.2
				name += ", the default of a document that names none"
			}
			add("Language", name, address)
		}
		for _, name := range sv.Protocols {
			add("Interaction protocols", name, "")
		}
		add("AGTP address", sv.AGTP, "")
		if v.Docs.Text == "" {
			v.Docs = frame.ExternalLinkOf(sv.Docs)
		}
		if v.Lang == "" {
			v.Lang = frame.LanguageOf(sv.Languages)
		}
		classes = append(classes, d.DataClasses...)
		v.Documents = append(v.Documents, p.documentOf(d))
	}
	identifyFindings(v.Documents)
	classes, v.MoreClasses = frame.SplitAt(distinctClasses(classes), maxListed)
	for _, c := range classes {
		v.DataClasses = append(v.DataClasses, classView{c, classListing.valueAddress(strings.ToLower(c.Name))})
	}
	v.Related, v.MoreRelated = frame.SplitAt(s.Related, maxListed)
	return v
}

// distinctClasses lists each data class once, with its most complete description: a summary repeats
// the names of the full document.
func distinctClasses(all []document.DataClass) []document.DataClass {
	at := map[string]int{}
	var classes []document.DataClass
	for _, c := range all {
		i, seen := at[c.Name]
		if !seen {
			at[c.Name] = len(classes)
			classes = append(classes, c)
			continue
		}
		classes[i].Description = cmp.Or(classes[i].Description, c.Description)
		classes[i].Sensitivity = cmp.Or(classes[i].Sensitivity, c.Sensitivity)
	}
	return classes
}

// operationsOf lists the operations of the documents. A summary repeats the bare verbs of another
// document, so it counts only if no document describes operations in full. An operation that two
// documents describe is listed once, with both ways to call it.
func operationsOf(s answer.Service) []listedOperation {
	full := slices.ContainsFunc(s.Documents, func(d answer.DocumentView) bool { return answer.HasOperations(d.Document) })
	documents := make([]document.Document, len(s.Documents))
	for i, d := range s.Documents {
		documents[i] = d.Document
	}
	yields, remains, twins := entry.FindTwins(documents)
	var all []listedOperation
	also := make(map[int]*listedOperation) // by the place of the operation that remains
	first := 0                             // the place of the first of those in all
	for i, d := range documents {
		if d.Kind.IsSummary() && full {
			continue
		}
		if &documents[i] == remains {
			first = len(all)
		}
		for n, o := range d.Operations {
			listed := listedOperation{operationView: operationOf(o, d.Service), Kind: string(d.Kind), calling: callingOf(o, d.Service)}
			if place, ok := twins[n]; ok && &documents[i] == yields {
				also[place] = &listed
				continue
			}
			all = append(all, listed)
		}
	}
	for place, twin := range also {
		all[first+place].Also = twin
	}
	return all
}

// fitPrograms leaves programs for as many operations as a page has room for, that one first which the
// address asks for.
func fitPrograms(host string, operations []listedOperation) {
	room := maxServicePrograms
	for _, wanted := range []bool{true, false} {
		for i := range operations {
			o := &operations[i]
			if o.Wanted != wanted {
				continue
			}
			path := operationPath(host, o.Kind, o.ID)
			if wanted {
				path = "" // this page
			}
			o.fit(&room, path)
			if o.Also != nil {
				o.Also.fit(&room, "")
			}
		}
	}
}

// placeOf returns the place of the operation with that id, -1 when there is none.
func placeOf(all []listedOperation, id, kind string) int {
	if id == "" {
		return -1
	}
	named := func(o listedOperation) bool { return o.ID == id && (kind == "" || o.Kind == kind) }
	return slices.IndexFunc(all, func(o listedOperation) bool { return named(o) || o.Also != nil && named(*o.Also) })
}

func (p *Pages) documentOf(d answer.DocumentView) documentView {
	v := documentView{
		ID:      "document-" + string(d.Kind),
		KindID:  string(d.Kind),
		Kind:    frame.KindName(string(d.Kind)),
		Alias:   d.Kind.IsAlias(),
		URL:     frame.ExternalLinkOf(d.URL),
		Size:    frame.FormatSize(d.Size),
		Digest:  d.Digest,
		Media:   d.MediaType,
		Fetched: p.MomentOf(d.FetchedAt),
		Changed: p.MomentOf(d.ChangedAt),
		Source:  sourceWords[d.Source],
		Level:   levelWords(&d.Document),
		Counts:  countsOf(d.Findings),
	}
	if d.Freshness != nil {
		v.Stale = d.Freshness.Why
	}
	findings := groupFindings(d.Findings, nil)
	v.Findings, v.More = frame.SplitAt(findings, maxFindings)
	versions, older := frame.SplitAt(d.Versions, maxVersions)
	format, _ := document.FormatOf(d.Kind)
	for i, o := range versions {
		version := versionView{Digest: shortDigest(o.Digest), Seen: p.MomentOf(o.Seen), Size: frame.FormatSize(o.Size)}
		if i+1 < len(d.Versions) && !format.Prose {
			version.Diff = frame.ServicePath(d.Host) + "/documents/" + string(d.Kind) + "/diff?" + url.Values{"from": {d.Versions[i+1].Digest}, "to": {o.Digest}}.Encode()
		}
		v.Versions = append(v.Versions, version)
	}
	v.Older = older
	return v
}

var sourceWords = map[document.Source]string{
	document.OwnerPublished: "published by the host",
	document.Linked:         "named by the host's own document",
}

func levelWords(d *document.Document) string {
	if d.Valid() {
		return fmt.Sprintf("Valid, level %d", d.Level)
	}
	return fmt.Sprintf("Not valid, level %d", d.Level)
}

func countsOf(findings []protocol.Finding) string {
	var n [protocol.Error + 1]int
	for _, f := range findings {
		n[min(f.Severity, protocol.Error)]++
	}
	var parts []string
	for s := protocol.Error; ; s-- {
		if n[s] > 0 {
			parts = append(parts, frame.FormatCount(n[s], strings.ToLower(frame.SeverityName(s))))
		}
		if s == protocol.Info {
			return strings.Join(parts, ", ")
		}
	}
}

// groupFindings shows each kind of finding once, with its places: a document that breaks one rule
// fifty times is repaired once. anchorOf returns the anchor of a line on the page, "" when the line
// is not shown; nil shows no lines.
func groupFindings(findings []protocol.Finding, anchorOf func(line int) string) []findingView {
	var views []findingView
	for _, g := range lint.GroupFindings(findings) {
		first := findings[g.Findings[0]]
		v := findingView{Finding: first, Word: frame.SeverityName(g.Severity), Tone: g.Severity.String(), First: spotOf(first, anchorOf)}
		others, more := frame.SplitAt(g.Findings[1:], maxSpots)
		for _, i := range others {
			v.Others = append(v.Others, spotOf(findings[i], anchorOf))
		}
		v.More = more
		views = append(views, v)
	}
	return views
}

// identifyFindings gives the first finding of each rule the code of the rule as its ID, to which the
// list of the hosts that break the rule links.
func identifyFindings(documents []documentView) {
	identified := map[string]bool{}
	for _, d := range documents {
		for i := range d.Findings {
			if code := d.Findings[i].Code; !identified[code] {
				d.Findings[i].ID = code
				identified[code] = true
			}
		}
	}
}

func spotOf(f protocol.Finding, anchorOf func(line int) string) spot {
	s := spot{Pointer: f.Pointer}
	if f.Line > 0 {
		s.Position = fmt.Sprintf("line %d, column %d", f.Line, f.Column)
		if anchorOf != nil {
			s.Anchor = anchorOf(f.Line)
		}
	}
	return s
}

func (p *Pages) stateOf(s answer.State) stateView {
	v := stateView{
		Added:    p.MomentOf(s.Added),
		Visited:  p.MomentOf(s.Visited),
		Due:      p.MomentOfDue(s.Due),
		FoundOn:  s.FoundOn,
		Failures: s.Failures,
	}
	for _, f := range s.Fetches {
		v.Fetches = append(v.Fetches, p.fetchOf(f))
	}
	if s.TLS != nil {
		v.TLS, v.Expires = s.TLS.String(), p.MomentOf(s.TLS.Expires)
	}
	if s.Robots != nil {
		v.Robots, v.Closed = robotsVerdict(*s.Robots)
		v.RobotsAt, v.Why = p.MomentOf(s.Robots.FetchedAt), s.Robots.Why
	}
	return v
}

// robotsVerdict describes the permissions in robots.txt, and the disallowed paths.
func robotsVerdict(r answer.RobotsView) (verdict string, closed []string) {
	switch {
	case slices.Contains(r.Disallowed, "*") && r.Status != http.StatusOK:
		return "It could not be read, so the host is not visited", nil
	case slices.Contains(r.Disallowed, "*"):
		return "It disallows all paths for this crawler, which obeys it", nil
	case len(r.Disallowed) > 0:
		return "It disallows some of the paths that the crawler requests", r.Disallowed
	case r.Status != http.StatusOK:
		return fmt.Sprintf("There is none (HTTP %d), so all paths are allowed", r.Status), nil
	}
	return "It allows this crawler", nil
}

func (p *Pages) fetchOf(f fetch.Fetch) fetchView {
	v := fetchView{
		Kind:      frame.KindName(f.Kind),
		URL:       f.URL,
		Outcome:   frame.DescribeOutcome(f.Outcome),
		Good:      f.Outcome == fetch.OK || f.Outcome == fetch.Unchanged,
		Detail:    f.Detail,
		Status:    f.Status,
		At:        p.MomentOf(f.At),
		Redirects: f.Redirects,
	}
	if strings.Contains(f.Detail, strconv.Itoa(f.Status)) {
		v.Status = 0 // the detail says it
	}
	if f.Took > 0 {
		v.Took = frame.FormatNumber(int(f.Took)) + " ms"
	}
	return v
}
