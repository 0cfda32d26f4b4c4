package web

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/census"
	"gazetteer/index/query"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// findUnknownFilters returns a note for each filter in the address with an unknown value. v has the known
// ones, found the services that they leave.
func (p *Pages) findUnknownFilters(c *gin.Context, v servicesView, found answer.ServiceListing) ([]frame.UnknownFilter, error) {
	ctx := c.Request.Context()
	var notes []frame.UnknownFilter
	if state := strings.ToLower(strings.TrimSpace(c.Query("is"))); state != "" && v.State == "" {
		notes = append(notes, frame.UnknownFilter{
			Text: fmt.Sprintf("There is no state %q, so the list is not filtered by it.", frame.ClipPlain(40, state)),
			Near: v.linkNear(state, v.States, func(near *servicesView, value string) { near.State = value }),
		})
	}
	if format := strings.ToLower(c.Query("format")); format != v.Format {
		notes = append(notes, frame.UnknownFilter{
			Text: fmt.Sprintf("There is no format %q, so the list is not filtered by it.", frame.ClipPlain(40, format)),
			Near: v.linkNear(format, v.Formats, func(near *servicesView, value string) { near.Format = value }),
		})
	}
	if order := c.Query("sort"); order != v.Sort {
		notes = append(notes, frame.UnknownFilter{
			Text: fmt.Sprintf("There is no order %q, so the list is sorted by name.", frame.ClipPlain(40, order)),
			Near: v.linkNear(order, v.Sorts, func(near *servicesView, value string) { near.Sort = value }),
		})
	}
	if v.Category == "" || found.Total > 0 {
		return notes, nil
	}
	named, err := p.answers.ListServices(ctx, census.ServiceQuery{Category: v.Category, Limit: 1})
	if err != nil || named.Total > 0 { // it exists, and the other filters exclude its services
		return notes, err
	}
	every, err := p.answers.ListServices(ctx, census.ServiceQuery{Counted: true, Limit: 1})
	if err != nil {
		return nil, err
	}
	categories := make([]frame.Choice, len(every.Categories))
	for i, c := range every.Categories {
		categories[i] = frame.Choice{Value: c.Name, Name: c.Name}
	}
	return append(notes, frame.UnknownFilter{
		Text: fmt.Sprintf("No service has the category %q.", frame.ClipPlain(40, v.Category)),
		Near: v.linkNear(v.Category, categories, func(near *servicesView, value string) { near.Category = value }),
	}), nil
}

// linkNear returns links to the list with those of the known values that are similar to a word; set
// sets the value of the filter.
func (v servicesView) linkNear(word string, known []frame.Choice, set func(near *servicesView, value string)) []frame.Link {
	var links []frame.Link
	for _, value := range answer.NearValues(word, known, func(c frame.Choice) string { return c.Value }) {
		near, q := v, url.Values{}
		set(&near, value)
		if near.Category != "" {
			q.Set("category", near.Category)
		}
		name := known[slices.IndexFunc(known, func(c frame.Choice) bool { return c.Value == value })].Name
		links = append(links, frame.Link{Text: name, Address: near.listAddress(q)})
	}
	return links
}

// explainEmptyFilters adds to a page without results which filters are the cause, with links to the same
// query with similar values that exist, or without the filter.
func (p *Pages) explainEmptyFilters(ctx context.Context, q query.Query, as reading, v *resultsView) error {
	empty, err := p.answers.FindEmptyFilters(ctx, q)
	if err != nil {
		return err
	}
	for _, e := range empty {
		rest, filter := q, frame.ClipPlain(100, e.Filter.String())
		for _, f := range query.FiltersOf(e.Key) {
			*f.Values(&rest) = nil
		}
		if e.Without > 0 {
			v.Readings = append(v.Readings, readingLink{
				"Search without " + filter + " (" + frame.FormatCount(e.Without, "operation") + ")", "/?" + as.queryValues(rest.String()).Encode(),
			})
			continue
		}
		note := frame.UnknownFilter{Text: "No operation has " + filter + "."}
		for _, value := range e.Near {
			if other, ok := rest.Toggled(e.Key, value); ok {
				note.Near = append(note.Near, frame.Link{Text: e.Key + ":" + value, Address: "/?" + as.queryValues(other.String()).Encode()})
			}
		}
		v.Unknown = append(v.Unknown, note)
	}
	return nil
}
