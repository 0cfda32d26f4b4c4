package registry

import (
	"slices"
	"strings"
)

// Editable has the members of an agent's record that a registration sets and that the owner can
// change later, except the description: in a record it comes earlier, and the hashes of histories
// fix the order. Every member has a row in [EditableMembers]: a new one is a field here and a row
// there, and the bodies of the API, their description, the command line and the claims of an agent
// follow.
type Editable struct {
	Capabilities           []string `json:"capabilities,omitempty" doc:"what it can do, such as BOOK"`
	SecurityCertifications []string `json:"security_certifications,omitempty" doc:"security certifications that it claims"`
	OpenSource             bool     `json:"open_source,omitempty" doc:"true if its code is open source"`
	CodeRepository         string   `json:"code_repository,omitempty" doc:"the https address of its code"`
	DocumentationURL       string   `json:"documentation_url,omitempty" doc:"the https address of its documentation"`
	// ServiceEndpoints is replaced as a whole; an empty list clears it.
	ServiceEndpoints []ServiceEndpoint `json:"service_endpoints,omitempty" doc:"its addresses, replaced as a whole: {\"type\": \"A2AInbox\", \"serviceEndpoint\": \"https://…\"}"`
}

// An EditableMember is a row of [EditableMembers].
type EditableMember struct {
	Name string // in bodies, and in the history of the agent
	// Flag is the flag of the command line, Usage its explanation; both are "" for the endpoints,
	// which have flags of their own.
	Flag, Usage string
	// Claim is set if the member is listed among the claims of the agent.
	Claim bool
	// Value returns a pointer to the member, given pointers to the description and to the other
	// members: a *string, *bool, *[]string or *[]ServiceEndpoint.
	Value func(description *string, others *Editable) any

	link bool // the text is an address that people open
	most int  // the characters of another text, or the items of a list
}

// editableMembers has a row for each member, in the order in which a history names them.
var editableMembers = []EditableMember{
	{Name: "description", Flag: "description", Usage: "what it does", most: maxDescription,
		Value: func(description *string, _ *Editable) any { return description }},
	{Name: "capabilities", Flag: "capability", Usage: "what it can do; may be repeated", most: maxCapabilities,
		Value: func(_ *string, e *Editable) any { return &e.Capabilities }},
	{Name: "security_certifications", Flag: "certification", Usage: "a security certification it claims; may be repeated", most: maxCertifications, Claim: true,
		Value: func(_ *string, e *Editable) any { return &e.SecurityCertifications }},
	{Name: "open_source", Flag: "open-source", Usage: "its code is open source", Claim: true,
		Value: func(_ *string, e *Editable) any { return &e.OpenSource }},
	{Name: "code_repository", Flag: "repository", Usage: "address of its code", link: true,
		Value: func(_ *string, e *Editable) any { return &e.CodeRepository }},
	{Name: "documentation_url", Flag: "docs", Usage: "address of its documentation", link: true, Claim: true,
		Value: func(_ *string, e *Editable) any { return &e.DocumentationURL }},
	{Name: "service_endpoints",
		Value: func(_ *string, e *Editable) any { return &e.ServiceEndpoints }},
}

// EditableMembers returns the row of each member of [Editable]. The caller must not change it.
func EditableMembers() []EditableMember { return editableMembers }

// IsEditable reports whether a member of a record has a row in [EditableMembers].
func IsEditable(name string) bool {
	return slices.ContainsFunc(editableMembers, func(m EditableMember) bool { return m.Name == name })
}

// Format returns the value of the member of an agent as a text, "" if it is empty.
func (m EditableMember) Format(a Agent) string {
	switch value := m.Value(&a.Description, &a.Editable).(type) {
	case *string:
		return *value
	case *[]string:
		return strings.Join(*value, ", ")
	case *bool:
		if *value {
			return "true"
		}
	}
	return ""
}

// updateMember sets a member of an agent to the normal form of a value, which is a pointer of the
// type that the row returns.
func (r *Registry) updateMember(a *Agent, m EditableMember, value any) (err error) {
	switch to := m.Value(&a.Description, &a.Editable).(type) {
	case *bool:
		*to = *value.(*bool)
	case *[]string:
		*to, err = checkList(m.Name, *value.(*[]string), m.most)
	case *[]ServiceEndpoint:
		*to, err = r.checkEndpoints(r.DID(a.AirID), *value.(*[]ServiceEndpoint))
	case *string:
		if m.link {
			*to, err = r.checkLink(m.Name, *value.(*string))
		} else {
			*to, err = ValidateText(m.Name, *value.(*string), m.most, ManyLines)
		}
	}
	return err
}

// updateMembers sets the members that are named to the normal form of their values, and returns
// their names in the order of the rows. After an error the agent is in an undefined state.
func (r *Registry) updateMembers(a *Agent, names []string, description string, others Editable) (fields []string, err error) {
	for _, m := range editableMembers {
		if !slices.Contains(names, m.Name) {
			continue
		}
		if err := r.updateMember(a, m, m.Value(&description, &others)); err != nil {
			return nil, err
		}
		fields = append(fields, m.Name)
	}
	return fields, nil
}

// setMembers sets all editable members of an agent to the normal form of their values.
func (r *Registry) setMembers(a *Agent, description string, others Editable) error {
	for _, m := range editableMembers {
		if err := r.updateMember(a, m, m.Value(&description, &others)); err != nil {
			return err
		}
	}
	return nil
}
