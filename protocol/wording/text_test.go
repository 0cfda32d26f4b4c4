package wording

import (
	"testing"
)

func TestParticiple(t *testing.T) {
	for verb, want := range map[string]string{
		"book": "booked", "create": "created", "apply": "applied", "deploy": "deployed", "plan": "planned", "submit": "submitted", "edit": "edited",
		"send": "sent", "resend": "resent", "write": "written", "begin": "begun", "undo": "undone", "set": "set", "put": "put", "read": "read",
		"untag": "untagged", "transfer": "transferred", "offer": "offered", "fix": "fixed", "buy": "bought", "login": "", "xyzzy": "",
	} {
		if got := pastParticiple(verb); got != want {
			t.Errorf("%s: %q, want %q", verb, got, want)
		}
	}
}
