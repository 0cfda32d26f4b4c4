package httpruntime_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
)

// direct is a transport without a network.
type direct struct{ *service }

// RoundTrip implements [http.RoundTripper].
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w, in := httptest.NewRecorder(), r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	d.ServeHTTP(w, in)
	response := w.Result()
	response.Request = r
	return response, nil
}

// TestContractThatEndsWhileACallWaits checks that a call which waits for the rate of its service is not
// sent if the operator revokes or changes the contract meanwhile.
func TestContractThatEndsWhileACallWaits(t *testing.T) {
	for name, end := range map[string]func(w *world) error{
		"revoked": func(w *world) error {
			_, err := w.host.Revoke(context.Background(), "find_table")
			return err
		},
		"changed": func(w *world) error {
			w.publishWith(`{"id": "find_table", "description": "Find a free table", "endpoint": "/rooms/:city", "method": "GET", "params": {"city": "string, required"}, "returns": "rooms"}`, `, "rate_limits": {"requests_per_minute": 1}`)
			_, err := w.host.Approve(context.Background(), "find_table", toolhost.Approval{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &service{}
				w := openWorld(t, 4*time.Minute, s, direct{s})
				w.publishWith(find, `, "rate_limits": {"requests_per_minute": 1}`)
				if _, _, err := w.host.Propose(context.Background(), "api.example", ""); err != nil {
					t.Fatal(err)
				}
				w.approve("find_table")
				if r := w.call("find_table", `{"city": "Rome"}`); r.Error != nil {
					t.Fatal(r.Error)
				}
				before := w.service.last()
				caller, refused := w.host.Call(context.Background(), "me", w.session, altar.ToolCall{InvocationID: "waits", ToolName: "find_table", Parameters: json.RawMessage(`{"city": "Milan"}`)}, false)
				if refused != nil {
					t.Fatal(refused)
				}
				defer caller.Leave()
				synctest.Wait()
				if err := end(w); err != nil {
					t.Fatal(err)
				}
				r, err := caller.Wait(context.Background())
				if err != nil || r.Error == nil || r.Error.Code != altar.ToolNotFound {
					t.Errorf("the call ends with %+v, %v", r, err)
				}
				if s.last() != before {
					t.Errorf("the service was asked: %s", s.last())
				}
			})
		})
	}
}
