package toolhost

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gazetteer/internal/teststore"
)

// TestOperatorHasNoCredential checks that no token makes somebody the operator, neither a new one nor
// one in the file of identities.
func TestOperatorHasNoCredential(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, IdentitiesFile)
	old := `[{"id": "operator", "kind": "client", "token_sha256": "` + HashToken("old") + `", "added": "2026-11-01T00:00:00Z"}]`
	if err := os.WriteFile(file, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	host, err := Open(t.Context(), Options{Store: teststore.New(t), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	if i, ok := host.IdentifyToken("old"); ok {
		t.Errorf("an old token is %s %s", i.Kind, i.ID)
	}
	add := Identity{ID: OperatorClient, Kind: ClientIdentity, Token: HashToken("new")}
	if err := host.AddIdentity(t.Context(), add); !errors.Is(err, ErrBadIdentity) {
		t.Errorf("the operator as a client with a token: %v", err)
	}
	add.Kind = RuntimeIdentity
	if err := host.AddIdentity(t.Context(), add); err != nil {
		t.Errorf("a runtime of that name: %v", err)
	}
}
