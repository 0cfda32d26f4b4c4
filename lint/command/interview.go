package command

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"gazetteer/convert"
	"gazetteer/fetch"
	"gazetteer/protocol"
	"gazetteer/protocol/wording"
)

// maxOperations is the highest number of operations in an interview. AI Discovery §6.5 lets
// readers stop after a hundred.
const maxOperations = 100

// askAll asks for everything that the draft does not hold yet.
func (s *draft) askAll(ctx context.Context, a *asker) error {
	for _, part := range []func(*draft, context.Context, *asker) error{(*draft).askService, (*draft).askOperations, s.format.askRest} {
		if err := part(s, ctx, a); err != nil {
			return err
		}
	}
	return nil
}

func (s *draft) askService(ctx context.Context, a *asker) error {
	err := s.askText(ctx, a, &s.name, s.format.name, question{
		text: "What is the service called?", example: "Acme Tables",
	})
	if err != nil {
		return err
	}
	err = s.askText(ctx, a, &s.description, s.format.description, question{
		text: "What does it offer, in a sentence or two?", example: "Finds free tables in restaurants of Berlin and books them.",
	})
	if err != nil || s.host != "" {
		return err
	}
	answer, err := a.askQuestion(ctx, question{
		text: "At which host will agents find it?", example: "www.example.com",
		faults: func(answer string) []protocol.Finding {
			_, err := fetch.CheckHost(answer)
			if e, ok := errors.AsType[*fetch.HostError](err); ok {
				return newFault("%s; %s", e.Problem, e.Help)
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	s.host, err = fetch.CheckHost(answer)
	return err
}

// askText asks for one text of the draft, checked at its place in the document.
func (s *draft) askText(ctx context.Context, a *asker, value *string, pointer string, q question) error {
	return s.askTextAt(ctx, a, value, []string{pointer}, q)
}

// askTextAt is askText for a text that affects several places.
func (s *draft) askTextAt(ctx context.Context, a *asker, value *string, pointers []string, q question) error {
	if *value != "" {
		return nil
	}
	q.faults = func(answer string) []protocol.Finding {
		*value = answer
		return s.findFaults(pointers...)
	}
	answer, err := a.askQuestion(ctx, q)
	if *value = answer; err == nil && q.matters && a.proposed {
		s.reviews = append(s.reviews, convert.Review{Pointer: pointers[0], Message: "accepted as proposed: " + answer + "; correct it if your service differs"})
	}
	return err
}

func (s *draft) askOperations(ctx context.Context, a *asker) error {
	for i := range maxOperations {
		again := "What else can an agent do? Name the verb, or give an empty line if that was all."
		if i == 0 {
			again = "What can an agent do there? Name the first verb; you can add more later."
		}
		s.operations = append(s.operations, operation{})
		o := &s.operations[i]
		here := s.format.operations + "/" + strconv.Itoa(i)
		more, err := s.askVerb(ctx, a, o, here, question{text: again, example: "find, book, cancel, check", optional: i > 0})
		if err != nil {
			return err
		}
		if !more {
			s.operations = s.operations[:i]
			return nil
		}
		if err := s.askOperation(ctx, a, o, here); err != nil {
			return err
		}
	}
	return nil
}

// askVerb asks what an operation does; false means there is no further operation. The answer
// "reserve a table" includes the noun.
func (s *draft) askVerb(ctx context.Context, a *asker, o *operation, here string, q question) (bool, error) {
	q.faults = func(answer string) []protocol.Finding {
		o.verb, o.noun = splitVerb(answer)
		o.english, _ = wording.ForeignVerb(o.verb)
		given := o.verb
		var notes []protocol.Finding
		if plain := protocol.WithoutMarks(given); s.format.plainVerbs && plain != given {
			o.verb = plain
			notes = newNote("%s is written as %s: methods have the letters A to Z", protocol.Quote(given), strings.ToUpper(plain))
		}
		places := []string{here + s.format.verb}
		if o.noun != "" {
			places = append(places, here+s.format.noun)
		}
		return append(notes, suggestEnglish(s.findFaults(places...), o.english)...)
	}
	answer, err := a.askQuestion(ctx, q)
	return answer != "", err
}

// suggestEnglish puts the English verb into the help about a verb that no word list has, "" for a verb
// without one.
func suggestEnglish(findings []protocol.Finding, english string) []protocol.Finding {
	for i := range findings {
		if f := &findings[i]; f.Code == "AGIS305" && english != "" {
			f.Help = "more agents know the English verb " + strings.ToUpper(english)
		}
	}
	return findings
}

// joints are the words between a verb and its noun.
var joints = []string{"a", "an", "the", "at", "for", "in", "into", "of", "on", "to", "up", "your"}

// splitVerb splits "look at the menu" into "look" and "menu".
func splitVerb(answer string) (verb, noun string) {
	all := strings.Fields(answer)
	if len(all) < 2 {
		return answer, ""
	}
	rest := all[1:]
	for len(rest) > 1 && slices.Contains(joints, strings.ToLower(rest[0])) {
		rest = rest[1:]
	}
	return all[0], strings.Join(rest, " ")
}

func (s *draft) askOperation(ctx context.Context, a *asker, o *operation, here string) error {
	err := s.askText(ctx, a, &o.noun, here+s.format.noun, question{
		text: nameToWords(o.verb) + " what? Name the thing.", example: "table, reservation, exchange rate",
	})
	if err != nil {
		return err
	}
	err = s.askText(ctx, a, &o.intent, here+s.format.intent, question{
		text: "What happens then, in one sentence that begins with a verb?", example: "Books a table for a number of guests at a time",
	})
	if err != nil {
		return err
	}
	err = s.askFields(ctx, a, &o.inputs, here+s.format.inputs, question{
		text:    "What are the inputs? List them; a type may follow a colon, a question mark means optional. An empty line means nothing.",
		example: "restaurant, guests: integer, date: date, note?: text", optional: true,
	})
	if err != nil {
		return err
	}
	number := " There is at least one."
	if s.format.optionalOutputs {
		number = " An empty line means nothing."
	}
	err = s.askFields(ctx, a, &o.outputs, here+s.format.outputs, question{
		text: "What are the outputs? List the fields in the same way." + number, example: "reservation_id, status", optional: s.format.optionalOutputs,
	})
	if err != nil {
		return err
	}
	return s.format.askDetails(s, ctx, a, o, here)
}

func (s *draft) askFields(ctx context.Context, a *asker, fields *[]field, pointer string, q question) error {
	q.faults = func(answer string) []protocol.Finding {
		parsed, notes, wrong := parseFields(answer)
		if wrong != nil {
			return wrong
		}
		*fields = parsed
		return append(notes, s.findFaults(pointer)...)
	}
	answer, err := a.askQuestion(ctx, q)
	if answer == "" {
		*fields = nil
	}
	return err
}

// askHTTP asks for the HTTP method and path of a capability.
func (s *draft) askHTTP(ctx context.Context, a *asker, o *operation, at string) error {
	answer, err := a.askQuestion(ctx, question{
		text: "With which HTTP method is it called? FORM stands for the form of a page.", usual: o.usualMethod(),
		faults: func(answer string) []protocol.Finding {
			o.setMethod(answer)
			return s.findFaults(at + "/method")
		},
	})
	if o.setMethod(answer); err != nil {
		return err
	}
	return s.askText(ctx, a, &o.path, at+"/endpoint", question{
		text: "What is the path on your host? Write inputs that are part of it in braces.", example: "/api/tables/{table_id}", usual: "/" + pathSegment(o.noun),
	})
}

// askMeaning asks for the semantic block of an endpoint (§6).
func (s *draft) askMeaning(ctx context.Context, a *asker, o *operation, at string) error {
	err := s.askText(ctx, a, &o.outcome, at+"/semantic/outcome", question{
		text: "What is true after success?", example: "A reservation exists with the status CONFIRMED",
	})
	if err != nil {
		return err
	}
	err = s.askText(ctx, a, &o.impact, at+"/semantic/impact_tier", question{
		text: "What is its impact: informational (it only returns information), reversible (it can be undone), or irreversible?", usual: o.usualImpact(), matters: true,
	})
	if err != nil {
		return err
	}
	_, err = a.askQuestion(ctx, question{
		text: "What can go wrong? Name the failures that a caller should distinguish.", example: "no_table_free, date_in_the_past",
		faults: func(answer string) []protocol.Finding {
			parsed, notes, wrong := parseFields(answer)
			if wrong != nil {
				return wrong
			}
			o.failures = nil
			for _, f := range parsed {
				o.failures = append(o.failures, f.name)
			}
			return append(notes, s.findFaults(at+"/errors")...)
		},
	})
	return err
}

// askDomain asks for the field of business of the service.
func (s *draft) askDomain(ctx context.Context, a *asker) error {
	return s.askText(ctx, a, &s.domain, "/vocabulary/domain", question{text: "In which field of business is the service?", example: "hospitality, finance, healthcare"})
}

// askAuth asks how callers of the service show who they are.
func (s *draft) askAuth(ctx context.Context, a *asker) error {
	at := []string{"/auth"}
	for i := range s.operations { // writing operations should not be open to everyone
		at = append(at, "/capabilities/"+strconv.Itoa(i)+"/method")
	}
	err := s.askTextAt(ctx, a, &s.authType, at, question{
		text: "How do callers show who they are: none (everybody may call), apikey, bearer or oauth2?", usual: "apikey", matters: true,
	})
	if err != nil || s.authType == "none" {
		return err
	}
	usual := "Authorization"
	if s.authType == "apikey" {
		usual = "X-API-Key"
	}
	return s.askText(ctx, a, &s.authHeader, "/auth", question{text: "In which header of the request?", usual: usual})
}
