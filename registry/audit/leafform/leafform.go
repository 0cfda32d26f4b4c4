// Package leafform makes the leaves of the log: canonical JSON with a salt. Begin with
// [Salter.RecordLeaf]. Package audit describes the form.
package leafform

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"gazetteer/protocol/jcs"
	"gazetteer/registry/audit/tiles"
	"gazetteer/store"

	"github.com/go-json-experiment/json/jsontext"
)

// HistoryKey reports whether the records of a store key become leaves:
// "ver/{rev}/{kind}/{time}-{digest}", a stored version of a document, and everything below an
// agent's key, "agent/{air id}/…". Such records are written once and never overwritten, so the log
// cannot miss any. The record "agent/{air id}" itself is not a leaf, because each change overwrites it
// and it contains private data.
func HistoryKey(key string) bool {
	if strings.HasPrefix(key, store.VersionPrefix) {
		return true
	}
	rest, agent := strings.CutPrefix(key, store.AgentPrefix)
	return agent && strings.Contains(rest, "/")
}

// GroupOf returns the group in which a log finds a key: the first two parts of a key.
func GroupOf(key string) string {
	first := strings.IndexByte(key, '/')
	if first < 0 {
		return key
	}
	if second := strings.IndexByte(key[first+1:], '/'); second >= 0 {
		return key[:first+1+second]
	}
	return key
}

// A Salter computes the salt of a leaf. The salt is erased with the content, so that the content
// cannot be guessed from the hash later. It is a function of the content and of a secret of the
// log, so that the same record always becomes the same leaf.
type Salter []byte

func (s Salter) saltOf(leaf []byte) string {
	return base64.RawURLEncoding.EncodeToString(s.hmacOf("salt\n", leaf)[:16])
}

// TablePlace returns the place of a key in the tables by which a log finds keys. It depends on the secret, so
// that a client cannot choose keys that share one place.
func (s Salter) TablePlace(key string) uint32 {
	return binary.BigEndian.Uint32(s.hmacOf("place\n", []byte(key)))
}

func (s Salter) hmacOf(use string, text []byte) []byte {
	mac := hmac.New(sha256.New, s)
	mac.Write([]byte(use))
	mac.Write(text)
	return mac.Sum(nil)
}

// RecordLeaf returns the leaf of a record, as the comment of package audit describes it. It depends only on
// the record and the log's secret.
func (s Salter) RecordLeaf(r store.Record) []byte {
	key := quoteJSON(r.Key)
	var leaf []byte
	if record, err := canonicalJSON(r.Value); err == nil {
		leaf = s.joinMembers(`"key":`+key+`,"record":`+string(record), "")
	} else {
		leaf = s.joinMembers(`"base64":"`+base64.StdEncoding.EncodeToString(r.Value)+`","key":`+key, "")
	}
	if len(leaf) <= tiles.MaxLeaf {
		return leaf
	}
	sum := sha256.Sum256(r.Value)
	return s.joinMembers(`"key":`+key, `,"sha256":"`+hex.EncodeToString(sum[:])+`","size":`+strconv.Itoa(len(r.Value)))
}

// DeletionLeaf returns the leaf for the deletion of a record, with the numbers of the erased
// leaves.
func (s Salter) DeletionLeaf(key string, erased []int64) []byte {
	slices.Sort(erased)
	var list []byte
	for i, index := range erased {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, index, 10)
	}
	return s.joinMembers(tiles.DeletionStart[1:]+string(list)+`],"key":`+quoteJSON(key), "")
}

// joinMembers returns an object of the members before the salt, the salt, and the members after it.
func (s Salter) joinMembers(before, after string) []byte {
	salt := s.saltOf([]byte("{" + before + after + "}"))
	return []byte("{" + before + `,"salt":"` + salt + `"` + after + "}")
}

// canonicalJSON writes JSON in the form of RFC 8785, but leaves numbers unchanged, because the RFC
// would round large integers. It fails for JSON that two readers could understand differently: a
// duplicate member, invalid UTF-8, half a surrogate pair.
func canonicalJSON(text []byte) ([]byte, error) {
	return jcs.Canonicalize(text, jcs.Options{Numbers: jcs.Verbatim, KeepForm: true, Depth: maxDepth})
}

// maxDepth is the nesting depth above which a record becomes a leaf in base64.
const maxDepth = 10000

// quoteJSON returns a text as canonical JSON. The keys of a store are UTF-8.
func quoteJSON(text string) string {
	quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\uFFFD"))
	return string(quoted)
}
