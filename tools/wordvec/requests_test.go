package main

import (
	"slices"
	"strings"
	"testing"
)

func TestParseRequests(t *testing.T) {
	groups, err := parseRequests("# a remark\n=Orders a taxi\t=createRide\tget me a cab\tI need a lift\n\n=Lists films\twhat's on?\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) != 2 || len(groups[0].descriptions) != 2 || len(groups[0].requests) != 2 {
		t.Fatalf("%+v", groups)
	}
	if got := strings.Join(groups[0].descriptions[1], " "); got != "create ride" {
		t.Errorf("the second description is %q, want a name split into words", got)
	}
	for list, want := range map[string]string{
		"=Orders a taxi\n":             "line 1: a group needs",
		"\nget me a cab\n":             "line 2: a group needs",
		"=Orders a taxi\tget\t\tcab\n": `line 1: "" has no English word`,
	} {
		if _, err := parseRequests(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one about %q", list, err, want)
		}
	}
}

// The list that the table is trained with has no request twice in a group, and no group twice.
func TestRequestList(t *testing.T) {
	groups, err := parseRequests(requestList)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, g := range groups {
		for i, r := range g.requests {
			if slices.ContainsFunc(g.requests[:i], func(other []string) bool { return slices.Equal(r, other) }) {
				t.Errorf("%q: the request %q stands twice", strings.Join(g.descriptions[0], " "), strings.Join(r, " "))
			}
		}
		key := strings.Join(g.descriptions[0], " ") + ": " + strings.Join(g.requests[0], " ")
		if seen[key] {
			t.Errorf("the group %q stands twice", key)
		}
		seen[key] = true
	}
}

func TestRequestExamples(t *testing.T) {
	groups, err := parseRequests("=Orders a taxi\t=create ride\tget me a cab\n=Lists films\twhat is on\n")
	if err != nil {
		t.Fatal(err)
	}
	examples := requestExamples(groups)
	if len(examples) != 3 {
		t.Fatalf("%d examples, want two requests and a pair of descriptions", len(examples))
	}
	for _, e := range examples[:2] {
		if e.group != examples[0].group {
			t.Errorf("examples of one operation are in the groups %q and %q", examples[0].group, e.group)
		}
	}
	if examples[2].group == examples[0].group {
		t.Error("examples of two operations are in one group")
	}
}
