package air

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/protocol"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/audit"
	"gazetteer/registry/transfer"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
)

// operatorRoutes declares the routes with which the operator manages the registry: the admission
// policy, applications, block lists, reports, and agents that move. Each of these requests shows
// the registry that its operator is active.
func (a *Routes) operatorRoutes(h huma.API) {
	route.Handle(a.Mux, h, route.Op("registry-status"), markAttended(a, a.getRegistryStatus))
	route.HandleBody[AdmissionBody](a.Mux, h, route.Op("set-admission-policy"), markAttended(a, a.setAdmission))
	route.Handle(a.Mux, h, route.Op("list-applications"), markAttended(a, a.listApplications))
	route.Handle(a.Mux, h, route.Op("approve-application"), markAttended(a, a.approveApplication))
	route.HandleBody[SuspensionBody](a.Mux, h, route.Op("refuse-application"), markAttended(a, a.refuseApplication))
	route.Handle(a.Mux, h, route.Op("list-bans"), markAttended(a, a.listBans))
	route.HandleBody[BanBody](a.Mux, h, route.Op("ban"), markAttended(a, a.addBan))
	route.Handle(a.Mux, h, route.Op("lift-ban"), markAttended(a, a.liftBan))
	route.Handle(a.Mux, h, route.Op("list-reports"), markAttended(a, a.listReports))
	route.HandleBody[ReportResultBody](a.Mux, h, route.Op("settle-report"), markAttended(a, a.closeReport))
	route.HandleBody[OperatorMergeBody](a.Mux, h, route.Op("merge-by-operator"), markAttended(a, a.mergeAgentsByOperator))
	route.Handle(a.Mux, h, exportOp("export-with-secret"), markAttended(a, a.exportAgentByOperator))
	route.Handle(a.Mux, h, route.Op("resume-signing"), markAttended(a, a.resumeSigning))
	imported := route.Op("import-agent")
	route.Handle(a.Mux, h, imported, markAttended(a, a.importAgent))
	h.OpenAPI().Paths[imported.Path].Post.RequestBody = &huma.RequestBody{Required: true, Content: route.Content(exportType, route.TextSchema())}
}

// markAttended records in the registry that its operator is active. A page of another site in the operator's
// browser, which may contain such an address as that of an image, does not count.
func markAttended[I, O any](a *Routes, work func(context.Context, *I) (*O, error)) func(context.Context, *I) (*O, error) {
	return func(ctx context.Context, in *I) (*O, error) {
		if route.IsFromOperator(ctx) {
			if err := a.Answers.Registry.RecordAttention(ctx); err != nil {
				return nil, err
			}
		}
		return work(ctx, in)
	}
}

// readTexts reads a body that is an object of texts. It accepts only the given names and requires
// those in required.
func readTexts(text []byte, required, optional []string) (map[string]string, error) {
	root, err := protocol.ReadJSON(text, protocol.Limits{Bytes: route.MaxAgentBody, Depth: 4, Members: 16})
	if err != nil {
		return nil, err
	}
	names := append(slices.Clone(required), optional...)
	bad := func(detail string, w route.Location) error {
		return route.NewProblem(route.BadField, detail, "the body is an object with "+route.JoinWords(names)+", all of them texts").WithLocation(w)
	}
	if root.Kind != protocol.Object {
		return nil, bad("the body is no object", route.BodyLocation(root))
	}
	values := map[string]string{}
	for _, n := range root.Items {
		switch {
		case !slices.Contains(names, n.Key):
			return nil, bad(fmt.Sprintf("there is no member %.60q here", answer.CleanText(n.Key, 60)), route.BodyLocation(n))
		case n.Kind != protocol.String:
			return nil, bad(n.Key+" must be a text", route.BodyLocation(n))
		}
		values[n.Key] = n.Text
	}
	for _, name := range required {
		if values[name] == "" {
			return nil, bad(name+" is missing", route.Location{Pointer: "/" + name})
		}
	}
	return values, nil
}

// RegistryStatus counts the tasks that wait for the operator.
type RegistryStatus struct {
	Admission admission.PolicyState `json:"admission"`
	Waiting   int                   `json:"waiting" doc:"registrations that wait for approval, at most 100 are counted"`
	Reports   ReportCount           `json:"reports"`
	Halted    *audit.Halt           `json:"log_halted,omitempty" doc:"why the transparency log signs nothing more"`
	Blocked   string                `json:"log_blocked,omitempty" doc:"why the transparency log cannot sign at the moment; it tries again"`
	Unerased  string                `json:"log_unerased,omitempty" doc:"why content of deleted records is still in the transparency log"`
	Witnesses []FailingWitness      `json:"log_witnesses_failing,omitempty" doc:"the witnesses that did not cosign the transparency log when they were asked last"`
}

// A FailingWitness is a witness that did not cosign the log when it was asked last.
type FailingWitness struct {
	Witness    string     `json:"witness" doc:"the name of its key"`
	Problem    string     `json:"problem" doc:"why it did not cosign"`
	AnsweredAt *time.Time `json:"answered_at,omitempty" doc:"when it has cosigned last; absent for never since the start"`
}

// failingWitnesses returns those witnesses that did not cosign when they were asked last.
func (a *Routes) failingWitnesses() (failing []FailingWitness) {
	if a.witnesses == nil {
		return nil
	}
	for _, w := range a.witnesses() {
		if w.Err == nil {
			continue
		}
		f := FailingWitness{Witness: w.Witness, Problem: protocol.ClipRunes(w.Err.Error(), 300)}
		if !w.Answered.IsZero() {
			at := w.Answered.UTC()
			f.AnsweredAt = &at
		}
		failing = append(failing, f)
	}
	return failing
}

// ReportCount counts open and closed reports.
type ReportCount struct {
	Open       int `json:"open"`
	Overdue    int `json:"overdue"`
	OldestHour int `json:"oldest_hours" doc:"age of the oldest open one"`
}

// RegistryStatus returns what waits for the operator. Reading it does not count as the operator's
// activity.
func (a *Routes) RegistryStatus(ctx context.Context) (v RegistryStatus, err error) {
	if v.Admission, err = a.Answers.Registry.RegistrationPolicy(ctx); err != nil {
		return v, err
	}
	waiting, _, err := a.Answers.Registry.Applications(ctx, "", registry.MaxList)
	if err != nil {
		return v, err
	}
	figures, err := a.Answers.Registry.ReportFigures(ctx)
	if err != nil {
		return v, err
	}
	if a.Answers.Log != nil {
		if halt, halted := a.Answers.Log.Halted(); halted {
			v.Halted = &halt
		}
		status := a.Answers.Log.Status()
		v.Unerased = status.DescribeUnerased()
		if status.Blocked != nil {
			v.Blocked = protocol.ClipRunes(status.Blocked.Error(), 300)
		}
		v.Witnesses = a.failingWitnesses()
	}
	v.Waiting, v.Reports = len(waiting), ReportCount{figures.Open, figures.Overdue, int(figures.Oldest / time.Hour)}
	return v, nil
}

func (a *Routes) getRegistryStatus(ctx context.Context, _ *struct{}) (*route.Output[RegistryStatus], error) {
	return route.JSONResult(a.RegistryStatus(ctx))
}

// AdmissionBody documents the admission policy for new agents.
type AdmissionBody struct {
	Mode string `json:"mode" enum:"open,approval,closed"`
	Note string `json:"note,omitempty" doc:"the text for applicants who are not admitted at once"`
}

func (a *Routes) setAdmission(ctx context.Context, in *route.JSONBody) (*route.Output[admission.PolicyState], error) {
	values, err := readTexts(in.Text, []string{"mode"}, []string{"note"})
	if err != nil {
		return nil, err
	}
	state, err := a.Answers.Registry.SetRegistrationPolicy(ctx, values["mode"], values["note"])
	if err != nil {
		return nil, err
	}
	return route.Written(a.Mux, state), nil
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
	Agent   airjson.RecordView `json:"agent"`
	Proof   string             `json:"proof,omitempty" doc:"how possession of the key was shown; absent while it is only claimed"`
	Asked   time.Time          `json:"asked"`
	Expires time.Time          `json:"expires"`
	Network string             `json:"network,omitempty"`
}

func (a *Routes) listApplications(ctx context.Context, in *pageInput) (*route.Output[ApplicationList], error) {
	waiting, next, err := a.Answers.Registry.Applications(ctx, in.After, in.Limit)
	if err != nil {
		return nil, err
	}
	v := ApplicationList{Applications: []ApplicationView{}, Next: next}
	for _, w := range waiting {
		v.Applications = append(v.Applications, ApplicationView{Agent: airjson.NewRecordView(a.Answers.Registry, w.Agent), Proof: w.Agent.KeyProof, Asked: w.Asked, Expires: w.Expires, Network: w.Network})
	}
	return route.JSON(v), nil
}

func (a *Routes) approveApplication(ctx context.Context, in *ownerInput) (*route.Output[AgentStatusAnswer], error) {
	agent, err := a.Answers.Registry.Approve(ctx, in.AirID)
	return a.agentStatusOutput(agent, err, in.AirID, "The agent is registered.")
}

// RefusedApplication says that a registration was refused.
type RefusedApplication struct {
	AirID  string `json:"air_id"`
	Reason string `json:"reason"`
}

func (a *Routes) refuseApplication(ctx context.Context, in *operatorInput) (*route.Output[RefusedApplication], error) {
	values, err := readTexts(in.Text, []string{"reason"}, nil)
	if err != nil {
		return nil, err
	}
	if err := a.Answers.Registry.RefuseApplication(ctx, in.AirID, values["reason"]); err != nil {
		return nil, route.WithAirID(err, in.AirID)
	}
	return route.Written(a.Mux, RefusedApplication{in.AirID, values["reason"]}), nil
}

// BanBody documents a line of a block list.
type BanBody struct {
	Kind   string `json:"kind" enum:"key,handle,domain,network"`
	Value  string `json:"value" doc:"a multikey, a handle, a domain, or an IP network"`
	Reason string `json:"reason,omitempty" doc:"for the operator alone"`
	Until  string `json:"until,omitempty" doc:"when it ends, 2026-01-31T12:00:00Z; left out: when it is lifted"`
}

// AddedBan is a new line of a block list. The line does not change the agents that have the value
// already: the operator suspends them.
type AddedBan struct {
	Kind    string         `json:"kind"`
	Value   string         `json:"value"`
	Reason  string         `json:"reason,omitempty"`
	Created time.Time      `json:"created"`
	Until   time.Time      `json:"until,omitzero"`
	Agents  []BannedHolder `json:"agents,omitempty" doc:"active agents that have the value already, at most 20"`
	Total   int            `json:"agents_total,omitempty" doc:"how many have it"`
}

// A BannedHolder is an agent that has what was put on a block list.
type BannedHolder struct {
	AirID string `json:"air_id"`
	Name  string `json:"name"`
}

// maxHolders is how many agents an answer names.
const maxHolders = 20

func (a *Routes) addBan(ctx context.Context, in *route.JSONBody) (*route.Output[AddedBan], error) {
	values, err := readTexts(in.Text, []string{"kind", "value"}, []string{"reason", "until"})
	if err != nil {
		return nil, err
	}
	b := admission.Ban{Kind: values["kind"], Value: values["value"], Reason: values["reason"]}
	if until := values["until"]; until != "" {
		if b.Until, err = time.Parse(time.RFC3339, until); err != nil {
			return nil, route.NewProblem(route.BadField, "until is no time", "write it as 2026-01-31T12:00:00Z").WithLocation(route.Location{Pointer: "/until"})
		}
	}
	if b, err = a.Answers.Registry.Ban(ctx, b); err != nil {
		return nil, err
	}
	added := AddedBan{Kind: b.Kind, Value: b.Value, Reason: b.Reason, Created: b.Created, Until: b.Until}
	if d, err := a.CurrentDirectory(ctx); err == nil { // the line applies without it
		var holders []registry.Agent
		holders, added.Total = d.Select(b.IsOf, maxHolders)
		for _, agent := range holders {
			added.Agents = append(added.Agents, BannedHolder{agent.AirID, agent.Name})
		}
	}
	return route.Written(a.Mux, added), nil
}

type liftInput struct {
	Kind  string `query:"kind" required:"true" enum:"key,handle,domain,network" doc:"which block list"`
	Value string `query:"value" required:"true" doc:"what is on it"`
	route.EmptyBody
}

func (a *Routes) liftBan(ctx context.Context, in *liftInput) (*route.Output[admission.Ban], error) {
	b, err := a.Answers.Registry.LiftBan(ctx, in.Kind, in.Value)
	if err != nil {
		return nil, err
	}
	return route.Written(a.Mux, b), nil
}

type bansInput struct {
	Kind  string `query:"kind" enum:"key,handle,domain,network" doc:"which block list; all when left out"`
	After string `query:"after" doc:"next of the page before"`
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"100" doc:"how many, 1 to 100"`
}

// BanList is one page of the block lists.
type BanList struct {
	Bans []admission.Ban `json:"bans"`
	Next string          `json:"next,omitempty" doc:"after of the next page; absent on the last"`
}

func (a *Routes) listBans(ctx context.Context, in *bansInput) (*route.Output[BanList], error) {
	found, next, err := a.Answers.Registry.Bans(ctx, in.Kind, in.After, in.Limit)
	if err != nil {
		return nil, err
	}
	return route.JSON(BanList{answer.OrEmpty(found), next}), nil
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
	Reports []admission.Report `json:"reports"`
	Next    string             `json:"next,omitempty" doc:"after of the next page; absent on the last"`
}

func (a *Routes) listReports(ctx context.Context, in *reportsInput) (*route.Output[ReportList], error) {
	found, next, err := a.Answers.Registry.Reports(ctx, admission.ReportFilter{AirID: in.AirID, Overdue: in.Overdue, Settled: in.Settled}, in.After, in.Limit)
	if err != nil {
		return nil, err
	}
	return route.JSON(ReportList{answer.OrEmpty(found), next}), nil
}

// ReportResultBody documents the end of a report.
type ReportResultBody struct {
	Outcome string `json:"outcome" enum:"dismissed,suspended,deleted"`
	Note    string `json:"note,omitempty" doc:"for the reporter"`
}

type closeReportInput struct {
	ID string `path:"id" doc:"the ID of a report"`
	route.JSONBody
}

func (a *Routes) closeReport(ctx context.Context, in *closeReportInput) (*route.Output[ReportList], error) {
	values, err := readTexts(in.Text, []string{"outcome"}, []string{"note"})
	if err != nil {
		return nil, err
	}
	settled, err := a.Answers.Registry.SettleReport(ctx, in.ID, values["outcome"], values["note"])
	if err != nil {
		return nil, err
	}
	return route.Written(a.Mux, ReportList{Reports: answer.OrEmpty(settled)}), nil
}

// OperatorMergeBody documents a merge by the operator.
type OperatorMergeBody struct {
	Into   string `json:"into" doc:"the AIR ID of the agent that stays"`
	Reason string `json:"reason" doc:"stored with the agent that is ended"`
}

func (a *Routes) mergeAgentsByOperator(ctx context.Context, in *operatorInput) (*route.Output[AgentStatusAnswer], error) {
	values, err := readTexts(in.Text, []string{"into", "reason"}, nil)
	if err != nil {
		return nil, err
	}
	agent, err := a.Answers.Registry.MergeByOperator(ctx, in.AirID, values["into"], values["reason"])
	return a.mergeOutput(ctx, agent, err, in.AirID, values["into"])
}

type operatorExportInput struct {
	AirID  string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Secret bool   `query:"secret" doc:"true to include the hash of the agent's secret, so that its owner can continue to use it; keep the file private"`
}

func (a *Routes) exportAgentByOperator(_ context.Context, in *operatorExportInput) (*route.StreamOutput, error) {
	return a.exportAgent(in.AirID, transfer.ExportOptions{Secret: in.Secret}), nil
}

type importInput struct {
	request *gin.Context
	err     error
}

// Resolve takes the request, whose body is read by package registry
// (huma.Resolver).
func (in *importInput) Resolve(ctx huma.Context) []error {
	in.request = humagin.Unwrap(ctx)
	in.err = route.CheckMediaType(in.request.Request.Header, []string{exportType})
	return nil
}

// importTimeout is how long an import may take to arrive and be verified.
const importTimeout = 10 * time.Minute

// ImportedAgent describes the evidence of an import.
type ImportedAgent struct {
	AirID   string   `json:"air_id"`
	Status  string   `json:"status"`
	Origin  string   `json:"origin" doc:"the DID host of the registry that exported it"`
	Entries int      `json:"entries" doc:"of its history"`
	Signed  int      `json:"signed" doc:"how many of them a key of the agent has signed; for the others there is only the word of the registry that exported them"`
	Notes   []string `json:"notes" doc:"the parts that could not be imported"`
}

func (a *Routes) importAgent(ctx context.Context, in *importInput) (*route.Output[ImportedAgent], error) {
	if in.err != nil {
		route.CloseAfter(in.request)
		return nil, in.err
	}
	// An import may have some hundred megabytes, so the usual limits do not apply.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), importTimeout)
	defer cancel()
	control, until := http.NewResponseController(in.request.Writer), time.Now().Add(importTimeout)
	control.SetReadDeadline(until)
	control.SetWriteDeadline(until)
	lines := &importReader{from: in.request.Request.Body}
	imported, err := a.Answers.Registry.Import(ctx, lines)
	if lines.failed != nil {
		err = route.NewProblem(route.BadBody, "the export was cut off on the way", "send the whole file")
	}
	if err != nil {
		route.CloseAfter(in.request)
		return nil, err
	}
	return route.Written(a.Mux, ImportedAgent{imported.Agent.AirID, imported.Agent.Status, imported.Origin, imported.Entries, imported.Signed, answer.OrEmpty(imported.Notes)}), nil
}

// importReader is a body that remembers its read error.
type importReader struct {
	from   io.Reader
	failed error
}

func (r *importReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && err != io.EOF {
		r.failed = err
	}
	return n, err
}
