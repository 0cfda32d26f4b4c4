package relay

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
)

// Limits of the rules of an inbox.
const (
	maxRuleEntries = 1000
	maxWakeURL     = 2048
)

// Rules returns the rules of the inbox.
func (b *Reader) Rules(ctx context.Context) (Rules, error) {
	rules, err := b.relay.Queue.Rules(ctx, b.box.Name)
	if err != nil {
		return Rules{}, b.relay.explainRead(ctx, "read the rules of an inbox", err)
	}
	return rules, nil
}

// SetRules replaces the rules of the inbox. Signed must be the time of the owner's signature: it is
// what keeps older rules from being put back. The error is a *Refusal, or that of ctx.
func (b *Reader) SetRules(ctx context.Context, rules Rules) error {
	if err := b.relay.checkRules(rules); err != nil {
		return &Refusal{Status: http.StatusBadRequest, Reason: a2a.ErrorBadRequest, Code: "invalid_rules", Detail: err.Error()}
	}
	err := b.relay.Queue.SetRules(ctx, b.box.Name, rules)
	if errors.Is(err, ErrOldRules) {
		return &Refusal{Status: http.StatusConflict, Reason: a2a.ErrorConflict, Code: "old_rules", Detail: err.Error() + ": sign the request again", Wait: time.Second}
	}
	if err != nil {
		return b.relay.explainRead(ctx, "write the rules of an inbox", err)
	}
	b.relay.wakes.forgetHost(ctx, rules.WakeURL)
	return nil
}

// checkRules describes the fault in rules for their owner, "" if there is none.
func (r *Relay) checkRules(rules Rules) error {
	for member, list := range map[string][]string{"allow": rules.Allow, "block": rules.Block} {
		if len(list) > maxRuleEntries {
			return fmt.Errorf("%s has %d entries, more than %d", member, len(list), maxRuleEntries)
		}
		for _, entry := range list {
			if _, err := did.ParseWeb(entry); err != nil && (strings.HasPrefix(entry, "did:") || did.CheckDomain(entry) != nil) {
				return fmt.Errorf("%s: %q is neither a DID nor the host of DIDs", member, protocol.ClipBytes(entry, 120))
			}
		}
	}
	if rules.WakeURL == "" {
		return nil
	}
	if r.Wake == nil {
		return errors.New("wake_url: this relay sends no wake-ups")
	}
	return r.checkWakeURL(rules.WakeURL)
}

// checkWakeURL describes the fault of a wake-up address, "" if there is none. The address that its
// name resolves to is checked when it is dialed.
func (r *Relay) checkWakeURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case len(text) > maxWakeURL:
		return fmt.Errorf("wake_url is longer than %d bytes", maxWakeURL)
	case err != nil || u.Host == "" || u.Opaque != "":
		return errors.New("wake_url is no absolute URL")
	case u.User != nil || u.Fragment != "":
		return errors.New("wake_url must have no user name, password or fragment")
	case r.AllowLoopback && did.IsLoopback(u.Hostname()):
		return nil
	case u.Scheme != "https":
		return errors.New("wake_url must begin with https://")
	case u.Port() != "" && u.Port() != "443":
		return errors.New("wake_url must not name a port other than 443")
	}
	host := strings.ToLower(u.Hostname())
	if did.CheckDomain(host) != nil || (did.Web{Host: host}).CheckPublic() != nil {
		return errors.New("wake_url must name a public host")
	}
	if strings.EqualFold(host, r.Host) {
		return errors.New("wake_url must not lead to the relay itself")
	}
	return nil
}

// checkSender applies the rules of the recipient, and returns them.
func (r *Relay) checkSender(ctx context.Context, box Inbox, sender string) (Rules, error) {
	rules, err := r.Queue.Rules(ctx, box.Name)
	if err != nil {
		return rules, r.explainRead(ctx, "read the rules of an inbox", err)
	}
	if blocksSender(rules.Block, sender) || len(rules.Allow) > 0 && !NamesSender(rules.Allow, sender) {
		return rules, refuseForbidden("blocked_by_recipient", "this recipient accepts no mail from this sender")
	}
	return rules, nil
}
