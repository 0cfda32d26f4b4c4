package a2ahttp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// InboxRules say who may write to an inbox at a relay of Gazetteer, and which address is notified
// of new mail. The drafts define no such rules.
type InboxRules struct {
	// Allow and Block list DIDs, or hosts of DIDs, at most 1,000 each. Block takes precedence. If
	// Allow is not empty, only its entries may write.
	Allow []string `json:"allow"`
	Block []string `json:"block"`
	// WakeURL is a public https address that gets an empty, signed POST when mail arrives; "" for
	// none.
	WakeURL string `json:"wake_url"`
	// Signed is when the owner signed the rules, in whole seconds; zero before any were set.
	Signed time.Time `json:"-"`
}

// Rules returns the rules of the inbox. The errors are those of [Inbox.Pull].
func (b *Inbox) Rules(ctx context.Context) (InboxRules, error) {
	var in struct {
		InboxRules
		Signed time.Time `json:"signed"`
	}
	err := b.do(ctx, http.MethodGet, "/rules", nil, 0, &in)
	in.InboxRules.Signed = in.Signed
	return in.InboxRules, err
}

// SetRules replaces the rules of the inbox. Signed is the time that the caller read with the
// present rules: relays accept only rules that were signed in a later second. The errors are those
// of [Inbox.Pull].
func (b *Inbox) SetRules(ctx context.Context, rules InboxRules) error {
	body, err := json.Marshal(rules)
	if err != nil {
		return fmt.Errorf("encode the rules of an inbox: %w", err)
	}
	later, now := *b, time.Now
	if b.Now != nil {
		now = b.Now
	}
	later.Now = func() time.Time {
		if at := now(); at.Unix() > rules.Signed.Unix() {
			return at
		}
		return rules.Signed.Add(time.Second)
	}
	return later.do(ctx, http.MethodPut, "/rules", body, 0, new(json.RawMessage))
}
