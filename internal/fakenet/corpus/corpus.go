// Package corpus makes documents of real services: for the hosts of package fakenet, which embeds
// them, and for tests that need many. corpus.go reads the directory of services; convert.go, agis.go,
// intent.go, outcome.go and words.go turn a service into documents; generate.go writes what fakenet embeds.
// ../testdata/README.md says where the data comes from and what in it is derived.
package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/net/publicsuffix"
)

// A Service is one line of a directory of services. testdata/README.md names the origin of ours.
type Service struct {
	ID          string      `json:"id"` // "provider" or "provider:service"
	Name        string      `json:"name"`
	Provider    string      `json:"provider"`
	Description string      `json:"description"`
	Categories  []string    `json:"categories"`
	URL         string      `json:"url"`
	Namespace   string      `json:"namespace"`
	DataClasses []string    `json:"data_classes"`
	Operations  []Operation `json:"ops"`
	text        string      // from testdata/texts.txt; used instead of Description
}

// An Operation is one operation of a service.
type Operation struct {
	ID         string   `json:"id"` // as an AI Discovery capability id
	Verb       string   `json:"v"`
	Path       string   `json:"p"` // of nouns, as in AGIS
	Method     string   `json:"m"` // HTTP
	Endpoint   string   `json:"e"`
	Intent     string   `json:"i"`
	Parameters []string `json:"a"`
	Tag        string   `json:"t"`
	text       string   // from testdata/texts.txt; says better than Intent what is done
}

// Directory returns the name of the directory of real services, below the module's root folder. It is
// too large to be part of a program.
func Directory(root string) string {
	return filepath.Join(root, "internal", "fakenet", "testdata", "openapi-services.jsonl.zst")
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
// (2,243 documents, 45,901 operations).
func Read(root string, operations int) ([]Document, error) {
	var out []Document
	used, total := map[string]bool{}, 0
	for s, err := range Services(Directory(root)) {
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

// Services reads a directory of services, which may be compressed with zstd. An error ends the
// sequence.
func Services(name string) iter.Seq2[Service, error] { return services(name, nil) }

// services is [Services] for those with a wanted identifier, which alone are decoded; all of them
// when wanted is nil.
func services(name string, wanted map[string]bool) iter.Seq2[Service, error] {
	return func(yield func(Service, error) bool) {
		f, err := os.Open(name)
		if err != nil {
			yield(Service{}, fmt.Errorf("open the directory of services: %w", err))
			return
		}
		defer f.Close() // only read
		in := io.Reader(f)
		if strings.HasSuffix(name, ".zst") {
			z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
			if err != nil {
				yield(Service{}, fmt.Errorf("read %s: %w", name, err))
				return
			}
			defer z.Close()
			in = z
		}
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 64<<20) // the largest service has 22,361 operations
		for n := 1; lines.Scan(); n++ {
			if wanted != nil && !wanted[identifierOf(lines.Bytes())] {
				continue
			}
			var s Service
			if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
				yield(Service{}, fmt.Errorf("%s, line %d: %w", name, n, err))
				return
			}
			if !yield(s, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Service{}, fmt.Errorf("read %s: %w", name, err))
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
func (s Service) hostName() string {
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
