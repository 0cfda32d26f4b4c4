package toolhost

import (
	"time"

	"gazetteer/protocol/altar"
)

func quotaError(message string, wait time.Duration) *altar.Error {
	return altar.Errorf(altar.AuthorizationFailed, "%s", message).With("reason", "quota").With("retry_after_ms", wait.Milliseconds())
}

// QuotaWait returns the wait of an error caused by a quota, and false for other errors.
func QuotaWait(err *altar.Error) (time.Duration, bool) {
	if err == nil || err.Details["reason"] != "quota" {
		return 0, false
	}
	ms, ok := err.Details["retry_after_ms"].(int64)
	return time.Duration(ms) * time.Millisecond, ok
}
