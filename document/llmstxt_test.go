package document_test

import (
	"testing"

	"gazetteer/document"
)

func TestReadLLMS(t *testing.T) {
	text := "# Acme Notes\n\n> Notes.\n\n## API\n\n- [Calls](/calls.md)\n- [Other](https://other.example/x)\n"
	d, err := document.Read(document.Input{Kind: document.LLMS, Host: "notes.example", Bytes: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	want := []document.Link{
		{Rel: document.RelPage, URL: "https://notes.example/calls.md", Host: "notes.example"},
		{Rel: document.RelPage, URL: "https://other.example/x", Host: "other.example"},
	}
	if d.Service.Name != "Acme Notes" || d.Service.Description != "Notes." || d.Level != 1 || len(d.Operations) != 0 ||
		len(d.Links) != 2 || d.Links[0] != want[0] || d.Links[1] != want[1] {
		t.Errorf("%+v", d)
	}
	if kind := document.Recognize("llms.txt", []byte(text)); kind != document.LLMS {
		t.Errorf("recognized as %q", kind)
	}
	if _, err := document.Read(document.Input{Kind: document.LLMS, Host: "notes.example", Bytes: []byte("<html>")}); err == nil {
		t.Error("a web page is read")
	}
}
