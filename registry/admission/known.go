package admission

import (
	"net/netip"
	"sync"
	"time"

	"gazetteer/limit"
)

const (
	// knownAge is the age from which on an agent makes the network known that it writes from.
	knownAge = 24 * time.Hour
	// knownTime is how long a network stays known after the last such write.
	knownTime = 30 * 24 * time.Hour
	maxKnown  = 50_000
)

// knownNetworks are the wider networks from which agents of some age have written. They are kept in
// memory and begin anew with a restart.
type knownNetworks struct {
	mu       sync.Mutex // guards the following fields
	networks map[netip.Prefix]time.Time
}

// addNetwork notes that an agent of some age has written from a client's network.
func (k *knownNetworks) addNetwork(client netip.Addr, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.networks == nil {
		k.networks = map[netip.Prefix]time.Time{}
	}
	for network, since := range k.networks {
		if len(k.networks) < maxKnown && now.Sub(since) < knownTime {
			break
		}
		delete(k.networks, network)
	}
	k.networks[limit.WideNetwork(client)] = now
}

// hasNetwork reports whether a client's network is known.
func (k *knownNetworks) hasNetwork(client netip.Addr, now time.Time) bool {
	if !client.IsValid() {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	since, ok := k.networks[limit.WideNetwork(client)]
	return ok && now.Sub(since) < knownTime
}
