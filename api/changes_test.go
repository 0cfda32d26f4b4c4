package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/api/feed"
	"gazetteer/changefeed"
	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/store"
)

// waitForChanges waits until the feed has caught up with the store.
func (h *testServer) waitForChanges() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := h.feed.WaitFor(ctx, h.store.Head().Seq); err != nil {
		h.t.Fatal(err)
	}
}

func (h *testServer) changes(query string) (list feed.ChangeList) {
	h.t.Helper()
	h.waitForChanges()
	decodeInto(h.t, h.get("/api/v1/changes?"+query, 200), &list)
	return list
}

// TestChangeFeedFollowsStore checks that a follower sees what appeared and changed after its place,
// once and in order, and a registration; the places do not expire and do not depend on filters.
func TestChangeFeedFollowsStore(t *testing.T) {
	h := newTestServer(t, options{})
	first := h.changes("limit=100")
	if len(first.Changes) != 0 || first.More || first.Next == "" {
		t.Fatalf("an empty store has the changes %+v", first)
	}
	h.publish("one.example", document.AI, "application/json", aiText("One"), seen)
	d := h.publish("one.example", document.AI, "application/json", strings.ReplaceAll(aiText("One"), "/api/tables", "https://other.example/tables"), seen.Add(time.Hour))
	agent := registerAgent(t, h)
	second := h.changes("limit=100&since=" + first.Next)
	if len(second.Changes) != 3 {
		t.Fatalf("changes %+v", second.Changes)
	}
	if c := second.Changes[0]; c.Kind != changefeed.ServiceAppeared || c.Host != "one.example" || c.Page != "/services/one.example" || !c.At.Equal(seen) {
		t.Errorf("the service is %+v", c)
	}
	c := second.Changes[1]
	if c.Kind != changefeed.DocumentChanged || c.Severity != diff.High || c.To != d.Digest || len(c.Changes) == 0 {
		t.Errorf("the change is %+v", c)
	}
	var compared api.VersionDiff
	decodeInto(t, h.get(c.API, 200), &compared)
	if compared.Severity != "high" || string(compared.Changes[0].Kind) != string(c.Changes[0].Kind) {
		t.Errorf("%s says %+v", c.API, compared)
	}
	if c := second.Changes[2]; c.Kind != changefeed.AgentRegistered || c.Agent != agent.AirID || c.Event != "registered" || c.At.IsZero() {
		t.Errorf("the agent is %+v", c)
	}
	if again := h.changes("since=" + second.Next); len(again.Changes) != 0 || again.More {
		t.Errorf("nothing happened, and the feed says %+v", again)
	}
	if high := h.changes("severity=high&since=" + first.Next); len(high.Changes) != 1 {
		t.Errorf("with a filter, and a place of the whole feed: %+v", high)
	}
	if verbs := h.changes("verb=book&verb=none&host=one.example"); len(verbs.Changes) != 2 {
		t.Errorf("with a verb and a host: %+v", verbs)
	}
	// Page by page, forward and back.
	var forward, back []string
	for list := h.changes("limit=1&since=" + first.Next); ; list = h.changes("limit=1&since=" + list.Next) {
		for _, c := range list.Changes {
			forward = append(forward, c.ID)
		}
		if !list.More {
			break
		}
	}
	newest := h.changes("limit=1")
	for list := newest; ; list = h.changes("limit=1&before=" + list.Earlier) {
		for _, c := range list.Changes {
			back = append(back, c.ID)
		}
		if list.Earlier == "" {
			break
		}
	}
	if len(forward) != 3 || len(back) != 3 || forward[0] != back[2] || forward[1] != back[1] || forward[2] != back[0] {
		t.Errorf("forward %v, back %v", forward, back)
	}
	if newest.Next != second.Next {
		t.Error("the newest page leads elsewhere than the page before it")
	}
	page := h.get("/api/v1/changes?limit=1&since="+first.Next, 200)
	if link := page.Header.Get("Link"); !strings.Contains(link, `rel="next"`) {
		t.Errorf("the first of two pages has the Link %q", link)
	}
}

// TestForeignCursorsAreRefused checks that the refusal has a reason and says where to begin
// instead.
func TestForeignCursorsAreRefused(t *testing.T) {
	key := func(o *api.Options) { o.CursorKey = []byte("0123456789abcdef") }
	h := newTestServer(t, options{api: key})
	replaced := newTestServer(t, options{api: key}) // the same key, another store
	other := newTestServer(t, options{})
	h.publish("one.example", document.AI, "application/json", aiText("One"), seen)
	place := h.changes("").Next
	flipped := []byte(place)
	flipped[7] ^= 1
	for name, c := range map[string]struct {
		h            *testServer
		query        string
		status       int
		code, detail string
	}{
		"another store":  {replaced, "since=" + place, 410, "cursor-gone", "belongs to another store"},
		"another server": {other, "since=" + place, 400, "bad-cursor", "another server made it"},
		"altered":        {h, "since=" + string(flipped), 400, "bad-cursor", "altered"},
		"a number":       {h, "since=17", 400, "bad-cursor", "altered"},
		"a list's":       {h, "since=" + url.QueryEscape(readPage(t, h.get("/api/v1/services?limit=1", 200)).Next+"AAAA"), 400, "bad-cursor", ""},
		"both":           {h, "since=" + place + "&before=" + place, 400, "bad-parameter", "opposite"},
		"no kind":        {h, "kind=nothing", 400, "bad-parameter", ""},
		"no severity":    {h, "severity=worst", 400, "bad-parameter", ""},
		"no host":        {h, "host=..", 400, "bad-host", ""},
		"unknown":        {h, "hots=x", 400, "unknown-parameter", ""},
	} {
		for _, path := range []string{"/api/v1/changes", "/api/v1/changes/stream"} {
			if strings.Contains(c.query, "before") && strings.HasSuffix(path, "stream") {
				continue
			}
			r := c.h.get(path+"?"+c.query, c.status)
			p := r.problem(t)
			if p.Code != c.code || !strings.Contains(p.Detail, c.detail) {
				t.Errorf("%s of %s: %+v", name, path, p)
			}
			if name == "unknown" && !strings.HasPrefix(p.Help, "did you mean host? known are: ") {
				t.Errorf("help %q", p.Help)
			}
			if c.status == http.StatusGone && (r.Header.Get("Link") != `</api/v1/services>; rel="current"` || !strings.Contains(p.Help, "/api/v1/services")) {
				t.Errorf("%s of %s: Link %q, help %q", name, path, r.Header.Get("Link"), p.Help)
			}
		}
	}
}

// TestListLeadsIntoTheFeed has a follower without a place read the list of services, while services
// come and change before and behind its place, and go on from there.
func TestListLeadsIntoTheFeed(t *testing.T) {
	h := newTestServer(t, options{})
	publish := func(host, name string, at time.Time) {
		h.publish(host, document.AI, "application/json", aiText(name), at)
		h.waitForChanges()
	}
	for n := range 5 {
		publish(fmt.Sprintf("s%d.example", n), "Before", seen)
	}
	known, follow := map[string]string{}, ""
	read := func(path string) (pages int) {
		for cursor := ""; ; pages++ {
			var list api.ServiceList
			decodeInto(t, h.get(path+"&cursor="+cursor, 200), &list)
			for _, s := range list.Services {
				known[s.Host] = s.Name
			}
			if pages > 0 && list.Follow != follow {
				t.Errorf("page %d leads to another place than the first", pages+1)
			}
			if follow, cursor = list.Follow, list.Next; cursor == "" {
				return pages + 1
			}
			if pages == 0 && path == "/api/v1/services?limit=2" {
				publish("s0.example", "After", seen.Add(time.Hour))
				publish("a.example", "New before the place", seen)
				publish("s9.example", "New behind the place", seen)
			}
		}
	}
	if pages := read("/api/v1/services?limit=2"); pages != 3 || known["s0.example"] != "Before" || known["a.example"] != "" {
		t.Errorf("%d pages: %v", pages, known)
	}
	for more, since := true, follow; more; {
		list := h.changes("limit=2&since=" + since)
		for _, c := range list.Changes {
			var s answer.Service
			decodeInto(t, h.get("/api/v1/services/"+c.Host, 200), &s)
			known[c.Host] = s.Name
		}
		more, since = list.More, list.Next
	}
	followed := maps.Clone(known)
	clear(known)
	if read("/api/v1/services?limit=100"); !maps.Equal(followed, known) || len(known) != 7 {
		t.Errorf("a follower knows %v, there is %v", followed, known)
	}
	if now := h.changes("since=" + follow); len(now.Changes) != 0 {
		t.Errorf("behind a whole list the feed has %v", now.Changes)
	}
}

// TestWithdrawnHostsLeaveTheFeed checks that they leave it at once, before the feed has followed.
func TestWithdrawnHostsLeaveTheFeed(t *testing.T) {
	h := newTestServer(t, options{})
	h.publish("one.example", document.AI, "application/json", aiText("One"), seen)
	h.publish("two.example", document.AI, "application/json", aiText("Two"), seen)
	h.waitForChanges()
	text, err := json.Marshal(crawler.Block{Host: "one.example", By: crawler.ByOwner, Since: seen})
	if err != nil {
		t.Fatal(err)
	}
	h.applyWrites(store.Put(store.BlockKey("one.example"), text))
	list := h.changes("")
	if len(list.Changes) != 2 || list.Changes[0].Host != "two.example" || list.Changes[1].Kind != changefeed.ServiceWithdrawn || list.Changes[1].By != "owner" {
		t.Errorf("%+v", list.Changes)
	}
}

// TestFeedsForReaders checks that Atom and JSON Feed have the same items as the pages, whatever
// texts the services publish.
func TestFeedsForReaders(t *testing.T) {
	h := newTestServer(t, options{api: func(o *api.Options) { o.PublicURL = "https://registry.example/" }})
	h.publish("one.example", document.AI, "application/json", aiText(`<script>alert(1)</script> & "]]>`), seen)
	h.publish("one.example", document.AI, "application/json", strings.ReplaceAll(aiText("One\u202e"), "/api/tables", "https://other.example/?a=1&b=<2>"), seen.Add(time.Hour))
	list := h.changes("")
	r := h.get("/api/v1/changes/atom", 200)
	if kind := r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/atom+xml") {
		t.Errorf("Atom comes as %q", kind)
	}
	var atom struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		ID      string   `xml:"id"`
		Updated string   `xml:"updated"`
		Links   []struct {
			Rel  string `xml:"rel,attr"`
			Href string `xml:"href,attr"`
		} `xml:"link"`
		Entries []struct {
			ID      string `xml:"id"`
			Title   string `xml:"title"`
			Updated string `xml:"updated"`
			Content string `xml:"content"`
			Link    struct {
				Href string `xml:"href,attr"`
			} `xml:"link"`
		} `xml:"entry"`
	}
	if err := xml.Unmarshal(r.body, &atom); err != nil {
		t.Fatalf("%v:\n%s", err, r.body)
	}
	var feed struct {
		Version string `json:"version"`
		Items   []struct {
			ID      string      `json:"id"`
			URL     string      `json:"url"`
			Title   string      `json:"title"`
			Content string      `json:"content_text"`
			Change  feed.Change `json:"_gazetteer"`
		} `json:"items"`
	}
	decodeInto(t, h.get("/api/v1/changes/feed.json", 200), &feed)
	if len(atom.Entries) != 2 || len(feed.Items) != 2 || feed.Version != "https://jsonfeed.org/version/1.1" {
		t.Fatalf("%d entries, %d items, version %q", len(atom.Entries), len(feed.Items), feed.Version)
	}
	for i, entry := range atom.Entries {
		c, item := list.Changes[1-i], feed.Items[i] // newest first
		if entry.ID != c.ID || entry.Title != c.Title || item.ID != c.ID || item.Title != c.Title || item.Content != entry.Content || item.Change.ID != c.ID {
			t.Errorf("entry %+v, item %+v, change %+v", entry, item, c)
		}
		if !strings.HasPrefix(entry.Link.Href, "https://registry.example/services/one.example") || item.URL != entry.Link.Href {
			t.Errorf("it leads to %q, %q", entry.Link.Href, item.URL)
		}
		if _, err := time.Parse(time.RFC3339, entry.Updated); err != nil {
			t.Error(err)
		}
	}
	if atom.Updated != atom.Entries[0].Updated || atom.ID != "https://registry.example/api/v1/changes/atom" || atom.Links[0].Rel != "self" {
		t.Errorf("the feed is %+v", atom)
	}
	if strings.Contains(string(r.body), "<script>") || strings.Contains(string(r.body), "\u202e") {
		t.Errorf("a stranger's text is not escaped:\n%s", r.body)
	}
	checkAtomRules(t, r.body)
	checkJSONFeedRules(t, h.get("/api/v1/changes/feed.json", 200).body)
	page := h.get("/api/v1/changes/atom?limit=1", 200)
	checkAtomRules(t, page.body)
	if err := xml.Unmarshal(page.body, &atom); err != nil {
		t.Fatal(err)
	}
	for _, l := range atom.Links {
		if l.Rel == "next" {
			older := h.get(strings.TrimPrefix(l.Href, "https://registry.example"), 200)
			if !strings.Contains(string(older.body), list.Changes[0].ID) {
				t.Errorf("the next page is\n%s", older.body)
			}
			return
		}
	}
	t.Errorf("the first of two pages has the links %+v", atom.Links)
}

// atomNode is any element of an Atom feed.
type atomNode struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []atomNode `xml:",any"`
}

// checkAtomRules checks a feed against RFC 4287: the elements that a feed and an entry must have
// once (§4.1.1, §4.1.2), the form of their values, and that there are no unknown elements.
func checkAtomRules(t *testing.T, text []byte) {
	t.Helper()
	const atomSpace = "http://www.w3.org/2005/Atom"
	var feed atomNode
	if err := xml.Unmarshal(text, &feed); err != nil || feed.XMLName != (xml.Name{Space: atomSpace, Local: "feed"}) {
		t.Fatalf("no Atom feed: %v, %v", feed.XMLName, err)
	}
	ids := map[string]bool{}
	var check func(n atomNode, once, known []string)
	check = func(n atomNode, once, known []string) {
		counts := map[string]int{}
		for _, c := range n.Children {
			name := c.XMLName.Local
			counts[name]++
			if c.XMLName.Space != atomSpace || !slices.Contains(once, name) && !slices.Contains(known, name) {
				t.Errorf("%s has the element %v", n.XMLName.Local, c.XMLName)
			}
			switch name {
			case "id":
				if at, err := url.Parse(c.Text); err != nil || !at.IsAbs() || ids[c.Text] {
					t.Errorf("the id %q is no absolute address of its own: %v", c.Text, err)
				}
				ids[c.Text] = true
			case "updated", "published":
				if _, err := time.Parse(time.RFC3339, c.Text); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			case "link", "category":
				attributes := map[string]string{}
				for _, a := range c.Attrs {
					attributes[a.Name.Local] = a.Value
				}
				at, err := url.Parse(attributes["href"])
				if name == "link" && (err != nil || !at.IsAbs()) || name == "category" && attributes["term"] == "" || c.Text != "" {
					t.Errorf("%s has the attributes %v", name, attributes)
				}
			case "entry":
				check(c, []string{"id", "title", "updated", "published", "content"}, []string{"link", "category"})
			case "title", "content", "subtitle":
				if strings.TrimSpace(c.Text) == "" || len(c.Children) > 0 { // type is text where it is not given (§3.1.1)
					t.Errorf("%s is no plain text: %+v", name, c)
				}
			}
		}
		for _, name := range once {
			if counts[name] != 1 {
				t.Errorf("%s has %d elements %s", n.XMLName.Local, counts[name], name)
			}
		}
	}
	check(feed, []string{"id", "title", "updated", "author", "subtitle"}, []string{"link", "entry"})
}

// checkJSONFeedRules holds a feed against JSON Feed 1.1: the members that must be there, their types,
// and that other members begin with an underscore.
func checkJSONFeedRules(t *testing.T, text []byte) {
	t.Helper()
	var feed map[string]any
	decodeInto(t, bufferedResponse{body: text}, &feed)
	isText := func(v any) bool { s, ok := v.(string); return ok && s != "" }
	isAddress := func(v any) bool {
		s, _ := v.(string)
		at, err := url.Parse(s)
		return err == nil && at.IsAbs()
	}
	isTime := func(v any) bool { s, _ := v.(string); _, err := time.Parse(time.RFC3339, s); return err == nil }
	check := func(object map[string]any, rules map[string]func(any) bool, must ...string) {
		for _, name := range must {
			if object[name] == nil {
				t.Errorf("%s is missing in %v", name, object)
			}
		}
		for name, v := range object {
			if rule := rules[name]; rule != nil && !rule(v) || rule == nil && !strings.HasPrefix(name, "_") {
				t.Errorf("the member %s is %v", name, v)
			}
		}
	}
	isList := func(v any) bool { _, ok := v.([]any); return ok }
	check(feed, map[string]func(any) bool{
		"version": isText, "title": isText, "home_page_url": isAddress, "feed_url": isAddress, "next_url": isAddress, "description": isText, "language": isText, "authors": isList, "items": isList,
	}, "version", "title", "items")
	for _, v := range feed["items"].([]any) {
		check(v.(map[string]any), map[string]func(any) bool{
			"id": isText, "url": isAddress, "title": isText, "content_text": isText, "date_published": isTime, "date_modified": isTime, "tags": isList,
		}, "id", "content_text")
	}
}

// TestFeedsWithFiltersAreFeedsOfTheirOwn checks that a reader can subscribe to several feeds of a server:
// each has its id, its title and its page.
func TestFeedsWithFiltersAreFeedsOfTheirOwn(t *testing.T) {
	h := newTestServer(t, options{})
	for target, want := range map[string][3]string{
		"":                                       {"/api/v1/changes/atom", "Gazetteer: changes", "/changes"},
		"?host=inn.example&severity=low&limit=5": {"/api/v1/changes/atom?host=inn.example&severity=low", "Gazetteer: changes of inn.example, severity low", "/changes?host=inn.example&severity=low"},
	} {
		var atom struct {
			ID    string `xml:"id"`
			Title string `xml:"title"`
			Links []struct {
				Rel  string `xml:"rel,attr"`
				Href string `xml:"href,attr"`
			} `xml:"link"`
		}
		if err := xml.Unmarshal(h.get("/api/v1/changes/atom"+target, 200).body, &atom); err != nil {
			t.Fatal(err)
		}
		var page string
		for _, l := range atom.Links {
			if l.Rel == "alternate" {
				page = l.Href
			}
		}
		if !strings.HasSuffix(atom.ID, want[0]) || atom.Title != want[1] || !strings.HasSuffix(page, want[2]) {
			t.Errorf("%q: Atom %q, %q, %q", target, atom.ID, atom.Title, page)
		}
		var feed struct {
			Title string `json:"title"`
			Page  string `json:"home_page_url"`
		}
		decodeInto(t, h.get("/api/v1/changes/feed.json"+target, 200), &feed)
		if feed.Title != want[1] || !strings.HasSuffix(feed.Page, want[2]) {
			t.Errorf("%q: JSON Feed %q, %q", target, feed.Title, feed.Page)
		}
	}
}

// TestSubscribersThatNeverRead has SUBSCRIBERS clients follow the changes (48 without it), half of
// which never read: the others get every change.
func TestSubscribersThatNeverRead(t *testing.T) {
	subscribers, _ := strconv.Atoi(os.Getenv("SUBSCRIBERS"))
	if subscribers == 0 {
		subscribers = 48
	}
	h := newTestServer(t, options{})
	const services = 40
	base, err := url.Parse(h.base)
	if err != nil {
		t.Fatal(err)
	}
	began, done := make(chan struct{}, subscribers), make(chan int, subscribers)
	for i := range subscribers {
		// As many networks as so many clients need.
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(i/50), 1)}}
		conn, err := dialer.DialContext(t.Context(), "tcp", base.Host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(patience))
		fmt.Fprintf(conn, "GET /api/v1/changes/stream HTTP/1.1\r\nHost: %s\r\n\r\n", base.Host)
		if i%2 == 1 {
			continue // never reads
		}
		go func() {
			events := 0
			for lines := bufio.NewScanner(conn); events < services && lines.Scan(); {
				switch text := lines.Text(); {
				case strings.HasPrefix(text, "retry: "):
					began <- struct{}{}
				case text == "event: change":
					events++
				}
			}
			done <- events
		}()
	}
	for range (subscribers + 1) / 2 {
		select {
		case <-began:
		case <-time.After(patience):
			t.Fatal("a stream does not begin")
		}
	}
	published := time.Now()
	for i := 0; i < services; i += 10 {
		var hosts []string
		for n := range 10 {
			hosts = append(hosts, fmt.Sprintf("h%d.example", i+n))
		}
		h.publishAll(hosts...)
	}
	wrote := time.Since(published)
	for range (subscribers + 1) / 2 {
		if events := <-done; events != services {
			t.Errorf("a client that reads got %d of %d changes", events, services)
		}
	}
	t.Logf("%d subscribers, half of which never read: %d services were published in %v, and the last event was read after %v", subscribers, services, wrote, time.Since(published))
}

// changeEvents reads events of a stream until there are so many.
func changeEvents(t *testing.T, h *testServer, query string, header http.Header, many int) (ids []string, changes []feed.Change) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "GET", h.base+"/api/v1/changes/stream?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	response, err := plain.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s %s", response.Status, response.Header.Get("Content-Type"))
	}
	lines := bufio.NewScanner(response.Body)
	for len(changes) < many && lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			ids = append(ids, value)
		case "data":
			var c feed.Change
			if err := json.Unmarshal([]byte(value), &c); err != nil {
				t.Fatal(err)
			}
			changes = append(changes, c)
		}
	}
	return ids, changes
}

// TestChangeStream checks that a stream sends new changes, and that a client can continue after the
// last event that it read.
func TestChangeStream(t *testing.T) {
	h := newTestServer(t, options{})
	start := h.changes("").Next
	got := make(chan []feed.Change, 1)
	go func() {
		_, changes := changeEvents(t, h, "since="+start+"&kind=service-appeared", http.Header{}, 3)
		got <- changes
	}()
	for i := range 3 {
		h.publish(fmt.Sprintf("h%d.example", i), document.AI, "application/json", aiText("One"), seen)
		h.publish(fmt.Sprintf("h%d.example", i), document.AI, "application/json", aiText("Two"), seen.Add(time.Hour))
	}
	for i, c := range <-got {
		if c.Host != fmt.Sprintf("h%d.example", i) || c.Kind != changefeed.ServiceAppeared {
			t.Errorf("event %d is %+v", i, c)
		}
	}
	h.waitForChanges()
	ids, changes := changeEvents(t, h, "since="+start, http.Header{}, 4)
	_, rest := changeEvents(t, h, "since="+start, http.Header{"Last-Event-Id": {ids[3]}}, 2)
	if changes[3].Host != "h1.example" || len(rest) != 2 || rest[0].Host != "h2.example" || rest[1].Kind != changefeed.DocumentChanged {
		t.Errorf("behind the fourth event come %+v", rest)
	}
	// The id of an event is a place of the pages, too.
	if list := h.changes("since=" + ids[3]); len(list.Changes) != 2 || list.Changes[0].ID != rest[0].ID {
		t.Errorf("as a page: %+v", list.Changes)
	}
}
