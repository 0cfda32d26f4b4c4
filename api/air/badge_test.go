package air

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
)

// TestBadgesAreEscaped: whatever a badge says is text in it.
func TestBadgesAreEscaped(t *testing.T) {
	hostile := `"><script>alert(1)</script>&'` + "\u202e"
	svg := badgeSVG(hostile, hostile, "#000", hostile)
	var texts []string
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v: %s", err, svg)
		}
		switch v := token.(type) {
		case xml.StartElement:
			if v.Name.Local == "script" {
				t.Fatalf("a script in %s", svg)
			}
		case xml.CharData:
			texts = append(texts, string(v))
		}
	}
	if !strings.Contains(strings.Join(texts, "|"), hostile) {
		t.Errorf("%q", texts)
	}
}
