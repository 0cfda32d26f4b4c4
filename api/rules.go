package api

import (
	"context"
	"gazetteer/api/answer"
)

// RuleList is every rule.
type RuleList struct {
	Rules []answer.RuleView `json:"rules"`
}

func (a *API) listRules(context.Context, *struct{}) (*output[RuleList], error) {
	return jsonOutput(RuleList{a.answers.Rules()}), nil
}

type ruleInput struct {
	Code string `path:"code" maxLength:"20" doc:"the code of a rule, such as AI303 or AGIS302"`
}

func (a *API) getRule(_ context.Context, in *ruleInput) (*output[answer.RuleView], error) {
	r, err := a.answers.Rule(in.Code)
	if err != nil {
		return nil, err
	}
	return jsonOutput(r), nil
}
