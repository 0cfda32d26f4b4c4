package operatorpages

import (
	"testing"

	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
)

// TestEffectOfContract checks that contracts have the words of the cards of operations.
func TestEffectOfContract(t *testing.T) {
	for _, c := range []struct{ name, effect, want string }{
		{"find_table", altar.Informational, "Only reads"},
		{"book_table", altar.Reversible, "Can be undone"},
		{"pay_bill", altar.Irreversible, "Cannot be undone"},
		{"cancel_order", "", "Probably removes or ends something"},
		{"process", "", ""},
	} {
		status := toolhost.ContractStatus{Contract: toolhost.Contract{Contract: altar.Contract{Name: c.name, Effect: c.effect}}}
		if got := effectOf(status).Words; got != c.want {
			t.Errorf("%s, declared %q: %q, want %q", c.name, c.effect, got, c.want)
		}
	}
}
