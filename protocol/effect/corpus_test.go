package effect_test

import (
	"slices"
	"strings"
	"testing"

	"gazetteer/internal/fakenet/corpus"
	"gazetteer/internal/need"
	"gazetteer/protocol/effect"
)

// witnesses says with which verbs an HTTP method agrees. The verbs of the corpus
// are made by a machine from names and summaries, and many are wrong; where the
// HTTP method bears the verb out, verb and text are two accounts of one thing.
var witnesses = map[string][]string{
	"GET":    strings.Fields("RETRIEVE LIST DESCRIBE FIND SEARCH RETURN QUERY SHOW READ VIEW FETCH CHECK COUNT DOWNLOAD BROWSE OBTAIN"),
	"DELETE": strings.Fields("REMOVE CANCEL DISASSOCIATE REVOKE DETACH UNSUBSCRIBE CLEAR PURGE DESTROY TERMINATE DISMISS STOP"),
	"PUT":    strings.Fields("UPDATE REPLACE MODIFY EDIT CHANGE SET RENAME ENABLE DISABLE ASSIGN"),
	"PATCH":  strings.Fields("UPDATE REPLACE MODIFY EDIT CHANGE SET RENAME ENABLE DISABLE"),
	"POST":   strings.Fields("CREATE ADD INSERT REGISTER SEND SUBMIT UPLOAD IMPORT START INVITE GENERATE TRANSFER ASSIGN SHARE COPY PUBLISH"),
}

// TestPublicDescriptions checks that hardly any description of some 2,400 public APIs contradicts a
// verb that agrees with the HTTP method. Nearly all that do are correct: the conversion gave a POST
// that "Deregisters an account" the verb CREATE.
func TestPublicDescriptions(t *testing.T) {
	need.Time(t, "reads 35 MB")
	verdicts := map[effect.Agreement]int{}
	pairs := 0
	for service, err := range corpus.Services(corpus.Directory("../..")) {
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range service.Operations {
			if op.Intent == "" || !slices.Contains(witnesses[op.Method], op.Verb) {
				continue
			}
			pairs++
			j := effect.Compare(op.Verb, op.Intent)
			verdicts[j.Verdict]++
			if j.Verdict == effect.Contradicts {
				t.Logf("%s %q: %s", op.Verb, op.Intent, j.Why)
			}
		}
	}
	t.Logf("%d pairs: %v", pairs, verdicts)
	if pairs < 50000 {
		t.Fatalf("only %d pairs were read", pairs)
	}
	if share := float64(verdicts[effect.Contradicts]) / float64(pairs); share > 0.004 {
		t.Errorf("%.4f of the pairs are called contradictions, want at most 0.004", share)
	}
	if share := float64(verdicts[effect.NotJudged]) / float64(pairs); share > 0.1 {
		t.Errorf("%.3f of the pairs are not judged, want at most 0.1", share)
	}
}
