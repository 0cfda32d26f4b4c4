package index

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"

	"gazetteer/index/damage"
	"gazetteer/store"
)

// An indexState describes the index. It is stored in the index's own batch, so it is true of
// exactly the content of the index.
type indexState struct {
	Version string       `json:"version"` // entry.CurrentVersion of the program that built it
	Cursor  store.Cursor `json:"cursor"`
	Entries int          `json:"entries"` // live entries, to notice lost ones
}

// stateKey is the key of the state among bleve's internal values.
const stateKey = "gazetteer/state"

// encodeState gives the stored form: a checksum, a space and JSON.
func (s indexState) encodeState() []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return fmt.Appendf(nil, "%08x %s", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)), text)
}

func decodeState(b []byte) (indexState, error) {
	var s indexState
	if len(b) < 9 {
		return s, damage.Errorf("its state is missing")
	}
	sum, err := strconv.ParseUint(string(b[:8]), 16, 32)
	if err != nil || uint32(sum) != crc32.Checksum(b[9:], crc32.MakeTable(crc32.Castagnoli)) {
		return s, damage.Errorf("its state does not match its checksum")
	}
	if err := json.Unmarshal(b[9:], &s); err != nil {
		return s, damage.Errorf("its state is unreadable: %v", err)
	}
	return s, nil
}
