package document

import (
	"bytes"
	"net/url"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/did"
	"gazetteer/protocol/yaml"
)

// A Mention is a place in a document that names an agent.
type Mention struct {
	// DID is the agent's, "" when only its AIR ID is named.
	DID string `json:"did,omitempty"`
	// AirID is the agent's where the text has one.
	AirID string `json:"air_id,omitempty"`
	// Pointer leads to the value in the raw bytes.
	Pointer string `json:"pointer"`
}

const (
	// maxMentions is the number of agents that one document can mention.
	maxMentions = 20
	// maxMention is the longest text that can name an agent, in bytes.
	maxMention = 1024
)

// Mentions returns the agents that the raw bytes of a document name, each once, at
// most twenty, in the order of the text. Neither draft has a member for it, so
// any member or element counts whose whole value names an agent:
//
//   - a did:wba or did:web, also with a fragment behind it;
//   - the https address of an agent's page, record or DID document in its
//     registry, ".../agents/{AIR ID}" and what may follow;
//   - an agtp address whose authority is an AIR ID at a host;
//   - an AIR ID.
//
// A DID in the middle of a sentence names nobody, and the address of an inbox does
// not either: anybody can register an agent with that inbox. Bytes that are not
// JSON or YAML have no mentions.
func Mentions(text []byte) []Mention {
	if !bytes.Contains(text, []byte("did:")) && !bytes.Contains(text, []byte("AIR-")) {
		return nil
	}
	read := yaml.Read
	if trimmed := bytes.TrimLeft(text, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' {
		read = protocol.ReadJSON
	}
	root, err := read(text, protocol.Limits{})
	if err != nil {
		return nil
	}
	var found []Mention
	seen := map[Mention]bool{}
	var walk func(n *protocol.Node)
	walk = func(n *protocol.Node) {
		if m, ok := readMention(n.Str()); ok && len(found) < maxMentions && !seen[m] {
			seen[m] = true
			m.Pointer = n.Pointer
			found = append(found, m)
		}
		for _, item := range n.Items {
			walk(item)
		}
	}
	walk(root)
	return found
}

// readMention reads one text that names an agent.
func readMention(text string) (Mention, bool) {
	text = strings.TrimSpace(text)
	if len(text) > maxMention {
		return Mention{}, false
	}
	switch {
	case strings.HasPrefix(text, "did:"):
		if i := strings.IndexAny(text, "#?/"); i >= 0 {
			text = text[:i]
		}
		w, err := did.ParseWeb(text)
		if err != nil {
			return Mention{}, false
		}
		airID, _ := w.AirID()
		return Mention{DID: w.String(), AirID: airID}, true
	case did.CheckAirID(text) == nil:
		return Mention{AirID: text}, true
	}
	u, err := url.Parse(text)
	if err != nil {
		return Mention{}, false
	}
	switch {
	case u.Scheme == "agtp" && u.User != nil && did.CheckAirID(u.User.Username()) == nil:
		return Mention{AirID: u.User.Username()}, true
	case u.Scheme == "https" && u.User == nil && u.Hostname() != "":
		return agentAddress(u)
	}
	return Mention{}, false
}

// agentAddress reads the address of an agent in its registry.
func agentAddress(u *url.URL) (Mention, bool) {
	segments := strings.Split(u.Path, "/")
	for i := 1; i < len(segments); i++ {
		if segments[i-1] != "agents" || did.CheckAirID(segments[i]) != nil {
			continue
		}
		host := strings.Replace(u.Host, ":", "%3A", 1)
		if u.Port() == "443" {
			host = u.Hostname()
		}
		w, err := did.ParseWeb("did:wba:" + host + ":agents:" + segments[i])
		if err != nil {
			return Mention{}, false
		}
		return Mention{DID: w.String(), AirID: segments[i]}, true
	}
	return Mention{}, false
}
