package operator

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"gazetteer/api/air"
	"gazetteer/internal/cli"
)

// The registration that expires first stands first, whatever its AIR ID.
func TestApplicationsOldestFirst(t *testing.T) {
	var out bytes.Buffer
	a := &verbs{&cli.App{Streams: cli.Streams{Out: &out}}}
	now := a.Environment.Now()
	var list []air.ApplicationView
	for name, age := range map[string]time.Duration{"newest": time.Minute, "oldest": time.Hour, "middle": 30 * time.Minute} {
		var v air.ApplicationView
		v.Agent.Name, v.Asked = name, now.Add(-age)
		list = append(list, v)
	}
	sortApplications(list)
	if err := a.printApplications(list); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if oldest, middle, newest := strings.Index(text, "oldest"), strings.Index(text, "middle"), strings.Index(text, "newest"); oldest < 0 || oldest > middle || middle > newest {
		t.Errorf("the order is\n%s", text)
	}
}

// TestStatusNamesAllThatWaits checks that a report of the last hour is not "1 second old", and that
// the commands for reports and registrations are both named.
func TestStatusNamesAllThatWaits(t *testing.T) {
	var out bytes.Buffer
	a := &verbs{&cli.App{Streams: cli.Streams{Out: &out}}}
	a.printStatus(air.RegistryStatus{Waiting: 1, Reports: air.ReportCount{Open: 1}}, nil)
	for _, want := range []string{"the oldest is less than an hour old", "gazetteer registry reports\n", "gazetteer registry applications\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the status does not say %q:\n%s", want, &out)
		}
	}
}

func TestFormatRoot(t *testing.T) {
	for in, want := range map[string]string{"b0ef8c": "sO+M", "": "", "not hex": "not hex"} {
		if got := formatRoot(in); got != want {
			t.Errorf("formatRoot(%q) = %q, want %q", in, got, want)
		}
	}
}
