package repair

import (
	"strings"
	"testing"

	"gazetteer/document"
	"gazetteer/protocol"
)

// The table of names agrees with what the readers of the drafts know.
func TestRepairPlacesMatchDrafts(t *testing.T) {
	unknown := map[string]bool{"AI219": true, "AI220": true, "AI805": true, "AGIS122": true}
	for _, p := range definedObjects {
		if p.kinds[0] == document.AGISSummary {
			continue // its reader says nothing of members it does not know
		}
		pointer := strings.NewReplacer(`\A`, "", `\z`, "", `\d+`, "0").Replace(p.pointer.String())
		for _, name := range p.names {
			for name, known := range map[string]bool{name: true, name + "x": false} {
				m := &repairer{kind: p.kinds[0]}
				r, err := m.readText(holding(pointer, name))
				if err != nil {
					t.Fatalf("%s/%s: %v", pointer, name, err)
				}
				reported := false
				for _, f := range r.findings {
					reported = reported || unknown[f.Code] && f.Pointer == pointer+"/"+name
				}
				if reported == known {
					t.Errorf("%s of %s: known %v, reported as unknown %v", pointer+"/"+name, p.kinds[0], known, reported)
				}
			}
		}
	}
}

// holding returns a document with one member at a pointer.
func holding(pointer, name string) []byte {
	n := &protocol.Node{Kind: protocol.Object, Items: []*protocol.Node{{Kind: protocol.String, Text: "x", Key: name}}}
	segments := strings.Split(pointer, "/")[1:]
	if pointer == "" {
		segments = nil
	}
	for i := len(segments) - 1; i >= 0; i-- {
		outer := &protocol.Node{Kind: protocol.Object, Items: []*protocol.Node{n}}
		if segments[i] == "0" {
			outer.Kind = protocol.Array
			if i > 0 && segments[i-1] == "available_data" { // an entry needs its class
				n.Items = append(n.Items, &protocol.Node{Kind: protocol.String, Text: "y", Key: "class"})
				if name == "class" {
					n.Items = n.Items[:1]
				}
			}
		} else {
			n.Key = segments[i]
			if segments[i] == "data_manifest" && pointer == "/data_manifest" && name != "available_data" {
				n.Items = append(n.Items, &protocol.Node{Kind: protocol.Array, Key: "available_data"})
			}
		}
		n = outer
	}
	if name != "aiendpoint" { // without it nothing is known of the others
		n.Items = append(n.Items, &protocol.Node{Kind: protocol.String, Text: "1.0", Key: "aiendpoint"})
	}
	return protocol.WriteJSON(n, "")
}
