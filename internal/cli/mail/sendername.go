package mail

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"gazetteer/internal/cli"
	"gazetteer/mailbox"
	"gazetteer/protocol"
	"gazetteer/protocol/did"
)

// senderNames looks up the handles and names of senders, each sender once. A name is never worth a
// failure: a lookup that fails or takes long gives none, and ends the lookups.
type senderNames struct {
	server *cli.Client
	known  map[string]string // by DID
	failed bool
}

// nameLookupTime is how long a command waits for the name of a sender.
const nameLookupTime = 3 * time.Second

// maxSenderName is the number of runes of a handle and a name that are shown and stored.
const maxSenderName = 200

func newSenderNames(server *cli.Client) *senderNames {
	return &senderNames{server: server, known: map[string]string{}}
}

// nameOf returns the handle and the name that the registry has for the verified sender of a message, ""
// for an agent of another registry.
func (s *senderNames) nameOf(ctx context.Context, m mailbox.Message) string {
	if m.Sent || s.failed || !isVerified(m) {
		return ""
	}
	name, asked := s.known[m.From]
	if !asked {
		ctx, cancel := context.WithTimeout(ctx, nameLookupTime)
		defer cancel()
		var err error
		if name, err = s.lookUp(ctx, m.From); err != nil {
			s.failed = true
			return ""
		}
		s.known[m.From] = name
	}
	return name
}

func (s *senderNames) lookUp(ctx context.Context, id string) (string, error) {
	parsed, err := did.ParseWeb(id)
	if err != nil {
		return "", nil
	}
	airID, ok := parsed.AirID()
	if !ok {
		return "", nil
	}
	var found struct {
		DID string `json:"did"`
	}
	absent := []int{http.StatusNotFound, http.StatusGone}
	if _, err := s.server.GetJSON(ctx, "/api/v1/resolve?"+url.Values{"name": {airID}}.Encode(), &found, absent...); err != nil || found.DID != id {
		return "", err // another registry can have an agent of the same AIR ID
	}
	var agent struct {
		Handle string `json:"username"`
		Name   string `json:"name"`
	}
	if _, err := s.server.GetJSON(ctx, cli.AgentPath(airID, ""), &agent, absent...); err != nil || agent.Name == "" {
		return "", err
	}
	name := strconv.Quote(agent.Name)
	if agent.Handle != "" {
		name = "@" + agent.Handle + " " + name
	}
	return protocol.ClipRunes(name, maxSenderName), nil
}
