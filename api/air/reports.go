package air

import (
	"context"
	"net/http"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/api/route"
	"gazetteer/registry/admission"

	"github.com/danielgtaylor/huma/v2"
)

// reportRoutes declares the routes for reports of abuse to the operator.
func (a *Routes) reportRoutes(h huma.API) {
	route.HandleBody[ReportBody](a.Mux, h, route.Complete(huma.Operation{OperationID: "report-agent", DefaultStatus: http.StatusCreated}), a.createReport)
	route.Handle(a.Mux, h, route.Op("report"), a.getReport)
}

// ReportBody documents the members of a report. [airjson.ReadReport] reads it.
type ReportBody struct {
	Reason  string `json:"reason" enum:"spam,impersonation,malware,stolen-key,unlawful,other"`
	Text    string `json:"text" doc:"the event, its time, and a place where it can be seen; at most 2,000 characters"`
	Contact string `json:"contact,omitempty" doc:"your address for an answer, visible to the operator only"`
	// Envelope is the JSON text of an envelope, byte for byte.
	Envelope string `json:"envelope,omitempty" doc:"an envelope (A2A draft-1) that the agent signed, as a text; its signature is checked, and the operator alone sees it"`
}

// ReportView is the state of a report, for anyone who knows its ID.
type ReportView struct {
	ID      string    `json:"id"`
	AirID   string    `json:"air_id"`
	Reason  string    `json:"reason"`
	Created time.Time `json:"created"`
	Due     time.Time `json:"due" doc:"when the operator should have looked at it"`
	Status  string    `json:"status" enum:"open,overdue,settled"`
	Settled time.Time `json:"settled,omitzero"`
	Outcome string    `json:"outcome,omitempty" enum:"dismissed,suspended,deleted"`
	Note    string    `json:"note,omitempty" doc:"of the operator"`
	URL     string    `json:"url" doc:"where this can be read again"`
}

func (a *Routes) reportView(p admission.Report) ReportView {
	status := "open"
	switch {
	case !p.Settled.IsZero():
		status = "settled"
	case p.Overdue(a.Now()):
		status = "overdue"
	}
	return ReportView{ID: p.ID, AirID: p.AirID, Reason: p.Reason, Created: p.Created, Due: p.Due, Status: status,
		Settled: p.Settled, Outcome: p.Outcome, Note: p.Note, URL: "/api/v1/reports/" + p.ID}
}

func (a *Routes) createReport(ctx context.Context, in *operatorInput) (*route.Output[ReportView], error) {
	q, err := airjson.ReadReport(in.Text)
	if err != nil {
		return nil, err
	}
	q.Client = in.Client
	made, err := a.Answers.Registry.Report(ctx, in.AirID, q)
	if err != nil {
		return nil, route.WithAirID(err, in.AirID)
	}
	out := route.Written(a.Mux, a.reportView(made))
	out.Status = http.StatusCreated
	return out, nil
}

type reportInput struct {
	ID string `path:"id" doc:"the ID of a report"`
}

func (a *Routes) getReport(ctx context.Context, in *reportInput) (*route.Output[ReportView], error) {
	p, err := a.Answers.Registry.ReportByID(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return route.JSON(a.reportView(p)), nil
}
