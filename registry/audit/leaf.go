package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"gazetteer/protocol/jcs"
	"gazetteer/store"
)

// maxLeaf is the longest leaf that an entry bundle of the tlog-tiles layout can
// hold.
const maxLeaf = 1<<16 - 1

// HistoryKey reports whether a key of the store is one whose records become
// leaves: "ver/{rev}/{kind}/{time}-{digest}", a stored version of a document,
// and everything below an agent's key, "agent/{air id}/…". Such records are
// written once and never overwritten, so that none can be missed; the record
// "agent/{air id}" itself is overwritten with each change and holds what is not
// for the public, so it is no leaf.
func HistoryKey(key string) bool {
	if strings.HasPrefix(key, store.VersionPrefix) {
		return true
	}
	rest, agent := strings.CutPrefix(key, store.AgentPrefix)
	return agent && strings.Contains(rest, "/")
}

// groupOf is what [Log.Find] looks up: the first two parts of a key.
func groupOf(key string) string {
	first := strings.IndexByte(key, '/')
	if first < 0 {
		return key
	}
	if second := strings.IndexByte(key[first+1:], '/'); second >= 0 {
		return key[:first+1+second]
	}
	return key
}

// A salter makes what keeps a leaf's hash from telling its content once that is
// erased: without the salt, which goes with the content, nobody can try out
// what the leaf may have said. It is a function of the content and of a secret
// of the log, so that a record that comes again becomes the same leaf.
type salter []byte

func (s salter) saltOf(leaf []byte) string {
	return base64.RawURLEncoding.EncodeToString(s.hmacOf("salt\n", leaf)[:16])
}

// tablePlace is where a key stands in the tables of [chains]. It is keyed, so that
// nobody can choose keys that all fall into one place.
func (s salter) tablePlace(key string) uint32 {
	return binary.BigEndian.Uint32(s.hmacOf("place\n", []byte(key)))
}

func (s salter) hmacOf(use string, text []byte) []byte {
	mac := hmac.New(sha256.New, s)
	mac.Write([]byte(use))
	mac.Write(text)
	return mac.Sum(nil)
}

// recordLeaf returns the leaf of a record, as the package comment describes it. It
// depends on nothing but the record and the log's secret.
func (s salter) recordLeaf(r store.Record) []byte {
	key := quoteJSON(r.Key)
	var leaf []byte
	if record, err := canonicalJSON(r.Value); err == nil {
		leaf = s.joinMembers(`"key":`+key+`,"record":`+string(record), "")
	} else {
		leaf = s.joinMembers(`"base64":"`+base64.StdEncoding.EncodeToString(r.Value)+`","key":`+key, "")
	}
	if len(leaf) <= maxLeaf {
		return leaf
	}
	sum := sha256.Sum256(r.Value)
	return s.joinMembers(`"key":`+key, `,"sha256":"`+hex.EncodeToString(sum[:])+`","size":`+strconv.Itoa(len(r.Value)))
}

// deletionStart begins the leaf of a deletion, and no other.
const deletionStart = `{"deleted":true,"erases":[`

// deletionLeaf returns the leaf that says that a record was deleted, and which leaves
// were erased with it.
func (s salter) deletionLeaf(key string, erased []int64) []byte {
	slices.Sort(erased)
	var list []byte
	for i, index := range erased {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, index, 10)
	}
	return s.joinMembers(deletionStart[1:]+string(list)+`],"key":`+quoteJSON(key), "")
}

// erasedBy returns which leaves a leaf says were erased.
func erasedBy(leaf []byte) ([]int64, error) {
	if !bytes.HasPrefix(leaf, []byte(deletionStart)) {
		return nil, nil
	}
	var deletion struct {
		Erases []int64 `json:"erases"`
	}
	if err := json.Unmarshal(leaf, &deletion); err != nil {
		return nil, fmt.Errorf("a leaf that says what was erased is not JSON: %w", err)
	}
	return deletion.Erases, nil
}

// joinMembers joins what sorts before and after the salt, with the salt.
func (s salter) joinMembers(before, after string) []byte {
	salt := s.saltOf([]byte("{" + before + after + "}"))
	return []byte("{" + before + `,"salt":"` + salt + `"` + after + "}")
}

// canonicalJSON writes JSON as RFC 8785 does, but leaves numbers as they are: the
// RFC would round large integers. It fails for what two readers could
// understand differently: a member twice, invalid UTF-8, half a surrogate pair.
func canonicalJSON(text []byte) ([]byte, error) {
	return jcs.Canonicalize(text, jcs.Options{Numbers: jcs.Verbatim, KeepForm: true, Depth: maxDepth})
}

// maxDepth is the nesting above which a record becomes a leaf in base64.
const maxDepth = 10000

// quoteJSON writes a text as canonical JSON. A store's keys are UTF-8.
func quoteJSON(text string) string {
	quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\uFFFD"))
	return string(quoted)
}
