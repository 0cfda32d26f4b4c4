package web

import (
	"testing"

	"gazetteer/document"
	"gazetteer/index"
	"gazetteer/index/query"
)

// TestServiceNamedBySecondDocument checks that a service is listed beside the operations if any of its
// documents names it with the words, and then once.
func TestServiceNamedBySecondDocument(t *testing.T) {
	service := func(name string) index.ServiceHit {
		return index.ServiceHit{Host: "a.test", Service: document.Service{Name: name}}
	}
	r := index.Result{Hits: []index.Hit{{}}, Services: []index.ServiceHit{service("Tables"), service("Ristorante Roma"), service("Roma Ristorante")}}
	services, _ := listOtherHits(query.Query{Words: "ristorante"}, r)
	if len(services) != 1 || services[0].Text != "Ristorante Roma" {
		t.Errorf("the services are %+v", services)
	}
}
