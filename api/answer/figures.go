package answer

import (
	"context"
	"fmt"
	"time"

	"gazetteer/crawler"
	"gazetteer/store"
)

// Figures are numbers of services, operations and verbs.
type Figures struct {
	Services   int       `json:"services"` // hosts with a current document of their own
	Operations int       `json:"operations"`
	Verbs      int       `json:"verbs"`
	Visited    time.Time `json:"visited,omitzero"` // when the last visit to any host ended
}

// Figures counts services, operations and verbs. The numbers are those of [Answers.Census], some
// seconds old. A process without a census reads the state of every host.
func (a *Answers) Figures(ctx context.Context) (Figures, error) {
	verbs, err := a.Index.Verbs(ctx)
	if err != nil {
		return Figures{}, err
	}
	if a.Census != nil {
		// The census also counts verbs of documents that the index does not offer: the number must be
		// that of the list of verbs.
		s := a.Census.Stats()
		return Figures{Services: s.Services, Operations: s.Operations, Verbs: len(verbs), Visited: s.LastVisit}, nil
	}
	f := Figures{Verbs: len(verbs)}
	for _, v := range verbs {
		f.Operations += v.Operations
	}
	for record, err := range store.Readable(a.Store.List(ctx, store.HostPrefix, "")) {
		if err != nil {
			return Figures{}, fmt.Errorf("count the hosts: %w", err)
		}
		h, err := decodeRecord[crawler.Host](record)
		if err != nil {
			return Figures{}, err
		}
		if h.Listed() {
			f.Services++
		}
		if h.Visited.After(f.Visited) {
			f.Visited = h.Visited
		}
	}
	return f, nil
}
