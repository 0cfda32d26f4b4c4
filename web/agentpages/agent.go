package agentpages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/changefeed"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/evidence"
	"gazetteer/store"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// The lengths of lists on the page of an agent.
const (
	maxEntries      = 40
	maxAttestations = 50
)

// agentView is the page of one agent: its claims, each with the evidence for it.
type agentView struct {
	Name         string
	AirID        string
	Handle       string
	HandleLost   *lostHandleView // nil unless another agent has taken its handle
	Description  string
	Status       string
	Reason       string
	Gone         bool // it has no DID document any more
	Erased       frame.Moment
	Day          string // of its registration, for an erased agent
	DID          string
	Inbox        string
	Capabilities []string
	Created      frame.Moment
	Updated      frame.Moment
	MergedInto   string
	MovedTo      string // its DID elsewhere
	Origin       string // the registry that it was imported from
	// Sources holds links to the origin of each statement and event, by name.
	Sources map[string]string

	Summary  []summaryBadge
	Evidence []evidenceGroup
	Costs    []costView // of a fake of each kind of evidence
	Keys     []keyView
	Recovery *recoveryView
	Domains  []domainView
	// Offered are operations of the services at its proved domains.
	Offered     []offeredView
	OfferedMore int
	Publish     string // what a domain has to publish
	About       []attestationView
	AboutMore,
	IssuedMore int
	Issued   []attestationView
	Graph    *graphView
	Checks   []didCheck
	Document string // the DID document, indented
	Trust    trustView
	History  []entryView
	More     int // entries that are not shown
	Logged   bool
}

// lostHandleView is a handle that the owner of the domain of that name has taken.
type lostHandleView struct {
	Handle string
	To     string // the AIR ID of the agent that has it now
	At     frame.Moment
}

// summaryBadge is one thing that is known of an agent, in a few words.
type summaryBadge struct{ Text, Tone, Link string }

// summarizeEvidence summarizes the proved and observed facts as badges, which are shown above the
// evidence itself.
func (p *Pages) summarizeEvidence(d answer.AgentDetails) []summaryBadge {
	var badges []summaryBadge
	add := func(tone, link, format string, args ...any) {
		badges = append(badges, summaryBadge{fmt.Sprintf(format, args...), tone, link})
	}
	for _, s := range d.Evidence {
		if !s.Holds || s.Signal == registry.SignalClaims {
			continue
		}
		switch s.Signal {
		case registry.SignalDomain:
			text := "domain " + frame.ClipPlain(60, s.What) + " proved"
			if m := p.MomentOf(s.Date); m.Exact != "" {
				text += " " + m.Ago
			}
			add("safe", "#"+domainID(s.What), "%s", text)
		case registry.SignalKey:
			add("safe", "#keys", "key proved")
		case registry.SignalAge:
			add("safe", "#keys", "key in use for more than 30 days")
		case registry.SignalInbox:
			add("safe", "#reach", "inbox answers")
		case registry.SignalAttestations:
			add("safe", "#attestations", "attested by others")
		default:
			add("safe", "#evidence", "%s", strings.ToLower(signalTitles[s.Signal])+" checked")
		}
	}
	if len(badges) == 0 {
		add("care", "#evidence", "nothing is proved: everything here is its own claim")
	}
	return badges
}

// evidenceGroup holds the evidence of one grade.
type evidenceGroup struct {
	Grade string // for the style sheet
	Word  string
	Means string
	Rows  []evidenceView
}

type evidenceView struct {
	Title   string
	What    string
	Code    bool               // What is a key or an address
	Address frame.ExternalLink // in the place of What, where that is one
	Detail  string
	Holds   bool
	Date    frame.Moment
	Link    string             // on this site, "" for none
	Says    string             // what Link leads to, "" for the entry of the date
	Outside frame.ExternalLink // where the registry looked
}

// costView is what a fake of one kind of evidence costs.
type costView struct{ Title, Cost string }

type keyView struct {
	ID    string
	Key   string
	From  frame.Moment
	Until frame.Moment
	Now   bool
	Proof string
	By    string
	Link  string // to the entry that brought it
}

type recoveryView struct {
	Commitment string
	To         string
	Asked, Due frame.Moment
}

type domainView struct {
	ID      string
	Name    string
	State   string
	Good    bool
	Since   frame.Moment
	Checked frame.Moment
	Probes  []registry.Probe
}

// NoProbe is the query of the probe of a registry that asks no other hosts.
func (agentView) NoProbe() string { return registry.NoProbe }

type attestationView struct {
	Number    int
	By        string // AIR ID of the attester
	Other     string
	Name      string
	Type      string
	Statement string
	Root      string
	Weight    string
	Why       string
	At        frame.Moment
	Revoked   frame.Moment
	Payload   string
	Signature string
	Key       string
}

type entryView struct {
	N          int
	Event      string
	Actor      string
	At         frame.Moment
	Fields     string
	By         string
	Key        string
	Signed     string
	Signatures []signatureView
	LogKey     string // of the record in the transparency log
}

type signatureView struct{ Key, Signature string }

// agentPage is the page of one agent. Another id than the AIR ID leads to the page
// under the AIR ID, so that each agent has one address.
func (p *Pages) agentPage(c *gin.Context) (frame.WebPage, error) {
	id := c.Param("id")
	d, err := p.answers.AgentDetails(c.Request.Context(), id)
	if err != nil {
		return frame.WebPage{}, agentError(id, err)
	}
	a := d.Agent
	if id != a.AirID {
		return frame.WebPage{Status: http.StatusSeeOther, Location: frame.AgentPath(a.AirID)}, nil
	}
	text, err := json.MarshalIndent(d.DID, "", "  ")
	if err != nil {
		return frame.WebPage{}, err
	}
	v := agentView{
		Name: a.Name, AirID: a.AirID, Handle: a.Handle, Description: a.Description, Status: a.Status, Reason: a.Reason,
		Gone: a.Resolvable() != nil, DID: d.DID.ID, Inbox: d.DID.Inbox(), Capabilities: a.Capabilities,
		Created: p.MomentOf(a.Created), Updated: p.MomentOf(a.Updated),
		Summary: p.summarizeEvidence(d), Evidence: p.groupEvidence(d), Costs: costsOf(d.Evidence), Keys: p.keyViews(d), Recovery: p.recoveryOf(a), Domains: p.domainViews(a), Publish: d.Record,
		Graph: graphOf(d), Checks: p.didChecks(d), Document: string(text), Trust: trustOf(a),
		Logged: d.Logged, MergedInto: a.MergedInto, MovedTo: a.MovedTo, Origin: a.Origin, Sources: headSources(d),
	}
	if lost := a.HandleLost; lost != nil {
		v.HandleLost = &lostHandleView{lost.Handle, lost.To, p.MomentOf(lost.At)}
	}
	if a.Status == registry.Erased {
		v.Erased, v.Day = p.MomentOf(a.Updated), a.Created.UTC().Format("2 January 2006")
	}
	v.Name = cmp.Or(v.Name, a.AirID) // erased
	v.About, v.AboutMore = p.attestationViews(d, d.About, func(t registry.Attestation) string { return t.Attester })
	v.Issued, v.IssuedMore = p.attestationViews(d, d.Issued, func(t registry.Attestation) string { return t.Subject })
	shown, _ := frame.SplitAt(d.History, maxEntries)
	for _, e := range shown {
		v.History = append(v.History, p.entryViewOf(e))
	}
	v.More = d.Entries - len(shown)
	if v.Offered, v.OfferedMore, err = p.offeredOperations(c.Request.Context(), a); err != nil {
		return frame.WebPage{}, err
	}
	return frame.WebPage{Name: "agent", Title: frame.PlainText(v.Name), Feeds: "?" + url.Values{"agent": {a.AirID}}.Encode(), Body: v,
		Description: cmp.Or(frame.ClipPlain(200, v.Description), frame.ClipPlain(100, v.Name)+", a registered agent: its key, its inbox, and the evidence for both.")}, nil
}

// missing is the group of what this registry checks and did not find.
const missing = "missing"

// grades order the evidence, the strongest first.
var grades = []evidenceGroup{
	{Grade: registry.Proved, Word: "Proved", Means: "This registry has seen the proof, and anyone can check it."},
	{Grade: registry.Observed, Word: "Observed", Means: "This registry observed it at its last check."},
	{Grade: registry.Claimed, Word: "Claimed", Means: "The agent's own statement, not verified."},
	{Grade: missing, Word: "Missing", Means: "Not shown, or not enough yet."},
}

var signalTitles = map[string]string{
	registry.SignalKey:          "Key",
	registry.SignalAge:          "Age of the key",
	registry.SignalDomain:       "Domain",
	registry.SignalDID:          "Creator's DID",
	registry.SignalInbox:        "Inbox",
	registry.SignalAGIS:         "Documents of its domain",
	registry.SignalRepository:   "Repository",
	registry.SignalAttestations: "Attestations",
}

// codeSignals are the kinds of evidence about a key or an address.
var codeSignals = map[string]bool{registry.SignalKey: true, registry.SignalDID: true, registry.SignalInbox: true, registry.SignalRepository: true}

// groupEvidence sorts the signals by strength, and links each to its source.
func (p *Pages) groupEvidence(d answer.AgentDetails) []evidenceGroup {
	groups := slices.Clone(grades)
	for _, s := range d.Evidence {
		row := evidenceView{Title: signalTitles[s.Signal], What: s.What, Detail: s.Detail, Holds: s.Holds, Date: p.MomentOf(s.Date), Code: codeSignals[s.Signal]}
		field := ""
		switch s.Signal {
		case registry.SignalClaims:
			row.Title, row.What, field = claimOf(s.What)
			row.Link = entryLink(d, newestEntry(d, field))
			if field == "documentation_url" {
				row.Address = frame.ExternalLinkOf(row.What)
			}
		case registry.SignalKey, registry.SignalAge:
			row.Link, row.Says = entryLink(d, keyEntry(d, d.Agent.PublicKey)), "where it was shown"
			if s.Signal == registry.SignalAge && !s.Holds {
				row.Detail = fmt.Sprintf("%d days are needed", int(registry.MinKeyAge.Hours()/24))
			}
		case registry.SignalDomain:
			row.Link, row.Says = "#"+domainID(s.What), "requests and answers"
		case registry.SignalAttestations:
			row.Link, row.Says = "#attestations", "who attests to it"
		default:
			row.Outside = frame.ExternalLinkOf(s.Source)
			row.Link = entryLink(d, newestEntry(d, signalFields[s.Signal]))
			if s.Source == s.What || s.Date.IsZero() || strings.HasPrefix(s.Source, "/") { // not a look outside
				row.Outside = frame.ExternalLink{}
			}
			if s.Signal == registry.SignalRepository {
				row.Address = frame.ExternalLinkOf(s.What)
			}
		}
		row.Says = cmp.Or(row.Says, "the source")
		grade := s.Grade
		if !s.Holds && grade != registry.Claimed {
			grade = missing
		}
		i := slices.IndexFunc(groups, func(g evidenceGroup) bool { return g.Grade == grade })
		if i >= 0 {
			groups[i].Rows = append(groups[i].Rows, row)
		}
	}
	return slices.DeleteFunc(groups, func(g evidenceGroup) bool { return len(g.Rows) == 0 })
}

// costsOf lists what a fake of each kind of evidence costs, each once.
func costsOf(signals []evidence.Signal) []costView {
	var costs []costView
	for _, s := range signals {
		c := costView{cmp.Or(signalTitles[s.Signal], "Its own statements"), s.Cost}
		if s.Cost != "" && !slices.Contains(costs, c) {
			costs = append(costs, c)
		}
	}
	return costs
}

// signalFields are the members of a record that observations are about.
var signalFields = map[string]string{
	registry.SignalDID:        "creator_did",
	registry.SignalInbox:      "service_endpoints",
	registry.SignalAGIS:       "domains",
	registry.SignalRepository: "code_repository",
}

// claimOf splits "creator_name: Acme".
func claimOf(what string) (title, value, field string) {
	field, value, _ = strings.Cut(what, ": ")
	title = strings.ReplaceAll(strings.TrimSuffix(field, "_url"), "_", " ")
	if title != "" {
		title = strings.ToUpper(title[:1]) + title[1:]
	}
	return title, value, field
}

// headSources are the entries that the head of the page rests on.
func headSources(d answer.AgentDetails) map[string]string {
	status := 1 // as it was registered
	for _, e := range d.History {
		if endings[e.Event] {
			status = e.N
			break
		}
	}
	all := map[string]string{"status": entryLink(d, status), "created": entryLink(d, 1), "updated": entryLink(d, d.Entries)}
	for name, field := range map[string]string{"name": "name", "description": "description", "handle": "username", "inbox": "service_endpoints", "capabilities": "capabilities", "recovery": "recovery_commitment"} {
		all[name] = entryLink(d, newestEntry(d, field))
	}
	return all
}

// endings are the events that change the status of an agent.
var endings = map[string]bool{
	registry.EventRegistered: true, registry.EventApproved: true, registry.EventImported: true, registry.EventDeactivated: true, registry.EventSuspended: true,
	registry.EventRestored: true, registry.EventDeleted: true, registry.EventErased: true, registry.EventMerged: true,
}

// newestEntry returns the number of the newest entry that set a member, 0 if it is not among the
// known entries.
func newestEntry(d answer.AgentDetails, field string) int {
	for _, e := range d.History { // newest first
		if e.N == 1 || slices.Contains(e.Fields, field) {
			return e.N
		}
	}
	return 0
}

// keyEntry returns the number of the entry by which a key came into use, 0 if it is not among the
// known entries.
func keyEntry(d answer.AgentDetails, key []byte) int {
	n := 0
	for _, e := range d.History {
		if e.Agent == nil || !slices.Equal(e.Agent.PublicKey, key) {
			continue
		}
		n = e.N // an older one is still to come
	}
	return n
}

// entryLink leads to an entry: on this page, or when it is too old to be shown
// there, in the API.
func entryLink(d answer.AgentDetails, n int) string {
	history := "/api/v1/agents/" + d.Agent.AirID + "/history"
	shown := slices.ContainsFunc(d.History[:min(len(d.History), maxEntries)], func(e registry.HistoryEntry) bool { return e.N == n })
	switch {
	case shown:
		return "#entry-" + strconv.Itoa(n)
	case n > 0:
		return history + "?limit=1&offset=" + strconv.Itoa(n-1)
	}
	return history
}

// domainMethods name the places where the owner of a domain names an agent.
var domainMethods = map[string]string{"dns": "DNS", "https": "HTTPS"}

var proofWords = map[string]string{
	"":                      "possession is not proved",
	registry.ProofSignature: "shown by a signed request",
	registry.ProofChallenge: "shown by a signed challenge",
	registry.ProofStatement: "shown by a signed statement",
}

func (p *Pages) keyViews(d answer.AgentDetails) []keyView {
	var keys []keyView
	for _, k := range d.Agent.Keys() {
		v := keyView{ID: k.ID, Key: did.FormatMultikey(k.PublicKey), From: p.MomentOf(k.From), Until: p.MomentOf(k.Until), Now: k.Until.IsZero(), Proof: proofWords[k.Proof], By: k.By}
		v.Link = entryLink(d, keyEntry(d, k.PublicKey))
		keys = append(keys, v)
	}
	return keys
}

func (p *Pages) recoveryOf(a registry.Agent) *recoveryView {
	if a.Commitment == "" && a.Recovery == nil {
		return nil
	}
	v := &recoveryView{Commitment: a.Commitment}
	if r := a.Recovery; r != nil {
		v.To, v.Asked, v.Due = did.FormatMultikey(r.To), p.MomentOf(r.Asked), p.MomentOf(r.Due)
	}
	return v
}

// domainID is the anchor of a domain. Names of domains are letters, digits, dots
// and hyphens only.
func domainID(name string) string { return "domain-" + name }

func (p *Pages) domainViews(a registry.Agent) []domainView {
	var domains []domainView
	for _, d := range a.Domains {
		v := domainView{ID: domainID(d.Name), Name: d.Name, Since: p.MomentOf(d.Since), Checked: p.MomentOf(d.Checked), Probes: d.Probes}
		switch {
		case !d.Withdrawn.IsZero():
			v.State = "withdrawn after three failures"
		case d.Since.IsZero():
			v.State = "claimed, not proved yet"
		case d.Failures > 0:
			v.State, v.Good = fmt.Sprintf("proved by %s; the last %s failed, with the third the proof is withdrawn", domainMethods[d.Method], frame.FormatCount(d.Failures, "check")), true
		default:
			v.State, v.Good = "proved by "+domainMethods[d.Method], true
		}
		domains = append(domains, v)
	}
	return domains
}

// attestationViews lists the newest first.
func (p *Pages) attestationViews(d answer.AgentDetails, all []registry.Attestation, other func(registry.Attestation) string) (rows []attestationView, more int) {
	all = slices.Clone(all)
	slices.Reverse(all)
	all, more = frame.SplitAt(all, maxAttestations)
	for _, t := range all {
		v := attestationView{
			Number: t.N, By: t.Attester, Other: other(t), Type: typeName(t.Type), Statement: t.Statement, Root: t.Root, Weight: strconv.FormatFloat(t.Weight, 'f', -1, 64),
			Why: t.Why, At: p.MomentOf(t.Created), Revoked: p.MomentOf(t.Revoked), Payload: t.Payload, Signature: t.Signature, Key: t.Key,
		}
		v.Name = cmp.Or(d.Names[v.Other], v.Other)
		rows = append(rows, v)
	}
	return rows, more
}

// typeName is the type of an attestation as a title, such as "Safety review".
func typeName(attestationType string) string {
	name := strings.ReplaceAll(attestationType, "_", " ")
	if name == "" {
		return name
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

var eventWords = map[string]string{
	registry.EventRegistered:  "Registered",
	registry.EventUpdated:     "Changed",
	registry.EventRotated:     "Key rotated",
	registry.EventRecovery:    "Recovery requested",
	registry.EventRecovered:   "Recovered: another key took effect",
	registry.EventWithdrawn:   "Recovery canceled",
	registry.EventDomain:      "Domains changed",
	registry.EventObserved:    "A check of its evidence had a new result",
	registry.EventAttested:    "Attested by another agent",
	registry.EventRevoked:     "Attestation revoked",
	registry.EventDeactivated: "Deactivated",
	registry.EventSuspended:   "Suspended",
	registry.EventRestored:    "Restored",
	registry.EventDeleted:     "Deleted",
	registry.EventErased:      "Erased",
	registry.EventApproved:    "Approved by the operator",
	registry.EventMerged:      "Merged into another agent of its owner",
	registry.EventAbsorbed:    "Another agent of its owner was merged into it",
	registry.EventImported:    "Taken over with its history from another registry",
}

var actorWords = map[string]string{
	registry.ActorRegistrant: "the client that registered it",
	registry.ActorOwner:      "its owner",
	registry.ActorAdmin:      "the operator",
	registry.ActorSystem:     "the registry itself",
}

// domainEvent says what an entry did to which domain of its agent; a domain that was given up is no
// longer among them.
func domainEvent(e registry.HistoryEntry) (event, name string) {
	for _, d := range e.Agent.Domains {
		byOwner := e.Actor == registry.ActorOwner
		switch {
		case byOwner && d.Requested.Equal(e.At):
			return "Domain claimed", d.Name
		case !byOwner && d.Withdrawn.Equal(e.At):
			return "Proof of a domain lost", d.Name
		case !byOwner && d.Checked.Equal(e.At) && d.Proved():
			return "Domain proved", d.Name
		}
	}
	return eventWords[e.Event], ""
}

func (p *Pages) entryViewOf(e registry.HistoryEntry) entryView {
	v := entryView{N: e.N, Event: eventWords[e.Event], Actor: actorWords[e.Actor], At: p.MomentOf(e.At), LogKey: store.EntryKey(e.AirID, e.N)}
	switch {
	case e.Event == registry.EventUpdated: // the other events name what changed
		v.Fields = changefeed.DescribeFields(e.Fields)
	case e.Event == registry.EventDomain && e.Agent != nil:
		v.Event, v.Fields = domainEvent(e)
	case v.Event == "":
		v.Event = e.Event
	}
	v.Actor = cmp.Or(v.Actor, e.Actor)
	if e.Authority == nil {
		return v
	}
	v.By, v.Key, v.Signed = e.Authority.By, e.Authority.Key, e.Authority.Signed
	for key, signature := range e.Authority.Signatures {
		v.Signatures = append(v.Signatures, signatureView{key, signature})
	}
	slices.SortFunc(v.Signatures, func(a, b signatureView) int { return strings.Compare(a.Key, b.Key) })
	return v
}

// trustView is the trust score as the owner's own words make it.
type trustView struct {
	Score int
	Grade string
	Parts []trustPart
}

type trustPart struct {
	Name         string
	Points, Base int // of 1,000; Base without any statement or attestation
	Weight       int // percentage
}

func trustOf(a registry.Agent) trustView {
	s, base := registry.TrustScore(a), registry.TrustScore(registry.Agent{}).Components
	return trustView{Score: s.Total, Grade: s.Grade, Parts: []trustPart{
		{"Provenance", s.Components.Provenance, base.Provenance, registry.WeightProvenance},
		{"Behavior", s.Components.Behavioral, base.Behavioral, registry.WeightBehavioral},
		{"Transparency", s.Components.Transparency, base.Transparency, registry.WeightTransparency},
		{"Security", s.Components.Security, base.Security, registry.WeightSecurity},
		{"Attestations", s.Components.PeerAttestations, base.PeerAttestations, registry.WeightPeerAttestations},
	}}
}
