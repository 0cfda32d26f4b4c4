package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// A service is one line of the file of services that was made from the OpenAPI
// directory.
type service struct {
	ID          string      `json:"id"`
	Name        string      `json:"name"`
	Provider    string      `json:"provider"`
	Description string      `json:"description"`
	Categories  []string    `json:"categories"`
	Ops         []operation `json:"ops"`
}

type operation struct {
	ID     string   `json:"id"`
	Verb   string   `json:"v"`
	Path   string   `json:"p"`
	Intent string   `json:"i"`
	Params []string `json:"a"`
	Tag    string   `json:"t"`
}

// readServices reads services, one a line, from a file that may be compressed
// with zstd.
func readServices(name string) ([]service, error) {
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var out []service
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<26)
	for line := 1; scanner.Scan(); line++ {
		var s service
		if err := json.Unmarshal(scanner.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		out = append(out, s)
	}
	return out, scanner.Err()
}

// open opens a file and unpacks it if its name ends in .zst.
func open(name string) (io.ReadCloser, error) {
	file, err := os.Open(name)
	if err != nil || !strings.HasSuffix(name, ".zst") {
		return file, err
	}
	z, err := zstd.NewReader(file)
	if err != nil {
		file.Close()
		return nil, err
	}
	return unpacked{z, file}, nil
}

type unpacked struct {
	*zstd.Decoder
	file *os.File
}

func (u unpacked) Close() error {
	u.Decoder.Close()
	return u.file.Close()
}

// operationExamples pairs the sentence that describes an operation with its
// names: verb, path, id, parameters.
func operationExamples(services []service) []rawExample {
	var out []rawExample
	seen := map[string]bool{}
	for _, s := range services {
		name := wordsOf(s.Name)
		for _, op := range s.Ops {
			sentence := wordsOf(op.Intent)
			id, path := wordsOf(op.ID), wordsOf(op.Path)
			key := strings.Join(sentence, " ") + "\n" + strings.Join(id, " ")
			if len(sentence) < 2 || seen[key] {
				continue
			}
			seen[key] = true
			out = append(out, rawExample{
				left: []rawPart{{sentence, 1}, {name, .15}},
				right: []rawPart{{append(wordsOf(op.Verb), id...), 1}, {path, .7},
					{wordsOf(strings.Join(op.Params, " ")), .4}, {name, .3}},
				group: strings.Join(sentence, " "),
				asked: true,
			})
		}
	}
	return out
}
