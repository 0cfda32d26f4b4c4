package search

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"gazetteer/internal/cli"
)

// TestForeignAgentsAreNotInTheLog checks that the log of a registry is not asked about an agent of another
// one, which has the same AIR ID after a move.
func TestForeignAgentsAreNotInTheLog(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"id": "did:wba:old.example"}`)
	}))
	defer s.Close()
	c := &cli.Client{HTTP: s.Client(), Base: s.URL}
	for id, want := range map[string]bool{
		"did:wba:old.example:agents:AIR-7F3K-M9JQ-X2PW": true,
		"did:web:old.example:agents:AIR-7F3K-M9JQ-X2PW": true,
		"did:wba:new.example:agents:AIR-7F3K-M9JQ-X2PW": false,
		"did:web:service.example":                       false,
		"did:key:z6Mk":                                  false,
	} {
		if own, err := isOwnAgent(t.Context(), c, id); own != want || err != nil {
			t.Errorf("%s: %v, %v", id, own, err)
		}
	}
}
