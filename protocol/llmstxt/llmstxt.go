// Package llmstxt reads llms.txt files: a short description of a site for language models, in
// Markdown with a fixed structure (https://llmstxt.org).
//
// Begin with [Parse]. It returns the name, the summary and the lists of links, with findings for
// deviations from the proposal. A file has no operations: it says where to read, not what can be
// done.
package llmstxt

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"gazetteer/protocol"
)

// A Document is one llms.txt file.
type Document struct {
	Title string // the heading of level 1
	// Summary is the quoted paragraph after the title, "" if there is none.
	Summary  string
	Sections []Section
}

// A Section is a heading of level 2 and the links below it.
type Section struct {
	Name string
	// Optional says that a reader with limited context may skip the section: its heading is
	// "Optional".
	Optional bool
	Links    []Link
	Line     int // of the heading, from 1
}

// A Link is one entry of a list.
type Link struct {
	Name string
	// URL as written; it may be relative to the address of the file.
	URL   string
	Notes string
	Line  int // from 1
}

// Parse reads an llms.txt file. If the bytes are not one, the error wraps [protocol.ErrUnreadable];
// the document is then nil and the findings say why.
func Parse(text []byte, l protocol.Limits) (*Document, []protocol.Finding, error) {
	l = l.OrDefault()
	p := &parser{Report: protocol.NewReport(protocol.ByCode(ruleTable), l), limits: l}
	text, _ = protocol.TrimBOM(text)
	if err := protocol.CheckText(text, l); err != nil {
		return p.refuse(1, err.Error(), "publish UTF-8 text of at most 262,144 bytes")
	}
	lines := strings.Split(string(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))), "\n")
	first := 0
	for first < len(lines) && strings.TrimSpace(lines[first]) == "" {
		first++
	}
	if first == len(lines) {
		return p.refuse(1, "the text is empty", "begin with the name of the site: # Name")
	}
	title, ok := strings.CutPrefix(lines[first], "# ")
	if title = strings.TrimSpace(title); !ok || title == "" {
		return p.refuse(first+1, "the first line is no heading of level 1", "begin with the name of the site: # Name")
	}
	p.doc.Title = title
	for i, line := range lines[first+1:] {
		p.parseLine(first+i+2, line)
	}
	p.checkSections()
	return &p.doc, p.Findings(), nil
}

// Recognize reports whether a text seems to be an llms.txt file: by its name, or
// by a heading of level 1 and a list of links below a heading of level 2.
func Recognize(name string, text []byte) bool {
	if strings.HasSuffix(name, "llms.txt") {
		return true
	}
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("# ")) {
		return false
	}
	doc, _, err := Parse(text, protocol.Limits{})
	return err == nil && len(doc.Sections) > 0 && len(doc.Sections[0].Links) > 0
}

type parser struct {
	*protocol.Report
	limits  protocol.Limits
	doc     Document
	fenced  bool // inside a block of code
	body    bool // something else than the summary has begun
	entries int
}

func (p *parser) refuse(line int, message, help string) (*Document, []protocol.Finding, error) {
	p.add("LLMS101", line, message, help)
	return nil, p.Findings(), fmt.Errorf("read llms.txt: %w: %s", protocol.ErrUnreadable, message)
}

func (p *parser) add(code string, line int, message, help string) {
	p.Add(code, &protocol.Node{Line: line, Column: 1}, message, help)
}

var (
	heading = regexp.MustCompile(`\A(#{1,6})[ \t]+(.*?)[ \t#]*\z`)
	entry   = regexp.MustCompile(`\A[-*+][ \t]+(.*)\z`)
	link    = regexp.MustCompile(`\A\[([^\]]*)\]\(<?([^\s)>]*)>?[^)]*\)[ \t]*:?[ \t]*(.*)\z`)
)

// parseLine reads one line after the title.
func (p *parser) parseLine(number int, line string) {
	line = strings.TrimRight(line, " \t\r")
	if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
		p.fenced, p.body = !p.fenced, true
		return
	}
	if p.fenced || line == "" {
		return
	}
	if quote, ok := strings.CutPrefix(line, ">"); ok && !p.body {
		p.doc.Summary = strings.TrimSpace(p.doc.Summary + " " + strings.TrimSpace(quote))
		return
	}
	p.body = true
	if m := heading.FindStringSubmatch(line); m != nil {
		p.parseHeading(number, len(m[1]), m[2])
	} else if m := entry.FindStringSubmatch(line); m != nil && len(p.doc.Sections) > 0 {
		p.parseEntry(number, m[1])
	}
}

func (p *parser) parseHeading(number, level int, name string) {
	switch {
	case level == 1:
		p.add("LLMS102", number, "this is a second heading of level 1", "use one name; start sections with ##")
	case level > 2:
		p.add("LLMS104", number, fmt.Sprintf("this is a heading of level %d", level), "use ## for sections and no other headings")
	case len(p.doc.Sections) == p.limits.Members:
		p.add("LLMS108", number, fmt.Sprintf("there are more than %d sections", p.limits.Members), "list less")
	default:
		p.doc.Sections = append(p.doc.Sections, Section{Name: name, Optional: strings.EqualFold(name, "Optional"), Line: number})
	}
}

func (p *parser) parseEntry(number int, text string) {
	section := &p.doc.Sections[len(p.doc.Sections)-1]
	m := link.FindStringSubmatch(text)
	if m == nil || m[2] == "" {
		p.add("LLMS105", number, "this entry of a list does not begin with a link", "write - [name](https://…): notes")
		return
	}
	if p.entries++; p.entries > p.limits.Members {
		if p.entries == p.limits.Members+1 {
			p.add("LLMS108", number, fmt.Sprintf("there are more than %d links", p.limits.Members), "list less")
		}
		return
	}
	if u, err := url.Parse(m[2]); err != nil || u.Scheme != "" && u.Scheme != "https" && u.Scheme != "http" {
		p.add("LLMS107", number, "the address "+protocol.Quote(m[2])+" is not a web address", "link to an https address")
	}
	section.Links = append(section.Links, Link{Name: m[1], URL: m[2], Notes: m[3], Line: number})
}

// checkSections reports missing parts of the file.
func (p *parser) checkSections() {
	if p.doc.Summary == "" {
		p.add("LLMS103", 1, "there is no summary after the title", "write what the site is for: > One sentence")
	}
	for _, s := range p.doc.Sections {
		if len(s.Links) == 0 {
			p.add("LLMS106", s.Line, "the section "+protocol.Quote(s.Name)+" has no links", "list pages as - [name](https://…): notes, or move the text in front of the sections")
		}
	}
}
