package api

import (
	"context"

	"gazetteer/api/answer"
	"gazetteer/api/route"
)

// RuleList is every rule.
type RuleList struct {
	Rules []answer.RuleView `json:"rules"`
}

func (a *API) listRules(context.Context, *struct{}) (*route.Output[RuleList], error) {
	return route.JSON(RuleList{a.Answers.Rules()}), nil
}

type ruleInput struct {
	Code string `path:"code" maxLength:"20" doc:"the code of a rule, such as AI303 or AGIS302"`
}

func (a *API) getRule(_ context.Context, in *ruleInput) (*route.Output[answer.RuleView], error) {
	return route.JSONResult(a.Answers.Rule(in.Code))
}
