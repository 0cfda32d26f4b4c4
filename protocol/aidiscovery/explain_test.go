package aidiscovery_test

import (
	"encoding/hex"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
)

// The examples of every rule show what the rule is about: the bad one has its
// code, the good one has not.
func TestRuleExamples(t *testing.T) {
	for _, rule := range aidiscovery.Rules() {
		t.Run(rule.Code, func(t *testing.T) {
			if rule.Text == "" || rule.Bad == "" || rule.Good == "" || rule.Bad == rule.Good {
				t.Fatalf("the rule is not explained: %+v", rule)
			}
			if !strings.HasSuffix(rule.Text, ".") || strings.ToUpper(rule.Text[:1]) != rule.Text[:1] && rule.Text[0] != '_' && !startsWithMember(rule.Text) {
				t.Errorf("the text is not made of sentences: %s", rule.Text)
			}
			if !judge(t, rule.Code, rule.Bad) {
				t.Errorf("the bad example is not reported:\n%s", rule.Bad)
			}
			if judge(t, rule.Code, rule.Good) {
				t.Errorf("the good example is reported:\n%s", rule.Good)
			}
		})
	}
}

// startsWithMember allows sentences that begin with the name of a member.
func startsWithMember(text string) bool {
	word, _, _ := strings.Cut(text, " ")
	return strings.Contains(string(aidiscovery.Schema()), `"`+strings.TrimSuffix(word, ",")+`"`)
}

// judge reports whether an example has findings of a code.
func judge(t *testing.T, code, example string) bool {
	t.Helper()
	var findings []protocol.Finding
	switch {
	case code == "AI115": // judged by the size of the text, which no example shows
		size, _ := strconv.Atoi(remark(example, `a body of (\d+) bytes`))
		_, findings, _ = aidiscovery.Parse([]byte(base+strings.Repeat(" ", size-len(base))), options)
	case code == "AI426":
		count, _ := strconv.Atoi(remark(example, `… (\d+) capabilities`))
		_, findings, _ = aidiscovery.Parse([]byte(`{"capabilities": [`+strings.Repeat("{},", count-1)+`{}]}`), options)
	case strings.HasPrefix(example, ">"):
		findings = aidiscovery.Transport(exchange(t, example))
	default:
		_, findings, _ = aidiscovery.Parse([]byte(place(t, code, unhex(t, example))), options)
	}
	return slices.ContainsFunc(findings, func(f protocol.Finding) bool { return f.Code == code })
}

func remark(example, pattern string) string {
	m := regexp.MustCompile(pattern).FindStringSubmatch(example)
	if m == nil {
		return ""
	}
	return m[1]
}

var hexBytes = regexp.MustCompile(`<((?:[0-9A-F]{2} ?)+)>`)

// unhex puts bytes in the place of <EF BB BF>.
func unhex(t *testing.T, example string) string {
	return hexBytes.ReplaceAllStringFunc(example, func(m string) string {
		raw, err := hex.DecodeString(strings.ReplaceAll(strings.Trim(m, "<>"), " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	})
}

// homes says of which object the examples of a group of rules are members.
var homes = map[string]string{"AI3": "service", "AI4": "capabilities", "AI5": "auth", "AI6": "token_hints", "AI7": "rate_limits", "AI8": "meta", "AI9": "capabilities"}

var topLevel = []string{"aiendpoint", "service", "capabilities", "auth", "token_hints", "rate_limits", "meta", "contact"}

// place puts an example into the base document, as explain.go describes.
func place(t *testing.T, code, example string) string {
	t.Helper()
	home := homes[code[:3]]
	if code == "AI506" {
		home = ""
	}
	whole := !strings.HasPrefix(example, `"`)
	if whole && home == "" {
		return example
	}
	root, err := protocol.ReadJSON([]byte(base), protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	text := example
	if !whole {
		text = "{" + example + "}"
	}
	// Examples may break limits on purpose: they are read here without.
	change, err := protocol.ReadJSON([]byte(text), protocol.Limits{Depth: 1000, Number: 1000})
	if err != nil {
		t.Fatalf("%s: %v", example, err)
	}
	switch {
	case !whole && slices.Contains(topLevel, change.Items[0].Key):
		merge(root, change)
	case home == "capabilities" && whole:
		root.Member(home).Items[0] = change
	case home == "capabilities":
		merge(root.Member(home).Items[0], change)
	case whole || root.Member(home) == nil:
		change.Key = home
		merge(root, &protocol.Node{Kind: protocol.Object, Items: []*protocol.Node{change}})
	default:
		merge(root.Member(home), change)
	}
	return string(protocol.WriteJSON(root, "  "))
}

// merge gives an object the members of another.
func merge(into, from *protocol.Node) {
	for _, m := range from.Items {
		i := slices.IndexFunc(into.Items, func(o *protocol.Node) bool { return o.Key == m.Key })
		if i < 0 {
			into.Items = append(into.Items, m)
		} else {
			into.Items[i] = m
		}
	}
}

// exchange reads an example of a request and its answer.
func exchange(t *testing.T, example string) aidiscovery.Exchange {
	t.Helper()
	var x aidiscovery.Exchange
	for line := range strings.Lines(example) {
		line = strings.TrimSpace(line)
		sign, rest, _ := strings.Cut(line, " ")
		name, value, isHeader := strings.Cut(rest, ": ")
		switch {
		case line == "":
		case sign == ">":
			_, address, _ := strings.Cut(rest, " ")
			switch {
			case x.Asked == "":
				x.Asked = address
			case x.Status >= 300 && x.Status < 400:
				x.Hops = append(x.Hops, address)
			case x.Status == http.StatusNotFound: // the alias is asked
				x = aidiscovery.Exchange{Asked: address, Alias: true}
			default: // the alias is asked beside
				_, after, _ := strings.Cut(example, line)
				x.AliasBody = []byte(remark(after, `(?m)^< (\{.*\})$`))
				return x
			}
		case strings.HasPrefix(rest, "("):
			switch {
			case strings.Contains(rest, "certificate"):
				x.Failure, x.Detail = aidiscovery.BadCertificate, strings.Trim(rest, "()")
			case strings.Contains(rest, "seconds"):
				seconds, err := strconv.ParseFloat(remark(rest, `after ([\d.]+) seconds`), 64)
				if err != nil {
					t.Fatal(err)
				}
				x.Took = time.Duration(seconds * float64(time.Second))
			case strings.Contains(rest, "bytes"):
				x.Size, _ = strconv.Atoi(remark(rest, `a body of (\d+) bytes`))
			default:
				t.Fatalf("remark %s", rest)
			}
		case strings.HasPrefix(rest, "{"):
			x.Body = []byte(rest)
		case isHeader:
			x.Header.Add(name, value)
		default:
			code, _, _ := strings.Cut(rest, " ")
			status, err := strconv.Atoi(code)
			if err != nil {
				t.Fatalf("line %s: %v", line, err)
			}
			x.Status, x.Header = status, http.Header{}
		}
	}
	return x
}
