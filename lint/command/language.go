package command

import (
	"gazetteer/convert"
	"gazetteer/document"
	"gazetteer/lint"
	"gazetteer/protocol/tree"
)

// checkLanguages checks the languages of the command line by the rules of the draft.
func (v *initRun) checkLanguages(f initFormat) error {
	if len(v.languages) == 0 {
		return nil
	}
	if f.kind != document.AI {
		return usageErrorf("--language: an %s document names no language; leave the flag out", f.kind)
	}
	s := draft{format: f, now: v.currentTime(), languages: v.languages}
	if faults := s.findFaults("/service/language"); len(faults) > 0 {
		return usageErrorf("--language: %s", inWords(faults[0]))
	}
	return nil
}

// withLanguages adds the languages to the text of an AI Discovery document.
func withLanguages(text []byte, languages []string) ([]byte, error) {
	if len(languages) == 0 {
		return text, nil
	}
	root, _, err := lint.Tree(text)
	if err != nil {
		return nil, err
	}
	if service := root.Member("service"); service != nil && service.Member("language") == nil {
		tree.Put(service, "language", tree.Strings(languages...))
	}
	return indentJSON(root), nil
}

// reviewLanguage marks the language of a document that names none: its readers assume English (AI
// Discovery §3.2).
func reviewLanguage(languages []string) []convert.Review {
	if len(languages) > 0 {
		return nil
	}
	return []convert.Review{{Pointer: "/service", Message: `no language is named, so readers assume that the service answers in English; if it does not, add for example "language": ["de"], or use --language`}}
}
