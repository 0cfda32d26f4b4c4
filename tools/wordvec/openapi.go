package main

import (
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"gazetteer/internal/fakenet/corpus"
)

// readServices reads the services of a directory.
func readServices(name string) ([]corpus.Service, error) {
	var out []corpus.Service
	for s, err := range corpus.Services(name) {
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
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
func operationExamples(services []corpus.Service) []rawExample {
	var out []rawExample
	seen := map[string]bool{}
	for _, s := range services {
		name := wordsOf(s.Name)
		for _, op := range s.Operations {
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
					{wordsOf(strings.Join(op.Parameters, " ")), .4}, {name, .3}},
				group: strings.Join(sentence, " "),
				asked: true,
			})
		}
	}
	return out
}
