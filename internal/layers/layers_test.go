package layers

import (
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "gazetteer"

// rows lists the packages from the bottom up. A package may import packages in a row below its own,
// and no others of the module except those in also.
var rows = [][]string{
	{"limit", "internal/heap"},
	{"internal/psl", "internal/lookalike", "internal/wait", "internal/privatefile", "internal/eventstream", "internal/worddiff", "internal/nearest", "internal/cputime", "internal/testclock", "internal/cache", "web/plot"},
	{"internal/steadyclock", "internal/mcphttp"},
	{"protocol", "protocol/english", "protocol/jcs"},
	{"protocol/effect", "protocol/tree", "protocol/yaml"},
	{"protocol/aidiscovery", "protocol/agis", "protocol/did", "protocol/httpsig", "protocol/llmstxt"},
	{"protocol/wording", "protocol/agis/agishttp"},
	{"protocol/conversion"},
	{"protocol/notation", "protocol/mcp"},
	{"convert/openapi"},
	{"convert"},
	{"protocol/a2a"},
	{"protocol/altar"},
	{"altarkit"},
	{"altarkit/examples/calculator"},
	{"protocol/a2a/driver", "protocol/a2a/a2ahttp", "protocol/a2a/a2atest"},
	{"document", "store", "index/wordvec", "index/tokens", "index/translate", "index/bitset", "index/damage", "index/pace", "index/expressions"},
	{"document/diff/meaning"},
	{"document/diff", "store/follow", "store/boltfile", "store/storetest", "fetch", "call", "lint/repair", "registry/keyfile", "registry/proofofwork", "census/tally", "index/query", "index/semantic", "index/spelling"},
	{"crawler/frontier", "crawler/hostlist", "crawler/journal", "crawler/politeness", "index/entry", "conformance", "registry/audit/checkpoint", "registry/resolve"},
	{"index/view", "index/siblings", "index/blevefiles", "registry/audit/proof", "registry/audit/tiles"},
	{"registry/audit/leafform", "store/boltstore", "conformance/standing", "crawler", "index", "registry", "lint", "relay"},
	{"mailbox", "relay/boltqueue", "relay/relayhttp", "lint/format", "registry/audit", "registry/audit/witness", "registry/attestation", "changefeed"},
	{"toolhost"},
	{"toolhost/hosthttp", "toolhost/hostmcp", "toolhost/httpruntime"},
	{"registry/evidence"},
	{"registry/admission", "registry/transfer", "registry/directory"},
	{"registry/registrar"},
	{"join", "crawler/owner", "relay/recipients", "census"},
	{"api/answer", "api/airjson", "api/badge"},
	{"api/route"},
	{"api/air", "api/feed", "api/operator"},
	{"api", "lint/command"},
	{"web/frame", "web/history"},
	{"web/agentpages", "web/changepages", "web/crawlerpages", "web/docpages", "web/operatorpages", "web/rulepages"},
	{"web/censuspages"},
	{"web", "api/mcpserver", "api/selfdescription"},
	{"internal/fakenet", "internal/need"}, // for the demo and the tests: they import nothing of the program
	{"internal/fakenet/corpus"},           // for generators and for tests alone
	{"registry/audit/audittest", "internal/fakestore", "internal/teststore", "internal/privatenet", "internal/nameserver", "internal/mcpconformance", "store/boltfile/filetest"}, // tests alone
	{"internal/exit", "internal/version"},
	{"internal/config"},
	{"internal/backup"},
	{"internal/server"}, // opens, wires and runs what lies below it
	{"internal/cli"},
	{"internal/cli/agent", "internal/cli/altar", "internal/cli/auditlog", "internal/cli/search"},
	{"internal/cli/crawl", "internal/cli/demo", "internal/cli/envelope", "internal/cli/mail", "internal/cli/operator"},
	{"cmd/gazetteer", "cmd/gazlint"},
}

// also allows imports that the rows do not: none is needed today, and each needs a reason here.
var also = map[string][]string{}

// alone names packages that import nothing of the module at all.
var alone = []string{"limit", "internal/heap", "internal/cache", "internal/cputime", "internal/testclock", "internal/psl", "internal/lookalike", "internal/wait", "internal/privatefile", "internal/eventstream", "store", "web/history", "web/plot", "internal/fakenet", "internal/need", "protocol/english", "protocol/jcs", "index/wordvec", "index/bitset"}

// commands below these folders never ship: generators, and examples of the documentation.
var generators = []string{"docs/quickstart/agent", "docs/quickstart/search", "docs/quickstart/mcp"}

// protocolMayImport is all that a program which wants only our readers has to
// take along. jsontext reads JSON strictly, base58 writes multikeys, httpsfv
// reads the structured fields of HTTP signatures, merkle checks the trees of receipts.
var protocolMayImport = []string{
	"filippo.io/edwards25519",
	"github.com/dunglas/httpsfv",
	"github.com/go-json-experiment/json",
	"github.com/mr-tron/base58",
	"github.com/transparency-dev/merkle",
	"go.yaml.in/yaml/v4",
	"golang.org/x/crypto",
	"golang.org/x/text",
}

// light packages, and all of protocol, reach nothing of heavy, however
// indirectly: they are what a program takes along that only reads, fetches and
// judges documents.
var light = []string{"document", "fetch", "lint", "lint/format"}

// heavy is what serves, stores and crawls.
var heavy = []string{"github.com/gin-gonic/gin", "github.com/blevesearch/bleve", "go.etcd.io/bbolt", "github.com/gocolly/colly"}

func TestImportDirection(t *testing.T) {
	packages := load(t)
	row := map[string]int{}
	for i, names := range rows {
		for _, name := range names {
			row[name] = i
		}
	}
	for name, imports := range packages {
		if name == "internal/layers" || slices.Contains(generators, name) {
			continue
		}
		at, known := row[name]
		if !known {
			t.Errorf("%s stands in no row: add it to rows in %s", name, "internal/layers/layers_test.go")
			continue
		}
		for _, imported := range imports {
			inner, ours := strings.CutPrefix(imported, module+"/")
			if !ours || slices.Contains(also[name], inner) {
				continue
			}
			if slices.Contains(alone, name) {
				t.Errorf("%s imports %s: it imports nothing of the module", name, inner)
			}
			if below, ok := row[inner]; !ok || below >= at {
				t.Errorf("%s imports %s, which does not lie below it", name, inner)
			}
		}
	}
	for name := range row {
		if _, ok := packages[name]; !ok {
			t.Errorf("rows names %s, which does not exist", name)
		}
	}
}

func TestProtocolImportsAreFew(t *testing.T) {
	for name, imports := range load(t) {
		if name != "protocol" && !strings.HasPrefix(name, "protocol/") {
			continue
		}
		for _, imported := range imports {
			standard := !strings.Contains(strings.Split(imported, "/")[0], ".")
			allowed := slices.ContainsFunc(protocolMayImport, func(m string) bool {
				return imported == m || strings.HasPrefix(imported, m+"/")
			})
			if !standard && !allowed {
				t.Errorf("%s imports %s, which is not on the list", name, imported)
			}
		}
	}
}

// TestKitImportsAreFew checks that a runtime takes along only the messages and a WebSocket.
func TestKitImportsAreFew(t *testing.T) {
	imports, found := load(t)["altarkit"]
	if !found {
		t.Fatal("there is no altarkit")
	}
	for _, imported := range imports {
		ours := strings.HasPrefix(imported, "gazetteer/")
		standard := !ours && !strings.Contains(strings.Split(imported, "/")[0], ".")
		if !standard && imported != "gazetteer/protocol/altar" && imported != "github.com/coder/websocket" {
			t.Errorf("altarkit imports %s", imported)
		}
	}
}

func TestReadersDoNotImportServers(t *testing.T) {
	packages := load(t)
	var walk func(name string, seen map[string]bool)
	walk = func(name string, seen map[string]bool) {
		if seen[name] {
			return
		}
		seen[name] = true
		for _, imported := range packages[name] {
			for _, h := range heavy {
				if strings.HasPrefix(imported, h) {
					t.Errorf("%s reaches %s", name, imported)
				}
			}
			if inner, ours := strings.CutPrefix(imported, module+"/"); ours {
				walk(inner, seen)
			}
		}
	}
	for _, name := range light {
		if _, ok := packages[name]; !ok {
			t.Errorf("light names %s, which does not exist", name)
		}
	}
	for name := range packages {
		if slices.Contains(light, name) || name == "protocol" || strings.HasPrefix(name, "protocol/") {
			walk(name, map[string]bool{})
		}
	}
}

// load returns the imports of every package of the module, tests left out.
func load(t *testing.T) map[string][]string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string][]string{}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if base := entry.Name(); path != root && (base == "testdata" || strings.HasPrefix(base, ".")) {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != root {
			return filepath.SkipDir // a module of its own: tools
		}
		p, err := build.ImportDir(path, 0)
		if _, none := err.(*build.NoGoError); none {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if len(p.GoFiles) > 0 {
			packages[filepath.ToSlash(name)] = p.Imports
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 5 {
		t.Fatalf("only %d packages found below %s", len(packages), root)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return packages
}
