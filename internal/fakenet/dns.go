package fakenet

import "context"

// SetTXT publishes the values of the TXT record at a name under .test, such as
// "_proof.shop.test", in place of those before; without values it is taken away.
func (n *Net) SetTXT(name string, values ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(values) == 0 {
		delete(n.texts, foldHost(name))
		return
	}
	n.texts[foldHost(name)] = values
}

// TXT answers as a name server of this Net would: with the values at a name, none
// where there is no record. Names of the world have none.
func (n *Net) TXT(ctx context.Context, name string) (values []string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.texts[foldHost(name)], ctx.Err()
}
