package relayhttp

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol/httpsig"
	"gazetteer/relay"
)

// getRules answers with the rules of an inbox.
func (h *Handler) getRules(w http.ResponseWriter, r *http.Request) {
	d := dialect{draft: true}
	reader, err := h.openInbox(r, nil, d)
	var rules relay.Rules
	if err == nil {
		rules, err = reader.Rules(r.Context())
	}
	if err != nil {
		d.writeError(w, relay.Accepted{}, err)
		return
	}
	writeJSON(w, http.StatusOK, rules)
}

// setRules replaces the rules of an inbox. The signature must cover the body, and counts once: rules
// that were signed earlier do not replace those that were signed later.
func (h *Handler) setRules(w http.ResponseWriter, r *http.Request) {
	d := dialect{draft: true}
	body, err := readBody(w, r, "Rules document", MaxAckBytes)
	var rules relay.Rules
	if err == nil {
		rules, err = readRules(body)
	}
	var reader *relay.Reader
	if err == nil {
		reader, err = h.openInbox(r, body, d)
	}
	if err == nil {
		rules.Signed, err = signedBody(httpsig.FromRequest(r, body))
	}
	if err == nil {
		err = reader.SetRules(r.Context(), rules)
	}
	if err != nil {
		d.writeError(w, relay.Accepted{}, err)
		return
	}
	writeJSON(w, http.StatusOK, rules)
}

// readRules reads rules: members that are not known are refused, so that a misspelled one is noticed.
func readRules(body []byte) (relay.Rules, error) {
	var in struct {
		Allow   []string `json:"allow"`
		Block   []string `json:"block"`
		WakeURL string   `json:"wake_url"`
	}
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil || decoder.More() {
		return relay.Rules{}, refuseRequest("invalid_rules", `the body must be one object with the members "allow", "block" and "wake_url"`)
	}
	return relay.Rules{Allow: in.Allow, Block: in.Block, WakeURL: in.WakeURL}, nil
}

// signedBody returns when a request was signed whose signatures, which were verified, cover the body.
func signedBody(m httpsig.Message) (time.Time, error) {
	signatures, err := httpsig.Read(m)
	created := time.Time{}
	for _, s := range signatures {
		if !slices.Contains(s.Components, "content-digest") {
			err = &relay.Refusal{Status: http.StatusUnauthorized, Reason: "Unauthorized", Code: "unauthorized", Detail: "the signature must cover content-digest"}
		}
		if created.IsZero() || s.Created.Before(created) {
			created = s.Created
		}
	}
	return created, err
}
