package toolhost

import (
	"slices"

	"gazetteer/internal/nearest"
	"gazetteer/protocol/altar"
)

// SuggestTool returns a question about the tools with a name like an unknown one that a client may call
// in a session, "" for none.
func (h *Host) SuggestTool(client, sessionID, name string) string {
	found, err := h.findTools(client, sessionID)
	if err != nil {
		return ""
	}
	names := make([]string, len(found))
	for i, c := range found {
		names[i] = c.Name
	}
	slices.Sort(names)
	return nearest.Question(name, names)
}

// errUnknownTool returns the refusal of a call of a tool that does not exist.
func (h *Host) errUnknownTool(s *session, name string) *altar.Error {
	if question := h.SuggestTool(s.client, s.id, name); question != "" {
		return altar.Errorf(altar.ToolNotFound, "there is no tool %.280q; %s", name, question)
	}
	return altar.Errorf(altar.ToolNotFound, "there is no tool %.280q", name)
}

// suggestParameters adds to the refusal of parameters which ones are perhaps meant.
func (c *contract) suggestParameters(refused *altar.Error, given any) *altar.Error {
	problems, _ := refused.Details["problems"].([]altar.Problem)
	members, _ := given.(map[string]any)
	var names []string
	for _, p := range c.Parameters {
		names = append(names, p.Name)
	}
	changed := false
	problems = slices.Clone(problems)
	for name := range members {
		i := slices.IndexFunc(problems, func(p altar.Problem) bool { return p.Path == "/"+escapePointer(name) })
		if i < 0 || slices.Contains(names, name) {
			continue
		}
		if question := nearest.Question(name, names); question != "" {
			problems[i].Message += "; " + question
			changed = true
		}
	}
	if !changed {
		return refused
	}
	return altar.ParametersError(problems)
}
