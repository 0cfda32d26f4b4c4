package call

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"gazetteer/document"
)

// How describes how to call an operation, as far as its document says. All texts are untrusted.
type How struct {
	// Protocol is "http" or "agtp".
	Protocol string `json:"protocol" doc:"http or agtp"`
	// Method is the HTTP method, or the verb that is sent over AGTP.
	Method string `json:"method,omitempty" doc:"the HTTP method, or the verb that is sent over AGTP"`
	// URL has {name} for each parameter of its path. For AGTP it is the address of the service.
	URL string `json:"url,omitempty" doc:"with {name} in place of each parameter of its path; for agtp the address of the service"`
	// Target is the path of an AGTP request; "" for HTTP.
	Target string `json:"target,omitempty" doc:"the path of the request over AGTP"`
	// Parameters are the parameters of the operation, with the place of each.
	Parameters []PlacedParameter `json:"parameters,omitempty" doc:"the parameters, and the place of each"`
	// MediaType is the media type of the body, "" if no parameter goes there.
	MediaType string `json:"media_type,omitempty" doc:"of the body, if it has a parameter"`
	// Auth says how callers authenticate, in the words of the document.
	Auth string `json:"auth,omitempty" doc:"how callers prove who they are, in the words of the document"`
	// AuthHeader is the header for the credentials, if the document names one.
	AuthHeader string `json:"auth_header,omitempty" doc:"the header for the credentials, if the document names one"`
	// HTTPBinding is the address for the HTTP binding of AGIS (section 10.1) of an operation over
	// AGTP: a POST with the headers X-AGIS-Method and X-AGIS-Grammar. "" for operations over HTTP,
	// and if OnlyAGTP is set.
	HTTPBinding string `json:"http_binding,omitempty" doc:"for agtp: where a POST with the header X-AGIS-Method (AGIS 10.1) reaches it, if the service supports that binding"`
	// OnlyAGTP says why an operation over AGTP cannot be called over HTTP.
	OnlyAGTP string `json:"only_agtp,omitempty" doc:"for agtp: why it cannot be called over HTTP"`
	// Missing names data that a caller needs and the document lacks.
	Missing []string `json:"missing,omitempty" doc:"data that a caller needs and the document lacks"`
}

// MissingPlaces is the beginning of the entry of [How.Missing] that lists parameters without a
// place.
const MissingPlaces = "where to put "

// A PlacedParameter is a parameter and its place in the request.
type PlacedParameter struct {
	Name     string `json:"name"`
	In       string `json:"in,omitempty" doc:"path, query, body or header; absent where the document does not settle it"`
	Type     string `json:"type,omitempty"`
	Required bool   `json:"required,omitempty"`
	// Sample is a value that the document allows, in JSON: see [document.Parameter]. Programs that are
	// written for people and models show it; answers have the schema.
	Sample string `json:"-"`
	// File is set if the value is the content of a file in a body of type [MultipartType].
	File bool `json:"-"`
}

// Of returns how to call an operation of a service.
func Of(o document.Operation, s document.Service) How {
	h := How{Protocol: o.Call.Protocol, Method: o.Call.Method, URL: o.Call.URL, Auth: s.Auth}
	if headerName.MatchString(s.AuthHeader) {
		h.AuthHeader = s.AuthHeader
	}
	if h.Protocol == "agtp" {
		h.Method, h.Target = o.Verb, o.Path
		var err error
		if h.HTTPBinding, err = HTTPBinding(o); err != nil {
			h.OnlyAGTP = err.Error()
		}
	}
	var nowhere []string
	if len(o.Parameters) > 0 {
		h.Parameters = make([]PlacedParameter, 0, len(o.Parameters))
	}
	for _, p := range o.Parameters {
		in := p.In
		if in == "" && h.Protocol == "agtp" {
			in = "body" // AGIS §7: input is the schema of what a request carries
		}
		switch in {
		case "":
			nowhere = append(nowhere, p.Name)
		case "body":
			h.MediaType = BodyType(o)
		}
		h.Parameters = append(h.Parameters, PlacedParameter{p.Name, in, p.Type, p.Required, p.Sample, IsFile(p)})
	}
	if h.Method == "" {
		h.Missing = append(h.Missing, "the method")
	}
	if h.URL == "" {
		h.Missing = append(h.Missing, "the address")
	}
	if len(nowhere) > 0 {
		h.Missing = append(h.Missing, MissingPlaces+joinSome(nowhere))
	}
	return h
}

// The media types of the body of an HTML form, without files and with them.
const (
	FormType      = "application/x-www-form-urlencoded"
	MultipartType = "multipart/form-data"
)

// BodyType returns the media type of the body of an operation. It is JSON unless an AI Discovery document
// says of a parameter, in the words of the conversion from OpenAPI, that it is sent as a form: the draft
// has no member for it.
func BodyType(o document.Operation) string {
	for _, p := range o.Parameters {
		switch {
		case o.Call.Protocol != "http" || p.In != "body":
		case strings.Contains(p.Description, "sent as "+FormType):
			return FormType
		case strings.Contains(p.Description, "sent as "+MultipartType):
			return MultipartType
		}
	}
	return "application/json"
}

// IsFile reports whether a parameter of a form is a file, in the words of the conversion from OpenAPI.
func IsFile(p document.Parameter) bool {
	return strings.Contains(p.Description, "format binary, sent as "+MultipartType)
}

// joinSome lists the first few names and the number of the others.
func joinSome(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:most], ", "), len(names)-most)
}

// HTTPBinding returns the address for the HTTP binding of AGIS (section 10.1) of an operation over
// AGTP: its path at the host of its agtp address, over HTTPS. The path has {name} for each
// parameter. The error is the reason why there is no such address.
func HTTPBinding(o document.Operation) (string, error) {
	u, err := url.Parse(o.Call.URL)
	switch {
	case o.Call.Protocol != "agtp":
		return "", errors.New("it is not called over AGTP")
	case o.Call.URL == "":
		return "", errors.New("its document gives no agtp address")
	case err != nil || u.Scheme != "agtp" || u.Hostname() == "":
		return "", fmt.Errorf("%.120q is not an agtp address", o.Call.URL)
	case u.User != nil:
		return "", errors.New("its agtp address names an agent, which HTTP cannot")
	case u.Port() != "":
		return "", errors.New("its agtp address names a port, which is not one of HTTPS")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("its agtp address names more than a host")
	case o.Verb == "" || !strings.HasPrefix(o.Path, "/"):
		return "", errors.New("its document gives no verb and path")
	}
	return "https://" + u.Host + o.Path, nil
}

// String describes the target of a request in one line, such as "POST https://example.com/tables".
func (h How) String() string {
	words := []string{h.Method, h.URL}
	if h.Target != "" {
		words = []string{h.Method, h.Target}
		if h.URL != "" {
			words = append(words, "at", h.URL)
		}
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// Inputs lists the parameters in one line: after each place its parameters with their types. A star
// marks required ones.
func (h How) Inputs() string {
	var places []string
	lists := map[string][]string{}
	for _, p := range h.Parameters {
		text := p.Name
		if p.Required {
			text += "*"
		}
		if p.Type != "" {
			text += " (" + p.Type + ")"
		}
		if lists[p.In] == nil {
			places = append(places, p.In)
		}
		lists[p.In] = append(lists[p.In], text)
	}
	parts := make([]string, len(places))
	for i, place := range places {
		if parts[i] = strings.Join(lists[place], ", "); place != "" {
			parts[i] = place + ": " + parts[i]
		}
	}
	return strings.Join(parts, "; ")
}
