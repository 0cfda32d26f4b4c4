package registry

import (
	"slices"

	"gazetteer/protocol/did"
)

// setMovedTo sets the DID under which an agent continues elsewhere, "" for none, and reports whether
// that changes the agent.
func (r *Registry) setMovedTo(a *Agent, text string) (changed bool, err error) {
	to, err := r.checkMovedTo(text)
	if err != nil {
		return false, err
	}
	changed = a.MovedTo != to
	a.MovedTo = to
	return changed, nil
}

// checkMovedTo returns the canonical form of a DID of another host. Two agents of one registry are
// merged instead, which both keys sign.
func (r *Registry) checkMovedTo(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	web, err := did.ParseWeb(text)
	if err != nil {
		return "", FieldError("moved_to", "Invalid moved_to: ", err)
	}
	if r.isOwnHost(web) {
		return "", &Error{Field: "moved_to", Code: "value", Message: "moved_to is a DID of this registry", Help: "merge the agents instead: gazetteer agent merge"}
	}
	return web.String(), nil
}

// otherDIDs returns the DIDs that the document of an agent names beside its own: that of its creator,
// and the one under which it continues elsewhere.
func (r *Registry) otherDIDs(a Agent) []string {
	var others []string
	for _, other := range []string{a.CreatorDID, a.MovedTo} {
		if other != "" && other != r.DID(a.AirID) && !slices.Contains(others, other) {
			others = append(others, other)
		}
	}
	return others
}
