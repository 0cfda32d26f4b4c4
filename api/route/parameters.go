package route

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/answer"
	"gazetteer/internal/nearest"
)

// MaxParameter bounds the value of any parameter, in bytes.
const MaxParameter = 2048

// Query returns the parsed query of the request that ctx belongs to.
func Query(ctx context.Context) url.Values {
	query, _ := ctx.Value(QueryKey{}).(url.Values)
	return query
}

type QueryKey struct{}

// validateParameters is the huma middleware that checks parameters by the schemas of the operation,
// before huma reads them. Huma itself ignores unknown query parameters and all but the first of
// repeated ones, and answers 422 in its own shape; a misspelled filter must not return more than the
// filter would.
func (a *Mux) validateParameters(schemas huma.Registry, ctx huma.Context, next func(huma.Context)) {
	query, err := ParameterChecker{schemas}.checkParameters(ctx)
	if err != nil {
		r := a.CompleteProblem(ctx.Context(), ctx.Operation().Path, err)
		r.Plain = isAgentOperation(ctx.Operation())
		WriteProblem(ctx, r)
		return
	}
	next(huma.WithValue(ctx, QueryKey{}, query))
}

// WriteProblem sends r through huma's context.
func WriteProblem(ctx huma.Context, r *Error) {
	for name, values := range r.GetHeaders() {
		ctx.SetHeader(name, values[0])
	}
	ctx.SetHeader("Content-Type", r.ContentType(""))
	ctx.SetStatus(r.Problem.Status)
	huma.DefaultJSONFormat.Marshal(ctx.BodyWriter(), r) // into our buffer, which takes everything
}

// A ParameterChecker checks parameters against their schemas.
type ParameterChecker struct{ schemas huma.Registry }

func (k ParameterChecker) checkParameters(ctx huma.Context) (url.Values, error) {
	u := ctx.URL()
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, NewProblem(BadParameter, "the query of the address is not well formed", `separate parameters by "&" and write special characters as %XX`)
	}
	op := ctx.Operation()
	for _, p := range op.Parameters {
		if p.In == "path" {
			if err := k.checkValue(p, p.Schema, ctx.Param(p.Name)); err != nil {
				return nil, err
			}
		}
	}
	for name, values := range query {
		at := slices.IndexFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "query" && p.Name == name })
		if at < 0 {
			var names []string
			for _, p := range op.Parameters {
				if p.In == "query" {
					names = append(names, p.Name)
				}
			}
			return nil, NewProblem(unknownParameter, fmt.Sprintf("there is no parameter %.60q here", name), DescribeKnown(name, names)).
				WithLocation(Location{Parameter: answer.CleanText(name, 60)})
		}
		if err := k.CheckValues(op.Parameters[at], values); err != nil {
			return nil, err
		}
	}
	return query, nil
}

// otherNames are common names in other APIs for the parameters of this one.
var otherNames = map[string]string{
	"query": "q", "search": "q", "text": "q", "keyword": "q", "keywords": "q", "term": "q", "terms": "q",
	"size": "limit", "count": "limit", "page_size": "limit", "per_page": "limit", "top_k": "limit",
	"page": "cursor", "page_token": "cursor", "offset": "cursor", "after": "cursor",
	"category": "domain", "categories": "domain", // where a search has it
}

// DescribeKnown names the known parameter or member that is close to a wrong name or has another
// name elsewhere, then all of them.
func DescribeKnown(wrong string, known []string) string {
	if len(known) == 0 {
		return "this address takes none"
	}
	if name := otherNames[strings.ToLower(wrong)]; slices.Contains(known, name) {
		return "did you mean " + name + "? known are: " + JoinWords(known)
	}
	return strings.TrimSpace(nearest.Question(wrong, known) + " known are: " + JoinWords(known))
}

// CheckValues checks the values of one query parameter.
func (k ParameterChecker) CheckValues(p *huma.Param, values []string) error {
	if p.Schema.Type != huma.TypeArray {
		if len(values) > 1 {
			return NewProblem(repeated, p.Name+" is given more than once", "give it once").WithLocation(Location{Parameter: p.Name})
		}
		if err := k.checkValue(p, p.Schema, values[0]); err != nil {
			return err
		}
		return nil
	}
	if most := p.Schema.MaxItems; most != nil && len(values) > *most {
		return NewProblem(BadParameter, fmt.Sprintf("%s is given %d times", p.Name, len(values)), fmt.Sprintf("give it at most %d times", *most)).
			WithLocation(Location{Parameter: p.Name})
	}
	for i, v := range values {
		if err := k.checkValue(p, p.Schema.Items, v); err != nil {
			return err.WithValueIndex(i)
		}
	}
	return nil
}

// checkValue checks one value by its schema; nil if it is valid.
func (k ParameterChecker) checkValue(p *huma.Param, schema *huma.Schema, text string) *Error {
	bad := func(message string) *Error {
		return NewProblem(BadParameter, p.Name+": "+message, p.Name+" is "+p.Description).WithLocation(Location{Parameter: p.Name})
	}
	judged := text
	if p.Name == "q" { // people's words may have several lines
		judged = lineBreaks.Replace(text)
	}
	if column := unreadableColumn(judged); column > 0 {
		return bad("it contains bytes that are not UTF-8 text, or control characters").WithLocation(Location{Parameter: p.Name, Column: column})
	}
	// The query parser refuses a query that is too long.
	if len(text) > MaxParameter && p.Name != "q" {
		return bad(fmt.Sprintf("it has more than %d bytes", MaxParameter))
	}
	var value any = text
	if p.Schema.Type == huma.TypeArray && schema.Enum != nil {
		value = strings.ToLower(strings.TrimSpace(text)) // a filter, which the query language takes in any case
	}
	switch schema.Type {
	case huma.TypeInteger:
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || text[0] == '+' {
			return bad(fmt.Sprintf("%.60q is not a whole number", answer.CleanText(text, 60)))
		}
		value = n
	case huma.TypeNumber:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || text[0] == '+' {
			return bad(fmt.Sprintf("%.60q is not a number", answer.CleanText(text, 60)))
		}
		value = n
	case huma.TypeBoolean:
		if text != "true" && text != "false" {
			return bad(fmt.Sprintf("%.60q is not true or false", answer.CleanText(text, 60)))
		}
		value = text == "true"
	}
	var result huma.ValidateResult
	huma.Validate(k.schemas, schema, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, value, &result)
	if len(result.Errors) == 0 {
		return nil
	}
	switch {
	case schema.Enum != nil:
		allowed := make([]string, len(schema.Enum))
		for i, v := range schema.Enum {
			allowed[i] = fmt.Sprint(v)
		}
		e := bad(fmt.Sprintf("%.60q is not one of %s", answer.CleanText(text, 60), strings.Join(allowed, ", ")))
		if question := nearest.Question(text, allowed); question != "" {
			e.Problem.Help = question + " " + e.Problem.Help
		}
		return e
	case schema.Minimum != nil && schema.Maximum != nil:
		return bad(fmt.Sprintf("%.20s is not between %g and %g", text, *schema.Minimum, *schema.Maximum))
	case schema.Minimum != nil:
		return bad(fmt.Sprintf("%.20s is less than %g", text, *schema.Minimum))
	}
	if detail, ok := result.Errors[0].(*huma.ErrorDetail); ok {
		return bad(detail.Message)
	}
	return bad("it is not possible")
}

// lineBreaks replaces control characters between words by spaces.
var lineBreaks = strings.NewReplacer("\t", " ", "\n", " ", "\r", " ")

// unreadableColumn returns the column, from 1, of the first character that no parameter may
// contain, and 0 if there is none.
func unreadableColumn(text string) int {
	column := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		column++
		if r == utf8.RuneError && size == 1 || answer.IsControl(r) {
			return column
		}
		i += size
	}
	return 0
}
