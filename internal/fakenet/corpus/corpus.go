// Package corpus makes documents of real services: for the hosts of package fakenet, which embeds
// them, and for tests that need many. corpus.go reads the directory of services; convert.go, agis.go,
// intent.go and words.go turn a service into documents; generate.go writes what fakenet embeds.
// ../testdata/README.md says where the data comes from and what in it is derived.
package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/net/publicsuffix"
)

// A service is one line of the directory of real services in
// testdata/openapi-services.jsonl.zst. testdata/README.md names its origin.
type service struct {
	ID          string      `json:"id"` // "provider" or "provider:service"
	Name        string      `json:"name"`
	Provider    string      `json:"provider"`
	Description string      `json:"description"`
	Categories  []string    `json:"categories"`
	URL         string      `json:"url"`
	DataClasses []string    `json:"data_classes"`
	Operations  []operation `json:"ops"`
	Text        string      `json:"-"` // from testdata/texts.txt; used instead of Description
}

// An operation is one operation of a service.
type operation struct {
	ID       string   `json:"id"` // as an AI Discovery capability id
	Verb     string   `json:"v"`
	Path     string   `json:"p"` // of nouns, as in AGIS
	Method   string   `json:"m"` // HTTP
	Endpoint string   `json:"e"`
	Intent   string   `json:"i"`
	Args     []string `json:"a"`
	Text     string   `json:"-"` // from testdata/texts.txt; says better than Intent what is done
}

// A Document is a service of the directory in both formats.
type Document struct {
	Host string // a name under .test, unique in the corpus
	// AI is an AI Discovery document, AGIS a full AGIS document in JSON; AGIS
	// is nil when no operation of the service can be said in it.
	AI, AGIS []byte
	// Operations counts the capabilities in AI.
	Operations int
}

// corpusOperations bounds one document of the corpus: readers index no more
// capabilities of an AI Discovery document than 100.
const corpusOperations = 100

// Read returns documents made of real services, in the order of the directory
// and always the same, until they hold so many operations; 0 means all of them
// (2,243 documents, 45,901 operations). The directory is read from below the module's root
// folder, because it is too large to be part of a program.
func Read(root string, operations int) ([]Document, error) {
	var out []Document
	used, total := map[string]bool{}, 0
	for s, err := range readServices(root, nil) {
		if err != nil {
			return nil, err
		}
		host := s.hostName()
		for n := 2; used[host]; n++ {
			host = fmt.Sprintf("n%d.%s", n, s.hostName())
		}
		used[host] = true
		ai, count, err := s.asAI(corpusOperations)
		if err != nil {
			return nil, fmt.Errorf("convert %s: %w", s.ID, err)
		}
		if count == 0 {
			continue
		}
		d := Document{Host: host, AI: ai, Operations: count}
		if doc := s.asAGIS(host, corpusOperations); len(doc.Endpoints) > 0 {
			if d.AGIS, err = marshalCompact(doc); err != nil {
				return nil, fmt.Errorf("convert %s: %w", s.ID, err)
			}
		}
		out = append(out, d)
		if total += count; operations > 0 && total >= operations {
			break
		}
	}
	return out, nil
}

// readServices reads the directory from below the module's root folder. Only those
// with a wanted identifier are decoded; all of them when wanted is nil. An error
// ends the sequence.
func readServices(root string, wanted map[string]bool) iter.Seq2[service, error] {
	return func(yield func(service, error) bool) {
		name := filepath.Join(root, "internal", "fakenet", "testdata", "openapi-services.jsonl.zst")
		f, err := os.Open(name)
		if err != nil {
			yield(service{}, fmt.Errorf("open the directory of services: %w", err))
			return
		}
		defer f.Close()
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
		if err != nil {
			yield(service{}, fmt.Errorf("read %s: %w", name, err))
			return
		}
		defer z.Close()
		lines := bufio.NewScanner(z)
		lines.Buffer(nil, 32<<20) // the largest service has 22,361 operations
		for lines.Scan() {
			if wanted != nil && !wanted[identifierOf(lines.Bytes())] {
				continue
			}
			var s service
			if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
				yield(service{}, fmt.Errorf("read %s: %w", name, err))
				return
			}
			if !yield(s, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(service{}, fmt.Errorf("read %s: %w", name, err))
		}
	}
}

// identifierOf returns the id that a line of the directory begins with.
func identifierOf(line []byte) string {
	rest, _ := bytes.CutPrefix(line, []byte(`{"id":"`))
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(id)
}

var notLabel = regexp.MustCompile(`[^a-z0-9]+`)

// hostName derives a host name from the identifier: "stripe.com" is "stripe.test",
// "googleapis.com:calendar" is "calendar.googleapis.test". Two services of the
// directory may come to the same name.
func (s service) hostName() string {
	provider, part, _ := strings.Cut(strings.ToLower(s.ID), ":")
	suffix, official := publicsuffix.PublicSuffix(provider)
	if _, rest, ok := strings.Cut(suffix, "."); ok && !official {
		suffix = rest // googleapis.com is a suffix for the sake of its customers
	}
	base := strings.TrimSuffix(strings.TrimSuffix(provider, suffix), ".")
	if base == "" {
		base = provider
	}
	labels := []string{}
	own, _, _ := strings.Cut(base, ".")
	part = strings.TrimPrefix(strings.TrimPrefix(part, own), "_")
	for _, label := range append([]string{part}, strings.Split(base, ".")...) {
		label = strings.Trim(notLabel.ReplaceAllString(label, "-"), "-")
		if len(label) > 40 {
			label = strings.Trim(label[:40], "-")
		}
		if label != "" {
			labels = append(labels, label)
		}
	}
	return strings.Join(labels, ".") + ".test"
}
