package fakenet

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
)

// A restaurant answers requests over the HTTP binding of AGIS (section 10.1) as the documents of
// reservations.acme.test promise, and has those documents at their paths.
type restaurant struct {
	documents http.Handler
	last      atomic.Int64 // number of the last reservation
}

// newRestaurant returns the handler of reservations.acme.test.
func newRestaurant(documents http.Handler) http.Handler {
	return &restaurant{documents: documents}
}

// ServeHTTP implements http.Handler.
func (s *restaurant) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Header.Get("X-AGIS-Method")
	if method == "" {
		s.documents.ServeHTTP(w, r)
		return
	}
	var input map[string]any
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&input); err != nil {
		writeObject(w, http.StatusBadRequest, map[string]any{"error": "the body is not a JSON object"})
		return
	}
	id, isReservation := strings.CutPrefix(r.URL.Path, "/reservation/")
	switch {
	case method == "BOOK" && r.URL.Path == "/reservation":
		s.bookTable(w, input)
	case method == "FIND" && r.URL.Path == "/restaurants":
		writeObject(w, http.StatusOK, map[string]any{"restaurants": []map[string]any{
			{"restaurant_id": 1, "name": "Trattoria Bella", "location": input["location"]},
			{"restaurant_id": 2, "name": "Sakura", "location": input["location"]},
		}})
	case method == "CANCEL" && isReservation && id != "":
		writeObject(w, http.StatusOK, map[string]any{"status": "CANCELLED"})
	default:
		writeObject(w, http.StatusNotFound, map[string]any{"error": "there is no " + method + " " + r.URL.Path})
	}
}

// bookTable answers BOOK /reservation.
func (s *restaurant) bookTable(w http.ResponseWriter, input map[string]any) {
	size, ok := input["party_size"].(float64)
	if !ok || size < 1 || size > 20 {
		writeObject(w, http.StatusConflict, map[string]any{"error": "party_size_exceeds_capacity"})
		return
	}
	answer := map[string]any{"reservation_id": fmt.Sprintf("R-%d", s.last.Add(1)), "status": "CONFIRMED"}
	for _, name := range []string{"party_size", "datetime", "seating"} {
		if value, there := input[name]; there {
			answer[name] = value
		}
	}
	writeObject(w, http.StatusOK, answer)
}

func writeObject(w http.ResponseWriter, status int, object any) {
	text, err := json.Marshal(object)
	if err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(text)
}
