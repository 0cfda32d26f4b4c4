package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"

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
// of the log, so that a tree that must be grown again becomes the same tree.
type salter []byte

func (s salter) salt(leaf []byte) string {
	mac := hmac.New(sha256.New, s)
	mac.Write(leaf)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// hash places a key in the tables of [chains]. It is keyed, so that nobody can
// choose keys that all fall into one place.
func (s salter) hash(key string) uint32 {
	mac := hmac.New(sha256.New, s)
	mac.Write([]byte("place\n" + key))
	sum := mac.Sum(nil)
	return uint32(sum[0])<<24 | uint32(sum[1])<<16 | uint32(sum[2])<<8 | uint32(sum[3])
}

// leaf returns the leaf of a record, as the package comment describes it. It
// depends on nothing but the record and the log's secret.
func (s salter) leaf(r store.Record) []byte {
	key := string(appendText(nil, strings.ToValidUTF8(r.Key, "\uFFFD"))) // a store's keys are UTF-8
	if r.Deleted {
		return s.members(`"deleted":true,"key":`+key, "")
	}
	var leaf []byte
	if record, err := canonical(r.Value); err == nil {
		leaf = s.members(`"key":`+key+`,"record":`+string(record), "")
	} else {
		leaf = s.members(`"base64":"`+base64.StdEncoding.EncodeToString(r.Value)+`","key":`+key, "")
	}
	if len(leaf) <= maxLeaf {
		return leaf
	}
	sum := sha256.Sum256(r.Value)
	return s.members(`"key":`+key, `,"sha256":"`+hex.EncodeToString(sum[:])+`","size":`+strconv.Itoa(len(r.Value)))
}

// members joins what sorts before and after the salt, with the salt.
func (s salter) members(before, after string) []byte {
	salt := s.salt([]byte("{" + before + after + "}"))
	return []byte("{" + before + `,"salt":"` + salt + `"` + after + "}")
}
