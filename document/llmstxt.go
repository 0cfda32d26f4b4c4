package document

import (
	"net/url"

	"gazetteer/protocol"
	"gazetteer/protocol/llmstxt"
)

// readLLMS reads an llms.txt file. It names pages, and nothing that can be done.
func readLLMS(d *Document, in Input) error {
	file, findings, err := llmstxt.Parse(in.Bytes, protocol.Limits{})
	d.Findings = findings
	if err != nil {
		return err
	}
	d.Service = Service{Name: file.Title, Description: file.Summary}
	base := &url.URL{Scheme: "https", Host: in.Host, Path: "/llms.txt"}
	for _, s := range file.Sections {
		for _, l := range s.Links {
			if address, err := base.Parse(l.URL); err == nil {
				d.addLinks(RelPage, address.String())
			}
		}
	}
	d.setLevel()
	return nil
}
