package toolhost

import (
	"fmt"
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
	problems = slices.Clone(problems)
	if !suggestMembers(problems, "", given, c.Parameters) {
		return refused
	}
	return altar.ParametersError(problems)
}

// suggestMembers adds to the problems of unknown members of a value, which is an object or an array of
// objects, which ones are perhaps meant. It reports whether it added anything.
func suggestMembers(problems []altar.Problem, path string, value any, schemas []altar.ParameterSchema) (changed bool) {
	if array, ok := value.([]any); ok {
		for i, element := range array {
			changed = suggestMembers(problems, fmt.Sprintf("%s/%d", path, i), element, schemas) || changed
		}
		return changed
	}
	members, _ := value.(map[string]any)
	var names []string
	for _, s := range schemas {
		names = append(names, s.Name)
		if s.Properties != nil {
			changed = suggestMembers(problems, path+"/"+escapePointer(s.Name), members[s.Name], s.Properties) || changed
		}
	}
	for name := range members {
		i := slices.IndexFunc(problems, func(p altar.Problem) bool { return p.Path == path+"/"+escapePointer(name) })
		if i < 0 || slices.Contains(names, name) {
			continue
		}
		if question := nearest.Question(name, names); question != "" {
			problems[i].Message += "; " + question
			changed = true
		}
	}
	return changed
}
