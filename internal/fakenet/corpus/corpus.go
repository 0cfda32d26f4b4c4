// Package corpus reads the directory of real services, for tests and generators that need many of
// them. ../testdata/README.md says where the data comes from. Begin with [Services].
package corpus

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
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
}

// Directory returns the name of the directory of real services, below the module's root folder. It is
// too large to be part of a program.
func Directory(root string) string {
	return filepath.Join(root, "internal", "fakenet", "testdata", "openapi-services.jsonl.zst")
}

// Services reads a directory of services, which may be compressed with zstd. An error ends the
// sequence.
func Services(name string) iter.Seq2[Service, error] {
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
