package web

import (
	"net/http"
	"strings"
	"time"

	"gazetteer/fetch"
	"gazetteer/web/frame"

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
	Form           ownerRequestView
	UserAgent      string
	Token          string // by which robots.txt names us
	Contact        frame.ExternalLink
	Addresses      []string
	HostInterval   string
	DomainInterval string
}

// botInfoPage is the page that the User-Agent names.
func (p *Pages) botInfoPage(c *gin.Context) (frame.View, error) {
	return p.botPage(http.StatusOK, ownerRequestView{Host: c.Query("host"), Wish: "opt-out"}), nil
}

// botPage is the page with the result of a request of an owner.
func (p *Pages) botPage(status int, w ownerRequestView) frame.View {
	b := p.owner
	return frame.View{Name: "bot", Title: "The crawler", Status: status, Body: botView{
		Form: w, UserAgent: b.UserAgent, Token: fetch.RobotsToken, Contact: frame.ExternalLinkOf(strings.TrimPrefix(b.Contact, "mailto:")),
		Addresses: b.Addresses, HostInterval: b.HostInterval.String(), DomainInterval: b.DomainInterval.String(),
	}}
}
