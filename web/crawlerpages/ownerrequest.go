package crawlerpages

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/crawler/owner"
	"gazetteer/fetch"
	"gazetteer/registry"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// ownerRequestView is the form for requests of owners to the crawler, and the result.
type ownerRequestView struct {
	Host, Request string // as sent
	Subdomains    bool
	Sent          bool // the form was sent
	Trouble, Help string
	Wrong         string // the ID of the field that the reader has to change, "" for none
	Done          string // what has been done
	// Value is the text to publish, and Probes show the present content: only for a request that is
	// not proved.
	Value  string
	Probes []registry.Probe
	Closed bool // this server asks no other hosts, so that only a signature proves a request
	More   bool // a look has more values than it shows
}

// The IDs of the fields of the form: the first action stands for all.
const (
	hostField    = "host"
	requestField = "request-out"
)

// maxOwnerForm is the size of the form.
const maxOwnerForm = 4 << 10

// submitOwnerRequest accepts the form of the page about the crawler.
func (p *Pages) submitOwnerRequest(c *gin.Context) (frame.WebPage, error) {
	r := c.Request
	if err := frame.ReadForm(c, maxOwnerForm); err != nil {
		return frame.WebPage{}, err
	}
	v := ownerRequestView{Host: strings.TrimSpace(r.PostFormValue("host")), Request: r.PostFormValue("request"), Subdomains: r.PostFormValue("subdomains") == "yes", Sent: true}
	switch {
	case v.Host == "":
		v.Trouble, v.Help = "There is no name of a host.", "Give one, such as www.example.com."
		v.Wrong = hostField
		return p.botPage(http.StatusBadRequest, v), nil
	case v.Request == "recrawl":
		s, err := p.answers.Recrawl(r.Context(), v.Host, frame.ClientOf(c), nil)
		if err != nil {
			return p.ownerFormAgain(c, v, err)
		}
		v.Done = s.Host + " will be visited again when its turn comes."
		return p.botPage(http.StatusOK, v), nil
	case v.Request != string(owner.OptOut) && v.Request != string(owner.OptIn):
		v.Request, v.Trouble, v.Help = "", "The request does not say what to do.", "Choose one of the actions."
		v.Wrong = requestField
		return p.botPage(http.StatusBadRequest, v), nil
	}
	a, err := p.answers.HandleOwnerRequest(r.Context(), owner.RequestKind(v.Request), v.Host, v.Subdomains, frame.ClientOf(c), nil)
	if err != nil {
		return p.ownerFormAgain(c, v, err)
	}
	v.showAnswer(a)
	return p.botPage(http.StatusOK, v), nil
}

// showAnswer writes the result of a request.
func (v *ownerRequestView) showAnswer(a owner.RequestResult) {
	v.Host = a.Host
	what := a.Host
	if a.Subdomains {
		what += " and its subdomains"
	}
	switch {
	case !a.Done:
		v.Value, v.Probes = a.Publish.Value, a.Probes
		v.Closed = !slices.ContainsFunc(a.Probes, func(l registry.Probe) bool { return l.Query != registry.NoProbe })
		for _, l := range a.Probes {
			v.More = v.More || l.OmittedValues > 0
		}
	case a.Request == owner.OptOut:
		v.Done = fmt.Sprintf("Done: %s will not be visited any more, and its published documents have been removed. Proof: %s.", what, a.Proof)
	default:
		v.Done = fmt.Sprintf("Done: %s may be visited again. What showed it: %s.", what, a.Proof)
	}
}

// ownerFormAgain shows the form again with the reason, where the reader can do something
// about it.
func (p *Pages) ownerFormAgain(c *gin.Context, v ownerRequestView, err error) (frame.WebPage, error) {
	again := func(wait time.Duration) { c.Header("Retry-After", fmt.Sprint(int(wait/time.Second)+1)) }
	status := http.StatusConflict
	host, isHost := errors.AsType[*fetch.HostError](err)
	over, isOver := errors.AsType[*answer.QuotaError](err)
	soon, isSoon := errors.AsType[*crawler.SoonError](err)
	gone, isGone := errors.AsType[*answer.WithdrawnError](err)
	covered, isCovered := errors.AsType[*owner.CoveredError](err)
	switch {
	case isHost:
		status, v.Trouble, v.Help = http.StatusBadRequest, frame.AsSentence(frame.PlainText(host.Problem)), frame.AsSentence(host.Help)
		v.Wrong = hostField
	case isOver:
		again(over.Wait)
		status, v.Trouble, v.Help = http.StatusTooManyRequests, frame.AsSentence(over.Message), "Come back later."
	case isSoon:
		again(soon.Wait)
		status, v.Trouble, v.Help = http.StatusTooManyRequests, frame.AsSentence(soon.Error()), "Come back then."
	case isGone:
		v.Trouble, v.Help = frame.AsSentence(gone.Why()), "It can be visited when that is withdrawn."
	case isCovered:
		v.Trouble, v.Help = frame.AsSentence(covered.Error()), "Withdraw that one."
	case errors.Is(err, owner.ErrNotOut):
		v.Trouble, v.Help = "The owner of this host has not opted out, so there is nothing to withdraw.", "To have it visited, enter it at Add a service (/submit)."
	case errors.Is(err, owner.ErrOperator), errors.Is(err, crawler.ErrBlocked):
		status, v.Trouble, v.Help = http.StatusForbidden, "The operator of this server has excluded this host.", "Write to the operator; the address is above."
	case errors.Is(err, answer.ErrNoService):
		status, v.Trouble, v.Help = http.StatusNotFound, "Nothing is known of this host.", "To have it visited, enter it at Add a service (/submit)."
		v.Wrong = hostField
	case errors.Is(err, answer.ErrNoCrawl), errors.Is(err, answer.ErrNoOwnerRequests):
		status, v.Trouble, v.Help = http.StatusServiceUnavailable, "This server does not crawl.", "It shows what was found before."
	default:
		return frame.WebPage{}, err
	}
	return p.botPage(status, v), nil
}
