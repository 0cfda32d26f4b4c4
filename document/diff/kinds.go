package diff

import (
	"encoding"
	"fmt"
)

// Severity is the possible damage of a change to callers of the service.
type Severity uint8

// The severities, lightest first.
const (
	None Severity = iota
	Low
	Medium
	High
)

var severityNames = [...]string{"none", "low", "medium", "high"}

// String returns the severity's word.
func (s Severity) String() string {
	if int(s) < len(severityNames) {
		return severityNames[s]
	}
	return "unknown"
}

// Meaning explains the severities in one sentence without its end.
const Meaning = "high means that a call goes elsewhere, is protected less or does something else; medium, that a call can fail or cost more; low, anything else that callers notice"

// ParseSeverity returns the severity of a word, and false for a word that names none.
func ParseSeverity(word string) (Severity, bool) {
	for i, name := range severityNames {
		if name == word {
			return Severity(i), true
		}
	}
	return None, false
}

var (
	_ encoding.TextMarshaler   = None
	_ encoding.TextUnmarshaler = (*Severity)(nil)
)

// MarshalText writes the severity as its word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the severity's word.
func (s *Severity) UnmarshalText(text []byte) error {
	parsed, ok := ParseSeverity(string(text))
	if !ok {
		return fmt.Errorf("unknown severity %q", text)
	}
	*s = parsed
	return nil
}

// Kind names what changed.
type Kind string

// The kinds of changes that let callers reach another service, trust less or do more harm.
const (
	// EndpointHostChanged: an endpoint lies at another host name, a subdomain included.
	EndpointHostChanged Kind = "endpoint-host-changed"
	// TransportWeakened: an endpoint is called in plain text that was called over TLS.
	TransportWeakened Kind = "transport-weakened"
	// AuthenticationWeakened: callers prove less about themselves than before.
	AuthenticationWeakened Kind = "authentication-weakened"
	// EffectLowered: an operation is declared less dangerous, or reversible, or safe to repeat.
	EffectLowered Kind = "effect-lowered"
	// OperationReplaced: a different operation has the same name.
	OperationReplaced Kind = "operation-replaced"
	// ServiceIdentityChanged: the service has another name, namespace or domain.
	ServiceIdentityChanged Kind = "service-identity-changed"
)

// The kinds of changes that break callers, or cost them more.
const (
	OperationRemoved       Kind = "operation-removed"
	OperationRenamed       Kind = "operation-renamed" // the same call under another name
	EndpointChanged        Kind = "endpoint-changed"  // at the same host
	ParameterRequiredAdded Kind = "parameter-required-added"
	ParameterRemoved       Kind = "parameter-removed"
	ParameterTypeChanged   Kind = "parameter-type-changed"
	ResultRemoved          Kind = "result-removed"
	AuthenticationChanged  Kind = "authentication-changed"
	EffectRaised           Kind = "effect-raised"
	PriceRaised            Kind = "price-raised"
	LimitLowered           Kind = "limit-lowered"
	DataClassAdded         Kind = "data-class-added"
	SensitivityRaised      Kind = "sensitivity-raised"
)

// The kinds of changes that callers need not act on.
const (
	OperationAdded         Kind = "operation-added"
	ParameterOptionalAdded Kind = "parameter-optional-added"
	ParameterMadeOptional  Kind = "parameter-made-optional"
	ResultAdded            Kind = "result-added"
	PriceLowered           Kind = "price-lowered"
	LimitRaised            Kind = "limit-raised"
	DataClassRemoved       Kind = "data-class-removed"
	IntentRewritten        Kind = "intent-rewritten" // the same meaning in other words
	TextChanged            Kind = "text-changed"
	VersionChanged         Kind = "version-changed"
	LinkChanged            Kind = "link-changed"
	ContactChanged         Kind = "contact-changed"
)

// kindInfo is one row of [kinds].
type kindInfo struct {
	Kind     Kind
	Severity Severity
	// Help tells callers what to do about a change of the kind.
	Help string
}

// kinds lists every kind of change with its severity and what to do about it.
var kinds = []kindInfo{
	{EndpointHostChanged, High, "make sure that the new host belongs to the same owner before sending anything to it, credentials above all"},
	{TransportWeakened, High, "do not call it: everything sent, credentials included, can be read on the way"},
	{AuthenticationWeakened, High, "ask the owner whether this is intended: the operation is open to more callers than before"},
	{EffectLowered, High, "treat the operation as equally dangerous until its owner has confirmed the change"},
	{OperationReplaced, High, "do not call it under the old assumption: it has the same name but another effect"},
	{ServiceIdentityChanged, High, "make sure that this is still the service you chose"},
	{OperationRemoved, Medium, "stop calling it; look among the added operations for one in its place"},
	{OperationRenamed, Medium, "use the new name; in AGIS the method is part of the call"},
	{EndpointChanged, Medium, "send calls with the method and the address that the document has now"},
	{ParameterRequiredAdded, Medium, "send the parameter in every call"},
	{ParameterRemoved, Medium, "stop sending the parameter"},
	{ParameterTypeChanged, Medium, "check the values that you send against the new type and bounds"},
	{ResultRemoved, Medium, "check that nothing reads this part of the answer"},
	{AuthenticationChanged, Medium, "check that your credentials still fit"},
	{EffectRaised, Medium, "check that callers ask for confirmation where the new effect calls for it"},
	{PriceRaised, Medium, "check the new price against your budget"},
	{LimitLowered, Medium, "call no more often than the new limit allows"},
	{DataClassAdded, Medium, "check that you may deal with data of this class"},
	{SensitivityRaised, Medium, "check that you may deal with data this sensitive"},
	{OperationAdded, Low, "nothing to do"},
	{ParameterOptionalAdded, Low, "nothing to do: the parameter may be left out"},
	{ParameterMadeOptional, Low, "nothing to do: the parameter may be left out now"},
	{ResultAdded, Low, "nothing to do, if readers ignore what they do not know"},
	{PriceLowered, Low, "nothing to do"},
	{LimitRaised, Low, "nothing to do"},
	{DataClassRemoved, Low, "nothing to do, if you do not ask for data of this class"},
	{IntentRewritten, Low, "nothing to do: the operation is described in other words"},
	{TextChanged, Low, "nothing to do"},
	{VersionChanged, Low, "nothing to do"},
	{LinkChanged, Low, "follow the new address"},
	{ContactChanged, Low, "write to the new address"},
}

// info returns the row of a kind.
func (k Kind) info() kindInfo {
	for _, row := range kinds {
		if row.Kind == k {
			return row
		}
	}
	return kindInfo{Kind: k}
}

// Severity returns the severity of a kind, None for an unknown kind.
func (k Kind) Severity() Severity { return k.info().Severity }

// Help tells callers what to do about a change of the kind.
func (k Kind) Help() string { return k.info().Help }
