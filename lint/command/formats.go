package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gazetteer/convert"
	"gazetteer/document"
	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/conversion"
)

// An initFormat is a format that init can make. Its row is everything that differs between the
// formats: the files, the questions, and the places of the answers in the document.
type initFormat struct {
	kind document.Kind
	// files are the files of such a document without their texts, the document first.
	files []builtFile
	// advice is printed before the first question.
	advice string
	// buildTree returns the document of a draft, write its text, with marks at the reviews if the
	// format has comments.
	buildTree func(*draft) *protocol.Node
	write     func(*protocol.Node, []convert.Review) ([]byte, error)
	// buildRest returns the texts of the files after the first, and what was guessed in them.
	buildRest func(text []byte, host string) ([][]byte, []convert.Review, error)
	// guesses lists what was guessed in the document of a draft.
	guesses func(*draft) []convert.Review
	// mark is the text that marks a guess in the document, marked what to remove when it is checked.
	mark, marked string

	// name and description are the pointers of the service's members, operations that of the list of
	// operations, and the others those of members of an operation.
	name, description, operations       string
	verb, noun, intent, inputs, outputs string
	optionalOutputs                     bool
	plainVerbs                          bool // verbs have the letters A to Z
	askDetails                          func(s *draft, ctx context.Context, a *asker, o *operation, at string) error
	askRest                             func(s *draft, ctx context.Context, a *asker) error
}

// initFormats returns the row of each format that init can make, the usual one first.
func initFormats() []initFormat {
	return []initFormat{{
		kind: document.AI,
		files: []builtFile{
			{name: "ai.json", kind: document.AI, path: "/.well-known/ai", media: "application/json; charset=utf-8"},
		},
		advice:    "Agents will call it over HTTP. If it has no interface for programs yet, name what its pages do: to look at\nthe menu is GET /menu.",
		buildTree: (*draft).aiTree, write: writeUnmarked,
		buildRest: func([]byte, string) ([][]byte, []convert.Review, error) { return nil, nil, nil },
		guesses:   func(s *draft) []convert.Review { return reviewLanguage(s.languages) },
		mark:      `"review": [`, marked: "meta.review from",
		name: "/service/name", description: "/service/description", operations: "/capabilities",
		verb: "/id", noun: "/id", intent: "/description", inputs: "/params", outputs: "/returns", optionalOutputs: true,
		askDetails: (*draft).askHTTP, askRest: (*draft).askAuth,
	}, {
		kind: document.AGIS,
		files: []builtFile{
			{name: "agis.yaml", kind: document.AGIS, path: "/agis.yaml", media: "application/agis+yaml"},
			{name: "agis.json", kind: document.AGISSummary, path: "/.well-known/agis.json", media: "application/json"},
		},
		buildTree: (*draft).agisTree, write: writeMarked, buildRest: buildSummary, guesses: (*draft).listGuesses,
		mark: "# REVIEW", marked: "the comments with REVIEW from",
		name: "/service", description: "/description", operations: "/endpoints",
		verb: "/method", noun: "/path", intent: "/semantic/intent", inputs: "/input", outputs: "/output", plainVerbs: true,
		askDetails: (*draft).askMeaning, askRest: (*draft).askDomain,
	}}
}

// findFormat returns the row of a format.
func findFormat(name string) (initFormat, error) {
	formats := initFormats()
	i := slices.IndexFunc(formats, func(f initFormat) bool { return string(f.kind) == name })
	if i < 0 {
		var names []string
		for _, f := range formats {
			names = append(names, string(f.kind))
		}
		return initFormat{}, usageErrorf("--format %s: want %s", name, strings.Join(names, " or "))
	}
	return formats[i], nil
}

// writeUnmarked writes JSON, which has no comments.
func writeUnmarked(root *protocol.Node, _ []convert.Review) ([]byte, error) {
	return indentJSON(root), nil
}

func writeMarked(root *protocol.Node, reviews []convert.Review) ([]byte, error) {
	return conversion.WriteDocument(root, reviews, "yaml")
}

func indentJSON(root *protocol.Node) []byte { return protocol.WriteJSON(root, "  ") }

// buildSummary returns the summary of an AGIS document, with a review of what the document leaves open
// about credentials.
func buildSummary(text []byte, host string) ([][]byte, []convert.Review, error) {
	d, _, err := agis.Parse(text, agis.Options{})
	if err != nil {
		return nil, nil, fmt.Errorf("make an AGIS document: %w", err)
	}
	var reviews []convert.Review
	if !d.PreAuthDiscovery {
		reviews = []convert.Review{{Pointer: "/pre_auth_discovery", Message: "in agis.json it is assumed to be false: the document does not say whether it can be read without credentials; if it can, write true, and the same at the top of agis.yaml"}}
	}
	return [][]byte{indentJSON(summaryTree(d, "https://"+host+"/agis.yaml"))}, reviews, nil
}

// listGuesses lists what was guessed of the operations of an AGIS document, and what it cannot say.
func (s *draft) listGuesses() []convert.Review {
	out := []convert.Review{{Message: "how callers authenticate is left out: AGIS has no member for it, AGTP settles it"}}
	for i, o := range s.operations {
		out = append(out, convert.Review{Pointer: fmt.Sprintf("/endpoints/%d/semantic", i),
			Message: fmt.Sprintf("guessed from the verb %s: capability %s, is_idempotent %t, confidence_guidance %s; correct what is not so in your service",
				o.operationID(), o.capabilityClass(), o.isIdempotent(), confidence[cmp.Or(o.impact, o.usualImpact())])})
	}
	return out
}
