package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/answer"
	"gazetteer/api/route"
)

// RuleList is the rules that match a request.
type RuleList struct {
	Rules []answer.RuleView `json:"rules"`
}

// A ruleFamily is the ID of one of [answer.RuleFamilies].
type ruleFamily string

// Schema lists the families (huma.SchemaProvider).
func (ruleFamily) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, f := range answer.RuleFamilies() {
		s.Enum = append(s.Enum, f.ID)
	}
	s.PrecomputeMessages()
	return s
}

type rulesInput struct {
	Q        string     `query:"q" maxLength:"200" doc:"a code or words; each must be in the code, the name or the text of a rule, or be the number of its section, such as 3.3" example:"endpoint"`
	Family   ruleFamily `query:"family" doc:"the rules of one format by the letters of their codes, or other for the rules about fetching and recognizing documents" example:"ai"`
	Severity string     `query:"severity" enum:"error,warning,info" doc:"the rules of one severity" example:"warning"`
	Basis    string     `query:"basis" enum:"must,should,may,inferred,own" doc:"the rules of one origin: must, should or may as in the draft; inferred if the draft does not decide; own for our rules"`
}

func (a *API) listRules(_ context.Context, in *rulesInput) (*route.Output[RuleList], error) {
	return route.JSON(RuleList{a.Answers.Rules(answer.RuleQuery{Words: in.Q, Family: string(in.Family), Severity: in.Severity, Basis: in.Basis})}), nil
}

type ruleInput struct {
	Code string `path:"code" maxLength:"20" doc:"the code of a rule, such as AI303 or AGIS302"`
}

func (a *API) getRule(_ context.Context, in *ruleInput) (*route.Output[answer.RuleView], error) {
	r, err := a.Answers.Rule(in.Code)
	if err != nil {
		return nil, route.ProblemFor(err).WithAlternatives(a.Answers.NearRules(in.Code))
	}
	return route.JSON(r), nil
}
