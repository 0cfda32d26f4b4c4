package fakenet

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
)

// A Host is one host of the standard internet and what a visit must find there.
type Host struct {
	Name string
	// Seed tells whether the host is given to the crawler; the others are
	// reached through related_services.
	Seed bool
	// Depth counts links from the nearest seed: 0 for a seed.
	Depth int
	// Expect has the outcome of the first visit by document kind, in the
	// crawler's words: Expect["ai"] = "ok". Where it has several kinds, a visit
	// asks for those and no others; where it has one, the others do not
	// matter. It is empty for a host that is not Reachable.
	Expect map[string]string
	// Note describes in one line what is particular about the host.
	Note string
	// Reachable tells whether a crawl from the seeds visits the host: links
	// are followed to depth 3.
	Reachable bool
}

// deepest is how many links from a seed a crawl follows.
const deepest = 3

// Hosts returns the standard hosts, by name. It is empty with Options.Empty.
// Some of them do not exist: other hosts link to them.
func (n *Net) Hosts() []Host { return slices.Clone(n.standard().list) }

// Seeds returns the names of the hosts that a crawl begins with, by name.
func (n *Net) Seeds() []string {
	var seeds []string
	for _, h := range n.Hosts() {
		if h.Seed {
			seeds = append(seeds, h.Name)
		}
	}
	return seeds
}

//go:embed testdata/hosts.json testdata/services testdata/drafts testdata/everyday testdata/namesakes testdata/odd
var embedded embed.FS

// readEmbedded returns an embedded file by its name below testdata.
func readEmbedded(name string) ([]byte, error) { return embedded.ReadFile(path.Join("testdata", name)) }

// standardHosts is the standard small internet.
type standardHosts struct {
	list  []Host // by name
	sites map[string]Site
}

// newStandardHosts builds the standard hosts from the embedded files. They are a part of the program:
// it panics if they are damaged.
func newStandardHosts() standardHosts {
	hosts := standardHosts{sites: map[string]Site{}}
	add := func(h Host, s *Site) {
		h.Reachable = h.Depth <= deepest
		if !h.Reachable {
			h.Expect = nil
		}
		hosts.list = append(hosts.list, h)
		if s != nil {
			hosts.sites[h.Name] = *s
		}
	}
	for _, part := range []func(add func(Host, *Site)) error{installServices, installDrafts, installEveryday, installNamesakes, installOdd} {
		if err := part(add); err != nil {
			panic("fakenet: install the standard hosts: " + err.Error())
		}
	}
	slices.SortFunc(hosts.list, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
	return hosts
}

// A shape is what a host that is made of a real service publishes.
type shape string

// The shapes.
const (
	nothing  shape = ""
	aiOnly   shape = "ai"       // an AI Discovery document
	agisOnly shape = "agis"     // a summary and the AGIS document it names
	both     shape = "ai+agis"  // all three
	agtpOnly shape = "ai+agtp"  // as both, but the summary names an agtp:// address
	apart    shape = "ai+apart" // as both, but the AGIS document is on another host
)

// A record is one host in testdata/hosts.json, made of a real service.
type record struct {
	Name   string            `json:"name"`
	Origin string            `json:"origin"` // the service's identifier in the directory
	Shape  shape             `json:"shape"`
	Seed   bool              `json:"seed,omitempty"`
	Depth  int               `json:"depth"`
	Files  map[string]string `json:"files"` // path on the host to file below testdata/services
	// Related are the hosts that the summary links to.
	Related []string `json:"related,omitempty"`
}

// installServices adds the hosts that are made of real services.
func installServices(add func(Host, *Site)) error {
	list, err := readEmbedded("hosts.json")
	if err != nil {
		return err
	}
	var records []record
	if err := json.Unmarshal(list, &records); err != nil {
		return fmt.Errorf("read hosts.json: %w", err)
	}
	for i, r := range records {
		s := site{}
		for where, name := range r.Files {
			text, err := readEmbedded(path.Join("services", name))
			if err != nil {
				return fmt.Errorf("%s: %w", r.Name, err)
			}
			s[where] = newFile(text, mediaTypes[path.Ext(name)])
		}
		switch i % 3 {
		case 1:
			s["/robots.txt"] = newFile([]byte("User-agent: *\nAllow: /\n"), "text/plain; charset=utf-8")
		case 2:
			s["/robots.txt"] = newFile([]byte("User-agent: *\nDisallow: /account/\nDisallow: /internal/\n"), "text/plain; charset=utf-8")
		}
		add(Host{Name: r.Name, Seed: r.Seed, Depth: r.Depth, Expect: maps.Clone(expectations[r.Shape]), Note: r.Origin + ": " + shapeNotes[r.Shape]}, &Site{Handler: s})
	}
	return nil
}

var mediaTypes = map[string]string{
	".json": "application/json; charset=utf-8",
	".agis": "application/agis",
	".yaml": "application/yaml",
}

var expectations = map[shape]map[string]string{
	aiOnly:   {"ai": "ok", "agis-summary": "absent"},
	agisOnly: {"ai": "absent", "ai-alias": "absent", "agis-summary": "ok", "agis": "ok"},
	both:     {"ai": "ok", "agis-summary": "ok", "agis": "ok"},
	apart:    {"ai": "ok", "agis-summary": "ok", "agis": "ok"},
	agtpOnly: {"ai": "ok", "agis-summary": "ok"},
	nothing:  {"ai": "absent", "ai-alias": "absent", "agis-summary": "absent"},
}

var shapeNotes = map[shape]string{
	aiOnly:   "an AI Discovery document",
	agisOnly: "an AGIS summary and document",
	both:     "an AI Discovery document, an AGIS summary and document",
	apart:    "as most, with its AGIS document on another host",
	agtpOnly: "as most, with its AGIS document at an agtp address",
}

// installDrafts adds the services of the examples in AGIS 10.1, and two that an
// example links to and that cannot be had.
func installDrafts(add func(Host, *Site)) error {
	for i, name := range []string{"reservations", "finance", "patients"} {
		summary, err := readEmbedded("drafts/" + name + "-summary.json")
		if err != nil {
			return err
		}
		doc, err := readEmbedded("drafts/" + name + ".agis")
		if err != nil {
			return err
		}
		var handler http.Handler = site{
			"/.well-known/agis.json": newFile(summary, mediaTypes[".json"]),
			"/" + name + ".agis":     newFile(doc, mediaTypes[".agis"]),
		}
		if name == "reservations" {
			handler = newRestaurant(handler)
		}
		add(Host{Name: name + ".acme.test", Seed: i == 0, Depth: min(i, 1), Expect: maps.Clone(expectations[agisOnly]),
			Note: "an example of the AGIS draft, written out"}, &Site{Handler: handler})
	}
	add(Host{Name: "payments.acme.test", Depth: 1, Expect: expectAll("dns"), Note: "a related service whose name does not exist"}, nil)
	add(Host{Name: "loyalty.acme.test", Depth: 1, Expect: expectAll("unreachable"), Note: "a related service that refuses connections"}, &Site{Down: true})
	return nil
}

// installEveryday adds services of everyday life, of which the directory of real
// services has none: nobody describes a hairdresser in OpenAPI. All are seeds.
func installEveryday(add func(Host, *Site)) error {
	return installFolder("everyday", func(string) string { return "a service of everyday life" }, add)
}

// installNamesakes adds two services that declare the namespace of
// reservations.acme.test, and its verb BOOK: one of the same owner, and one of
// somebody else. All are seeds.
func installNamesakes(add func(Host, *Site)) error {
	notes := map[string]string{
		"lunch.acme":  "declares the namespace and the verb of another service of its owner",
		"last-tables": "declares the namespace of another owner, as a squatter would",
	}
	return installFolder("namesakes", func(name string) string { return notes[name] }, add)
}

// newService serves the documents in a folder of testdata. The pairs of an old and a new text are
// replaced in the AGIS document.
func newService(dir string, edits ...string) (http.Handler, error) {
	summary, err := readEmbedded(path.Join(dir, "summary.json"))
	if err != nil {
		return nil, err
	}
	doc, err := readEmbedded(path.Join(dir, "service.agis"))
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(edits); i += 2 {
		if n := bytes.Count(doc, []byte(edits[i])); n != 1 {
			return nil, fmt.Errorf("%s has %q %d times, want once", dir, edits[i], n)
		}
		doc = bytes.Replace(doc, []byte(edits[i]), []byte(edits[i+1]), 1)
	}
	return newAnswering(doc, site{
		pathSummary:     newFile(summary, mediaTypes[".json"]),
		"/service.agis": newFile(doc, mediaTypes[".agis"]),
	})
}

// Edit replaces texts in the document of a service of everyday life from now on, as an owner does who
// edits it: the edits are pairs of an old and a new text.
func (n *Net) Edit(host string, edits ...string) error {
	handler, err := newService(path.Join("everyday", strings.TrimSuffix(host, ".test")), edits...)
	if err != nil {
		return fmt.Errorf("edit %s: %w", host, err)
	}
	n.Handle(host, handler)
	return nil
}

// installFolder adds as a seed each service below a folder of testdata, which is
// called as its host without .test.
func installFolder(dir string, note func(name string) string, add func(Host, *Site)) error {
	entries, err := embedded.ReadDir(path.Join("testdata", dir))
	if err != nil {
		return fmt.Errorf("list the services in %s: %w", dir, err)
	}
	for _, e := range entries {
		handler, err := newService(path.Join(dir, e.Name()))
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
		add(Host{Name: e.Name() + ".test", Seed: true, Expect: maps.Clone(expectations[agisOnly]), Note: note(e.Name())}, &Site{Handler: handler})
	}
	return nil
}

// expectAll expects one outcome for both documents that a visit begins with.
func expectAll(outcome string) map[string]string {
	return map[string]string{"ai": outcome, "agis-summary": outcome}
}
