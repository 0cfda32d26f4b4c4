package relayhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"gazetteer/limit"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/relay"
)

// A dialect is how answers are written: as the draft has them, or as the deployed reference does.
type dialect struct{ draft bool }

// message is one envelope on a page of the reference, and the data of an event of a stream.
type message struct {
	Number   uint64          `json:"seq"`
	Sender   string          `json:"sender_did"`
	ID       string          `json:"envelope_id"`
	Envelope []byte          `json:"envelope_b64"`
	Queued   int64           `json:"queued_at"` // seconds since 1970
	Receipt  json.RawMessage `json:"receipt"`
}

func messageOf(m relay.Mail) message {
	return message{m.Number, m.Sender, m.ID, m.Text, m.Received.Unix(), m.Receipt}
}

// formatPage writes a page of mail as JSON. The envelopes of the draft's form are the very bytes that
// were received, which encoding/json would compact; their receipts follow in the same order.
func (d dialect) formatPage(inbox string, after uint64, page relay.Page) ([]byte, error) {
	cursor := after
	if n := len(page.Mail); n > 0 {
		cursor = page.Mail[n-1].Number
	}
	if d.draft {
		var envelopes, receipts [][]byte
		for _, m := range page.Mail {
			envelopes = append(envelopes, m.Text)
			receipts = append(receipts, m.Receipt)
		}
		return fmt.Appendf(nil, `{"envelopes":[%s],"receipts":[%s],"cursor":"%d","has_more":%t}`+"\n",
			bytes.Join(envelopes, []byte(",")), bytes.Join(receipts, []byte(",")), cursor, page.More), nil
	}
	messages := []message{}
	for _, m := range page.Mail {
		messages = append(messages, messageOf(m))
	}
	return json.Marshal(struct {
		Recipient string    `json:"recipient_did"`
		Messages  []message `json:"messages"`
		Cursor    uint64    `json:"cursor"`
		More      bool      `json:"has_more"`
	}{inbox, messages, cursor, page.More})
}

// referenceCodes are the codes of the reference. It has none for what it does not check, such as a
// signature.
var referenceCodes = []string{"empty_body", "invalid_json", "missing_id", "missing_from", "payload_too_large", "duplicate_envelope", "rate_limited",
	"missing_envelope_ids", "too_many_acks", "invalid_envelope_id_type"}

// An errorBody is the body of a refusal in both dialects. That of the draft has the members of §9.3
// only.
type errorBody struct {
	Error     string `json:"error"`
	Code      string `json:"code,omitempty"`
	Message   string `json:"message,omitempty"`
	Detail    string `json:"detail,omitempty"`
	AirID     string `json:"air_id,omitempty"`
	ThreadID  string `json:"thread_id,omitempty"`
	ID        string `json:"envelope_id,omitempty"`
	Recipient string `json:"recipient_did,omitempty"`
	Wait      int    `json:"retry_after_seconds,omitempty"`
	Most      int    `json:"max_bytes,omitempty"`
}

// writeError writes a refusal in the form of the dialect, with Retry-After where it is due.
func (d dialect) writeError(w http.ResponseWriter, accepted relay.Accepted, err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		panic(http.ErrAbortHandler) // the client has left, and an empty answer would say 200
	}
	e, airID := refusalOf(err)
	wait := 0
	if e.Wait > 0 {
		wait = limit.CeilSeconds(e.Wait)
		w.Header().Set("Retry-After", strconv.Itoa(wait))
	}
	body := errorBody{Error: e.Reason, Detail: e.Detail, AirID: airID, ThreadID: e.ThreadID}
	if !d.draft {
		body.Code, body.Message, body.Detail, body.Wait = e.Code, e.Detail, e.Cause, wait
		if e.Code == "duplicate_envelope" {
			body = errorBody{Message: "An envelope with this envelope_id is already queued for this recipient", Detail: e.Detail, ID: accepted.ID, Recipient: accepted.Inbox}
		}
		if slices.Contains(referenceCodes, e.Code) {
			body.Error, body.Code, body.Most = e.Code, "", e.Most
		}
	}
	writeJSON(w, e.Status, body)
}

// relayError is the error text of §9.1 for failures of the relay.
const relayError = "Relay Error"

// IsDraft reports whether a request to the inboxes wants error bodies of the draft.
func IsDraft(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/inbox/") && r.Header.Get(a2ahttp.VersionHeader) != ""
}

// WriteDraftError writes the body of §9.3 for an error before the routes of the relay.
func WriteDraftError(w http.ResponseWriter, status int, detail string) {
	w.Header().Set(a2ahttp.VersionHeader, a2ahttp.Version)
	reason := http.StatusText(status)
	switch {
	case status == http.StatusTooManyRequests:
		reason = a2a.ErrorRateLimited
	case status == http.StatusRequestEntityTooLarge:
		reason = a2a.ErrorTooLarge
	case status >= 500 && status != http.StatusBadGateway:
		reason = relayError
	}
	writeJSON(w, status, errorBody{Error: reason, Detail: detail})
}

// resolverRetry is how long a sender waits after its own registry did not answer.
const resolverRetry = 5 * time.Second

// refusalOf returns an error as a refusal of the relay, and the AIR ID that it names.
func refusalOf(err error) (e relay.Refusal, airID string) {
	if refused, ok := errors.AsType[*relay.Refusal](err); ok {
		return *refused, ""
	}
	broken, ok := errors.AsType[*a2a.Refusal](err)
	if !ok {
		return relay.Refusal{Status: http.StatusInternalServerError, Reason: relayError, Code: "internal", Detail: "the relay failed"}, ""
	}
	e = relay.Refusal{Status: broken.Status, Reason: broken.Reason, Code: broken.Rule, Detail: broken.Detail, ThreadID: broken.ThreadID}
	switch {
	case broken.Rule == a2a.RuleResolver:
		e.Wait = resolverRetry
	case broken.Reason == a2a.ErrorReplay:
		e.Code = "duplicate_envelope"
	}
	return e, broken.AirID
}

// checkDeployed refuses what the reference refuses with its own codes, before the rules of the
// draft apply.
func checkDeployed(text []byte) error {
	var in struct {
		ID   any `json:"id"`
		From any `json:"from"`
	}
	err := json.Unmarshal(text, &in)
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		refused := refuseRequest("invalid_json", "Envelope body is not valid JSON")
		refused.Cause = fmt.Sprintf("%v, at byte %d", e, e.Offset)
		return refused
	}
	if err != nil {
		return nil // no object: the rules of the draft say so
	}
	if _, ok := in.ID.(string); !ok {
		return refuseRequest("missing_id", "Envelope must include a string `id` field (the envelope's UUID per spec §4)")
	}
	if _, ok := in.From.(string); !ok {
		return refuseRequest("missing_from", "Envelope must include a string `from` field (sender DID)")
	}
	return nil
}
