package owner

import (
	"strings"
	"testing"

	"gazetteer/registry"
)

// TestPublishedValues checks how a published value is matched with the requested host.
func TestPublishedValues(t *testing.T) {
	const want = "gazetteer-opt-out=www.example.com"
	for _, c := range []struct {
		name   string
		values []string
		found  bool
		says   string // of the problem
	}{
		{"the value", []string{want}, true, ""},
		{"among others", []string{"v=spf1 -all", "gazetteer-agent=did:wba:x", want}, true, ""},
		{"with spaces and capitals", []string{" Gazetteer-Opt-Out = WWW.Example.COM. "}, true, ""},
		{"of all below the domain", []string{"gazetteer-opt-out=*.example.com"}, true, ""},
		{"of all below the host", []string{"gazetteer-opt-out=*.www.example.com"}, true, ""},
		{"of the domain alone", []string{"gazetteer-opt-out=example.com"}, false, "no value is the one"},
		{"of another host", []string{"gazetteer-opt-out=www.example.org"}, false, "no value is the one"},
		{"of a host whose name ends alike", []string{"gazetteer-opt-out=*.ample.com"}, false, "no value is the one"},
		{"of a suffix", []string{"gazetteer-opt-out=*.com"}, false, "no value is the one"},
		{"of everything", []string{"gazetteer-opt-out=*"}, false, "no value is the one"},
		{"of nothing", []string{"gazetteer-opt-out=", "gazetteer-opt-out", "="}, false, "no value is the one"},
		{"the opposite beside it", []string{want, "gazetteer-opt-in=www.example.com"}, false, "opposite"},
		{"the opposite of another", []string{want, "gazetteer-opt-in=a.example.com"}, true, ""},
		{"none", nil, false, "nothing there"},
		{"no text", []string{"\xff\xfe" + strings.Repeat("x", 10_000)}, false, "no value is the one"},
	} {
		l := registry.Probe{Expected: want}
		judgeValues(&l, c.values, "nothing there")
		if l.Found != c.found || !strings.Contains(l.Problem, c.says) || l.Found != (l.Problem == "") {
			t.Errorf("%s: %+v", c.name, l)
		}
		for _, got := range l.Values {
			if len(got) > 300+4 || strings.ToValidUTF8(got, "") != got {
				t.Errorf("%s: it shows %q", c.name, got)
			}
		}
	}
	var many []string
	for range 100 {
		many = append(many, "x")
	}
	l := registry.Probe{Expected: want}
	if judgeValues(&l, many, ""); len(l.Values) != 10 || l.OmittedValues != 90 {
		t.Errorf("%d values are shown, %d more", len(l.Values), l.OmittedValues)
	}
}

func FuzzPublishedValue(f *testing.F) {
	for _, seed := range []string{"gazetteer-opt-out=www.example.com", "gazetteer-opt-in=*.b.test", "=", "gazetteer-opt-out=*.", "\xff=\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		wish, host := parseValue(text)
		if wish == "" {
			return
		}
		bare, below := strings.CutPrefix(host, "*.")
		if again, same := parseValue(publishedValue(wish, bare, below)); again != wish || wish == OptOut && same != host {
			t.Errorf("%q is %s of %q, which is %s of %q", text, wish, host, again, same)
		}
	})
}
