package route

import (
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/gin-gonic/gin"
)

// warnOfUntrustedProxy returns a middleware that logs once if a proxy on this machine or in its
// network is not among the trusted ones: all clients of the proxy then share the quota of one.
// Others can send the header, too, so only such peers count as a proxy of the operator.
func (a *Mux) warnOfUntrustedProxy(trusted []string) gin.HandlerFunc {
	var warned atomic.Bool
	isTrusted := func(peer netip.Addr) bool {
		return slices.ContainsFunc(trusted, func(text string) bool {
			if network, err := netip.ParsePrefix(text); err == nil {
				return network.Contains(peer)
			}
			address, err := netip.ParseAddr(text)
			return err == nil && address.Unmap() == peer
		})
	}
	return func(c *gin.Context) {
		if c.GetHeader("X-Forwarded-For") == "" || warned.Load() || IsFromOperator(c.Request.Context()) {
			return
		}
		peer, err := netip.ParseAddr(c.RemoteIP())
		if peer = peer.Unmap(); err != nil || !peer.IsLoopback() && !peer.IsPrivate() || isTrusted(peer) {
			return
		}
		if warned.CompareAndSwap(false, true) {
			a.Log.Warn("a proxy that is not in api.trusted_proxies sends X-Forwarded-For, so all its clients count as one: if it is yours, add its address", "proxy", peer)
		}
	}
}
