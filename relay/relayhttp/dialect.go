package relayhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"gazetteer/limit"
	"gazetteer/protocol/a2a"
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

// writeError writes a refusal in the form of the dialect, with Retry-After where it is due.
func (d dialect) writeError(w http.ResponseWriter, r *http.Request, accepted relay.Accepted, err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		panic(http.ErrAbortHandler) // the client has left, and an empty answer would say 200
	}
	if e, ok := errors.AsType[*a2a.Refusal](err); ok {
		d.writeRefusal(w, accepted, e)
		return
	}
	e, ok := errors.AsType[*relay.Refusal](err)
	if !ok {
		e = &relay.Refusal{Status: http.StatusInternalServerError, Reason: "Relay Error", Code: "internal", Detail: "the relay failed"}
	}
	wait := 0
	if e.Wait > 0 {
		wait = limit.CeilSeconds(e.Wait)
		w.Header().Set("Retry-After", strconv.Itoa(wait))
	}
	if d.draft {
		writeJSON(w, e.Status, struct {
			Error  string `json:"error"`
			Detail string `json:"detail,omitempty"`
		}{e.Reason, e.Detail})
		return
	}
	writeJSON(w, e.Status, struct {
		Error   string `json:"error"`
		Message string `json:"message"`
		Detail  string `json:"detail,omitempty"`
		Wait    int    `json:"retry_after_seconds,omitempty"`
		Most    int    `json:"max_bytes,omitempty"`
	}{e.Code, e.Detail, e.Cause, wait, e.Most})
}

// writeRefusal writes that an envelope breaks a rule of the draft.
func (d dialect) writeRefusal(w http.ResponseWriter, accepted relay.Accepted, e *a2a.Refusal) {
	if d.draft {
		writeJSON(w, e.Status, e)
		return
	}
	body := struct {
		Error     string `json:"error"`
		Message   string `json:"message"`
		Detail    string `json:"detail,omitempty"`
		ID        string `json:"envelope_id,omitempty"`
		Recipient string `json:"recipient_did,omitempty"`
	}{Error: e.Rule, Message: e.Reason, Detail: e.Detail}
	switch {
	case e.Reason == a2a.ErrorReplay:
		body.Error, body.Message = "duplicate_envelope", "An envelope with this envelope_id is already queued for this recipient"
		body.ID, body.Recipient = accepted.ID, accepted.Inbox
	case e.Status == http.StatusRequestEntityTooLarge:
		body.Error = "payload_too_large"
	}
	writeJSON(w, e.Status, body)
}

// checkDeployed refuses what the reference refuses by codes of its own, before the rules of the draft.
func checkDeployed(text []byte) error {
	refuse := func(code, detail string) error {
		return &relay.Refusal{Status: http.StatusBadRequest, Reason: a2a.ErrorBadRequest, Code: code, Detail: detail}
	}
	var in struct {
		ID   any `json:"id"`
		From any `json:"from"`
	}
	err := json.Unmarshal(text, &in)
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &relay.Refusal{Status: http.StatusBadRequest, Reason: a2a.ErrorBadRequest, Code: "invalid_json", Detail: "Envelope body is not valid JSON",
			Cause: fmt.Sprintf("%v, at byte %d", e, e.Offset)}
	}
	if err != nil {
		return nil // no object: the rules of the draft say so
	}
	if _, ok := in.ID.(string); !ok {
		return refuse("missing_id", "Envelope must include a string `id` field (the envelope's UUID per spec §4)")
	}
	if _, ok := in.From.(string); !ok {
		return refuse("missing_from", "Envelope must include a string `from` field (sender DID)")
	}
	return nil
}
