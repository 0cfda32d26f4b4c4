package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"gazetteer/protocol"
	"gazetteer/registry"
)

// operatorRoutes declares how the operator looks after the registry: the door,
// those who wait before it, block lists, reports, and agents that move. Each of
// them tells the registry that it is looked after.
func (a *API) operatorRoutes(h huma.API) {
	const root = "/admin/registry"
	op := func(id, method, path, summary string) huma.Operation {
		return agents(huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary})
	}
	body := func(op huma.Operation, describe func(huma.API, *huma.Operation)) {
		item := h.OpenAPI().Paths[op.Path]
		describe(h, map[string]*huma.Operation{http.MethodPost: item.Post, http.MethodPut: item.Put}[op.Method])
	}
	handle(a, h, op("registry-standing", http.MethodGet, root, "The door, and what waits for the operator"), attended(a, a.registryStanding))
	door := op("set-door", http.MethodPut, root+"/door", "Set how new agents are taken")
	handle(a, h, door, attended(a, a.setDoor))
	body(door, describeBody[DoorBody])
	handle(a, h, op("list-applications", http.MethodGet, root+"/applications", "Registrations that wait, in order of AIR ID"), attended(a, a.applications))
	handle(a, h, op("approve-application", http.MethodPost, root+"/applications/{air_id}/approve", "Make an agent of a registration that waits"), attended(a, a.approve))
	refusal := op("refuse-application", http.MethodPost, root+"/applications/{air_id}/refuse", "Refuse a registration that waits")
	handle(a, h, refusal, attended(a, a.refuseApplication))
	body(refusal, describeBody[SuspensionBody])
	handle(a, h, op("list-bans", http.MethodGet, root+"/bans", "The block lists"), attended(a, a.bans))
	ban := op("ban", http.MethodPost, root+"/bans", "Put something on a block list")
	handle(a, h, ban, attended(a, a.ban))
	body(ban, describeBody[BanBody])
	handle(a, h, op("lift-ban", http.MethodDelete, root+"/bans", "Take something off a block list"), attended(a, a.lift))
	handle(a, h, op("list-reports", http.MethodGet, root+"/reports", "Reports of abuse, oldest first"), attended(a, a.reports))
	settle := op("settle-report", http.MethodPost, root+"/reports/{id}/settle", "End a report: dismissed, or by suspending or deleting the agent")
	handle(a, h, settle, attended(a, a.settle))
	body(settle, describeBody[SettlementBody])
	merge := op("merge-by-operator", http.MethodPost, "/admin/agents/{air_id}/merge", "End an agent in favour of another, for an owner who has lost a key")
	handle(a, h, merge, attended(a, a.mergeByOperator))
	body(merge, describeBody[OperatorMergeBody])
	export := op("export-with-secret", http.MethodGet, "/admin/agents/{air_id}/export", "An agent with its whole history and, if wished, the hash of its secret")
	export.Responses = exportResponse()
	handle(a, h, export, attended(a, a.exportByOperator))
	imported := op("import-agent", http.MethodPost, root+"/import", "Take an agent over from its export; all of it is verified first")
	handle(a, h, imported, attended(a, a.importAgent))
	h.OpenAPI().Paths[imported.Path].Post.RequestBody = &huma.RequestBody{Required: true, Content: exportContent()}
}

// attended has the registry told that its operator looks after it.
func attended[I, O any](a *API, work func(context.Context, *I) (*O, error)) func(context.Context, *I) (*O, error) {
	return func(ctx context.Context, in *I) (*O, error) {
		if err := a.answers.Registry.Attended(ctx); err != nil {
			return nil, err
		}
		return work(ctx, in)
	}
}

// readTexts reads a body that is an object of texts with these names and no
// others; those in required must be there.
func readTexts(text []byte, required, optional []string) (map[string]string, error) {
	root, err := protocol.ReadJSON(text, protocol.Limits{Bytes: maxAgentBody, Depth: 4, Members: 16})
	if err != nil {
		return nil, err
	}
	names := append(slices.Clone(required), optional...)
	bad := func(detail string, w Where) error {
		return refuse(badField, detail, "the body is an object with "+list(names)+", all of them texts").at(w)
	}
	if root.Kind != protocol.Object {
		return nil, bad("the body is no object", placeOf(root))
	}
	values := map[string]string{}
	for _, n := range root.Items {
		switch {
		case !slices.Contains(names, n.Key):
			return nil, bad(fmt.Sprintf("there is no member %.60q here", clean(n.Key, 60)), placeOf(n))
		case n.Kind != protocol.String:
			return nil, bad(n.Key+" must be a text", placeOf(n))
		}
		values[n.Key] = n.Text
	}
	for _, name := range required {
		if values[name] == "" {
			return nil, bad(name+" is missing", Where{Pointer: "/" + name})
		}
	}
	return values, nil
}

// RegistryStanding says what waits for the operator.
type RegistryStanding struct {
	Door    registry.DoorState `json:"door"`
	Waiting int                `json:"waiting" doc:"registrations that wait for approval, at most 100 are counted"`
	Reports ReportCount        `json:"reports"`
}

// ReportCount says how the operator keeps up with reports.
type ReportCount struct {
	Open       int `json:"open"`
	Overdue    int `json:"overdue"`
	OldestHour int `json:"oldest_hours" doc:"age of the oldest open one"`
}

func (a *API) registryStanding(ctx context.Context, _ *struct{}) (*output[RegistryStanding], error) {
	var v RegistryStanding
	var err error
	if v.Door, err = a.answers.Registry.Door(ctx); err != nil {
		return nil, err
	}
	waiting, _, err := a.answers.Registry.Applications(ctx, "", registry.MaxList)
	if err != nil {
		return nil, err
	}
	figures, err := a.answers.Registry.ReportFigures(ctx)
	if err != nil {
		return nil, err
	}
	v.Waiting, v.Reports = len(waiting), ReportCount{figures.Open, figures.Overdue, int(figures.Oldest / time.Hour)}
	return unkept(v), nil
}

// unkept is an answer for the operator, which no cache keeps.
func unkept[T any](v T) *output[T] {
	out := answer(v)
	out.CacheControl = "no-store"
	return out
}

// DoorBody documents how new agents are to be taken.
type DoorBody struct {
	Mode string `json:"mode" enum:"open,approval,closed"`
	Note string `json:"note,omitempty" doc:"what those are told who are not taken at once"`
}

type bodyInput struct{ body body }

// Resolve reads the body (huma.Resolver).
func (in *bodyInput) Resolve(ctx huma.Context) []error {
	in.body.read(ctx, maxAgentBody)
	return nil
}

func (a *API) setDoor(ctx context.Context, in *bodyInput) (*output[registry.DoorState], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	values, err := readTexts(in.body.text, []string{"mode"}, []string{"note"})
	if err != nil {
		return nil, err
	}
	state, err := a.answers.Registry.SetDoor(ctx, values["mode"], values["note"])
	if err != nil {
		return nil, err
	}
	return written(a, state), nil
}

type pageInput struct {
	After string `query:"after" doc:"next of the page before"`
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"100" doc:"how many, 1 to 100"`
}

// ApplicationList is one page of registrations that wait.
type ApplicationList struct {
	Applications []ApplicationView `json:"applications"`
	Next         string            `json:"next,omitempty" doc:"after of the next page; absent on the last"`
}

// ApplicationView is a registration that waits.
type ApplicationView struct {
	Agent   registry.RecordView `json:"agent"`
	Proof   string              `json:"proof,omitempty" doc:"how possession of the key was shown; absent while it is only claimed"`
	Asked   time.Time           `json:"asked"`
	Expires time.Time           `json:"expires"`
	Network string              `json:"network,omitempty"`
}

func (a *API) applications(ctx context.Context, in *pageInput) (*output[ApplicationList], error) {
	waiting, next, err := a.answers.Registry.Applications(ctx, in.After, in.Limit)
	if err != nil {
		return nil, err
	}
	v := ApplicationList{Applications: []ApplicationView{}, Next: next}
	for _, w := range waiting {
		v.Applications = append(v.Applications, ApplicationView{Agent: a.answers.Registry.RecordView(w.Agent), Proof: w.Agent.KeyProof, Asked: w.Asked, Expires: w.Expires, Network: w.Network})
	}
	return unkept(v), nil
}

func (a *API) approve(ctx context.Context, in *ownerInput) (*output[Ended], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	agent, err := a.answers.Registry.Approve(ctx, in.AirID)
	return a.stands(agent, err, in.AirID, "The agent is registered.")
}

// Refused says that a registration was refused.
type Refused struct {
	AirID  string `json:"air_id"`
	Reason string `json:"reason"`
}

func (a *API) refuseApplication(ctx context.Context, in *operatorInput) (*output[Refused], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	values, err := readTexts(in.body.text, []string{"reason"}, nil)
	if err != nil {
		return nil, err
	}
	if err := a.answers.Registry.RefuseApplication(ctx, in.AirID, values["reason"]); err != nil {
		return nil, asked(err, in.AirID)
	}
	return written(a, Refused{in.AirID, values["reason"]}), nil
}

// BanBody documents a line of a block list.
type BanBody struct {
	Sort   string `json:"sort" enum:"key,handle,domain,network"`
	Value  string `json:"value" doc:"a multikey, a handle, a domain, or an IP network"`
	Reason string `json:"reason,omitempty" doc:"for the operator alone"`
	Until  string `json:"until,omitempty" doc:"when it ends, 2026-01-31T12:00:00Z; left out: when it is lifted"`
}

func (a *API) ban(ctx context.Context, in *bodyInput) (*output[registry.Ban], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	values, err := readTexts(in.body.text, []string{"sort", "value"}, []string{"reason", "until"})
	if err != nil {
		return nil, err
	}
	b := registry.Ban{Sort: values["sort"], Value: values["value"], Reason: values["reason"]}
	if until := values["until"]; until != "" {
		if b.Until, err = time.Parse(time.RFC3339, until); err != nil {
			return nil, refuse(badField, "until is no time", "write it as 2026-01-31T12:00:00Z").at(Where{Pointer: "/until"})
		}
	}
	if b, err = a.answers.Registry.Ban(ctx, b); err != nil {
		return nil, err
	}
	return written(a, b), nil
}

type liftInput struct {
	Sort  string `query:"sort" required:"true" enum:"key,handle,domain,network" doc:"which block list"`
	Value string `query:"value" required:"true" doc:"what is on it"`
	body  body
}

// Resolve takes the request without a body (huma.Resolver).
func (in *liftInput) Resolve(ctx huma.Context) []error {
	in.body.readNone(ctx)
	return nil
}

func (a *API) lift(ctx context.Context, in *liftInput) (*output[registry.Ban], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	b, err := a.answers.Registry.Lift(ctx, in.Sort, in.Value)
	if err != nil {
		return nil, err
	}
	return written(a, b), nil
}

type bansInput struct {
	Sort  string `query:"sort" enum:"key,handle,domain,network" doc:"which block list; all when left out"`
	After string `query:"after" doc:"next of the page before"`
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"100" doc:"how many, 1 to 100"`
}

// BanList is one page of the block lists.
type BanList struct {
	Bans []registry.Ban `json:"bans"`
	Next string         `json:"next,omitempty" doc:"after of the next page; absent on the last"`
}

func (a *API) bans(ctx context.Context, in *bansInput) (*output[BanList], error) {
	found, next, err := a.answers.Registry.Bans(ctx, in.Sort, in.After, in.Limit)
	if err != nil {
		return nil, err
	}
	return unkept(BanList{orEmpty(found), next}), nil
}

type reportsInput struct {
	AirID   string `query:"air_id" doc:"only about this agent"`
	Overdue bool   `query:"overdue" doc:"true for those that are overdue"`
	Settled bool   `query:"settled" doc:"true for those that are settled, too"`
	After   string `query:"after" doc:"next of the page before"`
	Limit   int    `query:"limit" minimum:"1" maximum:"100" default:"100" doc:"how many, 1 to 100"`
}

// ReportList is one page of reports.
type ReportList struct {
	Reports []registry.Report `json:"reports"`
	Next    string            `json:"next,omitempty" doc:"after of the next page; absent on the last"`
}

func (a *API) reports(ctx context.Context, in *reportsInput) (*output[ReportList], error) {
	found, next, err := a.answers.Registry.Reports(ctx, registry.ReportFilter{AirID: in.AirID, Overdue: in.Overdue, Settled: in.Settled}, in.After, in.Limit)
	if err != nil {
		return nil, err
	}
	return unkept(ReportList{orEmpty(found), next}), nil
}

// SettlementBody documents the end of a report.
type SettlementBody struct {
	Outcome string `json:"outcome" enum:"dismissed,suspended,deleted"`
	Note    string `json:"note,omitempty" doc:"for the reporter"`
}

type settleInput struct {
	ID   string `path:"id" doc:"the ID of a report"`
	body body
}

// Resolve reads the body (huma.Resolver).
func (in *settleInput) Resolve(ctx huma.Context) []error {
	in.body.read(ctx, maxAgentBody)
	return nil
}

func (a *API) settle(ctx context.Context, in *settleInput) (*output[ReportList], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	values, err := readTexts(in.body.text, []string{"outcome"}, []string{"note"})
	if err != nil {
		return nil, err
	}
	settled, err := a.answers.Registry.SettleReport(ctx, in.ID, values["outcome"], values["note"])
	if err != nil {
		return nil, err
	}
	return written(a, ReportList{Reports: orEmpty(settled)}), nil
}

// OperatorMergeBody documents a merge by the operator.
type OperatorMergeBody struct {
	Into   string `json:"into" doc:"the AIR ID of the agent that stays"`
	Reason string `json:"reason" doc:"kept with the agent that ends"`
}

func (a *API) mergeByOperator(ctx context.Context, in *operatorInput) (*output[Ended], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	values, err := readTexts(in.body.text, []string{"into", "reason"}, nil)
	if err != nil {
		return nil, err
	}
	agent, err := a.answers.Registry.MergeByOperator(ctx, in.AirID, values["into"], values["reason"])
	return a.stands(agent, err, in.AirID, in.AirID+" is merged into this agent.")
}

type operatorExportInput struct {
	AirID  string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Secret bool   `query:"secret" doc:"true to have the hash of the agent's secret in it, so that its owner can go on with that; keep it from others"`
}

func (a *API) exportByOperator(_ context.Context, in *operatorExportInput) (*streamOutput, error) {
	return a.export(in.AirID, registry.ExportOptions{Secret: in.Secret}), nil
}

type importInput struct {
	request *gin.Context
	err     error
}

// Resolve takes the request, whose body is read by package registry
// (huma.Resolver).
func (in *importInput) Resolve(ctx huma.Context) []error {
	in.request = humagin.Unwrap(ctx)
	in.err = checkMediaType(in.request.Request.Header, []string{exportType})
	return nil
}

// importTime is how long an import may take to arrive and be verified.
const importTime = 10 * time.Minute

// ImportedAgent says what an import rests on.
type ImportedAgent struct {
	AirID   string   `json:"air_id"`
	Status  string   `json:"status"`
	Origin  string   `json:"origin" doc:"the DID host of the registry that exported it"`
	Entries int      `json:"entries" doc:"of its history"`
	Signed  int      `json:"signed" doc:"how many of them a key of the agent has signed; for the others there is only the word of the registry that exported them"`
	Notes   []string `json:"notes" doc:"what could not be taken over"`
}

func (a *API) importAgent(ctx context.Context, in *importInput) (*output[ImportedAgent], error) {
	if in.err != nil {
		closeAfter(in.request)
		return nil, in.err
	}
	// It may be some hundred megabytes, so the limits of an answer do not hold.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), importTime)
	defer cancel()
	control, until := http.NewResponseController(in.request.Writer), time.Now().Add(importTime)
	control.SetReadDeadline(until)
	control.SetWriteDeadline(until)
	lines := &arriving{from: in.request.Request.Body}
	imported, err := a.answers.Registry.Import(ctx, lines)
	if lines.failed != nil {
		err = refuse(badBody, "the export was cut off on the way", "send the whole file")
	}
	if err != nil {
		closeAfter(in.request)
		return nil, err
	}
	return written(a, ImportedAgent{imported.Agent.AirID, imported.Agent.Status, imported.Origin, imported.Entries, imported.Signed, orEmpty(imported.Notes)}), nil
}

// arriving is a body that remembers how it broke off.
type arriving struct {
	from   io.Reader
	failed error
}

func (r *arriving) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && err != io.EOF {
		r.failed = err
	}
	return n, err
}
