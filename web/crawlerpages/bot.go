// Package crawlerpages has the page to which the crawler's User-Agent leads: the operator, the
// frequency of visits, and a form for requests of the owners of hosts. Begin with [New] and
// [Pages.Mount].
package crawlerpages

import (
	"context"
	"embed"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"gazetteer/api/answer"
	"gazetteer/crawler/owner"
	"gazetteer/fetch"
	"gazetteer/protocol/httpsig"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// Bot describes the crawler for the owners of hosts.
type Bot struct {
	// UserAgent is sent with every request.
	UserAgent string
	// Contact is where an owner can reach the operator: an https address or any
	// other text.
	Contact string
	// Addresses are the IP addresses from which requests come.
	Addresses []string
	// HostInterval and DomainInterval lie between the starts of two visits to a
	// host, and below one registrable domain.
	HostInterval, DomainInterval time.Duration
	// Disabled is set at a server that visits no hosts.
	Disabled bool
}

// Answers carry out the requests of owners. [answer.Answers] does.
type Answers interface {
	// HandleOwnerRequest checks a request of the owner of a host, and carries it out if it is
	// proved.
	HandleOwnerRequest(ctx context.Context, kind owner.RequestKind, host string, subdomains bool, client netip.Addr, request *httpsig.Message) (owner.RequestResult, error)
	// Recrawl has a known host visited again.
	Recrawl(ctx context.Context, host string, client netip.Addr, request *httpsig.Message) (answer.Submission, error)
}

// Pages are the page and its form. Any number of requests may use them at once.
type Pages struct {
	*frame.Frame
	answers Answers
	bot     Bot
}

//go:embed templates/*.html
var templateFiles embed.FS

// New prepares the page within a frame.
func New(f *frame.Frame, a Answers, bot Bot) *Pages {
	f.AddTemplates(templateFiles)
	return &Pages{Frame: f, answers: a, bot: bot}
}

// Mount adds /bot to e.
func (p *Pages) Mount(e *gin.Engine) {
	e.GET("/bot", p.Handle(p.botInfoPage, "host"))
	e.HEAD("/bot", p.Handle(p.botInfoPage, "host"))
	e.POST("/bot", p.Handle(p.submitOwnerRequest))
}

type botView struct {
	Form           ownerRequestView
	UserAgent      string
	Token          string // by which robots.txt names us
	Contact        frame.ExternalLink
	Addresses      []string
	HostInterval   string
	DomainInterval string
	Disabled       bool
	signing
}

// Contact returns how to reach the operator; its text is "" if the operator does not say.
func (p *Pages) Contact() frame.ExternalLink {
	return frame.ExternalLinkOf(strings.TrimPrefix(p.bot.Contact, "mailto:"))
}

// botInfoPage is the page that the User-Agent names.
func (p *Pages) botInfoPage(c *gin.Context) (frame.WebPage, error) {
	return p.botPage(http.StatusOK, ownerRequestView{Host: c.Query("host")}), nil
}

// botPage is the page with the result of a request of an owner.
func (p *Pages) botPage(status int, w ownerRequestView) frame.WebPage {
	b := p.bot
	return frame.WebPage{Name: "bot", Title: "The crawler", Description: "What the crawler requests and how often, and how the owner of a host stops it.", Status: status, Body: botView{
		Form: w, UserAgent: b.UserAgent, Token: fetch.RobotsToken, Contact: p.Contact(),
		Addresses: b.Addresses, HostInterval: intervalText(b.HostInterval), DomainInterval: intervalText(b.DomainInterval), Disabled: b.Disabled,
		signing: p.signingOf(w),
	}}
}

// intervalText writes an interval in words if that says it exactly.
func intervalText(d time.Duration) string {
	if d%time.Second != 0 || d > time.Minute && d%time.Minute != 0 {
		return d.String()
	}
	return frame.FormatSpan(d)
}
