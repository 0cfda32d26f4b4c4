package web

import (
	"fmt"
	"strings"
	"time"

	"gazetteer/api"
	"gazetteer/web/frame"
	"gazetteer/web/history"
	"gazetteer/web/plot"

	"github.com/gin-gonic/gin"
)

type statusView struct {
	Version string
	Started frame.Moment
	Ready   bool
	Stored  string
	Behind  string // how far the index is behind
	Leaves  string // of the transparency log, "" without one
	// Problems lists functions that are unavailable at the moment, such as signing.
	Problems []string
	Crawl    *crawlView
	Plots    []*plot.Plot
	Samples  bool   // the server keeps figures for plots
	Span     string // that the plots cover
}

type crawlView struct {
	Known, Waiting, Due, InFlight, Visits, Documents, Errors string
	Rate                                                     string
	Paused                                                   string
}

// statusPage shows the present state of the server, and that of the last hours.
func (p *Pages) statusPage(*gin.Context) (frame.WebPage, error) {
	s := p.serverStatus()
	v := statusView{
		Version: s.Version, Started: p.MomentOf(s.Started), Ready: s.Ready, Stored: frame.FormatNumber(int(s.Store)),
		Behind: frame.FormatCount(int(s.Store-min(s.Index, s.Store)), "change"),
	}
	for _, problem := range s.Work.Problems {
		if s.Log != nil || !strings.HasPrefix(problem, "sign:") {
			v.Problems = append(v.Problems, problem)
		}
	}
	if s.Log != nil {
		v.Leaves = frame.FormatNumber(int(s.Log.Leaves))
	}
	if s.Crawler != nil {
		c := s.Crawler
		v.Crawl = &crawlView{
			Known: frame.FormatNumber(c.Known), Waiting: frame.FormatNumber(c.Waiting), Due: frame.FormatNumber(c.Due), InFlight: frame.FormatNumber(c.InFlight),
			Visits: frame.FormatNumber(c.Visits), Documents: frame.FormatNumber(c.Documents), Errors: frame.FormatNumber(c.Errors),
			Rate: fmt.Sprintf("%.1f", c.Rate), Paused: c.Paused,
		}
	}
	if v.Samples = p.history != nil; v.Samples {
		samples := p.history.Samples(p.Now().Add(-history.Span))
		if len(samples) > 0 {
			v.Span = frame.FormatSpan(p.Now().Sub(samples[0].At))
		}
		v.Plots = plotSamples(samples, s.Crawler != nil)
	}
	return frame.WebPage{Name: "status", Title: "Status", Description: "What this server does now: its crawler, its index and its log, with plots of the last hours.", Body: v, JSON: "/api/v1/status"}, nil
}

// maxPlotted is the number of points of a plot; more would not be visible.
const maxPlotted = 240

// plotSamples draws the figures that the server stored.
func plotSamples(samples []history.Sample, crawls bool) []*plot.Plot {
	every := (len(samples) + maxPlotted - 1) / maxPlotted
	var known, visits, stored, behind []plot.Point
	for i, s := range samples {
		if every > 0 && (len(samples)-1-i)%every != 0 {
			continue
		}
		known = append(known, plot.Point{At: s.At, Value: float64(s.Known)})
		stored = append(stored, plot.Point{At: s.At, Value: float64(s.Store)})
		behind = append(behind, plot.Point{At: s.At, Value: float64(s.Behind)})
		if before := i - max(every, 1); before >= 0 {
			visits = append(visits, plot.Point{At: s.At, Value: visitsPerMinute(samples[before], s)})
		}
	}
	var plots []*plot.Plot
	add := func(p *plot.Plot) {
		if p != nil {
			plots = append(plots, p)
		}
	}
	if crawls {
		add(plot.New("Hosts known", "", known))
		add(plot.New("Visits", "a minute", visits))
	}
	add(plot.New("Changes stored", "", stored))
	add(plot.New("Writes that the index has not seen yet", "", behind))
	return plots
}

// visitsPerMinute is the rate between two samples. The count starts at 0 with each start of the
// server.
func visitsPerMinute(before, after history.Sample) float64 {
	visits := after.Visits - before.Visits
	if visits < 0 {
		visits = after.Visits
	}
	return float64(visits) / max(after.At.Sub(before.At).Minutes(), time.Second.Minutes())
}

// SampleOf returns the figures of a status that the plots show. They are not known while the crawler
// reads the stored hosts at a start: a plot would drop to 0 there.
func SampleOf(s api.ServerStatus) (sample history.Sample, known bool) {
	if s.Crawler != nil && !s.Crawler.Loaded {
		return history.Sample{}, false
	}
	v := history.Sample{At: s.At, Store: s.Store, Behind: s.Store - min(s.Index, s.Store)}
	if s.Crawler != nil {
		v.Known, v.Due, v.Visits = s.Crawler.Known, s.Crawler.Due, s.Crawler.Visits
	}
	return v, true
}

// serverStatus is the status of the server; without one to ask, only the time is known.
func (p *Pages) serverStatus() api.ServerStatus {
	if p.stand == nil {
		return api.ServerStatus{At: p.Now()}
	}
	return p.stand()
}
