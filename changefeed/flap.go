package changefeed

import (
	"slices"
	"time"
)

// The conditions under which the changes of a document are combined into one item with a count.
const (
	// flapWindow is how long a version is remembered: a document that returns to one of them twice
	// alternates. An item that counts ends after a window without a change.
	flapWindow = 7 * 24 * time.Hour
	// A document with restlessChanges in restlessWindow changes all the time.
	restlessChanges = 8
	restlessWindow  = 24 * time.Hour
	maxRecent       = 16
)

// hostState is what the feed remembers of a host.
type hostState struct {
	Documents map[string]*documentState `json:"documents"` // by kind
}

// countPublished counts the published documents.
func (h *hostState) countPublished() int {
	n := 0
	for _, d := range h.Documents {
		if !d.Gone {
			n++
		}
	}
	return n
}

// documentState is what the feed remembers of a document.
type documentState struct {
	Digest string `json:"digest"` // of the newest version, also when it is gone
	Gone   bool   `json:"gone,omitempty"`
	// Rules are those that the newest version breaks.
	Rules []string `json:"rules,omitempty"`
	// Recent are the last changes, oldest first.
	Recent []recentChange `json:"recent,omitempty"`
	// Flap is the item that counts; nil while there is none.
	Flap *flapState `json:"flap,omitempty"`
}

// recentChange is one change of a document: to a digest, or to "" when the document went.
type recentChange struct {
	Digest   string    `json:"digest,omitempty"`
	At       time.Time `json:"at"`
	Position uint64    `json:"place,omitempty"` // of its item, 0 for none
	Return   bool      `json:"return,omitempty"`
}

type flapState struct {
	Position uint64    `json:"place"`
	Last     time.Time `json:"last"`
}

// isRestless reports whether a document alternates or changes all the time, given its new digest
// ("" after its removal) and whether it had that digest before.
func (d *documentState) isRestless(digest string, at time.Time) (restless, returns bool) {
	d.Recent = slices.DeleteFunc(d.Recent, func(c recentChange) bool { return at.Sub(c.At) > flapWindow })
	lately, alternations := 1, 0
	for _, c := range d.Recent {
		if at.Sub(c.At) < restlessWindow {
			lately++
		}
		if c.Return {
			alternations++
		}
		returns = returns || c.Digest == digest
	}
	if d.Flap != nil && at.Sub(d.Flap.Last) > flapWindow {
		d.Flap = nil
	}
	return returns && (alternations > 0 || d.Flap != nil) || lately >= restlessChanges, returns
}

// addRecentChange adds a change.
func (d *documentState) addRecentChange(c recentChange) {
	d.Recent = append(d.Recent, c)
	d.Recent = slices.Delete(d.Recent, 0, max(0, len(d.Recent)-maxRecent))
}
