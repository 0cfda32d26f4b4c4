package airjson

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/jcs"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/attestation"
	"gazetteer/registry/transfer"
)

// MaxReportBody is the maximum size of a report's body: it may contain an envelope as a text with
// mostly escaped characters. All other bodies are smaller.
const MaxReportBody = 2*a2a.MaxEnvelope + 32<<10

// maxBody is the size of the largest body of a registration or an update, in bytes. The longest valid
// one, an update with 20 endpoints and a description of 2,000 four-byte characters, has about 30 KB.
const maxBody = 64 << 10

// registrationMembers are the members of a registration beside the editable ones.
var registrationMembers = []string{"name", "public_key", "creator_did", "creator_name", "creator_type", "no_secret", "recovery_commitment", "proof"}

// ReadRegistration reads the body of a registration. It reads JSON strictly and refuses a duplicate
// member, invalid UTF-8 and a body over 64 KiB. It refuses a member of the wrong type by name,
// treats null as absent, and ignores unknown members as the reference does; Ignored lists them.
// [registry.Registry.NewAgent] checks the values. The error is an [*registry.Error].
func ReadRegistration(body []byte) (registry.Registration, error) {
	m, err := readMembers(body, maxBody, func(n *protocol.Node) bool { return n.Kind == protocol.Null })
	if err != nil {
		return registry.Registration{}, err
	}
	var reg registry.Registration
	for field, to := range map[string]*string{
		"name": &reg.Name, "public_key": &reg.PublicKey, "creator_did": &reg.CreatorDID, "creator_name": &reg.CreatorName,
		"creator_type": &reg.CreatorType,
	} {
		if text := m.stringMember(field); text != nil {
			*to = *text
		}
	}
	m.readEditable(&reg.Description, &reg.Editable)
	if off := m.boolMember("no_secret"); off != nil {
		reg.NoSecret = *off
	}
	if text := m.stringMember("recovery_commitment"); text != nil {
		reg.Commitment = *text
	}
	if n := m.lookupMember("proof", protocol.Object, "Field 'proof' must be an object with challenge and signature"); n != nil {
		reg.Proof = &registry.Proof{Challenge: n.Member("challenge").Str(), Signature: n.Member("signature").Str()}
		if reg.Proof.Canonical, err = canonicalWithout(body, "proof"); err != nil {
			return registry.Registration{}, err
		}
	}
	for _, n := range m.object.Items {
		if !slices.Contains(registrationMembers, n.Key) && !registry.IsEditable(n.Key) {
			reg.Ignored = append(reg.Ignored, n.Key)
		}
	}
	return reg, m.err
}

// canonicalWithout returns a JSON object in canonical form (RFC 8785), without one of its members.
func canonicalWithout(body []byte, member string) ([]byte, error) {
	var d jcs.Document
	if err := d.Parse(body, jcs.Options{Numbers: jcs.Doubles, KeepForm: true}); err != nil {
		return nil, &registry.Error{Code: "syntax", Message: "Invalid JSON body", Help: err.Error()}
	}
	if d.Root().Kind() != jcs.Object {
		return nil, &registry.Error{Code: "syntax", Message: "Invalid JSON body", Help: "send one JSON object"}
	}
	return d.Root().AppendWith(nil, member, nil), nil
}

// ReadRotation reads the body of a rotation: public_key (the new key),
// current_key, both as multikeys or base64url, agent (its DID), created, nonce,
// recovery_commitment, old_signature and new_signature. Values are judged by
// [registry.Registry.Rotate]. The error is an [*registry.Error].
func ReadRotation(body []byte) (registry.Rotation, error) {
	var x registry.Rotation
	var created string
	err := readTexts(body, map[string]*string{"agent": &x.Agent, "current_key": &x.From, "public_key": &x.To, "created": &created, "nonce": &x.Nonce,
		"recovery_commitment": &x.Commitment, "old_signature": &x.OldSignature, "new_signature": &x.NewSignature})
	if err == nil {
		x.Created, err = parseStatementTime(created)
	}
	x.From, x.To = registry.NormalizeMultikey(x.From), registry.NormalizeMultikey(x.To)
	return x, err
}

// ReadRecovery reads the body of a recovery: agent, current_key, public_key
// (left out to withdraw), recovery_key, next_commitment, created, nonce,
// recovery_signature and new_signature. Values are judged by [registry.Registry.Recover].
// The error is an [*registry.Error].
func ReadRecovery(body []byte) (registry.Recovery, error) {
	var x registry.Recovery
	var created string
	err := readTexts(body, map[string]*string{"agent": &x.Agent, "current_key": &x.From, "public_key": &x.To, "recovery_key": &x.Key, "next_commitment": &x.Next,
		"created": &created, "nonce": &x.Nonce, "recovery_signature": &x.RecoverySignature, "new_signature": &x.NewSignature})
	if err == nil {
		x.Created, err = parseStatementTime(created)
	}
	x.From, x.To, x.Key = registry.NormalizeMultikey(x.From), registry.NormalizeMultikey(x.To), registry.NormalizeMultikey(x.Key)
	return x, err
}

// ReadMerge reads the body of a merge: from, from_key, into, into_key, created,
// nonce, from_signature and into_signature. Values are judged by
// [transfer.Transfer.Merge]. The error is an [*registry.Error].
func ReadMerge(body []byte) (transfer.Merge, error) {
	var x transfer.Merge
	var created string
	err := readTexts(body, map[string]*string{"from": &x.From, "from_key": &x.FromKey, "into": &x.Into, "into_key": &x.IntoKey,
		"created": &created, "nonce": &x.Nonce, "from_signature": &x.FromSignature, "into_signature": &x.IntoSignature})
	if err == nil {
		x.Created, err = parseStatementTime(created)
	}
	x.FromKey, x.IntoKey = registry.NormalizeMultikey(x.FromKey), registry.NormalizeMultikey(x.IntoKey)
	return x, err
}

// ReadReport reads the body of a report: reason, text, contact and envelope, as strictly as
// [ReadRegistration] reads a registration. Values are judged by
// [admission.Admission.Report]. The error is an [*registry.Error].
func ReadReport(body []byte) (admission.ReportRequest, error) {
	var q admission.ReportRequest
	err := readTexts(body, map[string]*string{"reason": &q.Reason, "text": &q.Text, "contact": &q.Contact, "envelope": &q.Envelope})
	return q, err
}

// ReadAttestation reads the body of an attestation as strictly as [ReadRegistration] reads a
// registration. The error is an [*registry.Error].
func ReadAttestation(body []byte) (attestation.Request, error) {
	var q attestation.Request
	if err := readTexts(body, map[string]*string{"attester_air_id": &q.Attester, "attestation_type": &q.Type, "signed_at": &q.SignedAt,
		"statement": &q.Statement, "signature_multibase": &q.Signature}); err != nil {
		if e, ok := errors.AsType[*registry.Error](err); ok && e.Field == "" && e.Code != protocol.TooLarge.String() {
			e.Message = "invalid JSON body"
		}
		return q, err
	}
	for _, m := range []struct{ field, text string }{
		{"attester_air_id", q.Attester}, {"attestation_type", q.Type}, {"signed_at", q.SignedAt}, {"signature_multibase", q.Signature},
	} {
		if m.text == "" {
			return q, &registry.Error{Field: m.field, Code: "required", Message: "missing or invalid '" + m.field + "'"}
		}
	}
	return q, nil
}

// readTexts reads an object whose members are texts.
func readTexts(body []byte, to map[string]*string) error {
	m, err := readMembers(body, MaxReportBody, func(n *protocol.Node) bool { return n.Kind == protocol.Null })
	if err != nil {
		return err
	}
	for field, text := range to {
		if given := m.stringMember(field); given != nil {
			*text = *given
		}
	}
	return m.err
}

// parseStatementTime reads a time of a statement.
func parseStatementTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || registry.FormatSecond(t) != text {
		return time.Time{}, &registry.Error{Field: "created", Code: "value", Message: "Field 'created' must be a time in UTC and whole seconds", Help: "write it as 2026-01-31T12:00:00Z"}
	}
	return t, nil
}

// ReadUpdate reads the body of an update, as strictly as [ReadRegistration] reads a registration. A
// null username releases the handle. Null is refused for other members, because it could mean
// "clear" or "keep". [registry.Registry.Update] checks the values.
func ReadUpdate(body []byte) (registry.Update, error) {
	m, err := readMembers(body, maxBody, func(*protocol.Node) bool { return false })
	if err != nil {
		return registry.Update{}, err
	}
	var u registry.Update
	u.Changed = m.readEditable(&u.Description, &u.Editable)
	if off := m.boolMember("no_secret"); off != nil {
		u.NoSecret = *off
	}
	u.Commitment = m.stringMember("recovery_commitment")
	u.MovedTo = m.stringMember("moved_to")
	if n := m.object.Member("username"); n != nil && n.Kind == protocol.Null {
		u.Username = new(string)
	} else {
		u.Username = m.stringMember("username")
	}
	return u, m.err
}

// members reads the members of one object and keeps the first error in the order of the text.
type members struct {
	object *protocol.Node
	absent func(*protocol.Node) bool // the nodes that count as missing
	err    error
	at     int // line and column of err, to find the first
	column int
}

func readMembers(body []byte, most int, absent func(*protocol.Node) bool) (*members, error) {
	root, err := protocol.ReadJSON(body, protocol.Limits{Bytes: most, Depth: 16, Members: 1000, Number: 32})
	var syntax *protocol.SyntaxError
	if errors.As(err, &syntax) {
		return nil, &registry.Error{Code: syntax.Problem.String(), Message: "Invalid JSON body", Help: syntax.Error()}
	}
	if err != nil {
		return nil, err
	}
	if root.Kind != protocol.Object {
		return nil, &registry.Error{Code: "type", Message: "Invalid JSON body", Help: "the body must be a JSON object, not " + describeKind(root)}
	}
	return &members{object: root, absent: absent}, nil
}

// lookupMember returns the node of a member if it is present and of that kind.
func (m *members) lookupMember(field string, kind protocol.Kind, message string) *protocol.Node {
	n := m.object.Member(field)
	if n == nil || m.absent(n) {
		return nil
	}
	if n.Kind != kind {
		m.recordError(n, field, message)
		return nil
	}
	return n
}

func (m *members) recordError(n *protocol.Node, field, message string) {
	if m.err != nil && (m.at < n.Line || m.at == n.Line && m.column < n.Column) {
		return
	}
	help := fmt.Sprintf("line %d, column %d holds %s", n.Line, n.Column, describeKind(n))
	if n.Kind == protocol.Null {
		help += `; leave the member out to keep its value, send "", false or [] to clear it`
	}
	m.err, m.at, m.column = &registry.Error{Field: field, Code: "type", Message: message, Help: help}, n.Line, n.Column
}

func (m *members) stringMember(field string) *string {
	n := m.lookupMember(field, protocol.String, fmt.Sprintf("Field '%s' must be a string", field))
	if n == nil {
		return nil
	}
	return &n.Text
}

func (m *members) boolMember(field string) *bool {
	n := m.lookupMember(field, protocol.Bool, fmt.Sprintf("Field '%s' must be true or false", field))
	if n == nil {
		return nil
	}
	value := n.True()
	return &value
}

func (m *members) stringListMember(field string) *[]string {
	message := fmt.Sprintf("Field '%s' must be an array of strings", field)
	n := m.lookupMember(field, protocol.Array, message)
	if n == nil {
		return nil
	}
	out := make([]string, 0, len(n.Items))
	for i, item := range n.Items {
		if item.Kind != protocol.String {
			m.recordError(item, fmt.Sprintf("%s[%d]", field, i), message)
			return nil
		}
		out = append(out, item.Text)
	}
	return &out
}

func (m *members) endpointsMember(field string) *[]registry.ServiceEndpoint {
	prefix := "Invalid service_endpoints: service_endpoints"
	n := m.lookupMember(field, protocol.Array, prefix+" must be an array")
	if n == nil {
		return nil
	}
	out := make([]registry.ServiceEndpoint, 0, len(n.Items))
	for i, item := range n.Items {
		at := fmt.Sprintf("[%d]", i)
		if item.Kind != protocol.Object {
			m.recordError(item, field+at, prefix+at+" must be an object")
			return nil
		}
		e := registry.ServiceEndpoint{}
		for name, to := range map[string]*string{"id": &e.ID, "type": &e.Type, "serviceEndpoint": &e.ServiceEndpoint} {
			value := item.Member(name)
			if value == nil {
				continue // the values are checked later, including which are required
			}
			if value.Kind != protocol.String || name == "id" && value.Text == "" {
				m.recordError(value, field+at+"."+name, prefix+at+"."+name+" must be a non-empty string")
				return nil
			}
			*to = value.Text
		}
		out = append(out, e)
	}
	return &out
}

// readEditable reads the editable members that are present and returns their names.
func (m *members) readEditable(description *string, others *registry.Editable) (names []string) {
	for _, row := range registry.EditableMembers() {
		found := false
		switch value := row.Value(description, others).(type) {
		case *string:
			found = assign(value, m.stringMember(row.Name))
		case *bool:
			found = assign(value, m.boolMember(row.Name))
		case *[]string:
			found = assign(value, m.stringListMember(row.Name))
		case *[]registry.ServiceEndpoint:
			found = assign(value, m.endpointsMember(row.Name))
		}
		if found {
			names = append(names, row.Name)
		}
	}
	return names
}

// assign sets a value to the one that was read, if any was.
func assign[T any](to, read *T) bool {
	if read == nil {
		return false
	}
	*to = *read
	return true
}

func describeKind(n *protocol.Node) string {
	switch n.Kind {
	case protocol.Array, protocol.Object:
		return "an " + n.Kind.String()
	case protocol.Null:
		return "null"
	}
	return "a " + n.Kind.String()
}
