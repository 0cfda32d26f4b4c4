package httpruntime_test

import (
	"context"
	"strings"
	"testing"

	"gazetteer/document"
	"gazetteer/toolhost"
)

const (
	cancelCrossing = `{"id": "cancel_crossing", "description": "Cancel a booking of a crossing", "endpoint": "/v2/bookings/:ref", "method": "POST", "params": {"ref": "string, required"}}`
	ferryAGIS      = `{"agis": "1.0", "service": "s", "agtp": "agtp://api.example", "description": "Ferries.", "version": "1", "vocabulary": {"declared_verbs": ["CANCEL", "BOOK"], "domain": "travel", "namespace": "ferry"}, "endpoints": [
{"method": "CANCEL", "path": "/bookings/{ref}", "semantic": {"intent": "Cancel a booking of a crossing", "actor": "agent", "outcome": "The booking is cancelled", "impact_tier": "irreversible", "is_idempotent": true, "capability": "modification", "confidence_guidance": 0.9},
 "input": {"type": "object", "properties": {"ref": {"type": "string"}}, "required": ["ref"]}, "output": {"type": "object"}, "errors": ["booking_not_found"]},
{"method": "BOOK", "path": "/meals", "semantic": {"intent": "Book a meal on board of a ferry", "actor": "agent", "outcome": "The meal is booked", "impact_tier": "reversible", "is_idempotent": false, "capability": "modification", "confidence_guidance": 0.9},
 "input": {"type": "object", "properties": {"meal": {"type": "string"}}, "required": ["meal"]}, "output": {"type": "object"}, "errors": ["sold_out"]}]}`
	bookMeal = `{"id": "order_meal", "description": "Book a meal on board of a ferry", "endpoint": "/v2/meals", "method": "POST", "params": {"meal": "string, required"}}`
)

// An operation that two documents describe becomes one contract, which calls it over HTTP and has the
// effect that the AGIS document declares.
func TestProposalsPairTwins(t *testing.T) {
	ctx := context.Background()
	newFerry := func(t *testing.T, capabilities string) *world {
		w := newWorld(t)
		w.publish(capabilities)
		w.storeDocument(document.AGIS, "https://api.example/agis.json", ferryAGIS)
		return w
	}
	propose := func(t *testing.T, w *world, operation, want string) map[string]string {
		t.Helper()
		proposed, skipped, err := w.host.Propose(ctx, "api.example", operation)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range proposed {
			got = append(got, c.Name+" "+c.Pin.Operation+" "+c.Effect)
		}
		if strings.Join(got, ", ") != want {
			t.Fatalf("proposed %q, want %q; skipped %v", got, want, skipped)
		}
		return skipped
	}
	t.Run("all operations", func(t *testing.T) {
		w := newFerry(t, cancelCrossing+","+bookMeal)
		skipped := propose(t, w, "", "cancel_crossing cancel_crossing , order_meal order_meal reversible")
		if got := skipped["BOOK /meals"]; got != "the contract of order_meal calls the same operation over HTTP" || len(skipped) != 2 {
			t.Errorf("skipped %v", skipped)
		}
		w.approve("order_meal")
		if r := w.call("order_meal", `{"meal":"soup"}`); r.Error != nil || w.service.last() != `POST https://api.example/v2/meals {"meal":"soup"} k1` {
			t.Errorf("%+v, asked %q", r, w.service.last())
		}
		w.publish(cancelCrossing + "," + strings.Replace(bookMeal, "/v2/", "/v3/", 1))
		w.approve("order_meal")
		if c, _ := w.host.Contract("order_meal"); c.Effect != "reversible" || !strings.Contains(c.Pin.Copy.Call.URL, "/v3/") {
			t.Errorf("after the change: %+v", c)
		}
	})
	t.Run("the operation that a search returns", func(t *testing.T) {
		propose(t, newFerry(t, bookMeal), "BOOK /meals", "order_meal order_meal reversible")
	})
	t.Run("a twin that cannot be called", func(t *testing.T) {
		propose(t, newFerry(t, strings.Replace(bookMeal, `"/v2/`, `"http://api.example/v2/`, 1)), "BOOK /meals", "book_meals BOOK /meals reversible")
	})
	t.Run("a contract over AGTP exists", func(t *testing.T) {
		w := newFerry(t, cancelCrossing)
		propose(t, w, "BOOK /meals", "book_meals BOOK /meals reversible")
		w.publish(cancelCrossing + "," + bookMeal)
		skipped := propose(t, w, "BOOK /meals", "")
		if !strings.Contains(skipped["order_meal"], "revoke it first") {
			t.Errorf("skipped %v", skipped)
		}
		if _, err := w.host.Revoke(ctx, "book_meals"); err != nil {
			t.Fatal(err)
		}
		propose(t, w, "BOOK /meals", "order_meal order_meal reversible")
		if c, _ := w.host.Contract("book_meals"); c.State != toolhost.Revoked {
			t.Errorf("%+v", c)
		}
	})
}
