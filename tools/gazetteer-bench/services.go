package main

import (
	"fmt"

	"gazetteer/document"
	"gazetteer/internal/fakenet/corpus"
)

// most is how many operations of a service become one document: about what fits
// the size that a published document may have. The others become documents of
// further hosts.
const most = 400

// documentsOf makes AGIS documents of a service. swap changes words of all texts.
func documentsOf(s *corpus.Service, number int, swap func(string) string) []*document.Document {
	var docs []*document.Document
	for from := 0; from < len(s.Operations); from += most {
		host := fmt.Sprintf("s%06d-%d.bench.test", number, from/most)
		d := &document.Document{
			Kind: document.AGIS, Host: host, URL: "https://" + host + "/agis.json", Source: document.Linked,
			Digest: document.Digest([]byte(s.ID)),
			Service: document.Service{
				Name: swap(s.Name), Description: swap(s.Description), Namespace: s.Namespace, Categories: s.Categories,
			},
		}
		for _, c := range s.DataClasses {
			d.DataClasses = append(d.DataClasses, document.DataClass{Name: swap(c)})
		}
		for i, o := range s.Operations[from:min(from+most, len(s.Operations))] {
			path := swap(o.Path)
			op := document.Operation{
				ID: o.Verb + " " + path, Verb: o.Verb, Path: path, Intent: swap(o.Intent), Effect: document.EffectUnknown,
				Call:    document.Call{Protocol: "http", Method: o.Method, URL: "https://" + host + o.Endpoint},
				Pointer: fmt.Sprintf("/endpoints/%d", i),
			}
			for _, p := range o.Parameters {
				op.Parameters = append(op.Parameters, document.Parameter{Name: swap(p)})
			}
			d.Operations = append(d.Operations, op)
		}
		docs = append(docs, d)
	}
	return docs
}

// unchanged is the swap that changes nothing.
func unchanged(s string) string { return s }

// stride is how services are chosen for a pool: every so many lines, then the
// ones after, so that any size is drawn from all over the file.
const stride = 7

// readServices returns documents with n operations of the services in a file.
func readServices(path string, n int) ([]*document.Document, error) {
	var strided [stride][]*corpus.Service
	at := 0
	for s, err := range corpus.Services(path) {
		if err != nil {
			return nil, err
		}
		strided[at%stride] = append(strided[at%stride], &s)
		at++
	}
	var docs []*document.Document
	number := 0
	for _, services := range strided {
		for _, s := range services {
			for _, d := range documentsOf(s, number, unchanged) {
				d.Operations = d.Operations[:max(0, min(n, len(d.Operations)))]
				if n -= len(d.Operations); len(d.Operations) > 0 {
					docs = append(docs, d)
				}
			}
			if number++; n <= 0 {
				return docs, nil
			}
		}
	}
	return docs, nil
}

func countOperations(docs []*document.Document) int {
	n := 0
	for _, d := range docs {
		n += len(d.Operations)
	}
	return n
}
