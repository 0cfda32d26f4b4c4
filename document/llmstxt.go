package document

import (
	"net/url"

	"gazetteer/protocol/llmstxt"
)

func parseLLMS(text []byte, o ParseOptions) (Parsed, error) {
	file, findings, err := llmstxt.Parse(text, o.Limits)
	return Parsed{Findings: findings, Document: file}, err
}

// translateLLMS translates an llms.txt file. It names pages, and nothing that can be done.
func translateLLMS(d *Document, p Parsed) {
	file := p.Document.(*llmstxt.Document)
	d.Service = Service{Name: file.Title, Description: file.Summary}
	base := &url.URL{Scheme: "https", Host: d.Host, Path: "/llms.txt"}
	for _, s := range file.Sections {
		for _, l := range s.Links {
			if address, err := base.Parse(l.URL); err == nil {
				d.addLinks(RelPage, address.String())
			}
		}
	}
}
