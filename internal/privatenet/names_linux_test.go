package privatenet

import (
	"net/netip"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"

	"gazetteer/internal/fakenet"
)

// names is what the name server knows. A name that it does not know does not
// exist.
type names struct {
	mu    sync.Mutex // guards the following fields
	zones map[string]zone
	asked map[question]int
}

// A question is a name and the type of record that is wanted.
type question struct {
	name string
	kind dnsmessage.Type
}

// A zone answers the questions for one name; earlier counts those of the same
// type before.
type zone func(earlier int, q dnsmessage.Question, m *dnsmessage.Message) bool

func newNames() *names { return &names{zones: map[string]zone{}, asked: map[question]int{}} }

// set gives a name its answers.
func (n *names) set(name string, z zone) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.zones[name] = z
}

// questions returns the number of queries for the IPv4 address of a name.
func (n *names) questions(name string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[question{name, dnsmessage.TypeA}]
}

// say answers for a fakenet.NameServer.
func (n *names) say(q dnsmessage.Question, m *dnsmessage.Message) bool {
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	n.mu.Lock()
	z, earlier := n.zones[name], n.asked[question{name, q.Type}]
	n.asked[question{name, q.Type}]++
	n.mu.Unlock()
	if z == nil {
		m.RCode = dnsmessage.RCodeNameError
		return true
	}
	return z(earlier, q, m)
}

var _ fakenet.Responder = (*names)(nil).say

// at is a name with these addresses.
func at(addrs ...netip.Addr) zone {
	return func(_ int, q dnsmessage.Question, m *dnsmessage.Message) bool {
		records(q.Name.String(), q, m, addrs)
		return true
	}
}

// records adds the addresses that have the requested type.
func records(name string, q dnsmessage.Question, m *dnsmessage.Message, addrs []netip.Addr) {
	for _, a := range addrs {
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			record(name, q, m, &dnsmessage.AResource{A: a.As4()})
		case !a.Is4() && q.Type == dnsmessage.TypeAAAA:
			record(name, q, m, &dnsmessage.AAAAResource{AAAA: a.As16()})
		}
	}
}

// record adds a record with a TTL of zero.
func record(name string, q dnsmessage.Question, m *dnsmessage.Message, body dnsmessage.ResourceBody) {
	m.Answers = append(m.Answers, dnsmessage.Resource{
		Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name), Class: q.Class}, Body: body,
	})
}

// alias is a name for another name with these addresses.
func alias(other string, addrs ...netip.Addr) zone {
	return func(_ int, q dnsmessage.Question, m *dnsmessage.Message) bool {
		record(q.Name.String(), q, m, &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(other)})
		records(other, q, m, addrs)
		return true
	}
}

// loop is a name for a name for this one.
func loop(name string) zone {
	return func(_ int, q dnsmessage.Question, m *dnsmessage.Message) bool {
		record(name+".", q, m, &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName("x." + name + ".")})
		record("x."+name+".", q, m, &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(name + ".")})
		return true
	}
}

// failing is a name server that says so.
func failing(code dnsmessage.RCode) zone {
	return func(_ int, _ dnsmessage.Question, m *dnsmessage.Message) bool {
		m.RCode = code
		return true
	}
}

// silence is none at all.
func silence(int, dnsmessage.Question, *dnsmessage.Message) bool { return false }

// cutOff never has the whole answer, over TCP neither.
func cutOff(_ int, q dnsmessage.Question, m *dnsmessage.Message) bool { return fakenet.CutOff(q, m) }

// rebound is a name whose address is public in the first answer and another one afterwards.
func rebound(good, bad netip.Addr) zone {
	return func(earlier int, q dnsmessage.Question, m *dnsmessage.Message) bool {
		if earlier == 0 {
			return at(good)(0, q, m)
		}
		return at(bad)(0, q, m)
	}
}

// forgetful loses the first question for each of its addresses on the way.
func forgetful(good netip.Addr) zone {
	return func(earlier int, q dnsmessage.Question, m *dnsmessage.Message) bool {
		return earlier > 0 && at(good)(0, q, m)
	}
}

// many returns a number of addresses, the last of them given.
func many(n int, next func() netip.Addr, last netip.Addr) []netip.Addr {
	var all []netip.Addr
	for range n - 1 {
		all = append(all, next())
	}
	return slices.Concat(all, []netip.Addr{last})
}
