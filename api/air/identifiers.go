package air

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/resolve"
)

// Media types of DID documents and of a resolver's answers (DID Core §7.1, DID Resolution §7.1).
// Newer drafts of DID Resolution have a shorter name for the second; clients that request it
// receive it.
const (
	typeDocument        = "application/did+json"
	typeResolution      = `application/ld+json;profile="https://w3id.org/did-resolution"`
	typeResolutionShort = "application/did-resolution"
)

// identifierRoutes declares the paths that resolvers of did:wba and did:web request, and our own
// resolver.
func (a *Routes) identifierRoutes(h huma.API) {
	// The wildcard has the same name as in the page of an agent.
	route.Handle(a.Mux, h, route.Respond(route.Op("did-json"), "200", "OK", typeDocument, route.SchemaOf[did.Document](h)), a.getDIDJSON)
	route.Handle(a.Mux, h, route.Respond(route.Op("registry-did"), "200", "OK", typeDocument, route.SchemaOf[did.Document](h)), a.getRegistryDID)
	op := route.Op("resolve-did")
	for status, what := range map[string]string{"200": "The document.", "400": "Not a DID.", "404": "There is no such document, or no such host.", "410": "The DID is deactivated.",
		"501": "DIDs of this method are not resolved.", "502": "Its host answers what cannot be used.", "504": "Its host does not answer."} {
		op = route.Respond(op, status, what, typeResolution, route.SchemaOf[registry.DIDResolution](h))
	}
	route.Handle(a.Mux, h, op, a.resolveDID)
}

type idInput struct {
	ID string `path:"id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
}

func (a *Routes) getDIDJSON(ctx context.Context, in *idInput) (*route.RawOutput, error) {
	out, err := a.getDIDDocument(ctx, &lookupInput{AirID: in.ID})
	if err != nil {
		return nil, err
	}
	return route.Encoded(typeDocument, documentCache, out.Body)
}

func (a *Routes) getRegistryDID(context.Context, *struct{}) (*route.RawOutput, error) {
	return route.Encoded(typeDocument, documentCache, a.Answers.Registry.RegistryDocument(a.logKey()))
}

// logKey returns the key of the transparency log, nil without a log.
func (a *Routes) logKey() ed25519.PublicKey {
	if a.Answers.Log == nil {
		return nil
	}
	// "{name}+{hash}+{base64 of a type and the key}", and base64 may hold a "+".
	parts := strings.SplitN(a.Answers.Log.Key(), "+", 3)
	raw, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil || len(raw) != 1+ed25519.PublicKeySize {
		return nil
	}
	return raw[1:]
}

type identifierInput struct {
	DID    string `path:"did" doc:"a did:wba or did:web; a percent sign in it is best written %25"`
	Accept string `header:"Accept" doc:"what to answer: a resolution, or the document alone"`
	client netip.Addr
}

// Resolve reads the parts that huma does not (huma.Resolver).
func (in *identifierInput) Resolve(ctx huma.Context) []error {
	c := humagin.Unwrap(ctx)
	in.client = route.ClientAddress(c)
	// Many clients put an unescaped DID into the path, so that the %3A before its port is read as
	// an escape. A correctly escaped DID has %25 there.
	u := c.Request.URL
	if raw := u.EscapedPath()[strings.LastIndexByte(u.EscapedPath(), '/')+1:]; strings.HasPrefix(raw, "did:") && !strings.Contains(raw, "%25") {
		in.DID = raw
	}
	return nil
}

// resolutionOutput returns a resolution with its HTTP status.
type resolutionOutput struct {
	ContentType  string `header:"Content-Type"`
	CacheControl string `header:"Cache-Control"`
	Vary         string `header:"Vary"`
	Status       int
	Body         []byte
}

func (a *Routes) resolveDID(ctx context.Context, in *identifierInput) (*resolutionOutput, error) {
	v, status, err := a.resolveIdentifier(ctx, in)
	if err != nil {
		return nil, err
	}
	out := &resolutionOutput{ContentType: typeResolution, CacheControl: documentCache, Vary: "Accept", Status: status}
	var body any = v
	switch {
	case strings.Contains(in.Accept, typeResolutionShort):
		out.ContentType = typeResolutionShort
	case status == http.StatusOK && wantsDocument(in.Accept):
		out.ContentType, body = typeDocument, v.Document
	}
	if out.Body, err = json.Marshal(body); err != nil {
		return nil, err
	}
	return out, nil
}

// wantsDocument reports whether a client requests the document alone.
func wantsDocument(accept string) bool {
	return (strings.Contains(accept, typeDocument) || strings.Contains(accept, "application/did+ld+json")) && !strings.Contains(accept, "did-resolution")
}

// failedResolution is a resolution without a document.
func failedResolution(code, message string) registry.DIDResolution {
	return registry.DIDResolution{Context: "https://w3id.org/did-resolution/v1", Metadata: registry.ResolutionData{Error: code, Message: answer.CleanText(message, 500)}}
}

func (a *Routes) resolveIdentifier(ctx context.Context, in *identifierInput) (registry.DIDResolution, int, error) {
	w, err := did.ParseWeb(in.DID)
	web := strings.HasPrefix(in.DID, "did:"+did.MethodWBA+":") || strings.HasPrefix(in.DID, "did:"+did.MethodWeb+":")
	if !web {
		err = did.CheckSyntax(in.DID)
	}
	switch {
	case err != nil:
		return failedResolution("invalidDid", err.Error()), http.StatusBadRequest, nil
	case !web:
		return failedResolution("methodNotSupported", "only did:wba and did:web are resolved here"), http.StatusNotImplemented, nil
	}
	own := a.Answers.Registry.RegistryDocument(a.logKey())
	self, err := did.ParseWeb(own.ID)
	if err != nil {
		return registry.DIDResolution{}, 0, err
	}
	switch {
	case !w.SameHost(self):
		if err := w.CheckPublic(); err != nil {
			return failedResolution("invalidDid", err.Error()), http.StatusBadRequest, nil
		}
		return a.resolveForeignDID(ctx, in)
	case len(w.Path) == 0:
		if w.Method != self.Method {
			return failedResolution("notFound", "the DID of this registry is "+own.ID), http.StatusNotFound, nil
		}
		v := failedResolution("", "")
		v.Metadata.ContentType, v.Document = typeDocument, &own
		return v, http.StatusOK, nil
	}
	agent, _, err := a.Answers.Registry.Find(ctx, in.DID)
	if _, mistyped := errors.AsType[*registry.Error](err); mistyped || errors.Is(err, registry.ErrNoAgent) {
		return failedResolution("notFound", "no agent of this registry has this DID"), http.StatusNotFound, nil
	}
	if err != nil {
		return registry.DIDResolution{}, 0, err
	}
	v := a.Answers.Registry.Resolution(agent, w.Method)
	switch {
	case v.DocumentMetadata.Deactivated:
		return v, http.StatusGone, nil
	case v.Document == nil:
		return v, http.StatusNotFound, nil
	}
	return v, http.StatusOK, nil
}

// resolveForeignDID resolves the DID of another host.
func (a *Routes) resolveForeignDID(ctx context.Context, in *identifierInput) (registry.DIDResolution, int, error) {
	if a.Answers.Resolver == nil {
		return failedResolution("methodNotSupported", "this server asks no other hosts"), http.StatusNotImplemented, nil
	}
	if err := route.AdmitClient(ctx, a.Resolutions, in.client, "DIDs of other hosts"); err != nil {
		return registry.DIDResolution{}, 0, err
	}
	r, err := a.Answers.Resolver.Resolve(ctx, in.DID)
	for _, c := range []struct {
		is     error
		code   string
		status int
	}{
		{resolve.ErrMethod, "methodNotSupported", http.StatusNotImplemented},
		{resolve.ErrAbsent, "notFound", http.StatusNotFound},
		{resolve.ErrNoHost, "notFound", http.StatusNotFound},
		{resolve.ErrUnusable, "invalidDidDocument", http.StatusBadGateway},
		{resolve.ErrUnreachable, "internalError", http.StatusGatewayTimeout},
	} {
		if errors.Is(err, c.is) {
			return failedResolution(c.code, err.Error()), c.status, nil
		}
	}
	if errors.Is(err, resolve.ErrDeactivated) {
		v := failedResolution("", err.Error())
		v.DocumentMetadata.Deactivated = true
		return v, http.StatusGone, nil
	}
	if err != nil {
		return registry.DIDResolution{}, 0, err
	}
	v := failedResolution("", "")
	v.Metadata.ContentType, v.Document = typeDocument, &r.Document
	return v, http.StatusOK, nil
}
