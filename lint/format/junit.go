package format

import (
	"bytes"
	"encoding/xml"
	"fmt"

	"gazetteer/protocol"
)

// The part of the JUnit format that build servers agree on.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		ClassName string        `xml:"classname,attr"`
		File      string        `xml:"file,attr,omitempty"`
		Line      int           `xml:"line,attr,omitempty"`
		Failure   *junitFailure `xml:"failure"`
		SystemOut string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes one suite for each input and one case for each finding. A finding that makes
// the run fail is a failure; a lesser one is a passed case with output. An input without findings
// is one passed case.
func writeJUnit(w *bytes.Buffer, reports []Report, o Options) error {
	all := junitSuites{Name: o.Tool}
	for _, r := range reports {
		suite := junitSuite{Name: Visible(r.Input)}
		for _, f := range r.Findings {
			suite.Cases = append(suite.Cases, junitCaseOf(r.Input, f, o))
		}
		if len(r.Findings) == 0 {
			c := junitCase{Name: "conforms", ClassName: Visible(r.Input)}
			if r.Failed() {
				c.Name = "can be read"
				c.Failure = &junitFailure{Type: "unreadable", Message: "the text is not a document of its kind"}
			}
			suite.Cases = append(suite.Cases, c)
		}
		for _, c := range suite.Cases {
			if c.Failure != nil {
				suite.Failures++
			}
		}
		suite.Tests = len(suite.Cases)
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Suites = append(all.Suites, suite)
	}
	w.WriteString(xml.Header)
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	w.WriteByte('\n')
	return nil
}

func junitCaseOf(input string, f protocol.Finding, o Options) junitCase {
	where := formatPlace(input, f)
	if f.Pointer != "" {
		where += " " + Visible(f.Pointer)
	}
	c := junitCase{Name: f.Code + " " + where, ClassName: Visible(input), Line: f.Line}
	if !isAddress(input) {
		c.File = Visible(input)
	}
	text := fmt.Sprintf("%s: %s [%s] %s (%s)", where, f.Severity, f.Code, messageText(f), ruleText(f))
	if f.Severity == protocol.Error || o.Strict && f.Severity == protocol.Warning {
		c.Failure = &junitFailure{Type: f.Code, Message: Visible(f.Message), Text: text}
		return c
	}
	c.SystemOut = text
	return c
}
