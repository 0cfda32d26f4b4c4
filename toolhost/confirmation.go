package toolhost

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"
)

// confirmTime is how long the token that confirms an irreversible call holds.
const confirmTime = time.Minute

// confirmationFor makes the token that confirms one call of one client until a time. It does not confirm a
// call of a contract that was changed since.
func (h *Host) confirmationFor(inv *invocation, until time.Time) string {
	token := binary.BigEndian.AppendUint64(nil, uint64(until.UnixMilli()))
	return base64.RawURLEncoding.EncodeToString(append(token, h.signConfirmation(inv, token)...))
}

func (h *Host) signConfirmation(inv *invocation, until []byte) []byte {
	mac := hmac.New(sha256.New, h.key)
	for _, part := range [][]byte{until, []byte(inv.session.client), []byte(inv.session.id), []byte(inv.id), inv.digest[:], inv.contract.digest[:]} {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		mac.Write(part)
	}
	return mac.Sum(nil)
}

func (h *Host) checkConfirmation(inv *invocation, token string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != 8+sha256.Size {
		return false
	}
	until := time.UnixMilli(int64(binary.BigEndian.Uint64(raw[:8])))
	return hmac.Equal(raw[8:], h.signConfirmation(inv, raw[:8])) && h.o.Now().Before(until)
}
