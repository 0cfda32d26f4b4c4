package web

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/index"
	"gazetteer/web/frame"
)

// similarView is a service that does much of what another does.
type similarView struct {
	Host    string
	Name    string
	Verbs   []string // that both offer
	Classes string   // that both hold
}

const (
	maxSimilar = 5
	minSimilar = 0.3 // below it, two services have little in common
	maxShared  = 6   // verbs, and classes, named of each
)

// similarServices returns the services most like that of a host. While the index is being
// rebuilt, or too many search, there are none: the page has much to say without
// them.
func (p *Pages) similarServices(ctx context.Context, host string) ([]similarView, error) {
	found, err := p.catalog.Similar(ctx, host, maxSimilar)
	if errors.Is(err, index.ErrUnavailable) || errors.Is(err, answer.ErrTooManySearches) || errors.Is(err, answer.ErrSearchTimeout) {
		return nil, nil
	}
	var views []similarView
	for _, s := range found {
		if s.Score < minSimilar {
			break
		}
		v := similarView{Host: s.Host, Name: cmp.Or(s.Service.Name, s.Host)}
		v.Verbs, _ = frame.SplitAt(s.Verbs, maxShared)
		classes, _ := frame.SplitAt(s.Classes, maxShared)
		v.Classes = strings.Join(classes, ", ")
		views = append(views, v)
	}
	return views, err
}
