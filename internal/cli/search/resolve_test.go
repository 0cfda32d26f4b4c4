package search

import "testing"

func TestDescribeInbox(t *testing.T) {
	for want, r := range map[string]Resolution{
		"https://a.example/inbox":                        {Inbox: "https://a.example/inbox", Document: []byte(`{"service": [{"type": "A2AInbox"}]}`)},
		"none: this agent has not published an A2AInbox": {Document: []byte(`{"service": []}`)},
		"none that can be used: an A2AInbox needs an https address, and its DID document the key #key-1": {Document: []byte(`{"service": [{"type": "A2AInbox"}]}`)},
	} {
		if got := describeInbox(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
