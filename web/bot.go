package web

import (
	"strings"
	"time"

	"gazetteer/fetch"

	"github.com/gin-gonic/gin"
)

// Bot says who crawls, for the owners of hosts.
type Bot struct {
	// UserAgent is sent with every request.
	UserAgent string
	// Contact is where an owner can reach the operator: an https address or any
	// other text.
	Contact string
	// Addresses are those that requests come from.
	Addresses []string
	// HostInterval and DomainInterval lie between the starts of two visits to a
	// host, and below one registrable domain.
	HostInterval, DomainInterval time.Duration
}

type botView struct {
	UserAgent      string
	Token          string // by which robots.txt names us
	Contact        outside
	Addresses      []string
	HostInterval   string
	DomainInterval string
}

// bot is the page that the User-Agent names.
func (p *Pages) bot(*gin.Context) (view, error) {
	b := p.owner
	return view{name: "bot", title: "The crawler", body: botView{
		UserAgent: b.UserAgent, Token: fetch.RobotsToken, Contact: outsideOf(strings.TrimPrefix(b.Contact, "mailto:")),
		Addresses: b.Addresses, HostInterval: b.HostInterval.String(), DomainInterval: b.DomainInterval.String(),
	}}, nil
}
