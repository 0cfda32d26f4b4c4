package main

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed requests.tsv
var requestList string

// A requestGroup is what one operation is for: how providers describe it, and how people and
// agents ask for it.
type requestGroup struct {
	descriptions, requests [][]string // in words
}

// parseRequests reads the list of requests: one group a line, in fields separated by tabs. The
// fields that begin with = are descriptions, the first one the main one.
func parseRequests(list string) ([]requestGroup, error) {
	var groups []requestGroup
	for i, line := range strings.Split(strings.TrimRight(list, "\n"), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var g requestGroup
		for _, field := range strings.Split(line, "\t") {
			description, ok := strings.CutPrefix(field, "=")
			switch words := wordsOf(description); {
			case len(words) == 0:
				return nil, fmt.Errorf("line %d: %q has no English word", i+1, field)
			case ok:
				g.descriptions = append(g.descriptions, words)
			default:
				g.requests = append(g.requests, words)
			}
		}
		if len(g.descriptions) == 0 || len(g.requests) == 0 {
			return nil, fmt.Errorf("line %d: a group needs a description and a request", i+1)
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// requestExamples pairs each request with the descriptions of its group, and the descriptions
// with each other.
func requestExamples(groups []requestGroup) []rawExample {
	var out []rawExample
	for i, g := range groups {
		name := fmt.Sprintf("request %d", i)
		right := []rawPart{{g.descriptions[0], 1}}
		for _, d := range g.descriptions[1:] {
			right = append(right, rawPart{d, .5})
			out = append(out, rawExample{left: always(g.descriptions[0]), right: always(d), group: name})
		}
		for _, r := range g.requests {
			out = append(out, rawExample{left: always(r), right: right, group: name, asked: true})
		}
	}
	return out
}
