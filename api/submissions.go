package api

import (
	"context"
	"errors"
	"net/http"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/fetch"
	"gazetteer/protocol"

	"github.com/danielgtaylor/huma/v2"
)

// maxSubmittedHosts is the number of hosts that one request may name.
const maxSubmittedHosts = 100

// SubmissionList is the result of each submission, in the same order.
type SubmissionList struct {
	Submissions []answer.Submission `json:"submissions"`
}

// submissionRoutes declares the routes for submitting hosts.
func (a *API) submissionRoutes(h huma.API) {
	op := route.Complete(huma.Operation{OperationID: "submit", DefaultStatus: http.StatusAccepted, Description: "Each name is accepted, already known, or refused with a reason. A known host keeps its schedule: " +
		"submitting it again does not cause an earlier visit."})
	route.HandleBody[route.CrawlBody](a.Mux, h, op, a.submitHosts)
	route.Handle(a.Mux, h, route.Op("submission"), a.getSubmission)
}

func (a *API) submitHosts(ctx context.Context, in *route.JSONBody) (*route.Output[SubmissionList], error) {
	hosts, err := route.ReadHostNames(in.Text, maxSubmittedHosts)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Text
	}
	if err := noneIsAHost(hosts); err != nil {
		return nil, err
	}
	list, err := a.Answers.Submit(ctx, names, in.Client)
	if err != nil {
		return nil, err
	}
	out := route.JSON(SubmissionList{list})
	out.Status = http.StatusAccepted
	return out, nil
}

// noneIsAHost refuses a list without any valid host name; nil for other lists, whose names are
// answered one by one.
func noneIsAHost(names []*protocol.Node) error {
	for _, n := range names {
		if _, err := fetch.CheckHost(n.Text); err == nil {
			return nil
		}
	}
	_, err := fetch.CheckHost(names[0].Text)
	e, ok := errors.AsType[*fetch.HostError](err)
	if !ok {
		return err
	}
	return route.NewProblem(route.BadHost, "the host name cannot be used: "+e.Problem, e.Help).WithLocation(route.BodyLocation(names[0]))
}

type submissionInput struct {
	Host string `path:"host" maxLength:"255" doc:"the name of a host"`
}

func (a *API) getSubmission(ctx context.Context, in *submissionInput) (*route.Output[answer.Submission], error) {
	return route.JSONResult(a.Answers.Submission(ctx, in.Host))
}
