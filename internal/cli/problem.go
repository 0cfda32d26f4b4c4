package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"gazetteer/internal/exit"
)

// problem is what an RFC 9457 body tells a person.
type problem struct {
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Help   string `json:"help"`
	Error  any    `json:"error"`
	Where  struct {
		Parameter string `json:"parameter"`
		Column    int    `json:"column"`
	} `json:"where"`
}

func (p problem) formatText() string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	if s, ok := p.Error.(string); ok && text == "" {
		text = s
	}
	if p.Where.Parameter != "" && p.Where.Column > 0 {
		text += fmt.Sprintf(" (at character %d of %s)", p.Where.Column, p.parameterName())
	}
	if p.Help != "" {
		text += "\n" + p.Help
	}
	return text
}

// parameterName is what a person calls the parameter that is wrong.
func (p problem) parameterName() string {
	if p.Where.Parameter == "q" {
		return "the query"
	}
	return p.Where.Parameter
}

// StatusError turns a refusal into an error with the verb's exit code.
func StatusError(status int, body []byte) error {
	var p problem
	json.Unmarshal(body, &p) // what does not parse has no words for a person
	text := p.formatText()
	if text == "" {
		text = fmt.Sprintf("the server answered %d %s", status, http.StatusText(status))
	}
	switch {
	case status == http.StatusNotFound:
		return &exit.Error{Code: exit.NotFound, Err: errors.New(text)}
	case status < 500 && status != http.StatusTooManyRequests:
		return &exit.Error{Code: exit.Usage, Err: errors.New(text)}
	default:
		return &exit.Error{Code: exit.Network, Err: errors.New(text)}
	}
}
