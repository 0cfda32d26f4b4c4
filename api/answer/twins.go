package answer

import (
	"context"

	"gazetteer/call"
	"gazetteer/document"
	"gazetteer/index"
	"gazetteer/index/entry"
)

// PreferHTTP replaces operations that are called over AGTP by their descriptions in the AI Discovery
// document of their host, where it has them: HTTP is what callers can use. The effects that the AGIS
// document declares stay.
func (a *Answers) PreferHTTP(ctx context.Context, offers []call.ToolSource) error {
	yields, remains := entry.TwinKinds()
	byHost := map[string][]document.Document{}
	for i := range offers {
		host, kind, id, ok := splitOperationID(offers[i].ID)
		if !ok || kind != remains {
			continue
		}
		if _, read := byHost[host]; !read {
			documents, err := a.readValidDocuments(ctx, host, yields, remains)
			if err != nil {
				return err
			}
			byHost[host] = documents
		}
		if twin, service, ok := findHTTPTwin(byHost[host], id); ok {
			offers[i] = withTwin(offers[i], twin, service)
		}
	}
	return nil
}

// readValidDocuments reads the current documents of a host that are of one of these kinds and have no errors.
func (a *Answers) readValidDocuments(ctx context.Context, host string, kinds ...document.Kind) ([]document.Document, error) {
	documents := []document.Document{}
	for _, kind := range kinds {
		d, found, err := a.readDocument(ctx, host, kind)
		switch {
		case err != nil:
			return nil, err
		case !found || !d.Valid():
			return documents, nil
		}
		documents = append(documents, d)
	}
	return documents, nil
}

// findHTTPTwin returns the twin of the operation with this id, if it is called over HTTP.
func findHTTPTwin(documents []document.Document, id string) (document.Operation, document.Service, bool) {
	yields, remains, twins := entry.FindTwins(documents)
	for y, r := range twins {
		if remains.Operations[r].ID == id && yields.Operations[y].Call.Protocol == "http" {
			return yields.Operations[y], yields.Service, true
		}
	}
	return document.Operation{}, document.Service{}, false
}

// withTwin returns the offer with the call of the twin, and with the more dangerous of their effects.
func withTwin(offer call.ToolSource, twin document.Operation, service document.Service) call.ToolSource {
	twin.Effect, twin.Idempotent, twin.Outcome = offer.Operation.Effect, offer.Operation.Idempotent, offer.Operation.Outcome
	service.Name = offer.Service.Name
	yields, _ := entry.TwinKinds()
	return call.ToolSource{ID: operationID(offer.Host, yields, twin.ID), Host: offer.Host, Service: service, Operation: twin, Ends: offer.Ends || index.EffectOf(&twin).Destructive}
}
