package registry

import (
	"errors"
	"fmt"

	"gazetteer/protocol"
)

// bodyLimits bounds the body of a write. The longest valid one, an update with
// 20 endpoints and a description of 2,000 four-byte characters, has some 30 KB.
var bodyLimits = protocol.Limits{Bytes: 64 << 10, Depth: 16, Members: 1000, Number: 32}

// ReadRegistration reads the body of a registration. JSON is read strictly:
// a member that stands twice, a byte that is not UTF-8 or a body over 64 KiB is
// refused. A member of the wrong type is refused by name, null counts as left
// out, and unknown members are ignored, as the reference ignores them. Values
// are judged by [Registry.Register]. The error is an [*Error].
func ReadRegistration(body []byte) (Registration, error) {
	m, err := readMembers(body, func(n *protocol.Node) bool { return n.Kind == protocol.Null })
	if err != nil {
		return Registration{}, err
	}
	var reg Registration
	for field, to := range map[string]*string{
		"name": &reg.Name, "public_key": &reg.PublicKey, "creator_did": &reg.CreatorDID, "creator_name": &reg.CreatorName,
		"creator_type": &reg.CreatorType, "description": &reg.Description, "code_repository": &reg.CodeRepository,
		"documentation_url": &reg.DocumentationURL,
	} {
		if text := m.text(field); text != nil {
			*to = *text
		}
	}
	if list := m.texts("capabilities"); list != nil {
		reg.Capabilities = *list
	}
	if list := m.texts("security_certifications"); list != nil {
		reg.SecurityCertifications = *list
	}
	if open := m.boolean("open_source"); open != nil {
		reg.OpenSource = *open
	}
	if list := m.endpoints("service_endpoints"); list != nil {
		reg.ServiceEndpoints = *list
	}
	return reg, m.err
}

// ReadUpdate reads the body of an update, as strictly as [ReadRegistration]
// reads a registration. A null username gives the handle back; null is refused
// for other members, since it may mean "clear" or "keep". Values are judged by
// [Registry.Update].
func ReadUpdate(body []byte) (Update, error) {
	m, err := readMembers(body, func(*protocol.Node) bool { return false })
	if err != nil {
		return Update{}, err
	}
	u := Update{
		Description:            m.text("description"),
		Capabilities:           m.texts("capabilities"),
		SecurityCertifications: m.texts("security_certifications"),
		OpenSource:             m.boolean("open_source"),
		CodeRepository:         m.text("code_repository"),
		DocumentationURL:       m.text("documentation_url"),
		ServiceEndpoints:       m.endpoints("service_endpoints"),
	}
	if n := m.object.Member("username"); n != nil && n.Kind == protocol.Null {
		u.Username = new(string)
	} else {
		u.Username = m.text("username")
	}
	return u, m.err
}

// members reads the members of one object and keeps the first error in the
// order of the text.
type members struct {
	object *protocol.Node
	absent func(*protocol.Node) bool // which nodes count as left out
	err    error
	at     int // line and column of err, to find the first
	column int
}

func readMembers(body []byte, absent func(*protocol.Node) bool) (*members, error) {
	root, err := protocol.ReadJSON(body, bodyLimits)
	var syntax *protocol.SyntaxError
	if errors.As(err, &syntax) {
		return nil, &Error{Code: syntax.Problem.String(), Message: "Invalid JSON body", Help: syntax.Error()}
	}
	if err != nil {
		return nil, err
	}
	if root.Kind != protocol.Object {
		return nil, &Error{Code: "type", Message: "Invalid JSON body", Help: "the body must be a JSON object, not " + aKind(root)}
	}
	return &members{object: root, absent: absent}, nil
}

// member returns the node of a field if it is there and of that kind.
func (m *members) member(field string, kind protocol.Kind, message string) *protocol.Node {
	n := m.object.Member(field)
	if n == nil || m.absent(n) {
		return nil
	}
	if n.Kind != kind {
		m.refuse(n, field, message)
		return nil
	}
	return n
}

func (m *members) refuse(n *protocol.Node, field, message string) {
	if m.err != nil && (m.at < n.Line || m.at == n.Line && m.column < n.Column) {
		return
	}
	help := fmt.Sprintf("line %d, column %d holds %s", n.Line, n.Column, aKind(n))
	if n.Kind == protocol.Null {
		help += `; leave the member out to keep its value, send "", false or [] to clear it`
	}
	m.err, m.at, m.column = &Error{Field: field, Code: "type", Message: message, Help: help}, n.Line, n.Column
}

func (m *members) text(field string) *string {
	n := m.member(field, protocol.String, fmt.Sprintf("Field '%s' must be a string", field))
	if n == nil {
		return nil
	}
	return &n.Text
}

func (m *members) boolean(field string) *bool {
	n := m.member(field, protocol.Bool, fmt.Sprintf("Field '%s' must be true or false", field))
	if n == nil {
		return nil
	}
	value := n.True()
	return &value
}

func (m *members) texts(field string) *[]string {
	message := fmt.Sprintf("Field '%s' must be an array of strings", field)
	n := m.member(field, protocol.Array, message)
	if n == nil {
		return nil
	}
	out := make([]string, 0, len(n.Items))
	for i, item := range n.Items {
		if item.Kind != protocol.String {
			m.refuse(item, fmt.Sprintf("%s[%d]", field, i), message)
			return nil
		}
		out = append(out, item.Text)
	}
	return &out
}

func (m *members) endpoints(field string) *[]ServiceEndpoint {
	prefix := "Invalid service_endpoints: service_endpoints"
	n := m.member(field, protocol.Array, prefix+" must be an array")
	if n == nil {
		return nil
	}
	out := make([]ServiceEndpoint, 0, len(n.Items))
	for i, item := range n.Items {
		at := fmt.Sprintf("[%d]", i)
		if item.Kind != protocol.Object {
			m.refuse(item, field+at, prefix+at+" must be an object")
			return nil
		}
		e := ServiceEndpoint{}
		for name, to := range map[string]*string{"id": &e.ID, "type": &e.Type, "serviceEndpoint": &e.ServiceEndpoint} {
			value := item.Member(name)
			if value == nil {
				continue // which of them are required is judged with the values
			}
			if value.Kind != protocol.String || name == "id" && value.Text == "" {
				m.refuse(value, field+at+"."+name, prefix+at+"."+name+" must be a non-empty string")
				return nil
			}
			*to = value.Text
		}
		out = append(out, e)
	}
	return &out
}

func aKind(n *protocol.Node) string {
	switch n.Kind {
	case protocol.Array, protocol.Object:
		return "an " + n.Kind.String()
	case protocol.Null:
		return "null"
	}
	return "a " + n.Kind.String()
}
