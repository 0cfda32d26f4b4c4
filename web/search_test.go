package web

import (
	"strings"
	"testing"

	"gazetteer/api/answer"
	"gazetteer/call"
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

// TestHitShowsHTTPAddress checks that an operation which two documents describe is shown with the HTTP address
// and the programs for it, and with the way over AGTP beside it.
func TestHitShowsHTTPAddress(t *testing.T) {
	p := &Pages{}
	h := answer.Hit{Call: call.How{Protocol: "agtp"}, Hit: index.Hit{
		Operation: document.Operation{ID: "BOOK /cabin", Verb: "BOOK", Path: "/cabin", Call: document.Call{Protocol: "agtp", URL: "agtp://ferry.test"}},
		Also: &index.Twin{ID: "book", Call: document.Call{Protocol: "http", URL: "https://ferry.test/v1/cabin"}, Operation: document.Operation{
			ID: "book", Call: document.Call{Protocol: "http", Method: "POST", URL: "https://ferry.test/v1/cabin"}, Parameters: []document.Parameter{{Name: "guests", In: "body"}}}},
	}}
	v := p.hitViewOf(h)
	if v.Op.Call.URL != "https://ferry.test/v1/cabin" || v.Bound || len(v.Programs) == 0 || !strings.Contains(v.Programs[0].Text, "'https://ferry.test/v1/cabin'") ||
		v.Also != "BOOK /cabin agtp://ferry.test" || len(v.Op.Parameters) != 1 {
		t.Errorf("the card is %+v", v)
	}
}
