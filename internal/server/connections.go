package server

import (
	"net/netip"
	"syscall"

	"gazetteer/internal/config"
	"gazetteer/limit"
)

const (
	// maxConnections bounds the public connections if the configuration sets no limit.
	maxConnections = 16_384
	// maxIdleConnections bounds the connections that wait for another request after an answer.
	maxIdleConnections = 1024
	// manyConnections is the number of connections above which only a quarter of maxIdleConnections may wait.
	manyConnections = 4096
	// maxOperatorConnections bounds the connections of the socket, of the metrics address and of
	// the operator's address, each on its own.
	maxOperatorConnections = 256
	// reservedDescriptors are kept for the store, the transparency log, the index and the operator.
	reservedDescriptors = 512
	// wideConnectionFactor is the ratio of the connection limit of the wider network to that of a
	// network.
	wideConnectionFactor = 4
)

// operatorConnections returns the limits of the addresses that only the operator reaches.
func operatorConnections() limit.ConnectionRule {
	return limit.ConnectionRule{All: maxOperatorConnections, Each: maxOperatorConnections, Wide: maxOperatorConnections, Idle: maxOperatorConnections, Uncounted: true}
}

// publicConnections returns the connection limit of the public addresses together. It leaves enough
// descriptors for the files of the process and the crawler.
func publicConnections(c config.Config) limit.ConnectionRule {
	all := maxConnections
	if c.API.Connections > 0 {
		all = c.API.Connections
	}
	all = min(all, spareDescriptors(c))
	each := c.API.ConnectionsPerClient
	if each <= 0 {
		each = all
	}
	rule := limit.ConnectionRule{All: all, Each: min(each, all), Wide: min(wideConnectionFactor*each, all), Idle: min(maxIdleConnections, all), Many: manyConnections}
	for _, text := range c.API.TrustedProxies {
		if p, err := netip.ParsePrefix(text); err == nil {
			rule.Proxies = append(rule.Proxies, p)
		} else if a, err := netip.ParseAddr(text); err == nil {
			rule.Proxies = append(rule.Proxies, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	return rule
}

// spareDescriptors returns how many descriptors the process can give to public connections, at
// least a quarter of its limit.
func spareDescriptors(c config.Config) int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return maxConnections
	}
	open := int(min(limit.Cur, 1<<20))
	reserved := reservedDescriptors
	if c.Crawler.Enabled {
		reserved += c.Crawler.Workers
	}
	return max(open-reserved, open/4)
}
